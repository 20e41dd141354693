"""`signoff sessions`: the sessions of agents here, and one of them looked at more closely."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import click
from msgspec.structs import asdict

from signoff.cli.opening import open_here, open_session_harness
from signoff.cli.options import json_option
from signoff.cli.report import say_session, session_json
from signoff.cli.show import answer_json, duration, say, say_json, say_line, versioned
from signoff.domain.session import SessionStanding
from signoff.errors import Exit
from signoff.usecases.person import end_client
from signoff.usecases.sessions import (
    SessionLine,
    SessionStatus,
    list_sessions,
    session_status,
    show_session,
)

# Said of content as it was; whatever the gate misses now came later.
_TOLD = (SessionStanding.DONE, SessionStanding.KEPT_SELF_SET, SessionStanding.AWAITING_SIGN_OFF)
_CODES = {
    SessionStanding.DONE: Exit.YES,
    SessionStanding.WORKING: Exit.NOT_DONE,
    SessionStanding.INTERRUPTED: Exit.NOT_DONE,
    SessionStanding.NOT_DONE: Exit.NOT_DONE,
    SessionStanding.ENDED: Exit.NOT_DONE,
    SessionStanding.UNPLANNED: Exit.CANNOT_JUDGE,
}


@click.group("sessions", invoke_without_command=True)
@click.option("--all", "everywhere", is_flag=True, help="List the sessions of every workspace.")
@json_option
@click.pass_context
def sessions_command(ctx: click.Context, everywhere: bool, as_json: bool) -> int:
    """List agents' sessions in this workspace with their task and status.

    Newest last. `status`, `show`, `log` and `sign` accept a session's id too."""
    if ctx.invoked_subcommand is not None:
        return 0
    lines = list_sessions(open_here(), everywhere=everywhere)
    if as_json:
        answer_json(sessions=[_line_json(line) for line in lines])
        return 0
    for line in lines:
        what = f"plan {line.plan}" if line.plan is not None else line.objective or "no plan"
        part = f", part of {line.parent}" if line.parent is not None else ""
        where = f", in {line.workspace}" if everywhere else ""
        say_line(f"{line.id}  {line.standing} ({what}){part}, {_age(line.newest_at)} ago{where}")
    if not lines:
        say_line("no agent had a session here")
    return 0


@sessions_command.command("end")
@click.argument("session", required=False)
@json_option
def end_command(session: str | None, as_json: bool) -> int:
    """Forget a client that still holds a session, or this workspace.

    For a client that hangs, or a process that was taken for one. Nothing is signed or judged by
    it, and the process is not ended: what it still writes is yours to watch."""
    ended = end_client(open_here(), session)
    if as_json:
        answer_json(ended=[{"pid": c.client.pid, "sessions": c.sessions} for c in ended])
        return 0
    for one in ended:
        held = ", ".join(one.sessions) or "no session"
        say_line(f"process {one.client.pid} no longer counts as a client at work ({held})")
    return 0


def tell_session(session: str, as_json: bool) -> int:
    """`status` of a session."""
    status = session_status(open_session_harness(session), session)
    if as_json:
        say_json(_status_json(status))
    else:
        _show_status(status)
    return _CODES.get(status.standing, Exit.WAITING)


def print_plan(session: str, as_json: bool) -> int:
    """`show` of a session: its plan as the agent sees it."""
    text = show_session(open_session_harness(session), session)
    if as_json:
        answer_json(session=session, text=text)
    else:
        say(text)
    return 0


def _show_status(status: SessionStatus) -> None:
    report = status.report
    say_line(f"{report.id}: {status.standing} ({report.objective or 'no plan'})")
    if status.plan is not None:
        say_line(f"  works on plan {status.plan}: signoff status {status.plan}")
    say_session(report, "changed since then" if status.standing in _TOLD else "missing")
    for question in report.questions:
        say_line(f"  waits for a person: {question} (signoff inbox)")
    if status.standing is SessionStanding.AWAITING_SIGN_OFF:
        say_line(f"next: signoff sign {report.id}")


def _status_json(status: SessionStatus) -> dict[str, Any]:
    body = session_json(status.report)
    body |= {"session": body.pop("id"), "standing": status.standing, "plan": status.plan}
    return versioned(**body, done=status.standing is SessionStanding.DONE)


def _line_json(line: SessionLine) -> dict[str, Any]:
    return {**asdict(line), "age_s": round(_age_s(line.newest_at))}


def _age_s(at: str) -> float:
    return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(at)).total_seconds())


def _age(at: str) -> str:
    return duration(_age_s(at))
