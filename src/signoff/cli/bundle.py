"""`signoff audit --bundle`: how the check of somebody else's sign-off is shown."""

from __future__ import annotations

import os
from pathlib import Path

from signoff.cli.proofs import show_summary
from signoff.cli.report import answer_line, audit_code
from signoff.cli.show import answer_json, count, picked, say, say_line, short
from signoff.usecases.bundle import BundleAudit, audit_bundle
from signoff.wiring import existing_home


def _show(report: BundleAudit, strict: bool) -> None:
    """For people; everything shown was checked, only the signer may be unknown."""
    show_summary(report.summary, bool(report.signer))
    for waiver in report.statement["predicate"]["waivers"]:
        note = f": {waiver['note']}" if waiver["note"] else ""
        say_line(f"waived {waiver['subject']}: {waiver['by']} went on without it{note}")
    say(f"ledger: {report.entries} entries, chain holds, gate open")
    say(f"receipts: {report.receipts}, each matches the ledger and names the one before")
    if report.content_files is None:
        say(f"content: not in the bundle; it has the digest {short(report.snapshot)}")
    else:
        say(f"content: {count(report.content_files, 'file')}, as signed off")
    if report.anchors is not None:
        say(f"anchors: {count(report.anchors, 'head')}, in the ledger")
    if report.signer:
        say_line(f"signed by key {report.key_id} ({report.signer})")
    else:
        say_line(f"signed by unknown key {report.key_id} (from the bundle itself)")
    say_line(answer_line(report.result, report.summary.waived, strict))


def check_bundle(
    bundle: Path, keys: tuple[Path, ...], anchor: Path | None, strict: bool, as_json: bool
) -> int:
    """Check a sign-off from elsewhere, and show what was found; returns the exit code."""
    report = audit_bundle(bundle, keys, existing_home(dict(os.environ)), anchor)
    if as_json:
        answer_json(
            **picked(report, "plan result run entries head signed_off_at receipts anchors"),
            **picked(report, "content_files key_id signer statement"),
            signed_off_on=report.snapshot,
        )
    else:
        _show(report, strict)
    return audit_code(report.result, strict and bool(report.summary.waived))
