"""`signoff next`: the next plan for a free worker, claimed for it."""

from __future__ import annotations

import click

from signoff.cli.options import json_option, open_here, worker_option
from signoff.cli.ready import what_about
from signoff.cli.show import answer_json, note, say_json, say_line, versioned
from signoff.domain.names import shown_name
from signoff.domain.text import escape_line
from signoff.errors import Exit, UsageError
from signoff.gate.ready import PlanState
from signoff.planfile.values import duration_s
from signoff.usecases.ground.person import refuse_in_attempt
from signoff.usecases.ground.site import Site
from signoff.usecases.ground.worker import find_worker
from signoff.usecases.next import NextReport, give_back, hand_out

LONGEST_CLAIM_S = 7 * 24 * 3600.0


@click.command("next")
@worker_option
@click.option(
    "--for", "term", default="15m", show_default=True, help="How long the plan stays claimed."
)
@click.option("--unapproved", is_flag=True, help="Hand out plans that nobody approved yet, too.")
@click.option("--give-back", metavar="NAME", help="End the claim on this plan instead.")
@json_option
def next_command(
    worker: str | None, term: str, unapproved: bool, give_back: str | None, as_json: bool
) -> int:
    """Hand out the next plan that is ready and in nobody's way, and claim it.

    The name is printed; `signoff run NAME` by the same worker turns the claim into a
    run. A worker with a name that has not begun is given the same plan again.
    Exit code 0: a plan was handed out, 1: there is none now."""
    site = open_here()
    refuse_in_attempt(site.environ, site.home.path)
    if give_back is not None:
        return _give_back(site, worker, give_back, as_json)
    report = hand_out(
        site, find_worker(site.environ, worker), _seconds(term), unapproved=unapproved
    )
    if as_json:
        say_json(_report_json(site, report))
    elif report.handed is not None:
        say_line(shown_name(report.handed.name))
    if report.handed is None:
        for line in _why(report):
            note(escape_line(line))
    return Exit.YES if report.handed is not None else Exit.NOT_DONE


def _give_back(site: Site, worker: str | None, name: str, as_json: bool) -> int:
    had = give_back(site, find_worker(site.environ, worker), name)
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


def _report_json(site: Site, report: NextReport) -> dict[str, object]:
    plan = report.handed
    if plan is None:
        return versioned(plan=None, worker=report.worker, why=list(_why(report)))
    worktree = site.ledger.glance().worktree_of(plan.record.id)
    return versioned(
        plan=shown_name(plan.name),
        worker=report.worker,
        path=str(plan.path),
        worktree=None if worktree is None else str(worktree),
        standing=plan.standing,
        claimed_for_s=report.term_s,
    )


def _why(report: NextReport) -> list[str]:
    """Why there is nothing: what every plan that is not done waits for."""
    lines = []
    for plan, answer in report.ready.plans:
        if answer.state is PlanState.DONE and not answer.reasons:
            continue
        what = what_about(plan, answer)
        lines.append(f"{shown_name(plan.name)} is {answer.state}{': ' if what else ''}{what}")
    return ["nothing to hand out now", *lines]
