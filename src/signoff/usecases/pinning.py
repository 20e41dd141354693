"""Take the pins of an approval: everything that a run of a plan obeys.

Pins are taken from the workspace as it is, brought up to date where an older version took them, and
compared where a plan that was approved in one checkout runs in another of the same repository.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.ledger import Entry
from signoff.domain.names import shown_name
from signoff.domain.plan import Effects, Plan, RedFirst
from signoff.domain.text import shown_list
from signoff.errors import NotApproved, UsageError
from signoff.planfile.parse import parse
from signoff.process.environment import contract_search_path
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import ApprovedPlan, PlanHistory, pinned_plan, read_pins
from signoff.usecases.openwork import held_out_checks
from signoff.usecases.workspaces import approved_workspace, open_workspace
from signoff.verification.denominator import is_counted
from signoff.verification.handoff import handoff_files
from signoff.verification.ignored import Ignored
from signoff.verification.influences.rules import influences_of, texts_of
from signoff.verification.obstacles import tools_of
from signoff.verification.pins import Pins, differences, fingerprint, protected_files
from signoff.verification.protection import git_rules
from signoff.verification.since_approval import installed
from signoff.workspace.byproducts import is_dependency
from signoff.workspace.caches import LooseCopies
from signoff.workspace.folders import find_repository
from signoff.workspace.ignore import IgnoreRules, read_ignore_rules
from signoff.workspace.records import ApprovedTimes
from signoff.workspace.walk import byproduct_digests
from signoff.workspace.workspace import Workspace


def take_pins(
    harness: Harness, place: PlanLocation, plan: Plan, text: str, *, approved: Pins | None = None
) -> Pins:
    """Everything that a run of this plan obeys, as it is in the workspace now.

    With pins that were `approved` before, the content is the one of then, not what agents made of
    it since.
    """
    harness.home.keep_apart(place.workspace)
    rules = (
        read_ignore_rules(place.workspace)
        if approved is None
        else IgnoreRules.from_data(approved.ignore_rules)
    )
    workspace = open_workspace(harness, place, rules, plan)
    content = workspace.snapshot(durable=True).digest
    workspace.remember_caches()
    if approved is not None:
        content = approved.snapshot
    manifest, read = workspace.manifest(content), partial(workspace.read, content)
    contracts = {s.id: s.contract for s in plan.subjects if s.contract is not None}
    search_path = contract_search_path(harness.environ.get("PATH", ""), place.workspace)
    ignored = Ignored(place.workspace, workspace.byproducts)
    steering = {
        i: influences_of(contract, manifest, read, ignored, search_path)
        for i, contract in contracts.items()
    }
    loose = ignored.loose()
    LooseCopies(workspace.store).keep(place.workspace, loose)
    checks = held_out_checks(harness)
    return Pins(
        plan_digest=plan.plan_digest,
        plan_text=text,
        settings=harness.settings.pinned(),
        config_text=harness.config_text(place.workspace),
        search_path=search_path,
        workspace=str(place.workspace),
        ignore_rules=rules.to_data(),
        snapshot=content,
        protected=protected_files(plan, manifest, ignored),
        steering={subject: found for subject, found in steering.items() if found},
        tools={
            name: tool
            for contract in contracts.values()
            for name, tool in tools_of(contract, search_path, place.workspace).items()
        },
        counted=tuple(
            i
            for i, contract in contracts.items()
            if not contract.may_shrink
            and is_counted(contract, [t.text for t in texts_of(contract, manifest, read)])
        ),
        handoff=handoff_files(place.workspace),
        ignored={path: fingerprint(state) for path, state in loose.items()},
        byproducts=byproduct_digests(place.workspace, workspace.byproducts),
        dependencies=installed(place.workspace, workspace.byproducts),
        git_rules=git_rules(place.workspace),
        times=_kept_times(harness, workspace) if approved is None else "",
        heldout={c.heldout: checks.find(c.heldout).digest for c in contracts.values() if c.heldout},
    )


def _kept_times(harness: Harness, workspace: Workspace) -> str:
    files = {path: times.modified_ns for path, times in workspace.times().items()}
    taken = ApprovedTimes(files, time.time_ns())
    return harness.ledger.put_blob(taken.to_bytes(), durable=False)


OLDER = "was approved by an older version of signoff"
_NAMED = 3  # names beside a number

# What pins of format 1 do not have, in words.
_LACKED = {
    "ignored": "ignored files",
    "byproducts": "builds and dependencies, by size and time",
    "git_rules": "git's own ignore rules",
    "dependencies": "installed packages",
}


class Upgrade(Struct, frozen=True):
    """Additions of one more approval to an older one, in words."""

    pinned: tuple[str, ...]
    refused: tuple[str, ...]

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a heading and one thing below it."""
        parts = (("newly pinned", self.pinned), ("newly refused unless allowed", self.refused))
        return tuple((head, said) for head, words in parts for said in words)

    def __str__(self) -> str:
        heads = dict.fromkeys(head for head, _ in self.lines)
        told = {h: ", ".join(said for head, said in self.lines if head == h) for h in heads}
        return "; ".join(f"{head}: {said}" for head, said in told.items())


