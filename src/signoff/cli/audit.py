"""`signoff audit`: proof without trust."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from signoff.cli.opening import open_signed
from signoff.cli.options import json_option, plan_argument
from signoff.cli.report import answer_line, audit_code, audit_json, say_judged, tone_of
from signoff.cli.show import count, note, say, say_json, say_line, short
from signoff.domain.session import SESSION_PREFIX
from signoff.domain.text import storable_path
from signoff.errors import Exit, UsageError
from signoff.settings.loading import MOST_JOBS
from signoff.storage.archive import refuse_bundle
from signoff.usecases.audit import AuditReport, audit_plan

NAMED_FILES = 20
PATH = click.Path(path_type=Path)


@click.command("audit")
@plan_argument
@click.option("--bundle", type=PATH, help="Check this bundle instead; nothing is run.")
@click.option("--key", "keys", type=PATH, multiple=True, help="With --bundle: the signer's key.")
@click.option(
    "--anchor", type=PATH, help="File of published head hashes; the ledger must contain them all."
)
@click.option("--strict", is_flag=True, help="Waived steps count as not kept (exit 1).")
@click.option(
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    default=1,
    help="How many contracts to judge at once, beside the workspace [default: 1].",
)
@json_option
def audit_command(
    plan: str | None,
    workspace: Path | None,
    bundle: Path | None,
    keys: tuple[Path, ...],
    anchor: Path | None,
    strict: bool,
    jobs: int,
    as_json: bool,
) -> int:
    """Prove a sign-off again without trusting any agent.

    Checks the ledger, the receipts and the pins, and runs every contract on the workspace as it is
    now. Names every waived step, who waived it and why. PLAN may be the id of an agent's session.
    --bundle checks a sign-off from another machine by its ledger, receipts and the signer's key.
    Exit code 0: kept, 1: not kept (any more), 3: could not judge, 6: kept, but the agent chose
    the checks."""
    if bundle is not None:
        if plan is not None or workspace is not None:
            raise UsageError(
                "--bundle checks the bundle alone; leave out plan and workspace",
                "signoff audit --bundle FILE",
            )
        from signoff.cli.proofs import check_bundle  # noqa: PLC0415 - what checks signatures is slow

        return check_bundle(bundle, keys, anchor, strict, as_json)
    if plan is not None:
        refuse_bundle(Path(plan), "plan")
    if keys:
        raise UsageError("--key goes with --bundle", "signoff audit --bundle FILE --key PUBLIC_KEY")
    harness, place = open_signed(plan, workspace)
    audit = partial(audit_plan, jobs=jobs)
    if place.record.id.startswith(SESSION_PREFIX):
        from signoff.usecases.audit_session import audit_session  # noqa: PLC0415 - loads slowly

        audit = partial(audit_session)
    report = audit(harness, place, tell=lambda subject: note(f"judging {subject}"), anchor=anchor)
    if as_json:
        say_json(audit_json(report))
    else:
        _show(report, strict)
    kept = audit_code(report.result, strict and bool(report.waived))
    return Exit.WAITING if kept == Exit.YES and not report.self_set_counts else kept


def _last_line(report: AuditReport, strict: bool) -> str:
    """The last line; without a sign-off nothing can be broken, unless something is."""
    if report.only_unsigned:
        return "audit: not signed off"
    said = answer_line(report.result, report.waived, strict)
    return f"{said} (self-set)" if report.self_set else said


def _show(report: AuditReport, strict: bool) -> None:
    say(f"ledger: {report.chain.entries} entries, chain holds")
    say_judged(report.lines)
    if report.anchors is not None:
        say(f"anchors: {count(report.anchors, 'head')}, in the ledger")
    for text in report.notes:
        say_line(f"note: {text}")
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
    say(f"isolation: {report.isolation}")
    say_line(_last_line(report, strict), tone_of(report.result))
