"""`signoff show`, `log` and `diff`: a plan as it is written, what happened to it, what changed."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from signoff.cli.events import entry_json, entry_line, entry_tone
from signoff.cli.opening import OpenedPlan, open_here, open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.report import gone_text
from signoff.cli.show import answer_json, count, note, say, say_json, say_line, say_marked, short
from signoff.cli.streams import reader_left
from signoff.domain.ledger import Entry
from signoff.domain.session import SESSION_PREFIX, session_id_of
from signoff.domain.text import storable_path
from signoff.errors import Exit, NotApproved, PlanNameInvalid, PlanNotFound, UsageError
from signoff.planfile.outline import file_digest
from signoff.usecases.harness import Harness, find_plan
from signoff.usecases.history import approved_text
from signoff.usecases.journal import (
    DiffReport,
    attempt_of,
    diff_plan,
    follow,
    read_log,
    read_session_log,
)
from signoff.usecases.status import status_of


@click.command("show")
@plan_argument
@click.option("--approved", is_flag=True, help="Print the approved text instead, byte for byte.")
@click.option("--step", metavar="ID", help="Show the newest attempt at this step instead.")
@click.option("--attempt", type=int, help="With --step: which attempt.")
@click.option("--prompt", is_flag=True, help="With --step: only what the agent was asked.")
@click.option("--answer", is_flag=True, help="With --step: only what the agent said in the end.")
@click.option("--diff", is_flag=True, help="With --step: only what the attempt changed.")
@json_option
def show_command(
    plan: str | None,
    workspace: Path | None,
    approved: bool,
    step: str | None,
    attempt: int | None,
    prompt: bool,
    answer: bool,
    diff: bool,
    as_json: bool,
) -> int:
    """Print a plan, or what an attempt was asked, answered and changed.

    The plan is printed as it is written now; if the file is gone, as it was approved. With --step
    an attempt of the newest run is shown: its prompt, the end of what the agent said, and its
    changes. PLAN may also be the id of a session: then the agent's own plan is printed, with the
    proof of every step."""
    parts = {"prompt": prompt, "answer": answer, "diff": diff}
    if step is None and (attempt is not None or any(parts.values())):
        plan, step = None, _lone_step(plan, workspace)
    if plan is not None and plan.startswith(SESSION_PREFIX):
        from signoff.cli.sessions import print_plan  # noqa: PLC0415 - what judges loads slowly

        return print_plan(plan, as_json)
    opened = open_plan(plan, workspace)
    if step is None:
        return _show_plan(opened, approved, as_json)
    wanted = {name for name, asked in parts.items() if asked} or set(parts)
    return _show_attempt(opened, step, attempt, wanted, as_json)


def _lone_step(named: str | None, workspace: Path | None) -> str:
    """The step that stands where a plan could: one of the bound plan."""
    try:
        if named is not None and not named.startswith(SESSION_PREFIX):
            find_plan(Path.cwd(), named, workspace, even_gone=True, staged=True)
    except (PlanNotFound, PlanNameInvalid):
        return named or ""
    raise UsageError(
        "what an attempt was asked, said or changed is shown of one step, and none is named",
        "signoff show PLAN --step STEP --prompt",
    )


def _show_plan(opened: OpenedPlan, approved: bool, as_json: bool) -> int:
    harness, place = opened
    pinned = approved or place.gone
    text = approved_text(harness.ledger, place.record.id) if pinned else place.read()
    if pinned and not text:
        raise NotApproved(f"plan `{place.name}` was never approved")
    if place.gone and not approved:
        note(gone_text(place))
    if as_json:
        report = status_of(harness, place)
        body = {"path": str(place.path), "status": report.status, "text": text}
        digest = file_digest(text)
        answer_json(plan=place.name, **body, approved=pinned, gone=place.gone, file_digest=digest)
    elif approved and not sys.stdout.isatty():
        # For a file, not for a terminal that would obey what the text says.
        sys.stdout.buffer.write(text.encode())
    else:
        say(text.rstrip("\n"))
    return 0


def _show_attempt(
    opened: OpenedPlan, step: str, attempt: int | None, wanted: set[str], as_json: bool
) -> int:
    found = attempt_of(*opened, step, attempt)
    said = "\n".join(filter(None, (found.answer, found.printed)))
    shown: dict[str, str | None] = {"prompt": found.prompt, "answer": said or None, "diff": None}
    if "diff" in wanted and found.printed is not None:
        report = diff_plan(*opened, step, found.attempt)
        shown["diff"] = "\n".join([*_file_lines(report), report.content.rstrip("\n")])
    shown = {name: text for name, text in shown.items() if name in wanted}
    if as_json:
        answer_json(plan=opened.place.name, step=step, attempt=found.attempt, **shown)
        return 0
    for name, text in shown.items():
        if len(wanted) > 1:
            say_line(f"step {step} · attempt {found.attempt} · {name}")
        if text is None:
            note(f"no {name} is on record of attempt {found.attempt} at step {step}")
        else:
            say(text.rstrip("\n"))
    return 0


@click.command("log")
@plan_argument
@click.option("--after", default=0, help="Only entries after this number.")
@click.option("--run", "run_id", help="Only entries of this run.")
@click.option("--follow", "following", is_flag=True, help="Wait for more until the run is over.")
@json_option
def log_command(
    plan: str | None,
    workspace: Path | None,
    after: int,
    run_id: str | None,
    following: bool,
    as_json: bool,
) -> int:
    """Tell what happened, entry by entry.

    With --follow new entries are told as they are recorded, until the run is over or you press
    Ctrl-C. PLAN may also be the id of a session: then its claims with their evidence, changes of
    its plan with their reasons and dropped steps, and everything that was judged."""
    if plan is not None and plan.startswith(SESSION_PREFIX):
        harness, chain = open_here(), session_id_of(plan)
        entries = read_session_log(harness, plan, after=after)
    else:
        harness, place = open_plan(plan, workspace)
        chain = place.record.id
        entries = read_log(harness, place, after=after, run=run_id)
    seen = after
    for entry in entries:
        _say_entry(entry, as_json)
        seen = entry.seq
    return _follow(harness, chain, seen, run_id, as_json) if following else Exit.YES


def _follow(harness: Harness, chain: str, seen: int, run: str | None, as_json: bool) -> Exit:
    sys.stdout.flush()
    try:
        for entry in follow(harness, chain, seen, run):
            _say_entry(entry, as_json)
            sys.stdout.flush()
            if reader_left(sys.stdout):
                break
    except KeyboardInterrupt:  # how people end it; nothing was interrupted
        return Exit.INTERRUPTED
    return Exit.YES


def _say_entry(entry: Entry, as_json: bool) -> None:
    if as_json:
        say_json(entry_json(entry))
        return
    head = f"{entry.seq:>5}  {entry.at[:19]}  "
    say_marked(entry_line(entry), entry_tone(entry), indent=head, whole=False)


@click.command("diff")
@plan_argument
@click.option("--step", help="Only what the newest attempt at this step changed.")
@click.option("--attempt", type=int, help="With --step: which attempt.")
@json_option
def diff_command(
    plan: str | None, workspace: Path | None, step: str | None, attempt: int | None, as_json: bool
) -> int:
    """Show what changed since approval.

    With --step, only what one attempt at that step changed."""
    if attempt is not None and step is None:
        raise UsageError("--attempt needs the step it is about", "add --step STEP")
    harness, place = open_plan(plan, workspace)
    report = diff_plan(harness, place, step, attempt)
    if as_json:
        answer_json(
            plan=place.name,
            plan_diff=report.plan,
            old=report.old,
            new=report.new,
            changes=[{"path": storable_path(c.path), "kind": c.kind} for c in report.changes],
            content_diff=report.content,
        )
        return 0
    if report.plan:
        say(report.plan)
    for line in _file_lines(report):
        say_line(line)
    if report.content:
        say(report.content.rstrip("\n"))
    if report.next:
        note(f"next: {report.next}")
    return 0


def _file_lines(report: DiffReport) -> list[str]:
    changed = f"{count(len(report.changes), 'file')} changed"
    files = [f"  {c.kind} {storable_path(c.path)}" for c in report.changes]
    return [f"content {short(report.old)} → {short(report.new)}: {changed}", *files]