def upgraded(harness: Harness, place: PlanLocation, pins: Pins) -> Pins:
    """All that was approved, as it was then; and what is pinned since, as it is now.

    Work has begun: what an agent changed meanwhile must not become what was approved.
    """
    approved = replace(harness, environ={**harness.environ, "PATH": pins.search_path})
    now = take_pins(approved, place, pinned_plan(pins), pins.plan_text, approved=pins)
    lacked = {name: getattr(now, name) for name in pins.lacking}
    steering = {s: {**found, **pins.steering.get(s, {})} for s, found in now.steering.items()}
    return replace(
        pins,
        **lacked,
        steering={**pins.steering, **steering},
        tools={**now.tools, **pins.tools},
        format=now.format,
    )


def describe(old: Pins, new: Pins) -> Upgrade:
    """List what the new pins have and the old ones lack, and what is refused since."""
    refused = _refused_since_format_1(pinned_plan(new), new) if old.format < 2 else ()
    return Upgrade(tuple(_newly_pinned(old, new)), tuple(refused))


def _refused_since_format_1(plan: Plan, pins: Pins) -> Iterator[str]:
    checked = any(s.contract is not None for s in plan.subjects)
    if plan.touches:
        yield "changes outside `touches`"
    if checked:
        yield (
            "changes of settings, test data and other files that a check reads and that are no"
            " source code (`may_change`)"
        )
    if any(step.protects for step in plan.steps):
        yield "changes of protected files by later steps, until the sign-off"
    if pins.counted:
        yield "tests that are gone, by name (`may_shrink`)"
    if checked:
        yield "new comments that silence a linter or type checker (`may_shrink`)"


def lacked_by(pins: Pins) -> str:
    """Things that an older version did not pin, for readers of history; empty if it pinned all."""
    words = [said for name, said in _LACKED.items() if getattr(pins, name) is None]
    return f"{OLDER}, which did not pin {', '.join(words)}" if pins.outdated and words else ""


def not_approved(place: PlanLocation, upgrade: Upgrade, roles: str = "") -> NotApproved:
    return NotApproved(
        f"plan `{place.name}` {OLDER}; {upgrade}",
        f"signoff approve {place.quoted}{roles}",
        {"newly_pinned": list(upgrade.pinned), "newly_refused": list(upgrade.refused)},
    )


def _newly_pinned(old: Pins, new: Pins) -> Iterator[str]:
    for name in old.lacking:
        found = getattr(new, name) or {}
        yield f"{_LACKED.get(name, name)} ({shown_list(found, _NAMED) or 'none now'})"
    before = {path for found in old.steering.values() for path in found}
    steering = sorted({path for found in new.steering.values() for path in found} - before)
    # An environment has hundreds of files: one number for each folder.
    folders = Counter(path.partition("/")[0] for path in steering if path.count("/") > 1)
    yield from (f"{n} files of what checks run in `{folder}`" for folder, n in folders.items())
    if near := [path for path in steering if path.count("/") <= 1]:
        yield f"files that steer a check ({shown_list(near, _NAMED)})"
    if tools := sorted(new.tools.keys() - old.tools.keys()):
        yield f"programs ({shown_list(tools, _NAMED)})"
    if counted := sorted(set(new.counted) - set(old.counted)):
        yield f"the number of tests of {', '.join(counted)}"


