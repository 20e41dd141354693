"""`signoff check`: the whole vault, for CI and pre-commit."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import click

from signoff.cli.opening import open_here
from signoff.cli.options import json_option, no_write_option
from signoff.cli.show import count, finding_lines, picked, say_json, say_line, versioned
from signoff.domain.findings import Severity
from signoff.errors import Exit
from signoff.places import as_shown
from signoff.usecases.check import CheckReport, check_vault
from signoff.wiring import open_to_look


@click.command("check")
@no_write_option
@json_option
def check_command(no_write: bool, as_json: bool) -> int:
    """Check every plan of the vault, for CI and pre-commit.

    Errors: a plan that does not verify, a bad file name, a plan that was edited while it runs, two
    active plans that may change the same files. A plan that was edited since its sign-off is a
    warning. No plan is written to; with --no-write what only the ledger knows is left out.

    Exit code 0: no errors, 1: errors."""
    looking = open_to_look(as_shown(os.environ), Path.cwd(), None, {})
    with looking if no_write else nullcontext(open_here()) as harness:
        report = check_vault(harness)
    if as_json:
        say_json(_as_json(report))
    else:
        _show(report)
    return Exit.YES if report.clean else Exit.NOT_DONE


def _as_json(report: CheckReport) -> dict[str, object]:
    return versioned(
        clean=report.clean,
        vault=str(report.vault),
        plans=len(report.plans),
        findings=[
            {"file": remark.file, **picked(remark.finding, "line severity code message hint")}
            for remark in report.remarks
        ],
    )


def _show(report: CheckReport) -> None:
    for remark in report.remarks:
        for line in finding_lines(remark.file, remark.finding):
            say_line(line)
    errors = sum(r.finding.severity is Severity.ERROR for r in report.remarks)
    others = len(report.remarks) - errors
    found = f"{count(errors, 'error')}, {count(others, 'warning')}"
    say_line(f"{report.vault}: {count(len(report.plans), 'plan')}, {found}")
