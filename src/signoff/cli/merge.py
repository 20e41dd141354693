"""`signoff merge`: a signed-off plan into the base, judged again on the merged content."""

from __future__ import annotations

from pathlib import Path

import click

from signoff.cli.opening import open_here, open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.report import judged_json, say_judged
from signoff.cli.show import answer_json, count, note, picked, say_line, short
from signoff.domain.names import shown_name
from signoff.errors import Exit
from signoff.usecases.merge import MergeOrderReport, MergeReport, merge_plan, order_of_merges


@click.command("merge")
@plan_argument
@click.option("--into", help="The branch to merge into [default: the main checkout's].")
@click.option("--anyway", is_flag=True, help="Also when plans it depends on are not merged.")
@click.option("--order", is_flag=True, help="Only list finished plans, in the order to merge them.")
@json_option
def merge_command(
    plan: str | None,
    workspace: Path | None,
    into: str | None,
    anyway: bool,
    order: bool,
    as_json: bool,
) -> int:
    """Merge a signed-off plan's branch into the base, judged once more.

    Before the base branch moves, the plan's contracts and postconditions are judged again on the
    merged content. A conflict or a broken contract changes nothing and opens a question in the
    inbox. --order lists plans that others depend on first, then smaller changes, then by name.
    Exit code 0: merged, 1: not merged; with --order 1: plans that depend on each other in a
    circle, which is shown."""
    if order:
        if plan is not None or workspace is not None or into is not None:
            raise click.UsageError("--order lists all finished plans; leave out the rest")
        return _list_order(as_json)
    harness, place = open_plan(plan, workspace, staged=False)
    report = merge_plan(
        harness,
        place,
        into,
        tell=(lambda _: None) if as_json else lambda s: note(f"judging {s}"),
        anyway=anyway,
    )
    if as_json:
        answer_json(**_json(report))
    else:
        _show(report)
    return Exit.NOT_DONE if report.commit is None else Exit.YES


def _list_order(as_json: bool) -> int:
    report = order_of_merges(open_here())
    answer = report.answer
    if as_json:
        answer_json(**_order_json(report))
    else:
        for name in answer.order:
            plan = report.plans[name]
            say_line(f"{shown_name(name)}  {plan.branch}  {count(plan.size, 'changed line')}")
        for held in answer.held_back:
            say_line(f"{shown_name(held.name)}  held back: {', '.join(held.needs)} not merged")
        for ring in answer.cycles:
            say_line(f"cycle: {' → '.join(map(shown_name, ring))}")
    return Exit.NOT_DONE if answer.cycles else Exit.YES


def _order_json(report: MergeOrderReport) -> dict[str, object]:
    answer = report.answer
    return {
        "base": report.base,
        "order": [
            {"plan": name, "branch": report.plans[name].branch, "changed": report.plans[name].size}
            for name in answer.order
        ],
        "held_back": [{"plan": h.name, "needs": list(h.needs)} for h in answer.held_back],
        "cycles": [list(ring) for ring in answer.cycles],
    }


def _show(report: MergeReport) -> None:
    say_judged(report.lines)
    for path in report.conflicts:
        say_line(f"  conflict   {path}")
    for path in report.undeclared:
        say_line(f"  undeclared {path}: changed, and not under the plan's `touches`")
    for text in report.notes:
        say_line(f"note: {text}")
    if report.commit is None:
        say_line(f"not merged: `{report.base}` is as it was ({report.question}: signoff inbox)")
    elif report.already:
        say_line(f"merged before: {short(report.commit)} on {report.base}")
    else:
        say_line(f"merged {report.branch} into {report.base}: {short(report.commit)}")


def _json(report: MergeReport) -> dict[str, object]:
    return {
        **picked(report, "branch base commit already conflicts question undeclared notes"),
        "plan": report.place.name,
        "lines": judged_json(report.lines),
        "not_rerun": [line.subject for line in report.not_rerun],
    }