def pins_for(harness: Harness, place: PlanLocation, pins: Pins, *, running: bool) -> Pins:
    """The approved pins, as they are for the plan's workspace; NotApproved names what differs.

    A run that is not over stays where it was begun.
    """
    if pins.workspace == str(place.workspace):
        return pins
    here, there = find_repository(place.workspace), find_repository(Path(pins.workspace))
    same = (
        here is not None
        and there is not None
        and here.main == there.main == Path(place.record.repository or "")
        # The folder itself, not one that merely lies in the checkout.
        and here.top == place.workspace
        and there.top == Path(pins.workspace)
    )
    if running or not same:
        raise UsageError(
            f"the plan was approved for `{pins.workspace}`, not for `{place.workspace}`",
            f"signoff run {place.quoted} --workspace {_quoted(pins.workspace)},"
            " or approve it again",
        )
    now = pins_here(harness, place, pins)
    found = differences(pins, now)
    if found:
        raise NotApproved(
            f"what was approved differs in `{place.workspace}`: {'; '.join(found)}",
            f"signoff approve {place.quoted} --workspace {_quoted(place.workspace)}",
        )
    return now


def require_protected_as_approved(harness: Harness, approved: ApprovedPlan) -> None:
    """Refuse protected files that a person edited after approving: no agent is to blame."""
    place, plan, pins = approved.place, approved.plan, approved.pins
    if not pins.protected:
        return
    workspace = approved_workspace(harness, approved)
    manifest = workspace.manifest(workspace.snapshot().digest)
    now = protected_files(plan, manifest, Ignored(place.workspace, workspace.byproducts))
    paths = sorted(now.keys() | pins.protected.keys())
    changed = [path for path in paths if now.get(path) != pins.protected.get(path)]
    if changed:
        raise NotApproved(
            f"protected files changed since the approval: {shown_list(changed, 10)}",
            f"signoff approve {place.quoted}",
        )


def is_reconfigured(harness: Harness, place: PlanLocation, approval: Entry) -> bool:
    """True when a person approved another configuration than the present one, for this place."""
    pins = read_pins(harness.ledger, approval)
    same_place = pins.workspace == str(place.workspace)
    return same_place and pins.config_text != harness.config_text(place.workspace)


def refuse_foreign_worktree(harness: Harness, place: PlanLocation) -> None:
    """Refuse a worktree that is bound to another plan."""
    if place.record.repository is None:
        return
    bound = harness.ledger.glance().binding(place.workspace, Path(place.record.repository))
    if bound is None or bound.name is None or bound.plan == place.id:
        return
    name = shown_name(place.record.name)
    raise UsageError(
        f"`{place.workspace}` is bound to plan `{bound.name}`, not to `{name}`",
        f"signoff worktree add {_quoted(name)}" if place.record.name else "signoff unbind",
    )


def refuse_other_place(place: PlanLocation, history: PlanHistory, *, on_worker: bool) -> None:
    """Refuse to go on here with a run whose content is with the workers, or the other way round."""
    if not history.running or history.run is None:
        return
    runs_on, name = history.run.data.get("on"), place.quoted
    if runs_on and not on_worker:
        said = f"run `{history.run_id}` is on the workers, and so is what it did"
        raise UsageError(said, f"signoff run {name} --on workers, or signoff cancel {name}")
    if on_worker and not runs_on:
        said = f"run `{history.run_id}` was begun in `{history.run.data['workspace']}`"
        raise UsageError(said, f"signoff run {name} --on here, or signoff cancel {name}")


def _quoted(named: str | Path) -> str:
    return shlex.quote(str(named))


def pins_here(harness: Harness, place: PlanLocation, pins: Pins, *, begun: bool = False) -> Pins:
    """Pins of the same plan here, with the approved search path and settings.

    An environment of the approved checkout is the one of this checkout here. With `begun`, the
    approved content was put here, as seen through the approved ignore rules.
    """
    there, here = Path(pins.workspace), place.workspace
    entries = [Path(entry) for entry in pins.search_path.split(":")]
    moved = [here / e.relative_to(there) if e.is_relative_to(there) else e for e in entries]
    path = ":".join(map(str, moved))
    approved = replace(harness, environ={**harness.environ, "PATH": path})
    plan, before = parse(pins.plan_text).plan, pins if begun else None
    taken = take_pins(approved, place, plan, pins.plan_text, approved=before)
    return replace(taken, settings=pins.settings)


def tried_first(plan: Plan, pins: Pins) -> tuple[str, ...]:
    """Subjects whose checks are tried before anybody works: some places lack the dependencies.

    Those that reach outside, or need not be red, are judged when it is their turn.
    """
    found = pins.byproducts or {}
    if not any(is_dependency(Path(pins.workspace) / path) for path in found):
        return ()
    return tuple(
        subject.id
        for subject in plan.subjects
        if subject.contract is not None
        and subject.contract.effects is not Effects.EXTERNAL
        and subject.contract.red_first is not RedFirst.OFF
    )
