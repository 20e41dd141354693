"""The rounds of a definition of done: which one is open, what makes one stale, what decides one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from signoff.domain.definition import (
    MOST_COMMANDS,
    MOST_ROUNDS,
    MOST_SEEN,
    ROUND_BUDGET,
    Check,
    CheckSource,
    Definition,
    Round,
    RoundStatus,
    Seen,
    Support,
)
from signoff.domain.definition_facts import RoundDecided

LONGEST_DETAIL = 2_000

WAITING = frozenset({RoundStatus.PLANNED, RoundStatus.PENDING})
FAILED = frozenset({RoundStatus.BROKEN, RoundStatus.UNKNOWN})
# What would speak for content that is not the content in question any more.
_SPEAKS = frozenset({RoundStatus.KEPT, RoundStatus.RUNNING})
_MAY_BE_DECIDED = FAILED | {RoundStatus.KEPT, RoundStatus.SKIPPED}
# A check of these sources stays once it is there: deleting a manifest gets rid of no check.
_STAYS = frozenset({CheckSource.CONTRACT, CheckSource.PROJECT})


def is_over(definition: Definition) -> bool:
    """Whether only a person can go on: given up, or every round that may fail has failed."""
    return bool(definition.abandoned) or definition.failed_rounds >= ROUND_BUDGET


def shown(round_: Round) -> str:
    """How people see its number; n counts what may fail, not what became stale."""
    return f"round {round_.counted} of {ROUND_BUDGET}"


def open_round(definition: Definition, because: str) -> Definition:
    """A new round, which names the one that it supersedes."""
    if is_over(definition):
        return definition
    last = definition.round
    new = Round(
        number=last.number + 1 if last is not None else 1,
        status=RoundStatus.PLANNED,
        checks=definition.checks,
        supersedes=last.number if last is not None else None,
        because=because,
        counted=definition.failed_rounds + 1,
    )
    return replace(definition, rounds=(*definition.rounds, new)[-MOST_ROUNDS:])


def outdate(definition: Definition, because: str) -> Definition:
    """What spoke for the content does not any more, or never will."""
    last = definition.round
    if last is None or last.status not in _SPEAKS:
        return definition
    return _with_last(definition, replace(last, status=RoundStatus.STALE, because=because))


def after_change(definition: Definition, what: str) -> Definition:
    """Content changed: a kept round is stale, a failed one gets a successor."""
    last = definition.round
    if last is None or last.status in WAITING or is_over(definition):
        return definition
    if last.status in _SPEAKS:
        stale = outdate(definition, what)
        return open_round(stale, f"round {last.number} is stale: {what}")
    return open_round(definition, what)


def plan_round(definition: Definition, checks: tuple[Check, ...], because: str) -> Definition:
    """The round that waits is judged by these checks; without one, a new round is."""
    if is_over(definition):
        return definition
    kept = [c for c in definition.checks if c.source in _STAYS]
    wanted = united(kept, checks)
    more = max(0, len(wanted) - MOST_COMMANDS)
    definition = replace(
        definition, checks=wanted[:MOST_COMMANDS], overflow=max(definition.overflow, more)
    )
    last = definition.round
    if last is not None and last.status in WAITING:
        planned = replace(last, checks=definition.checks, because=because or last.because)
        return _with_last(definition, planned)
    if last is not None and last.status is RoundStatus.RUNNING:
        interrupted = replace(last, status=RoundStatus.SKIPPED, because="it was interrupted")
        definition = _with_last(definition, interrupted)
    return open_round(outdate(definition, because or "it is to be judged again"), because)


def begin_round(definition: Definition) -> Definition:
    """The open round is being judged; without one, everything that must hold is judged again."""
    if is_over(definition):
        return definition
    if definition.round is None or definition.round.status not in WAITING | {RoundStatus.RUNNING}:
        again = "it is judged again"
        definition = open_round(outdate(definition, again), again)
    assert definition.round is not None
    return _with_last(definition, replace(definition.round, status=RoundStatus.RUNNING))


def decide_round(definition: Definition, fact: RoundDecided) -> Definition:
    """Only the round that is being judged is decided; any open one may be skipped."""
    last = definition.round
    if last is None:
        return definition
    skips = fact.status is RoundStatus.SKIPPED and last.status in WAITING
    if last.status is not RoundStatus.RUNNING and not skips:
        return definition
    status = _result(last, fact)
    seen = tuple(_cut(s) for s in _weightiest(fact.seen)[:MOST_SEEN])
    decided = replace(last, status=status, seen=seen)
    failed = definition.failed_rounds + (status in FAILED)
    return replace(_with_last(definition, decided), failed_rounds=failed)


def skip_open(definition: Definition, because: str) -> Definition:
    """Nobody will judge the round that is open."""
    last = definition.round
    if last is None or last.status not in WAITING | {RoundStatus.RUNNING}:
        return definition
    return _with_last(definition, replace(last, status=RoundStatus.SKIPPED, because=because))


def widen_open(definition: Definition) -> Definition:
    """The round that waits is judged by everything that must hold now."""
    last = definition.round
    if last is None or last.status not in WAITING:
        return definition
    return _with_last(definition, replace(last, checks=definition.checks))


def gaps(definition: Definition) -> tuple[str, ...]:
    """Commands that must hold and that the last round has nothing for."""
    last = definition.round
    supported = _supported(last.seen) if last is not None else frozenset()
    return tuple(c.command for c in definition.checks if c.command not in supported)


def united(*several: Iterable[Check]) -> tuple[Check, ...]:
    """Every command once, by its first source."""
    by_command: dict[str, Check] = {}
    for checks in several:
        for check in checks:
            by_command.setdefault(check.command, check)
    return tuple(by_command.values())


def _result(round_: Round, fact: RoundDecided) -> RoundStatus:
    """A judge's word for it is not enough: what it saw must say the same."""
    if fact.status not in _MAY_BE_DECIDED:
        return RoundStatus.UNKNOWN
    if fact.status is not RoundStatus.KEPT:
        return fact.status
    if any(s.status is Support.CONTRADICTS for s in fact.seen):
        return RoundStatus.BROKEN
    supported = _supported(fact.seen)
    whole = bool(round_.checks) and all(c.command in supported for c in round_.checks)
    lacking = any(s.status is Support.MISSING for s in fact.seen)
    return RoundStatus.KEPT if whole and not lacking else RoundStatus.UNKNOWN


def _supported(seen: tuple[Seen, ...]) -> frozenset[str]:
    return frozenset(s.command for s in seen if s.status is Support.SUPPORTS)


def _weightiest(seen: tuple[Seen, ...]) -> list[Seen]:
    """Where not all can be kept: what contradicts, then what supports or is missing."""
    weights = {Support.CONTRADICTS: 0, Support.SUPPORTS: 1, Support.MISSING: 1, Support.CONTEXT: 2}
    return list(seen) if len(seen) <= MOST_SEEN else sorted(seen, key=lambda s: weights[s.status])


def _cut(seen: Seen) -> Seen:
    return replace(seen, detail=seen.detail[:LONGEST_DETAIL])


def _with_last(definition: Definition, last: Round) -> Definition:
    return replace(definition, rounds=(*definition.rounds[:-1], last))
