"""`signoff inbox` and `signoff answer`: questions for people."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from signoff.cli.options import json_option, open_here
from signoff.cli.show import note, say, say_json, say_line, versioned, wants_json
from signoff.domain.escalation import Cause, Choice, Outcome
from signoff.domain.session import SESSION_PREFIX
from signoff.domain.text import escape_line, tail
from signoff.storage import find_vault
from signoff.usecases.ground.questions import Item, open_items
from signoff.usecases.inbox import LOOP, AnswerReport, answer


@click.command("inbox")
@json_option
@click.pass_context
def inbox_command(ctx: click.Context, as_json: bool) -> int:
    """List the questions that wait for a person.

    Of every repository in your home folder, those of this one first."""
    site = open_here()
    items = open_items(site.ledger)
    if wants_json(ctx, as_json):
        say_json([item_json(item) for item in items])
        return 0
    here = find_vault(site.cwd, site.environ).worktree
    for item in sorted(items, key=lambda item: not Path(item.path).is_relative_to(here)):
        show_item(item, _shown_path(item, site.cwd))
    if not items:
        say("nothing waits for you")
    return 0


@click.command("answer")
@click.argument("item_id", metavar="ID")
@click.argument("choice", type=click.Choice([c.value for c in Choice]))
@click.option(
    "--note", "why", default="", help="Why; kept in the ledger, and told to the agent on retry."
)
@json_option
@click.pass_context
def answer_command(ctx: click.Context, item_id: str, choice: str, why: str, as_json: bool) -> int:
    """Decide a question: retry, revise, abort, waive, accept.

    Revise takes the plan back to draft. A waived step is always shown and never
    called kept. Accept says that a postcondition without a contract holds."""
    report = answer(open_here(), item_id, Choice(choice), why, interactive=sys.stdin.isatty())
    if wants_json(ctx, as_json):
        say_json(
            versioned(
                id=item_id,
                choice=choice,
                plan=report.item.plan,
                step=report.item.step,
                ended=report.ended,
            )
        )
    else:
        ended = f"; run ended: {report.ended}" if report.ended else ""
        say(f"answered {item_id}: {choice}{ended}")
        note(f"next: {_next(report)}")
    return 0


_FOR_MACHINES = ("ledger entry",)
# A revised plan is the person's to edit; one that was aborted may be run again, or not.
_AFTER: dict[Outcome | None, str] = {Outcome.REVISED: "approve", Outcome.FAILED: "status"}


def _next(report: AnswerReport) -> str:
    """What goes on after an answer; a session's agent goes on, and nobody runs its workspace."""
    item = report.item
    if not item.plan.startswith(SESSION_PREFIX):
        verb = _AFTER.get(report.ended, "run")
        if item.cause is Cause.MERGE:
            verb = "merge" if report.choice is Choice.RETRY else "status"
        return f"signoff {verb} {shlex.quote(item.path)}"
    if report.choice is Choice.RETRY and report.author == LOOP:
        return f"signoff agent --resume {item.plan} --model PROVIDER:NAME"
    if report.choice is Choice.RETRY:
        return f"let the agent go on in its client; signoff status {item.plan} shows how it stands"
    verb = "sign" if report.choice is Choice.WAIVE else "status"
    return f"signoff {verb} {item.plan}"


def item_json(item: Item) -> dict[str, object]:
    """The stable shape of one question."""
    return {
        "id": item.id,
        "plan": item.plan,
        "path": item.path,
        "step": item.step,
        "question": item.question,
        "context": item.context,
        "choices": list(item.choices),
        "at": item.at,
    }


def _shown_path(item: Item, cwd: Path) -> str:
    """As people here would name it."""
    path = Path(item.path)
    return str(path.relative_to(cwd) if path.is_relative_to(cwd) else path)


def show_item(item: Item, where: str = "") -> None:
    """A question for people; `where` the plan is, unless they know."""
    say_line(f"{item.id}  {where or item.plan}  {item.at[:19]}")
    say_line(f"  {item.question}")
    for name, value in item.context.items():
        if not value or name in _FOR_MACHINES:
            continue
        # A name in a list may hold line ends of its own.
        names = [escape_line(str(name)) for name in value] if isinstance(value, list) else []
        text = "\n".join(names) or str(value)
        say(f"  {name}:")
        # Only real line ends: a carriage return is shown, not obeyed.
        for line in tail(text, 2_000).rstrip("\n").split("\n"):
            say(f"    {line}")
    say(f"  next: signoff answer {item.id} {'|'.join(item.choices)}")
    if item.cause is Cause.AGENT_ANSWER:
        say(f"  to tell the agent: signoff answer {item.id} retry --note TEXT")
