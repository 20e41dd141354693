"""Judging a task: its checks are derived anew, a judge looks, and the round is decided.

    planned → pending → running → kept | broken | unknown | skipped;  kept → stale

A round is planned when a change leaves nothing to build; it is pending once it is due. A change
after it makes a kept round stale and opens the next (the fold does that). Three may fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from signoff.domain.definition import Check, Definition, Round, RoundStatus, Seen, Support
from signoff.domain.text import escape_line
from signoff.errors import SignoffError
from signoff.gate.definition import ArtifactsSeen, Fact, RoundBegun, RoundDecided, RoundPlanned
from signoff.gate.rounds import is_over
from signoff.toolbatch import artifacts
from signoff.toolbatch.deriving import (
    CHECKER,
    Derived,
    HasChecker,
    changed_base,
    checker_known,
    derive,
)

Judged = tuple[RoundStatus, tuple[Seen, ...]]


class Judge(Protocol):
    """Whoever runs checks where the agent has no say.

    An observation speaks for a check when its `command` is the check's.
    """

    def judge(self, checks: Sequence[Check]) -> Judged:
        """What the checks show on the content as it is now."""


class Books(Protocol):
    """Keeps the definition of done."""

    @property
    def definition(self) -> Definition:
        """As it is now."""

    def record(self, *facts: Fact) -> Definition:
        """Add facts; the definition as it is then."""


@dataclass(frozen=True)
class Court:
    """Judges the tasks of one workspace. `contracts` were declared outside of the definition."""

    root: Path
    judge: Judge
    contracts: tuple[str, ...] = ()
    has_checker: HasChecker = checker_known
    checker: str = CHECKER  # how checkers are run

    def checks(self, definition: Definition) -> tuple[Check, ...]:
        """What a round would be judged by now; the planner of a keeper."""
        return self.derived(definition).checks

    def derived(self, definition: Definition) -> Derived:
        """The same with what was refused, and why nothing can be verified."""
        return derive(definition, self.root, self.contracts, self.has_checker, checker=self.checker)

    def hold(self, keeper: Books, because: str) -> Round | None:
        """One round, from its plan to its decision; None when only a person can go on."""
        there = artifacts.existing(keeper.definition, self.root)
        keeper.record(ArtifactsSeen(there))
        if is_over(keeper.definition):
            return None
        derived = self.derived(keeper.definition)
        planned = keeper.record(RoundPlanned(derived.checks, because))
        if planned.round is None or not planned.round.checks:
            nothing = Seen("deriving", "verification", Support.MISSING, "", derived.unverifiable)
            return keeper.record(RoundDecided(RoundStatus.SKIPPED, (nothing,))).round
        begun = keeper.record(RoundBegun()).round
        assert begun is not None
        status, seen = self._judged(begun.checks)
        doubts = [Seen("deriving", "verification", Support.MISSING, "", d) for d in derived.shaken]
        if doubts and status is RoundStatus.KEPT:
            status = RoundStatus.UNKNOWN
        seen = (*seen, *doubts, *self._changed_bases(keeper.definition))
        return self._decided(keeper, begun, status, seen)

    def _changed_bases(self, definition: Definition) -> tuple[Seen, ...]:
        """For people to read: what the project's checks rest on and this work changed."""
        return tuple(
            Seen("deriving", path, Support.CONTEXT, check.command, "changed since the work began")
            for check in definition.began_with or ()
            for path in changed_base(check, self.root)
        )

    def _judged(self, checks: Sequence[Check]) -> Judged:
        try:
            return self.judge.judge(checks)
        except (SignoffError, OSError) as error:
            said = escape_line(str(error))
            against = (Seen("judge", "verification", Support.MISSING, "", said),)
            return RoundStatus.UNKNOWN, against

    def _decided(
        self, keeper: Books, begun: Round, status: RoundStatus, seen: tuple[Seen, ...]
    ) -> Round | None:
        """Planned artifacts are looked at once more: one may have gone while it was judged."""
        there = artifacts.existing(keeper.definition, self.root)
        after = keeper.record(ArtifactsSeen(there))
        if after.round is None or after.round.number != begun.number:
            return after.round
        absent = tuple(
            Seen("existence", str(a), Support.MISSING, "", "planned, and not there")
            for a in after.missing
        )
        if absent and status is RoundStatus.KEPT:
            status = RoundStatus.BROKEN
        return keeper.record(RoundDecided(status, (*seen, *absent))).round


def status_of(checks: Sequence[Check], seen: Sequence[Seen]) -> RoundStatus:
    """What observations add up to: one against breaks it, and each check needs one for it."""
    if any(s.status is Support.CONTRADICTS for s in seen):
        return RoundStatus.BROKEN
    supported = {s.command for s in seen if s.status is Support.SUPPORTS}
    whole = bool(checks) and all(check.command in supported for check in checks)
    return RoundStatus.KEPT if whole else RoundStatus.UNKNOWN


def seen_of(check: Check, status: Support, detail: str = "") -> Seen:
    """An observation of one check, with its provenance."""
    return Seen(check.source, check.command, status, check.command, detail)
