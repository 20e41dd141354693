"""`signoff strength`: how many deliberately wrong versions of the work a contract rejects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from msgspec import to_builtins

from signoff.cli.opening import open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.report import strength_of, tone_of
from signoff.cli.show import count, note, say_json, say_line, say_marked, versioned
from signoff.domain.second_look import Strength, VersionKind
from signoff.domain.verdict import Result
from signoff.errors import Exit
from signoff.settings.loading import MOST_JOBS
from signoff.usecases.strength import StepStrength, StrengthReport, measure_plan

_MOST = 1_000
_AGAINST_TABLES = (
    "a held-out check, or a test with generated input, notices answers to single inputs"
)


@click.command("strength")
@plan_argument
@click.argument("step", required=False)
@click.option(
    "--most",
    type=click.IntRange(1, _MOST),
    help="Wrong versions per step [default: what ten times the contract's time has room for].",
)
@click.option("--jobs", type=click.IntRange(1, MOST_JOBS), help="Judged at the same time.")
@click.option("--diff", is_flag=True, help="Show each wrong version that nobody noticed.")
@click.option(
    "--draft", is_flag=True, help="Have the model of [judge] draft a test where one is missing."
)
@json_option
def strength_command(
    plan: str | None,
    step: str | None,
    workspace: Path | None,
    most: int | None,
    jobs: int | None,
    diff: bool,
    draft: bool,
    as_json: bool,
) -> int:
    """Measure how strong the contracts of accepted steps are.

    Makes wrong versions of what a step changed (parts undone, functions that deceive, small
    mistakes), judges each beside the workspace, and says which ones the contract does not notice.
    STEP is the id of one step; without it, all are measured. The workspace stays as it is.
    Exit code 0: measured, 1: weaker than the plan or the policy demands, 3: not measured."""
    harness, place = open_plan(plan, workspace)
    report = measure_plan(harness, place, step, jobs=jobs, most=most, draft=draft, tell=note)
    if as_json:
        say_json(strength_json(report))
    else:
        _show(report, diff)
        _show_drafts(report)
    if report.weak:
        return Exit.NOT_DONE
    return Exit.YES if report.measured else Exit.CANNOT_JUDGE


def strength_json(report: StrengthReport) -> dict[str, Any]:
    """The stable shape of a measurement."""
    return versioned(plan=report.place.name, steps=[_step_json(step) for step in report.steps])


def _step_json(step: StepStrength) -> dict[str, Any]:
    return {
        "step": step.step,
        "title": step.title,
        "required": step.required or None,
        "why_not": step.why_not or None,
        "strength": None if step.strength is None else strength_of(step.strength),
        "draft": None if step.draft is None else to_builtins(step.draft),
    }


def _show(report: StrengthReport, diff: bool) -> None:
    for step in report.steps:
        if step.strength is None:
            say_line(f"step {step.step}  {step.title}: not measured: {step.why_not}")
            continue
        demanded = f"; {step.required} % are required" if step.required else ""
        share = "" if step.strength.share is None else f" ({step.strength.share} %)"
        said = f"step {step.step}  {step.title}: {step.strength}{share}{demanded}"
        say_marked(said, tone_of(_result(step)))
        for line in details(step.strength):
            say_line(f"  {line}")
        for version in step.strength.unnoticed:
            say_line(f"  not noticed: {version}")
            for line in version.diff.splitlines() if diff else ():
                say_line(f"    {line}")


def _show_drafts(report: StrengthReport) -> None:
    for step in report.steps:
        if (said := step.draft) is None:
            continue
        if said.failed:
            say_line(f"step {step.step}  no draft: {said.failed}")
            continue
        cost = "" if said.tokens is None else f", {count(said.tokens, 'token')}"
        say_line(f"step {step.step}  a model's draft, no proof{cost}; read it before you use it:")
        for line in said.text.strip().split("\n"):
            say_line(f"  {line}")


def details(found: Strength) -> list[str]:
    """Numbers by kind of version, and what was not judged."""
    scores = ((kind, found.kinds[kind]) for kind in VersionKind if kind in found.kinds)
    kinds = (f"{kind} {score.rejected} of {score.tried}" for kind, score in scores)
    lines = [" · ".join(kinds)] if found.kinds else []
    aside = [f"{count(found.neither, 'version')} said nothing"] if found.neither else []
    aside += [f"{found.left_out} more could be made"] if found.left_out else []
    aside = ["; ".join(aside)] if aside else []
    special = any(version.kind is VersionKind.SPECIAL for version in found.unnoticed)
    return [*lines, *aside, *found.notes, *([_AGAINST_TABLES] if special else [])]


def _result(step: StepStrength) -> Result:
    if step.strength is None or step.strength.incomplete:
        return Result.UNKNOWN
    return Result.BROKEN if step.weak else Result.KEPT
