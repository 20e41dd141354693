"""Episodes: failures of one kind about one thing, in which every retry counts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath

from signoff.toolbatch.calls import Call, CallResult, Nature, ResultKind
from signoff.toolbatch.shellwork import family

MOST_OPEN = 64
MOST_NAMES = 20  # of files or commands that one episode remembers
LONGEST_NAME = 300


class Category(StrEnum):
    """Kinds of failures that have a follow-up."""

    MALFORMED = "malformed call"
    ARGUMENTS = "bad arguments"
    EDIT_MISMATCH = "edit mismatch"
    TIMEOUT = "timeout"
    MISSING_COMMAND = "missing command"
    MISSING_MODULE = "missing module"
    SYNTAX = "syntax"
    PERMISSION = "permission"
    NOT_FOUND = "file not found"
    EMPTY = "empty response"


_BY_TOOL = frozenset({Category.MALFORMED, Category.ARGUMENTS})


@dataclass(frozen=True)
class ToolFailure:
    """A failure with its category; failures with the same subject are one episode."""

    category: Category
    subject: str
    about: str = ""  # what was missing or wrong, as the text names it


@dataclass(frozen=True)
class Episode:
    """Failures of one kind about one thing; `names` are the files or commands that failed in it."""

    failure: ToolFailure
    attempts: int
    budget: int
    names: Mapping[str, int] = field(default_factory=dict)  # each with how often it failed
    of_command: bool = False

    @property
    def used_up(self) -> bool:
        """Whether another way is due."""
        return self.attempts > self.budget

    @property
    def hopeless(self) -> str:
        """Why it ends the turn: the other way did not help either. Empty: it does not.

        Looking for one file after the other that is not there is no dead end, only a search.
        """
        alike = max(self.names.values(), default=self.attempts)
        if (self.attempts if self.failure.category in _BY_TOOL else alike) <= 2 * self.budget:
            return ""
        failure = self.failure
        return f"{failure.category} for `{failure.subject}` failed {self.attempts} times"


class Episodes:
    """The open ones, newest last; the oldest goes when there are too many."""

    def __init__(self, budget: int):
        self._budget = budget
        self._open: OrderedDict[tuple[Category, str], Episode] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    @property
    def latest(self) -> Episode:
        """The one that a failure belonged to last."""
        return next(reversed(self._open.values()))

    def count(self, failure: ToolFailure, call: Call | None = None) -> Episode:
        """One more failure, of a new episode or of one that is open."""
        key = (failure.category, failure.subject)
        before = self._open.pop(key, None)
        names = dict(before.names) if before is not None else {}
        name = "" if call is None else call.target or call.command[:LONGEST_NAME]
        if name:
            names[name] = names.pop(name, 0) + 1
        latest = dict(list(names.items())[-MOST_NAMES:])
        attempts = (before.attempts if before is not None else 0) + 1
        of_command = call is not None and call.shape.nature is Nature.SHELL
        self._open[key] = Episode(failure, attempts, self._budget, latest, of_command)
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return self._open[key]

    def settle(self, result: CallResult) -> None:
        """Close the episodes that a success resolved; a success elsewhere resolves none.

        Whatever a command failed over may be mended by any change: it is a new attempt then.
        """
        for key, episode in list(self._open.items()):
            if (result.changed and episode.of_command) or _resolves(result, episode):
                del self._open[key]

    def answered(self) -> None:
        """The model made a call or said something: nothing is empty any more."""
        self._open.pop((Category.EMPTY, ""), None)


def _resolves(result: CallResult, episode: Episode) -> bool:
    call, category = result.call, episode.failure.category
    if not result.ok or result.kind is not ResultKind.EXECUTED:
        return False
    if category in _BY_TOOL:
        return call.tool == episode.failure.subject
    if call.shape.nature is Nature.SHELL:
        return subject_of(category, call) == episode.failure.subject
    worked_on = {*(result.writes or result.reads), *call.paths}
    if category in (Category.EDIT_MISMATCH, Category.PERMISSION, Category.SYNTAX):
        worked_on = set(result.writes)
    return bool(worked_on & set(episode.names))


def subject_of(category: Category, call: Call) -> str:
    """What makes two failures one episode: the tool, the command's family, a file or its folder."""
    if category in _BY_TOOL:
        return call.tool
    if call.shape.nature is Nature.SHELL:
        return family(call.command) or call.tool
    if category is Category.EDIT_MISMATCH or not call.target:
        return call.target or call.tool
    return str(PurePosixPath(call.target).parent)
