"""The nouns of a task that came without a plan: what it leaves behind, what its plan rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from signoff.domain.plan import Postcondition

ROUND_BUDGET = 3  # contents on which a task's checks may fail before a person is needed
MOST_PARTS = 200  # files and items of one derived plan
TASK_PREFIX = "task:"


@dataclass(frozen=True)
class Artifact:
    """A file or folder that the task must leave behind; `path` is relative to the workspace."""

    path: str
    directory: bool = False

    def __str__(self) -> str:
        return f"{self.path}/" if self.directory else self.path

    @classmethod
    def of(cls, written: str) -> Artifact:
        """What `str` gave."""
        return cls(written.rstrip("/"), written.endswith("/"))


@dataclass(frozen=True)
class ProjectCheck:
    """A command that the project documented when the work began.

    Without `kinds` it is about files that no other check is about. One that does not prove has to
    hold, but is nothing to rely on by itself.
    """

    command: str
    kinds: frozenset[str] = frozenset()
    proves: bool = True


@dataclass(frozen=True)
class TaskBasis:
    """What a derived plan rests on; stored beside it, so that a resumed session knows it."""

    said: tuple[str, ...] = ()  # digests of words that were looked at: what they plan is planned
    asked: tuple[str, ...] = ()  # the steps that a person's words ask for
    project: tuple[ProjectCheck, ...] = ()  # what the project documented when the work began
    due: tuple[str, ...] = ()  # commands of the project that were ever due

    def to_data(self) -> dict[str, Any]:
        """The stored form."""
        project = [[c.command, sorted(c.kinds), c.proves] for c in self.project]
        return {**asdict(self), "project": project}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> TaskBasis:
        """The stored form read back."""
        project = (
            ProjectCheck(c, frozenset(kinds), proves) for c, kinds, proves in data["project"]
        )
        return cls(tuple(data["said"]), tuple(data["asked"]), tuple(project), tuple(data["due"]))


@dataclass(frozen=True)
class AskedCondition(Postcondition):
    """A part of the task's derived plan that stays due beside a plan which the agent wrote."""

    @property
    def id(self) -> str:
        """The subject under which its verdicts stand in the ledger."""
        return f"{TASK_PREFIX}{self.number}"
