"""`signoff receipt` and `audit --bundle`: proof of a sign-off for people who were not there."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from signoff.cli.opening import open_here, open_signed
from signoff.cli.options import json_option, plan_argument
from signoff.cli.report import EXIT_OF, answer_line, audit_code
from signoff.cli.show import answer_json, count, note, picked, say, say_line, short
from signoff.domain.receipt import Summary
from signoff.domain.verdict import Result
from signoff.storage.keys import signing_key
from signoff.usecases.bundle import BundleAudit, audit_bundle, write_bundle
from signoff.usecases.receipt import ReceiptReport, anchor_head, export_receipt, verify_receipt
from signoff.wiring import existing_home

WORD_OF = {
    Result.KEPT: "genuine",
    Result.BROKEN: "forged: the signature is not by the key it names",
    Result.UNKNOWN: "cannot tell: the key is not known here; pass the signer's with --key",
}
PATH = click.Path(path_type=Path)


@click.group("receipt", invoke_without_command=True)
@click.pass_context
def receipt_command(ctx: click.Context) -> None:
    """Prove a sign-off to people who were not there.

    Every sign-off has a receipt: an in-toto statement signed with your key."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@receipt_command.command("export")
@plan_argument
@click.option("--run", "run_id", help="The run [default: the newest that was signed off].")
@click.option("--output", type=PATH, help="Write a new file instead of printing it.")
@json_option
def export_command(
    plan: str | None, workspace: Path | None, run_id: str | None, output: Path | None, as_json: bool
) -> int:
    """Print or write the receipt of a plan's or a session's sign-off.

    A lost receipt is made again, byte for byte. The receipt of a session says that the agent
    chose the checks itself."""
    harness, place = open_signed(plan, workspace)
    made = export_receipt(harness, place, run_id, output)
    if as_json:
        answer_json(
            plan=place.name,
            run=made.run,
            receipt=made.sealed.digest,
            key_id=made.sealed.key_id,
            path=None if output is None else str(output),
            envelope=json.loads(made.sealed.data),
        )
    elif output is not None:
        say_line(f"wrote {output}: run {made.run}, sha256 {made.sealed.digest}")
    else:
        sys.stdout.write(made.sealed.data.decode("ascii"))
    return 0


@receipt_command.command("verify")
@click.argument("file", type=PATH)
@click.option("--key", "keys", type=PATH, multiple=True, help="Public key of a signer you trust.")
@json_option
def verify_command(file: Path, keys: tuple[Path, ...], as_json: bool) -> int:
    """Check a receipt's form and signature.

    Without --key it is checked against your own key.
    Exit code 0: genuine, 1: forged, 3: signed with an unknown key."""
    report = verify_receipt(existing_home(dict(os.environ)), file, keys)
    if as_json:
        answer_json(
            result=report.result,
            receipt=report.sealed.digest,
            key_id=report.sealed.key_id,
            signer=report.key or None,
            statement=report.sealed.statement,
        )
    else:
        show_summary(report.summary, report.result is Result.KEPT)
        _show_signature(report)
    return EXIT_OF[report.result]


@receipt_command.command("key")
@json_option
def key_command(as_json: bool) -> int:
    """Print your public key, for people who check your receipts."""
    public = signing_key(open_here().home.keys).public
    if as_json:
        answer_json(key_id=public.id, public_key=public.pem.decode("ascii"))
    else:
        note(f"key {public.id}")
        sys.stdout.write(public.pem.decode("ascii"))
    return 0


@receipt_command.command("bundle")
@plan_argument
@click.option("--output", type=PATH, required=True, help="The zip file to create.")
@click.option("--run", "run_id", help="The run [default: the newest that was signed off].")
@click.option("--with-content", is_flag=True, help="Include the signed-off files.")
@json_option
def bundle_command(
    plan: str | None,
    workspace: Path | None,
    output: Path,
    run_id: str | None,
    with_content: bool,
    as_json: bool,
) -> int:
    """Write everything that somebody else needs to check a sign-off.

    They run: signoff audit --bundle FILE --key PUBLIC_KEY"""
    harness, place = open_signed(plan, workspace)
    report = write_bundle(harness, place, output, run_id, with_content)
    if as_json:
        answer_json(
            plan=place.name,
            path=str(output),
            sha256=report.digest,
            run=report.run,
            receipts=report.receipts,
            entries=report.entries,
            files=report.files,
        )
        return 0
    content = "" if report.files is None else f", {count(report.files, 'file')}"
    held = f"{count(report.receipts, 'receipt')}, {report.entries} entries{content}"
    say_line(f"wrote {output}: {held}, sha256 {report.digest}")
    return 0


@receipt_command.command("anchor")
@plan_argument
@click.option("--file", type=PATH, required=True, help="Append the hash to this file.")
@json_option
def anchor_command(plan: str | None, workspace: Path | None, file: Path, as_json: bool) -> int:
    """Publish the ledger's head hash somewhere you do not control.

    `signoff audit --anchor FILE` later checks that the ledger still contains it, so that nobody can
    rewrite the ledger unnoticed."""
    harness, place = open_signed(plan, workspace)
    anchor = anchor_head(harness, place, file)
    if as_json:
        body = {"seq": anchor.seq, "hash": anchor.hash, "at": anchor.at, "receipt": anchor.receipt}
        answer_json(plan=place.name, **body, places=[str(file)])
    else:
        say_line(f"anchored entry {anchor.seq}, {short(anchor.hash)}: {file}")
    return 0


def show_summary(summary: Summary, vouched: bool) -> None:
    """A receipt for people: what was signed off, and on what grounds."""
    if not vouched:
        say("signed with an unknown key; what follows is not vouched for:")
    say_line(f"{summary.title}  [plan {summary.plan}, run {summary.run}]")
    for result, subject, title in summary.lines:
        say_line(f"  {result:<10} {subject}  {title}")
    if summary.self_set:
        say("self-set: the agent chose these steps and checks itself")
    say_line(f"signed off at {summary.finished_at} on content {short(summary.snapshot)}")
    say_line(f"isolation: {', '.join(summary.isolation) or 'none'}")


def _show_signature(report: ReceiptReport) -> None:
    whose = f" ({report.key})" if report.key else ""
    say_line(f"signed by key {report.sealed.key_id}{whose}")
    say(f"receipt: {WORD_OF[report.result]}")


def _show_bundle(report: BundleAudit, strict: bool) -> None:
    """Show a bundle to people; everything shown was checked, only the signer may be unknown."""
    show_summary(report.summary, bool(report.signer))
    for waiver in report.statement["predicate"]["waivers"]:
        why = f": {waiver['note']}" if waiver["note"] else ""
        say_line(f"waived {waiver['subject']}: {waiver['by']} went on without it{why}")
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
            **picked(report, "content_files key_id statement"),
            signer=report.signer or None,
            signed_off_on=report.snapshot,
        )
    else:
        _show_bundle(report, strict)
    return audit_code(report.result, strict and bool(report.summary.waived))
