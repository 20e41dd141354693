"""`signoff status` and `signoff show`: where a plan stands, computed from the ledger."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from signoff.cli.opening import open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.plain import tell_status
from signoff.cli.report import (
    gone_text,
)
from signoff.cli.show import (
    note,
    say,
    say_json,
    versioned,
)
from signoff.domain.session import SESSION_PREFIX
from signoff.errors import NotApproved
from signoff.planfile.digest import file_digest
from signoff.usecases.history import approved_text
from signoff.usecases.status import status_of


@click.command("status")
@plan_argument
@click.option("--strict", is_flag=True, help="Waived steps count as not done (exit 1).")
@json_option
def status_command(plan: str | None, workspace: Path | None, strict: bool, as_json: bool) -> int:
    """Show which steps of a plan are done and what is missing.

    PLAN may also be the id of a session (signoff sessions). Exit code 0: done, 1: not done,
    6: waiting for a person."""
    return tell_status(plan, workspace, strict, as_json)


@click.command("show")
@plan_argument
@click.option("--approved", is_flag=True, help="Print the approved text instead, byte for byte.")
@json_option
def show_command(plan: str | None, workspace: Path | None, approved: bool, as_json: bool) -> int:
    """Print the plan as it is written now.

    If the file is gone, the approved text is printed. PLAN may also be the id of a session: then
    the agent's own plan is printed, with the proof of every step."""
    if plan is not None and plan.startswith(SESSION_PREFIX):
        from signoff.cli.sessions import print_plan  # noqa: PLC0415 - what judges loads slowly

        return print_plan(plan, as_json)
    harness, place = open_plan(plan, workspace)
    pinned = approved or place.gone
    text = approved_text(harness.ledger, place.record.id) if pinned else place.read()
    if pinned and not text:
        raise NotApproved(f"plan `{place.name}` was never approved")
    if place.gone and not approved:
        note(gone_text(place))
    if as_json:
        report = status_of(harness, place)
        body = {"path": str(place.path), "status": report.status, "text": text}
        said = versioned(plan=place.name, **body, approved=pinned, gone=place.gone)
        say_json(said | {"file_digest": file_digest(text)})
    elif approved and not sys.stdout.isatty():
        # For a file, not for a terminal that would obey what the text says.
        sys.stdout.buffer.write(text.encode())
    else:
        say(text.rstrip("\n"))
    return 0
