"""`signoff verify`: findings with line numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from signoff.cli.options import json_option, open_plan, plan_argument, role_option
from signoff.cli.show import count, picked, say, say_json, versioned
from signoff.domain.findings import Finding
from signoff.domain.text import escape_line
from signoff.errors import Exit
from signoff.usecases.verify import VerifyReport, verify_plan


@click.command("verify")
@plan_argument
@role_option
@json_option
def verify_command(
    plan: str | None, workspace: Path | None, roles: dict[str, str], as_json: bool
) -> int:
    """Check a plan without running anything.

    A draft without errors becomes verified; warnings and notes stop nothing."""
    site, place = open_plan(plan, workspace, roles)
    report = verify_plan(site, place)
    if as_json:
        say_json(_as_json(report))
    else:
        _show(report)
    return Exit.YES if report.ok else Exit.INVALID


def _as_json(report: VerifyReport) -> dict[str, Any]:
    return versioned(
        ok=report.ok,
        plan=report.place.name,
        status=report.status,
        steps=len(report.plan.steps),
        findings=[picked(f, "code severity line step message hint text") for f in report.findings],
    )


def _show(report: VerifyReport) -> None:
    for finding in report.findings:
        for line in finding_lines(report.place.path.name, finding):
            say(line)
    counts = {
        s: sum(f.severity == s for f in report.findings) for s in ("error", "warning", "note")
    }
    found = ", ".join(count(n, name) for name, n in counts.items() if n)
    steps = count(len(report.plan.steps), "step")
    say(f"{report.place.path.name}: {steps}, {found or 'no findings'}; {report.status}")


def finding_line(name: str, finding: Finding) -> str:
    """The same on one line, for who did not ask for it."""
    hint = f"; hint: {finding.hint}" if finding.hint else ""
    said = f"{finding.severity}: {finding.message} [{finding.code}]{hint}"
    return escape_line(f"{name}:{finding.line}: {said}")


def finding_lines(name: str, finding: Finding) -> list[str]:
    """A finding as it is shown everywhere."""
    lines = [f"{name}:{finding.line}: {finding.severity}: {finding.message} [{finding.code}]"]
    if finding.text.strip():
        lines.append(f"    {finding.text.strip()}")
    if finding.hint:
        lines.append(f"    hint: {finding.hint}")
    return lines
