"""Approvals of an older version: what one more approval pins and refuses beyond them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

from signoff.domain.plan import Plan
from signoff.errors import NotApproved
from signoff.usecases.ground.history import pinned_plan
from signoff.usecases.ground.pinning import take_pins
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.verification.pins import Pins

OLDER = "was approved by an older version of signoff"
_NAMED = 3  # names beside a number

# What pins of format 1 do not have, in words.
_LACKED = {
    "ignored": "ignored files",
    "byproducts": "builds and dependencies, by size and time",
    "git_rules": "git's own ignore rules",
    "dependencies": "installed packages",
}
# What is refused since, by the format that came with it, for the plans that it concerns.
_REFUSED: tuple[tuple[int, Callable[[Plan, Pins], bool], str], ...] = (
    (2, lambda plan, _: bool(plan.touches), "changes outside `touches`"),
    (
        2,
        lambda plan, _: any(s.contract is not None for s in plan.subjects),
        "changes of settings, test data and other files that a check reads and that are no source"
        " code (`may_change`)",
    ),
    (
        2,
        lambda plan, _: any(step.protects for step in plan.steps),
        "changes of protected files by later steps, until the sign-off",
    ),
    (2, lambda _, pins: bool(pins.counted), "tests that are gone, by name (`may_shrink`)"),
    (
        2,
        lambda plan, _: any(s.contract is not None for s in plan.subjects),
        "new comments that silence a linter or type checker (`may_shrink`)",
    ),
)


@dataclass(frozen=True)
class Upgrade:
    """What one more approval adds to an older one, in words."""

    pinned: tuple[str, ...]
    refused: tuple[str, ...]

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """What each line is about, and one thing of it."""
        pinned = tuple(("newly pinned", said) for said in self.pinned)
        return pinned + tuple(("newly refused unless allowed", said) for said in self.refused)

    def __str__(self) -> str:
        parts = {"newly pinned": self.pinned, "newly refused unless allowed": self.refused}
        return "; ".join(f"{head}: {', '.join(said)}" for head, said in parts.items() if said)


def upgraded(site: Site, place: PlanPlace, pins: Pins) -> Pins:
    """All that was approved, as it was then; and what is pinned since, as it is now.

    Work has begun: what an agent changed meanwhile must not become what was approved.
    """
    approved = replace(site, environ={**site.environ, "PATH": pins.search_path})
    now = take_pins(approved, place, pinned_plan(pins), pins.plan_text, approved=pins)
    lacked = {f.name: getattr(now, f.name) for f in fields(pins) if getattr(pins, f.name) is None}
    steering = {s: {**found, **pins.steering.get(s, {})} for s, found in now.steering.items()}
    return replace(
        pins,
        **lacked,
        steering={**pins.steering, **steering},
        tools={**now.tools, **pins.tools},
        format=now.format,
    )


def describe(old: Pins, new: Pins) -> Upgrade:
    """What the new pins have that the old ones lack, and what is refused since."""
    plan = pinned_plan(new)
    refused = (
        words for added, concerns, words in _REFUSED if old.format < added and concerns(plan, new)
    )
    return Upgrade(tuple(_newly_pinned(old, new)), tuple(refused))


def lacked_by(pins: Pins) -> str:
    """What an older version did not pin, for who reads history; empty when it pinned all."""
    words = [said for name, said in _LACKED.items() if getattr(pins, name) is None]
    return f"{OLDER}, which did not pin {', '.join(words)}" if pins.outdated and words else ""


def not_approved(place: PlanPlace, upgrade: Upgrade, roles: str = "") -> NotApproved:
    """The refusal, with the difference and the command."""
    return NotApproved(
        f"plan `{place.name}` {OLDER}; {upgrade}",
        f"signoff approve {shlex.quote(str(place.path))}{roles}",
        {"newly_pinned": list(upgrade.pinned), "newly_refused": list(upgrade.refused)},
    )


def _newly_pinned(old: Pins, new: Pins) -> Iterator[str]:
    for field in fields(new):
        if getattr(old, field.name) is None:
            found = getattr(new, field.name) or {}
            yield f"{_LACKED.get(field.name, field.name)} ({_named(list(found)) or 'none now'})"
    before = {path for found in old.steering.values() for path in found}
    steering = sorted({path for found in new.steering.values() for path in found} - before)
    # An environment has hundreds of files: one number for each folder.
    folders = Counter(path.partition("/")[0] for path in steering if path.count("/") > 1)
    yield from (f"{n} files of what checks run in `{folder}`" for folder, n in folders.items())
    if near := [path for path in steering if path.count("/") <= 1]:
        yield f"files that steer a check ({_named(near)})"
    if tools := sorted(new.tools.keys() - old.tools.keys()):
        yield f"programs ({_named(tools)})"
    if counted := sorted(set(new.counted) - set(old.counted)):
        yield f"the number of tests of {', '.join(counted)}"


def _named(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(f"`{n}`" for n in names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
