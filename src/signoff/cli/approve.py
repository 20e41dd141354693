"""`signoff approve` and `signoff reject`: show exactly what is pinned, then ask."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from signoff.cli.opening import agent_roles, open_plan
from signoff.cli.options import agent_option, json_option, plan_argument, role_option
from signoff.cli.show import (
    answer_json,
    count,
    finding_lines,
    note,
    say,
    say_json,
    short,
    versioned,
)
from signoff.domain.plan import Contract, Plan
from signoff.domain.verdict import Isolation
from signoff.errors import NotApproved
from signoff.process.environment import activated_in
from signoff.settings.loading import Settings, settings_from_pin
from signoff.usecases.approve import Approval, Proposal, approve, propose, reject
from signoff.usecases.person import UNPROVEN, advice, in_words
from signoff.usecases.pinning import OLDER
from signoff.verification.pins import Pins


@click.command("approve")
@plan_argument
@agent_option
@role_option
@click.option("--yes", is_flag=True, help="Approve without asking; recorded as non-interactive.")
@json_option
def approve_command(
    plan: str | None,
    workspace: Path | None,
    agent: str | None,
    model: str | None,
    roles: dict[str, str],
    yes: bool,
    as_json: bool,
) -> int:
    """Approve a plan exactly as it is shown.

    Approval pins the plan, its contracts, the protected files and the configuration. Runs use
    what was pinned and ignore later edits."""
    roles = agent_roles(plan, workspace, agent, model) | roles
    harness, place = open_plan(plan, workspace, roles, staged=False)
    proposal = propose(harness, place)
    show_proposal(proposal)
    if not yes:
        ask_person(str(place.path))
    approval = approve(harness, proposal, interactive=not yes)
    if as_json:
        say_json(_as_json(approval, proposal))
    else:
        say(f"approved: {place.name}, plan {short(proposal.plan.plan_digest)}")
        note(f"next: signoff run {shlex.quote(str(place.path))}")
    return 0


@click.command("reject")
@plan_argument
@click.option("--note", "why", default="", help="The reason; recorded in the ledger.")
@json_option
def reject_command(plan: str | None, workspace: Path | None, why: str, as_json: bool) -> int:
    """Withdraw an approval, or refuse a plan: it becomes a draft again."""
    harness, place = open_plan(plan, workspace, staged=False)
    decision = reject(harness, place, why)
    if as_json:
        answer_json(plan=place.name, status=decision.status, seq=decision.entry.seq)
    else:
        say(f"rejected: {place.name} is a draft again")
    return 0


def ask_person(plan: str) -> None:
    """A yes typed at a terminal; anything else is a no."""
    if not sys.stdin.isatty():
        raise NotApproved(
            "this is not a terminal, so nobody can be asked to approve",
            f"signoff approve {shlex.quote(plan)} at a terminal, or --yes",
        )
    if not click.confirm("Approve exactly this?", err=True):
        raise NotApproved("not approved; nothing was recorded", f"signoff edit {shlex.quote(plan)}")


def show_proposal(proposal: Proposal) -> None:
    """Everything approval pins, on stderr, so that stdout carries only the result."""
    for line in (*pinned_lines(proposal.plan, proposal.pins), *lines_around(proposal)):
        note(line)


def pinned_lines(plan: Plan, pins: Pins) -> Iterator[str]:
    """Everything that is pinned, in words."""
    yield f"{plan.title}  ({count(len(plan.steps), 'step')}, plan {short(plan.plan_digest)})"
    yield f"workspace {pins.workspace}, content {short(pins.snapshot)}"
    for step in plan.steps:
        who = ", ".join(step.roles) + (f"; pick {step.pick}" if step.candidates else "")
        yield f"\nstep {step.id}: {step.title}  [{who}; {step.on_fail}]"
        if step.for_each is not None:
            yield f"    one step per line of: {step.for_each}"
        yield from _contract_lines(step.contract)
        yield from (f"    protects {glob}" for glob in step.protects)
    for post in plan.postconditions:
        yield f"\npostcondition {post.number}: {post.text}"
        yield from _contract_lines(post.contract)
    yield ""
    for name, role in pins.settings["roles"].items():
        yield f"role {name}: {role['command']}"
        if "hosts" in role:
            yield f"    may reach {', '.join(role['hosts']) or 'no host'}"
    yield from _byproduct_lines(settings_from_pin(pins.settings))
    if found := activated_in(pins.search_path, Path(pins.workspace)):
        yield f"activated, so contracts look there first: {', '.join(found)}"
    if pins.protected:
        yield f"protected files: {len(pins.protected)}"
    names = {name for found in pins.steering.values() for name in found}
    steering = sorted(name for name in names if not name.endswith("/__pycache__"))
    if steering:
        yield "protected because they steer a check: " + ", ".join(steering)
    yield from (f"held-out check: {name}" for name in pins.heldout)


def _byproduct_lines(settings: Settings) -> Iterator[str]:
    setup = settings.setup
    if setup is not None:
        network = "with" if setup.network else "without"
        yield f"set-up: {setup.command}  ({network} network, at most {setup.timeout_s:g} s)"
    if settings.share:
        yield f"each lane gets its own copy of: {', '.join(settings.share)}"


def _contract_lines(contract: Contract | None) -> Iterator[str]:
    if contract is None:
        yield "    no contract: a person will be asked"
        return
    yield from (f"    $ {line}" for line in contract.command.splitlines())
    yield "    " + "; ".join(str(e) for e in contract.all_expectations())


def lines_around(proposal: Proposal) -> Iterator[str]:
    """Everything to be known of this machine and of the plan, before one approves it."""
    boxed = proposal.isolation is not Isolation.NONE
    how = "are confined" if boxed else "run without a sandbox"
    yield f"isolation: {proposal.isolation} (contracts and agents {how})"
    if proposal.upgrade is not None:
        yield f"it {OLDER}; approving it again:"
        yield from (f"    {head}: {said}" for head, said in proposal.upgrade.lines)
    if proposal.open_sockets:
        yield f"{in_words(proposal.open_sockets)}, so a decision is recorded as {UNPROVEN}"
        yield f"    what helps: {advice()}"
    for finding in proposal.warnings:
        yield from finding_lines(proposal.place.path.name, finding)


def _as_json(approval: Approval, proposal: Proposal) -> dict[str, object]:
    pins, added = proposal.pins, proposal.upgrade
    return versioned(
        plan=approval.place.name,
        status=approval.status,
        plan_digest=proposal.plan.plan_digest,
        snapshot=pins.snapshot,
        protected=sorted(pins.protected),
        seq=approval.entry.seq,
        by=approval.entry.data["by"],
        interactive=approval.entry.data["interactive"],
        newly_pinned=list(added.pinned) if added is not None else [],
        newly_refused=list(added.refused) if added is not None else [],
    )
