"""The nouns of a definition of done: what a task must leave behind, and how far that is proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

ROUND_BUDGET = 3  # judgings of one definition that may fail before a person is needed
MOST_ARTIFACTS = 200
MOST_ITEMS = 200
MOST_COMMANDS = 20
MOST_TOUCHED = 2_000
MOST_ROUNDS = 50  # kept in mind; the ledger has them all
MOST_SEEN = 200  # observations of one round


class DefinitionStatus(StrEnum):
    """Where a task stands. Stored words."""

    DRAFT = "draft"
    IN_PROGRESS = "in_progress"
    VERIFYING = "verifying"
    FIXING = "fixing"
    DONE = "done"
    FAILED = "failed"


class RoundStatus(StrEnum):
    """Where one round of judging stands. Stored words."""

    PLANNED = "planned"
    PENDING = "pending"
    RUNNING = "running"
    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"
    STALE = "stale"
    SKIPPED = "skipped"


class Support(StrEnum):
    """What an observation says about its subject."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    MISSING = "missing"
    CONTEXT = "context"


class ItemKind(StrEnum):
    """What earlier versions took from the wording of an item. Stored words; nothing asks for it."""

    BUILD = "build"
    AGGREGATE = "aggregate"
    LOOK = "look"
    REVIEW = "review"
    VERIFY = "verify"


@dataclass(frozen=True)
class Artifact:
    """A file or folder that the task must leave behind; `path` is relative to the workspace."""

    path: str
    directory: bool = False

    def __str__(self) -> str:
        return f"{self.path}/" if self.directory else self.path


@dataclass(frozen=True)
class Drop:
    """Something planned that the model gave up, and why; `asked`: a person's task asked for it."""

    what: str
    reason: str
    paths: tuple[str, ...] = ()
    asked: bool = False


@dataclass(frozen=True)
class Item:
    """One thing to do, as the model worded it.

    It is done while its artifacts are there; one without any when the model says so.
    """

    text: str
    artifacts: tuple[Artifact, ...] = ()
    done: bool = False
    kind: ItemKind = ItemKind.BUILD


class CheckSource(StrEnum):
    """Where a verification command came from, the weightiest first. Stored words."""

    CONTRACT = "contract"  # declared by a person or a plan
    PROJECT = "project"  # the project documents it
    ARTIFACT = "artifact"  # a checker for a kind of file
    EXISTENCE = "existence"  # a planned artifact is there


@dataclass(frozen=True)
class Check:
    """A verification command, and where it came from."""

    command: str
    source: str  # a CheckSource


@dataclass(frozen=True)
class ProjectCheck(Check):
    """A command that the project documents, with what decides about its meaning.

    One that does not prove has to hold, but is nothing to rely on by itself.
    `rests_on` are manifests, settings and tests, each with a digest of its content when it was
    derived; empty where it was not there. Without `kinds` it is about what no other check is.
    """

    kinds: frozenset[str] = frozenset()
    rests_on: tuple[tuple[str, str], ...] = ()
    proves: bool = True

    def to_data(self) -> dict[str, Any]:
        """As it is stored, so that a session that is resumed knows what it began with."""
        return {
            "command": self.command,
            "kinds": sorted(self.kinds),
            "rests_on": [list(pair) for pair in self.rests_on],
            "proves": self.proves,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """What `to_data` gave."""
        rests_on = tuple((str(path), str(digest)) for path, digest in data["rests_on"])
        kinds = frozenset(map(str, data["kinds"]))
        return cls(str(data["command"]), CheckSource.PROJECT, kinds, rests_on, bool(data["proves"]))


@dataclass(frozen=True)
class Seen:
    """One observation with its provenance."""

    source: str
    subject: str
    status: Support
    command: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Round:
    """One judging of everything that is due; a new one names the round that it supersedes."""

    number: int
    status: RoundStatus
    checks: tuple[Check, ...] = ()
    supersedes: int | None = None
    because: str = ""  # what made it due, or stale
    seen: tuple[Seen, ...] = ()
    counted: int = 1  # the n of "round n of 3": the failed ones before it, and itself


@dataclass(frozen=True)
class Definition:
    """The definition of done of one task; computed from recorded facts, never written to."""

    statement: str
    artifacts: tuple[Artifact, ...] = ()
    items: tuple[Item, ...] = ()
    touched: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    rounds: tuple[Round, ...] = ()
    status: DefinitionStatus = DefinitionStatus.DRAFT
    failed_rounds: int = 0
    undone: tuple[str, ...] = field(default=())  # why it is not done, in words for a person
    existing: tuple[str, ...] = ()  # paths of artifacts that were there when last looked
    omitted: tuple[str, ...] = ()  # open items that the last list left out, and that stay open
    unlisted: int = 0  # items of the last list that did not fit
    overflow: int = 0  # declared artifacts, items and checks that did not fit
    abandoned: str = ""  # why nobody goes on
    asked: tuple[str, ...] = ()  # paths that a person's task asks for
    declared: tuple[str, ...] = ()  # paths, and items by their key, that a plan declares
    dropped: tuple[Drop, ...] = ()
    undropped: tuple[str, ...] = ()  # what the last list gave up in vain, and why in vain
    aside: int = 0  # items of a list that was sent during a repair, and not taken up
    began_with: tuple[ProjectCheck, ...] | None = None  # what the project documented; None: unseen
    unread: int = 0  # characters of the task in which nobody looked for artifacts

    @property
    def pending(self) -> tuple[Item, ...]:
        """Items that are open."""
        return tuple(item for item in self.items if not item.done)

    @property
    def completed(self) -> tuple[Item, ...]:
        """Items that are done."""
        return tuple(item for item in self.items if item.done)

    @property
    def round(self) -> Round | None:
        """The round in question: the last one."""
        return self.rounds[-1] if self.rounds else None

    @property
    def missing(self) -> tuple[Artifact, ...]:
        """Planned artifacts that were not there when last looked."""
        return tuple(a for a in self.artifacts if a.path not in self.existing)

    @property
    def built(self) -> bool:
        """Whether something is planned, and all of it is built."""
        return bool(self.artifacts) and not self.missing

    @property
    def evidence(self) -> tuple[Seen, ...]:
        """What speaks for it now; of a stale round nothing does."""
        last = self.round
        if last is None or last.status is not RoundStatus.KEPT:
            return ()
        return tuple(seen for seen in last.seen if seen.status is Support.SUPPORTS)
