"""`signoff sign`: sign work that awaits sign-off, now that the agent is gone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from signoff.cli.events import LineReporter, item_json, show_item
from signoff.cli.opening import open_here, open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.report import SELF_SET, say_session, show_left_out, show_status, status_json
from signoff.cli.show import answer_json, note, picked, say_line
from signoff.cli.streams import leave_at_once
from signoff.domain.ledger import Outcome
from signoff.domain.session import SESSION_PREFIX, SessionStanding
from signoff.errors import Exit, NoVault, PlanNotFound
from signoff.process.proctable import own_output
from signoff.usecases.harness import Harness
from signoff.usecases.hook import bound_plan
from signoff.usecases.run import RunOptions
from signoff.usecases.sessions import find_session_record
from signoff.usecases.sign import SignReport, sign_named, sign_plan, sign_sessions
from signoff.wiring import open_engine, open_harness


@click.command("sign")
@plan_argument
@json_option
def sign_command(plan: str | None, workspace: Path | None, as_json: bool) -> int:
    """Sign work that an agent did in a client, once the client has ended.

    Judges every contract again, whatever hooks saw before, and signs if nothing is missing. PLAN
    may also be the id of a session (signoff sessions); without PLAN it is the bound plan, else
    every session that waits here. Agents cannot run it.

    Exit code 0: signed off, 1: not done, 6: a person has to look."""
    reports = _sign(plan, workspace)
    if as_json:
        answer_json(sessions=[_body(report) for report in reports])
    else:
        for report in reports:
            _show(report)
    code = max(_code(report) for report in reports)
    if any(report.run is not None for report in reports):
        leave_at_once(code)
    return code


def _sign(plan: str | None, workspace: Path | None) -> tuple[SignReport, ...]:
    if plan is not None and plan.startswith(SESSION_PREFIX):
        found = find_session_record(open_here(), plan)
        harness = open_harness(dict(os.environ), Path.cwd(), found.workspace)
        return (sign_named(harness, plan, _options(harness)),)
    if plan is None and workspace is None and bound_plan(open_here()) is None:
        return _sign_all()
    try:
        harness, place = open_plan(plan, workspace, staged=False)
    except (PlanNotFound, NoVault):
        if plan is not None:
            raise
        return _sign_all()
    return (sign_plan(harness, place, _options(harness)),)


def _sign_all() -> tuple[SignReport, ...]:
    harness = open_here()
    return sign_sessions(harness, _options(harness))


def _options(harness: Harness) -> RunOptions:
    return RunOptions(LineReporter(), lambda: open_engine(harness), output=own_output())


def _code(report: SignReport) -> Exit:
    if report.run is not None:
        if report.run.outcome is None:
            return Exit.WAITING
        return Exit.YES if report.run.outcome is Outcome.DONE else Exit.NOT_DONE
    if report.session.gate.missing:
        return Exit.WAITING if report.session.gate.waits_for_people else Exit.NOT_DONE
    # Checks that an agent chose itself are for a person to accept, or not.
    return Exit.YES if report.session.done else Exit.WAITING


def _show(report: SignReport) -> None:
    session = report.session
    if report.run is not None:
        show_status(report.run.status)
        for item in report.run.inbox:
            show_item(item)
        show_left_out(session)
    else:
        say_line(f"{session.id}: {_standing(report)} ({session.objective})")
        say_session(session)
    if report.older:
        note("it began under an older version of signoff, which pinned no ignored files")
    if _standing(report) == SessionStanding.KEPT_SELF_SET:
        note(SELF_SET)


def _standing(report: SignReport) -> str:
    """A session of a person's plan stands as the plan's run does; unsigned it is not done."""
    if report.run is None:
        shut = bool(report.session.gate.missing)
        return SessionStanding.NOT_DONE.value if shut else report.session.standing.value
    if report.run.outcome is None:
        return SessionStanding.WAITING.value
    done = report.run.outcome is Outcome.DONE
    return (SessionStanding.DONE if done else SessionStanding.NOT_DONE).value


def _body(report: SignReport) -> dict[str, Any]:
    session, run = report.session, report.run
    return {
        **picked(session, "objective self_set proved waived dropped weakened"),
        "session": session.id,
        "standing": _standing(report),
        "done": session.done if run is None else run.outcome is Outcome.DONE,
        "older": report.older,
        "rewrite_count": len(session.rewrites),
        "missing": [picked(missing, "subject what") for missing in session.gate.missing],
        "plan": status_json(run.status) if run is not None else None,
        "inbox": [item_json(item) for item in run.inbox] if run is not None else [],
    }
