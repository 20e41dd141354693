"""`status` and `verify`, which people and scripts call most: without click in their usual forms."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signoff.cli.opening import look_at_plan, open_plan
from signoff.cli.show import count, finding_lines, note, picked, say, say_json, versioned
from signoff.cli.streams import outlive_readers
from signoff.domain.plan import PlanStatus
from signoff.domain.session import SESSION_PREFIX
from signoff.errors import Exit, PlanNotFound
from signoff.storage.active import find_vault
from signoff.storage.vault import Vault
from signoff.usecases.harness import Harness, PlanLocation

if TYPE_CHECKING:
    from signoff.usecases.status import StatusReport
    from signoff.usecases.verify import VerifyReport


NOTEWORTHY_BYTES = 10**9


def answer_plainly(arguments: list[str]) -> int | None:
    """Answer `status` or `verify` with at most a plan, --json and --role; None for other forms."""
    words = [word for word in arguments if word != "--json"]
    roles: dict[str, str] = {}
    while "--role" in words[:-1]:
        at = words.index("--role")
        name, _, command = words[at + 1].partition("=")
        roles[name] = command
        del words[at : at + 2]
    verb, *plans = words
    odd = any(not word or word.startswith("-") for word in plans) or len(plans) > 1
    if odd or (roles and (verb == "status" or not _are_commands(roles))):
        return None
    outlive_readers()
    plan, as_json = next(iter(plans), None), "--json" in arguments
    if verb == "status":
        return tell_status(plan, None, False, as_json)
    return tell_findings(plan, None, roles, as_json)


def _are_commands(roles: dict[str, str]) -> bool:
    try:
        return all(name.strip() == name and name and shlex.split(roles[name]) for name in roles)
    except ValueError:
        return False


def tell_status(plan: str | None, workspace: Path | None, strict: bool, as_json: bool) -> int:
    """`status`: of a plan, or of a session by its id."""
    if plan is not None and plan.startswith(SESSION_PREFIX):
        from signoff.cli.sessions import tell_session  # noqa: PLC0415 - what judges loads slowly

        return tell_session(plan, as_json)
    try:
        harness, place = open_plan(plan, workspace)
    except PlanNotFound:
        if plan is not None or not Vault(find_vault(Path.cwd(), os.environ).folder).list_plans():
            raise
        return _tell_named(as_json)
    from signoff.cli.report import (  # noqa: PLC0415 - verify shows no work
        is_other,
        show_status,
        show_strictness,
        status_code,
        status_json,
    )

    report = _looked_at(harness, place)
    home = harness.home.size()
    if as_json:
        takes = {"path": str(harness.home.path), "bytes": home.taken, "whole": home.whole}
        say_json({**status_json(report), "home": takes})
    else:
        show_status(report)
        if home.taken > (harness.settings.quota or NOTEWORTHY_BYTES):
            say(f"the home folder takes {home}: signoff gc")
        show_strictness(report, strict)
        if is_other(report.content):
            note(f"next: signoff run {shlex.quote(str(place.path))}")
    return status_code(report, strict)


def _tell_named(as_json: bool) -> int:
    """List the named plans: nothing is bound here and there is no unnamed plan."""
    from signoff.fastpath import list_plans  # noqa: PLC0415 - only where there are named plans alone

    list_plans(as_json)
    note("next: signoff status NAME, or signoff bind NAME")
    return Exit.NOT_DONE


def _looked_at(harness: Harness, place: PlanLocation) -> StatusReport:
    """Status with the content compared, where there is a sign-off to compare it with."""
    from signoff.usecases.status import status_of  # noqa: PLC0415 - verify asks no gate

    report = status_of(harness, place)
    if report.status is not PlanStatus.DONE:
        return report
    from signoff.usecases.audit import look_at_content  # noqa: PLC0415 - loads what judges

    return look_at_content(harness, report)


def tell_findings(
    plan: str | None,
    workspace: Path | None,
    roles: dict[str, str],
    as_json: bool,
    no_write: bool = False,
) -> int:
    """`verify`."""
    from signoff.usecases.verify import verify_plan  # noqa: PLC0415 - reads shell; status does not

    if no_write:
        with look_at_plan(plan, workspace, roles) as (harness, place):
            report = verify_plan(harness, place, record=False)
    else:
        harness, place = open_plan(plan, workspace, roles)
        report = verify_plan(harness, place)
    if as_json:
        say_json(_findings_json(report))
    else:
        _show_findings(report)
    return Exit.YES if report.ok else Exit.INVALID


def _findings_json(report: VerifyReport) -> dict[str, Any]:
    return versioned(
        ok=report.ok,
        plan=report.place.name,
        status=report.status,
        steps=len(report.plan.steps),
        findings=[picked(f, "code severity line step message hint text") for f in report.findings],
    )


def _show_findings(report: VerifyReport) -> None:
    for finding in report.findings:
        for line in finding_lines(report.place.path.name, finding):
            say(line)
    counts = {
        s: sum(f.severity == s for f in report.findings) for s in ("error", "warning", "note")
    }
    found = ", ".join(count(n, name) for name, n in counts.items() if n)
    steps = count(len(report.plan.steps), "step")
    say(f"{report.place.path.name}: {steps}, {found or 'no findings'}; {report.status}")
