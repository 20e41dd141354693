"""The ratchet: what a rewritten plan keeps, splits, drops and weakens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signoff.domain.plan import Contract, Plan, Postcondition, Step
from signoff.domain.session import Declared, normal


@dataclass(frozen=True)
class PlanChange:
    """From one plan of an agent to the next, in ids of the old one."""

    split: tuple[str, ...]
    dropped: tuple[str, ...]
    weakened: tuple[str, ...]
    split_words: tuple[str, ...] = ()  # of `split`, those that only words can be compared of
    aims_elsewhere: bool = False  # the objective is another one

    @property
    def loosens(self) -> bool:
        """Whether less is promised than before, or nobody but a person could tell."""
        return bool(self.dropped or self.weakened or self.split_words or self.aims_elsewhere)


def turn(
    old: Plan, new: Plan, before: Mapping[str, Declared], now: Mapping[str, Declared]
) -> PlanChange:
    """Compare two plans by what their parts say; a number means nothing.

    A step that is done counts like any other: whoever drops it is rid of having to keep it.
    """
    pairs = _paired(old, new)
    taken = set(pairs.values())
    gone = [s.id for s in old.subjects if s.id not in taken]
    became = {was: frozenset((now_id,)) for now_id, was in pairs.items()}
    became |= {i: _parts(new, i, now) for i in gone}
    split = tuple(i for i in gone if _is_split(old, new, i, before, now, became))
    by_id = {s.id: s for s in old.subjects}
    weakened = [
        pairs[s.id]
        for s in new.subjects
        if s.id in pairs
        and (
            _is_weaker(by_id[pairs[s.id]].contract, s.contract)
            or not _conditions(before.get(pairs[s.id]), became) <= _conditions(now.get(s.id))
        )
    ]
    return PlanChange(
        split=split,
        dropped=tuple(i for i in gone if i not in split),
        weakened=tuple(weakened),
        split_words=tuple(i for i in split if by_id[i].contract is None),
        aims_elsewhere=normal(old.title) != normal(new.title),
    )


def carried_from(old: Plan, new: Plan) -> dict[str, str]:
    """New id → old id, for parts that say the same and are decided the same way."""
    by_id = {s.id: s for s in old.subjects}
    return {
        s.id: was
        for s in new.subjects
        if (was := _paired(old, new).get(s.id)) is not None and by_id[was].contract == s.contract
    }


def _paired(old: Plan, new: Plan) -> dict[str, str]:
    """New id → old id by description; of two equal ones the first goes with the first."""
    waiting: dict[tuple[type, str], list[str]] = {}
    for subject in old.subjects:
        waiting.setdefault(_said(subject), []).append(subject.id)
    pairs = {}
    for subject in new.subjects:
        found = waiting.get(_said(subject))
        if found:
            pairs[subject.id] = found.pop(0)
    return pairs


def _said(subject: Step | Postcondition) -> tuple[type, str]:
    return type(subject), normal(subject.wording)


def _is_weaker(old: Contract | None, new: Contract | None) -> bool:
    """Anything but the same command with as much expected of it; nobody can tell otherwise."""
    if old is None:
        return False
    if new is None or old.command != new.command:
        return True
    return not set(old.all_expectations()) <= set(new.all_expectations())


_Condition = Contract | str  # what is waited for: a check, or a step by its id in the new plan


def _conditions(
    declared: Declared | None, became: Mapping[str, frozenset[str]] | None = None
) -> set[_Condition]:
    """What a step waits for; a step that became several is waited for in all of them.

    One that is gone altogether is not waited for: that it is dropped is said already.
    """
    found: set[_Condition] = set()
    for condition in declared.preconditions if declared is not None else ():
        if condition.contract is not None:
            found.add(condition.contract)
        elif became is None:
            found.add(condition.step)
        else:
            found |= became.get(condition.step, frozenset())
    return found


def _parts(new: Plan, gone: str, now: Mapping[str, Declared]) -> frozenset[str]:
    return frozenset(s.id for s in new.steps if now.get(s.id, Declared()).splits == gone)


def _is_split(
    old: Plan,
    new: Plan,
    gone: str,
    before: Mapping[str, Declared],
    now: Mapping[str, Declared],
    became: Mapping[str, frozenset[str]],
) -> bool:
    """At least two new steps say that they are parts of it, and together they keep all it had.

    One of them has all its contract, each waits for what it waited for, and what it touches is
    touched by one of them.
    """
    was = next((s for s in old.steps if s.id == gone), None)
    parts = [s for s in new.steps if s.id in became[gone]]
    if was is None or len(parts) < 2:
        return False
    declared = before.get(gone, Declared())
    wanted = _conditions(declared, became)
    if not all(wanted <= _conditions(now.get(p.id)) for p in parts):
        return False
    touched = {glob for p in parts for glob in now.get(p.id, Declared()).touches}
    if not set(declared.touches) <= touched:
        return False
    return was.contract is None or any(not _is_weaker(was.contract, p.contract) for p in parts)
