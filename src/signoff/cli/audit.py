"""`signoff audit`: proof without trust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from signoff.cli.options import json_option, open_plan, plan_argument
from signoff.cli.show import count, note, say, say_json, say_line, short, versioned, wants_json
from signoff.domain.text import storable_path
from signoff.domain.verdict import Result
from signoff.errors import Exit
from signoff.usecases.audit import AuditReport, audit_plan

EXIT_OF = {Result.KEPT: Exit.YES, Result.BROKEN: Exit.NOT_DONE, Result.UNKNOWN: Exit.CANNOT_JUDGE}
NAMED_FILES = 20


@click.command("audit")
@plan_argument
@json_option
@click.pass_context
def audit_command(
    ctx: click.Context, plan: str | None, workspace: Path | None, as_json: bool
) -> int:
    """Prove a sign-off again, trusting no agent.

    Checks the ledger, the pins, and every contract on the workspace as it is now.
    Exit code 0: kept, 1: not (any more), 3: could not judge."""
    site, place = open_plan(plan, workspace)
    report = audit_plan(site, place, tell=lambda subject: note(f"judging {subject}"))
    if wants_json(ctx, as_json):
        say_json(_as_json(report))
    else:
        _show(report)
    return EXIT_OF[report.result]


def _show(report: AuditReport) -> None:
    say(f"ledger: {report.chain.entries} entries, chain holds")
    for line in report.lines:
        say_line(f"  {line.finding:<10} {line.subject}  {line.title}: {line.message}")
    if report.edited:
        say("the plan file or signoff.toml is not what was approved: signoff diff")
    if report.signed_off_at is None:
        say("not signed off")
    else:
        say(f"signed off at {report.signed_off_at} on content {short(report.signed_off_on)}")
    if report.drift:
        say(f"drift: {count(len(report.drift), 'file')} changed since the sign-off")
        for change in report.drift[:NAMED_FILES]:
            say_line(f"  {change.kind} {storable_path(change.path)}")
    say("isolation: none")
    say(f"audit: {report.result}")


def _as_json(report: AuditReport) -> dict[str, Any]:
    return versioned(
        plan=report.place.name,
        result=report.result,
        entries=report.chain.entries,
        head=report.chain.head,
        signed_off_at=report.signed_off_at,
        signed_off_on=report.signed_off_on,
        content=report.content,
        drift=[{"path": storable_path(c.path), "kind": c.kind} for c in report.drift],
        edited=report.edited,
        isolation="none",
        lines=[
            {
                "subject": line.subject,
                "title": line.title,
                "finding": line.finding,
                "message": line.message,
            }
            for line in report.lines
        ],
    )
