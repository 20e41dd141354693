"""`signoff ready`: which plans may be started now, which wait, and which may run together."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import click

from signoff.cli.options import json_option, open_here
from signoff.cli.show import say_json, say_line, versioned
from signoff.domain.names import shown_name
from signoff.errors import Exit
from signoff.gate.ready import PlanReadiness, PlanStanding, PlanState
from signoff.usecases.ready import ReadyReport, find_ready
from signoff.usecases.vault.census import PlanFacts


@click.command("ready")
@json_option
def ready_command(as_json: bool) -> int:
    """Show which plans may be started now, and what the others wait for.

    Exit code 0: something is ready, 1: nothing is."""
    report = find_ready(open_here())
    if as_json:
        say_json(ready_json(report))
    else:
        for line in _lines(report):
            say_line(line)
    return Exit.YES if report.anything else Exit.NOT_DONE


def ready_json(report: ReadyReport) -> dict[str, Any]:
    """The stable shape of `ready --json`."""
    return versioned(
        plans=[_plan_json(plan, answer) for plan, answer in report.plans],
        together=[[shown_name(name) for name in group] for group in report.answer.together],
    )


def _plan_json(plan: PlanFacts, answer: PlanReadiness) -> dict[str, Any]:
    return {
        "plan": shown_name(plan.name),
        "path": str(plan.path),
        "state": answer.state,
        "standing": plan.standing,
        "approved": answer.approved,
        "resumes": answer.resumes,
        "holder": plan.holder or None,
        "problem": plan.problem or None,
        "edited": plan.edited,
        "touches": list(plan.touches),
        "reasons": [
            {"kind": r.kind, "plans": [shown_name(n) for n in r.plans], "what": str(r)}
            for r in answer.reasons
        ],
        "overlaps": [
            {"plan": shown_name(o.other), "mine": o.mine, "theirs": o.theirs, "path": o.path}
            for o in answer.overlaps
        ],
        "cannot_tell": [shown_name(name) for name in answer.cannot_tell],
        "kept_back_by": [shown_name(name) for name in answer.kept_back_by],
    }


def _lines(report: ReadyReport) -> Iterator[str]:
    width = max((len(shown_name(plan.name)) for plan, _ in report.plans), default=0)
    for plan, answer in report.plans:
        what = what_about(plan, answer)
        yield f"{answer.state:<8} {shown_name(plan.name):<{width}}  {what}".rstrip()
    for group in report.answer.together:
        if len(group) > 1:
            yield f"may run together: {', '.join(map(shown_name, group))}"
    yield from _overlap_lines(report)
    for plan, answer in report.plans:
        if answer.state is PlanState.READY and not plan.touches:
            yield (
                f"cannot tell: {shown_name(plan.name)} declares no `touches`,"
                " so it runs beside no other plan"
            )
        for glob in answer.unusable_touches if answer.state is PlanState.READY else ():
            yield f"cannot tell: {shown_name(plan.name)} touches `{glob}`, which covers no path"


def _overlap_lines(report: ReadyReport) -> Iterator[str]:
    seen = set()
    for plan, answer in report.plans:
        for overlap in answer.overlaps:
            pair = frozenset((plan.name, overlap.other))
            if pair in seen:
                continue
            seen.add(pair)
            one, other = shown_name(plan.name), shown_name(overlap.other)
            yield (
                f"overlap: {one} and {other} may both change {overlap.path}"
                f" (`{overlap.mine}` and `{overlap.theirs}`)"
            )


def what_about(plan: PlanFacts, answer: PlanReadiness) -> str:
    """One plan's answer in words, with the command to give next where a person must."""
    name = shlex.quote(shown_name(plan.name))
    if plan.problem:
        return _about_problem(plan, name)
    if answer.state is PlanState.READY:
        return _about_ready(answer, name)
    if answer.state is PlanState.FAILED:
        return f"signoff log {name}"
    if plan.standing is PlanStanding.SIGNED_OFF_UNMERGED:
        return f"not merged: signoff merge {name}"
    if answer.state is PlanState.DONE:
        return "edited since: signoff approve " + name if plan.edited else ""
    if plan.standing is PlanStanding.WAITING_FOR_PERSON:
        return "waits for a person: signoff inbox"
    return "; ".join(map(str, answer.reasons))


def _about_problem(plan: PlanFacts, name: str) -> str:
    if plan.claim is None:
        return plan.problem
    worker = shlex.quote(plan.claim.holder.worker)
    free = f"signoff next --give-back {name} --worker {worker}"
    return f"{plan.problem}, and {plan.holder}: {free}"


def _about_ready(answer: PlanReadiness, name: str) -> str:
    if not answer.approved:
        said = f"not approved: signoff approve {name}"
    elif answer.resumes:
        said = "interrupted, to be resumed"
    else:
        said = "approved"
    if answer.kept_back_by:
        others = ", ".join(map(shown_name, answer.kept_back_by))
        said += f"; kept back by {others}, which may change the same files"
    return said
