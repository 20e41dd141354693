"""`signoff inbox` and `signoff answer`: questions for people."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from signoff.cli.events import item_json, show_item
from signoff.cli.opening import open_here
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, note, say
from signoff.domain.ledger import Cause, Choice, Outcome
from signoff.domain.session import SESSION_PREFIX
from signoff.storage.active import find_vault
from signoff.usecases.inbox import LOOP, AnswerReport, answer, questions
from signoff.usecases.questions import InboxItem


@click.command("inbox")
@click.argument("plan", required=False)
@json_option
def inbox_command(plan: str | None, as_json: bool) -> int:
    """List the questions that wait for a person.

    Shows the questions of all your repositories, this one's first. With PLAN (a path, a name, or
    the id of a session) only the questions of that plan."""
    harness = open_here()
    items = questions(harness, plan)
    if as_json:
        answer_json(items=[item_json(item) for item in items])
        return 0
    here = find_vault(harness.cwd, harness.environ).worktree
    for item in sorted(items, key=lambda item: not Path(item.path).is_relative_to(here)):
        show_item(item, _shown_path(item, harness.cwd))
    if not items:
        say("nothing waits for you")
    return 0


@click.command("answer")
@click.argument("item_id", metavar="ID")
@click.argument("choice", type=click.Choice([c.value for c in Choice]))
@click.option(
    "--note",
    "why",
    default="",
    help="The reason; recorded in the ledger and, on retry, told to the agent.",
)
@json_option
def answer_command(item_id: str, choice: str, why: str, as_json: bool) -> int:
    """Answer a question from the inbox.

    retry: try the step again. revise: end the run; the plan becomes a draft for you to edit.
    abort: end the run as failed. waive: go on without the step, which is always shown as waived
    and never as kept. accept: confirm a postcondition that has no contract, or a plan whose
    contracts all held before. allow: let the step
    change the named files, and judge it again."""
    report = answer(open_here(), item_id, Choice(choice), why, interactive=sys.stdin.isatty())
    if as_json:
        answer_json(
            id=item_id,
            choice=choice,
            plan=report.item.plan,
            step=report.item.step,
            ended=report.ended,
        )
    else:
        ended = f"; run ended: {report.ended}" if report.ended else ""
        say(f"answered {item_id}: {choice}{ended}")
        note(f"next: {_next(report)}")
    return 0


# A revised plan is the person's to edit; one that was aborted may be run again, or not.
_AFTER: dict[Outcome | None, str] = {Outcome.REVISED: "approve", Outcome.FAILED: "status"}


def _next(report: AnswerReport) -> str:
    """The next command after an answer; a session's agent goes on, nobody runs its workspace."""
    item = report.item
    if not item.plan.startswith(SESSION_PREFIX):
        if item.gone:
            return f"nothing goes on while `{item.workspace}` is gone; signoff inbox"
        verb = _AFTER.get(report.ended, "run")
        if item.cause is Cause.MERGE:
            verb = "merge" if report.choice is Choice.RETRY else "status"
        roles = report.role_words if verb == "approve" else ""
        return f"signoff {verb} {shlex.quote(item.path)}{roles}"
    if report.choice is Choice.RETRY and report.author == LOOP:
        return f"signoff agent --resume {item.plan} --model PROVIDER:NAME"
    if report.choice is Choice.RETRY:
        return f"let the agent go on in its client; signoff status {item.plan} shows how it stands"
    verb = "sign" if report.choice is Choice.WAIVE else "status"
    return f"signoff {verb} {item.plan}"


def _shown_path(item: InboxItem, cwd: Path) -> str:
    """The path as people here would name it."""
    path = Path(item.path)
    return str(path.relative_to(cwd) if path.is_relative_to(cwd) else path)
