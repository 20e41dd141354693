"""Compare two plans: by meaning, and as text for people."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from signoff.domain.plan import Contract, Plan, Postcondition, Step

_T = TypeVar("_T", Step, Postcondition)

# Beyond this many pairs of lines, finding the smallest difference could take minutes.
_MAX_COMPARED = 25_000_000
_HEADER = ("title", "context", "budget", "priority", "owner", "depends_on", "touches")


class Changed(Struct, frozen=True):
    """A step or postcondition that both plans have, and which of its fields differ."""

    id: str
    fields: tuple[str, ...]


class PlanDiff(Struct, frozen=True):
    """Difference from the old plan to the new one; progress does not count."""

    header: tuple[str, ...]
    added_steps: tuple[str, ...]
    removed_steps: tuple[str, ...]
    changed_steps: tuple[Changed, ...]
    # Same id, task and contract: these keep their history.
    unchanged_steps: tuple[str, ...]
    added_postconditions: tuple[str, ...]
    removed_postconditions: tuple[str, ...]
    changed_postconditions: tuple[Changed, ...]
    reordered: bool


def diff_plans(old: Plan, new: Plan) -> PlanDiff:
    """Compare by id; where an id stands twice, the first one counts."""
    old_steps, new_steps = _by_id(old.steps), _by_id(new.steps)
    old_posts, new_posts = _by_id(old.postconditions), _by_id(new.postconditions)
    kept = [step_id for step_id in new_steps if step_id in old_steps]
    return PlanDiff(
        header=tuple(name for name in _HEADER if getattr(old, name) != getattr(new, name)),
        added_steps=tuple(i for i in new_steps if i not in old_steps),
        removed_steps=tuple(i for i in old_steps if i not in new_steps),
        changed_steps=_changed(old_steps, new_steps),
        unchanged_steps=tuple(i for i in kept if old_steps[i].digest == new_steps[i].digest),
        added_postconditions=tuple(i for i in new_posts if i not in old_posts),
        removed_postconditions=tuple(i for i in old_posts if i not in new_posts),
        changed_postconditions=_changed(old_posts, new_posts),
        reordered=kept != [step_id for step_id in old_steps if step_id in new_steps],
    )


def unified(old_text: str, new_text: str, name: str) -> str:
    """The change as a unified diff; an empty text when there is none."""
    if old_text == new_text:
        return ""
    old, new = _lines(old_text), _lines(new_text)
    names = (f"{name} (before)", f"{name} (now)")
    same = _common_start(old, new)
    left, right = old[same:], new[same:]
    tail = _common_start(left[::-1], right[::-1])
    if (len(left) - tail) * (len(right) - tail) <= _MAX_COMPARED:
        return "\n".join(difflib.unified_diff(old, new, *names, lineterm="")) + "\n"
    left, right = left[: len(left) - tail], right[: len(right) - tail]
    place = f"@@ -{same + 1},{len(left)} +{same + 1},{len(right)} @@"
    lines = [f"--- {names[0]}", f"+++ {names[1]}", place]
    return "\n".join([*lines, *(f"-{x}" for x in left), *(f"+{x}" for x in right)]) + "\n"


def _common_start(old: list[str], new: list[str]) -> int:
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + "\n\\ no newline at the end of the file"]


def _by_id(items: tuple[_T, ...]) -> dict[str, _T]:
    found: dict[str, _T] = {}
    for item in items:
        found.setdefault(item.id, item)
    return found


def _changed(old: Mapping[str, _T], new: Mapping[str, _T]) -> tuple[Changed, ...]:
    found = []
    for item_id in new:
        if item_id in old and old[item_id] != new[item_id]:
            names = _compared(old[item_id], new[item_id])
            found.append(Changed(item_id, names))
    return tuple(found)


def _compared(old: _T, new: _T) -> tuple[str, ...]:
    """The fields that differ; a contract's own fields as `contract.timeout_s`."""
    names: list[str] = []
    for name in old.meant():
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        if isinstance(before, Contract) and isinstance(after, Contract):
            names += [
                f"contract.{part}"
                for part in before.meant()
                if getattr(before, part) != getattr(after, part)
            ]
        else:
            names.append(name)
    return tuple(names)
