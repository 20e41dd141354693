"""Failures grouped into episodes: every retry counts, and only what resolves one clears it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from signoff.toolbatch.calls import Call, Nature, Outcome
from signoff.toolbatch.recovery.categories import Category, Failure, subject_of
from signoff.toolbatch.shellwork import command_of

MOST_OPEN = 64
MOST_NAMES = 20  # of files or commands that one episode remembers
LONGEST_NAME = 300
_BY_TOOL = frozenset({Category.MALFORMED, Category.ARGUMENTS})


@dataclass(frozen=True)
class Episode:
    """Failures of one kind about one thing; `names` are the files or commands that failed in it."""

    failure: Failure
    attempts: int
    budget: int
    names: Mapping[str, int] = field(default_factory=dict)  # each with how often it failed
    of_command: bool = False

    @property
    def used_up(self) -> bool:
        """Whether another way is due."""
        return self.attempts > self.budget

    @property
    def hopeless(self) -> bool:
        """Whether the other way did not help either: the very same failed as often again.

        Looking for one file after the other that is not there is no dead end, only a search.
        """
        alike = max(self.names.values(), default=self.attempts)
        by_tool = self.failure.category in _BY_TOOL
        return (self.attempts if by_tool else alike) > 2 * self.budget


class Episodes:
    """The open ones, newest last; the oldest goes when there are too many."""

    def __init__(self, budget: int):
        self._budget = budget
        self._open: OrderedDict[tuple[Category, str], Episode] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def count(self, failure: Failure, call: Call | None = None) -> Episode:
        """One more failure, of a new episode or of one that is open."""
        key = (failure.category, failure.subject)
        before = self._open.pop(key, None)
        names = dict(before.names) if before is not None else {}
        name = "" if call is None else call.target or command_of(call)[:LONGEST_NAME]
        if name:
            names[name] = names.pop(name, 0) + 1
        latest = dict(list(names.items())[-MOST_NAMES:])
        attempts = (before.attempts if before is not None else 0) + 1
        of_command = call is not None and call.shape.nature is Nature.SHELL
        episode = Episode(failure, attempts, self._budget, latest, of_command)
        self._open[key] = episode
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        return episode

    def settle(self, outcome: Outcome) -> tuple[Episode, ...]:
        """The episodes that a success resolved, closed; a success elsewhere resolves none.

        Whatever a command failed over may be mended by any change: it is a new attempt then.
        """
        if outcome.changed:
            of_commands = [key for key, episode in self._open.items() if episode.of_command]
            for key in of_commands:
                del self._open[key]
        if not outcome.ok or outcome.result is None:
            return ()
        resolved = [key for key, episode in self._open.items() if _resolves(outcome, episode)]
        return tuple(self._open.pop(key) for key in resolved)

    def answered(self) -> None:
        """The model made a call or said something: nothing is empty any more."""
        self._open.pop((Category.EMPTY, ""), None)


def _resolves(outcome: Outcome, episode: Episode) -> bool:
    call, category = outcome.call, episode.failure.category
    if category in _BY_TOOL:
        return call.tool == episode.failure.subject
    if call.shape.nature is Nature.SHELL:
        return subject_of(category, call) == episode.failure.subject
    result = outcome.result
    assert result is not None
    worked_on = {*result.writes, *call.paths} if result.writes else {*result.reads, *call.paths}
    if category in (Category.EDIT_MISMATCH, Category.PERMISSION, Category.SYNTAX):
        worked_on = set(result.writes)
    return bool(worked_on & set(episode.names))
