"""`signoff list`, `ready`, `next`: how all plans stand, which can start, who gets one."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import click

from signoff.cli.opening import open_here
from signoff.cli.options import json_option, worker_option
from signoff.cli.show import answer_json, duration, note, picked, say_line
from signoff.domain.names import shown_name
from signoff.domain.text import escape_line
from signoff.errors import Exit, SignoffError, UsageError
from signoff.gate.ready import PlanReadiness, PlanStanding, PlanState
from signoff.planfile.values import duration_s
from signoff.usecases.harness import Harness
from signoff.usecases.person import find_worker, refuse_in_attempt
from signoff.usecases.queue import NextReport, QueueLine, give_back, hand_out, queue_status
from signoff.usecases.ready import PlanFacts, ReadyReport, find_ready

LONGEST_CLAIM_S = 7 * 24 * 3600.0
_FRACTION = re.compile(r"(\d{2}:\d{2}:\d{2})\.\d+(?:\+00:00|Z)")


@click.command("ready")
@json_option
def ready_command(as_json: bool) -> int:
    """Show which plans can be started now, and what the others wait for.

    Exit code 0: something is ready, 1: nothing is."""
    report = find_ready(open_here())
    if as_json:
        answer_json(**_ready_json(report))
    else:
        for line in _lines(report):
            say_line(line)
    return Exit.YES if report.anything else Exit.NOT_DONE


def _ready_json(report: ReadyReport) -> dict[str, Any]:
    return {
        "plans": [_plan_json(plan, answer) for plan, answer in report.plans],
        "together": [[shown_name(name) for name in group] for group in report.answer.together],
    }


def _plan_json(plan: PlanFacts, answer: PlanReadiness) -> dict[str, Any]:
    return {
        **picked(plan, "path standing edited touches"),
        **picked(answer, "state approved resumes"),
        "plan": shown_name(plan.name),
        "holder": plan.holder or None,
        "problem": plan.problem or None,
        "reasons": [
            {"kind": r.kind, "plans": [shown_name(n) for n in r.plans], "what": str(r)}
            for r in answer.reasons
        ],
        "overlaps": [
            {"plan": shown_name(o.other), "mine": o.mine, "theirs": o.theirs}
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
            globs = f"`{overlap.mine}` and `{overlap.theirs}`"
            yield f"overlap: {one} and {other} may change the same files ({globs})"


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


@click.command("next")
@worker_option
@click.option("--for", "term", default="15m", show_default=True, help="How long the claim lasts.")
@click.option("--unapproved", is_flag=True, help="Also hand out plans that are not approved yet.")
@click.option("--give-back", metavar="NAME", help="Give up the claim on this plan instead.")
@json_option
def next_command(
    worker: str | None, term: str, unapproved: bool, give_back: str | None, as_json: bool
) -> int:
    """Claim the next plan that is ready and print its name.

    A plan that may change the same files as one in work is not handed out. `signoff run NAME` by
    the same worker turns the claim into a run; until then a named worker gets the same plan again.
    Exit code 0: a plan was handed out, 1: there is none now."""
    harness = open_here()
    refuse_in_attempt(harness.environ, harness.home.path)
    if give_back is not None:
        return _give_back(harness, worker, give_back, as_json)
    report = hand_out(
        harness, find_worker(harness.environ, worker), _seconds(term), unapproved=unapproved
    )
    if as_json:
        answer_json(**_next_json(harness, report))
    elif report.handed is not None:
        say_line(shown_name(report.handed.name))
    if report.handed is None:
        for line in _why(report):
            note(escape_line(line))
    return Exit.YES if report.handed is not None else Exit.NOT_DONE


def _give_back(harness: Harness, worker: str | None, name: str, as_json: bool) -> int:
    had = give_back(harness, find_worker(harness.environ, worker), name)
    if as_json:
        answer_json(plan=name, given_back=had)
    else:
        note(escape_line(f"{name} is free again" if had else f"{name} was not claimed"))
    return Exit.YES if had else Exit.NOT_DONE


def _seconds(term: str) -> float:
    seconds = duration_s(term)
    if seconds is None or seconds > LONGEST_CLAIM_S:
        raise UsageError(
            f"`{term}` is not a length of time, or is more than a week", "signoff next --for 15m"
        )
    return seconds


def _next_json(harness: Harness, report: NextReport) -> dict[str, object]:
    plan = report.handed
    if plan is None:
        return {"plan": None, "worker": report.worker, "why": _why(report)}
    worktree = harness.ledger.glance().worktree_of(plan.record.id)
    return {
        **picked(plan, "path standing"),
        "plan": shown_name(plan.name),
        "worker": report.worker,
        "worktree": worktree,
        "claimed_for_s": report.term_s,
    }


def _why(report: NextReport) -> list[str]:
    """Explain why there is nothing: what every plan that is not done waits for."""
    lines = []
    for plan, answer in report.ready.plans:
        if answer.state is PlanState.DONE and not answer.reasons:
            continue
        what = what_about(plan, answer)
        lines.append(f"{shown_name(plan.name)} is {answer.state}{': ' if what else ''}{what}")
    return ["nothing to hand out now", *lines]


@click.command("list")
@json_option
def list_command(as_json: bool) -> int:
    """List all plans: state, steps done, age, who works on them, last progress.

    For information: the exit code is always 0, and problems are shown in the line."""
    lines: tuple[QueueLine, ...] = ()
    problem = ""
    try:
        lines = queue_status(open_here())
    except (SignoffError, OSError) as error:
        problem = str(error)
    if as_json:
        answer_json(plans=[_line_json(line) for line in lines], problem=problem or None)
        return 0
    width = max((len(shown_name(line.name)) for line in lines), default=0)
    if lines and sys.stdout.isatty():  # a status bar counts lines
        width = max(width, len("plan"))
        say_line(f"{'plan':<{width}}  {'state':<7}  steps  age  holder, last progress (why)")
    for line in lines:
        say_line(_shown(line, width))
    if problem:
        say_line(f"cannot tell: {problem}")
    elif not lines:
        say_line("no plans")
    return 0


def _line_json(line: QueueLine) -> dict[str, Any]:
    return {
        **picked(line, "state standing done total"),
        "plan": shown_name(line.name),
        "holder": line.holder or None,
        "progress": line.progress or None,
        "age_s": None if line.age_s is None else round(line.age_s),
        "why": line.why or None,
        "problem": line.problem or None,
    }


def _shown(line: QueueLine, width: int) -> str:
    total = "?" if line.total is None else str(line.total)
    parts = [
        f"{shown_name(line.name):<{width}}  {line.state:<7}  {line.done}/{total}",
        "-" if line.age_s is None else _age(line.age_s),
        _to_the_second(line.holder),
        _to_the_second(line.progress),
        f"({line.problem or line.why})" if line.problem or line.why else "",
    ]
    return "  ".join(part for part in parts if part)


def _to_the_second(text: str) -> str:
    return _FRACTION.sub(r"\1", text)


def _age(seconds: float) -> str:
    """An age in the largest unit that says something."""
    for unit_s, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            return f"{int(seconds // unit_s)} {unit}"
    return duration(seconds)
