"""`signoff audit --bundle`: how the check of somebody else's sign-off is shown."""

from __future__ import annotations

from typing import Any

from signoff.cli.audit import answer_line
from signoff.cli.proofs import show_summary
from signoff.cli.show import count, say, say_line, short, versioned
from signoff.usecases.bundle import BundleAudit


def show_bundle(report: BundleAudit, strict: bool) -> None:
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


def bundle_json(report: BundleAudit) -> dict[str, Any]:
    """The stable shape of `audit --bundle --json`."""
    return versioned(
        plan=report.plan,
        result=report.result,
        run=report.run,
        entries=report.entries,
        head=report.head,
        signed_off_at=report.signed_off_at,
        signed_off_on=report.snapshot,
        receipts=report.receipts,
        anchors=report.anchors,
        content_files=report.content_files,
        key_id=report.key_id,
        signer=report.signer,
        statement=report.statement,
    )
