"""`signoff inbox` and `signoff answer`: questions for people."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import click

from signoff.cli.opening import open_here
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, note, picked, say, say_json, say_line
from signoff.domain.escalation import Cause, Choice, Outcome
from signoff.domain.globs import literal
from signoff.domain.session import SESSION_PREFIX
from signoff.domain.text import escape_line, tail
from signoff.storage.location import find_vault
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
        say_json([item_json(item) for item in items])
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
    and never as kept. accept: confirm a postcondition that has no contract. allow: let the step
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


_FOR_MACHINES = ("ledger entry",)
# Stored words that say less than people need; all others are shown as they are.
_LABELS = {
    "output_tail": "the contract's last output",
    "put back or removed again": "put back or removed again before the last attempt",
    "step": "the step that would be next",
}
_MOST_NAMED = 5
# What can be typed into a list of globs as it is; anything else a person had better look at.
_PLAIN_PATH = re.compile(r"[^\s,`#]+")
# A revised plan is the person's to edit; one that was aborted may be run again, or not.
_AFTER: dict[Outcome | None, str] = {Outcome.REVISED: "approve", Outcome.FAILED: "status"}


def _next(report: AnswerReport) -> str:
    """What goes on after an answer; a session's agent goes on, and nobody runs its workspace."""
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


def item_json(item: InboxItem) -> dict[str, object]:
    """The stable shape of one question."""
    return picked(item, "id plan path step question context choices at workspace gone")


def _shown_path(item: InboxItem, cwd: Path) -> str:
    """As people here would name it."""
    path = Path(item.path)
    return str(path.relative_to(cwd) if path.is_relative_to(cwd) else path)


def show_item(item: InboxItem, where: str = "") -> None:
    """A question for people; `where` the plan is, unless they know."""
    say_line(f"{item.id}  {where or item.plan}  {item.at[:19]}")
    say_line(f"  {item.question}")
    for name, value in item.context.items():
        if not value or name in _FOR_MACHINES:
            continue
        # A name in a list may hold line ends of its own.
        names = [escape_line(str(name)) for name in value] if isinstance(value, list) else []
        text = "\n".join(names) or str(value)
        say(f"  {_LABELS.get(name, name)}:")
        # Only real line ends: a carriage return is shown, not obeyed.
        for line in tail(text, 2_000).rstrip("\n").split("\n"):
            say(f"    | {line}")
    if item.gone:
        say_line(f"  its folder `{item.workspace}` is gone: put it back, or give the run up")
        say(f"  next: signoff answer {item.id} {Choice.ABORT}")
        return
    say(f"  next: signoff answer {item.id} {'|'.join(item.choices)}")
    if Choice.ALLOW in item.choices:
        say_line(f"  to allow it: signoff answer {item.id} {Choice.ALLOW}")
    elif item.step is not None and item.context.get("tampered") and Choice.REVISE in item.choices:
        say_line(f"  to allow it: {_allowing(item)}")
    if item.cause is Cause.AGENT_ANSWER:
        say(f"  to tell the agent: signoff answer {item.id} retry --note TEXT")


def _allowing(item: InboxItem) -> str:
    """What a person writes into the plan so that the step may change these files.

    A name that would mean more than one file is spelled so that it means that one.
    """
    files = list(dict.fromkeys(_file(item, name) for name in item.context["tampered"]))
    plain = all(_PLAIN_PATH.fullmatch(name) and escape_line(name) == name for name in files)
    named = ", ".join(map(literal, files)) if plain and len(files) <= _MOST_NAMED else "PATH, PATH"
    step = (item.step or "").partition("[")[0]  # the items of a list have one step in the plan
    return f"add `**may_change:** {named}` to step {step}, then signoff answer {item.id} revise"


def _file(item: InboxItem, name: str) -> str:
    """Only what steers a check is named with a part behind `#`; a file's own name may have one."""
    steers = f"`{name}`: what steers the check" in item.question
    return name.partition("#")[0] if steers else name
