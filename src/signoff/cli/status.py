"""`signoff status` and `signoff show`: where a plan stands, computed from the ledger."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any, TypeGuard

import click

from signoff.cli.options import json_option, open_plan, plan_argument
from signoff.cli.show import (
    count,
    dollars,
    duration,
    note,
    say,
    say_json,
    say_line,
    short,
    versioned,
)
from signoff.domain.counts import TestCounts
from signoff.domain.plan import PlanStatus
from signoff.domain.session import SESSION_PREFIX
from signoff.errors import Exit, NotApproved
from signoff.gate.subjects import Standing, StepState
from signoff.planfile.digest import file_digest
from signoff.usecases.ground.driver import Driver
from signoff.usecases.ground.history import approved_text
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.status import Content, StatusReport, status_of

MARKS = {
    StepState.PENDING: "[ ]",
    StepState.RUNNING: "[.]",
    StepState.DONE: "[x]",
    StepState.FAILED: "[!]",
    StepState.BLOCKED: "[?]",
    StepState.WAIVED: "[-]",
    StepState.ACCEPTED: "[x]",
}


@click.command("status")
@plan_argument
@click.option("--strict", is_flag=True, help="Waived steps count as not done (exit 1).")
@json_option
def status_command(plan: str | None, workspace: Path | None, strict: bool, as_json: bool) -> int:
    """Show where a plan stands.

    PLAN may also be the id of a session (signoff sessions). Exit code 0: done, 1: not done,
    6: waiting for a person."""
    if plan is not None and plan.startswith(SESSION_PREFIX):
        from signoff.cli.sessions import tell_session  # noqa: PLC0415 - what judges loads slowly

        return tell_session(plan, as_json)
    site, place = open_plan(plan, workspace)
    report = _looked_at(site, place)
    if as_json:
        say_json(status_json(report))
    else:
        show_status(report)
        show_strictness(report, strict)
        if _is_other(report.content):
            note(f"next: signoff run {shlex.quote(str(place.path))}")
    return status_code(report, strict)


def _looked_at(site: Site, place: PlanPlace) -> StatusReport:
    """With the content compared, where there is a sign-off to compare it with."""
    report = status_of(site, place)
    if report.status is not PlanStatus.DONE:
        return report
    from signoff.usecases.running.drift import look_at_content  # noqa: PLC0415 - loads slowly

    return look_at_content(site, report)


@click.command("show")
@plan_argument
@click.option("--approved", is_flag=True, help="The text that was last approved, byte for byte.")
@json_option
def show_command(plan: str | None, workspace: Path | None, approved: bool, as_json: bool) -> int:
    """Print the plan as it is written now.

    If its file is gone, the text that was approved is printed. PLAN may also be the id of a
    session: then its plan as the agent sees it, with every proof."""
    if plan is not None and plan.startswith(SESSION_PREFIX):
        from signoff.cli.sessions import print_plan  # noqa: PLC0415 - what judges loads slowly

        return print_plan(plan, as_json)
    site, place = open_plan(plan, workspace)
    pinned = approved or place.gone
    text = approved_text(site.ledger, place.record.id) if pinned else place.read()
    if pinned and not text:
        raise NotApproved(f"plan `{place.name}` was never approved")
    if place.gone and not approved:
        note(_gone(place))
    if as_json:
        report = status_of(site, place)
        body = {"path": str(place.path), "status": report.status, "text": text}
        said = versioned(plan=place.name, **body, approved=pinned, gone=place.gone)
        say_json(said | {"file_digest": file_digest(text)})
    elif approved and not sys.stdout.isatty():
        # For a file, not for a terminal that would obey what the text says.
        sys.stdout.buffer.write(text.encode())
    else:
        say(text.rstrip("\n"))
    return 0


def _gone(place: PlanPlace) -> str:
    return (
        f"the plan file is gone; what was approved is pinned. To put it back: {place.putting_back}"
    )


def status_code(report: StatusReport, strict: bool = False) -> int:
    """The exit code of a plan's standing."""
    if report.status is PlanStatus.DONE:
        if _is_other(report.content):
            return Exit.NOT_DONE if report.content.differs else Exit.CANNOT_JUDGE
        return Exit.NOT_DONE if strict and report.gate.waived else Exit.YES
    return Exit.WAITING if report.waiting else Exit.NOT_DONE


def _is_other(content: Content | None) -> TypeGuard[Content]:
    """Whether nothing says that a plan is kept on what lies in the workspace now."""
    return content is not None and content.differs is not False and not content.judged_again_at


def show_strictness(report: StatusReport, strict: bool) -> None:
    """Why the exit code says no where the status says done."""
    if strict and report.status is PlanStatus.DONE and report.gate.waived:
        say_line(f"not done for --strict: {', '.join(report.gate.waived)} waived")


def status_json(report: StatusReport) -> dict[str, Any]:
    """The stable shape of `status --json`."""
    gate = report.gate
    return versioned(
        plan=report.place.name,
        path=str(report.place.path),
        title=report.title,
        status=report.status,
        run=report.run,
        gate=gate.gate,
        as_of=report.as_of,
        edited=report.edited,
        waiting=[item.id for item in report.waiting],
        isolation=report.isolation,
        steps=[_standing_json(s) for s in gate.steps],
        postconditions=[_standing_json(s) for s in gate.postconditions],
        missing=[{"subject": m.subject, "what": m.what, "next": m.next} for m in gate.missing],
        waived=list(gate.waived),
        spent={"tokens": report.spent.tokens, "usd": report.spent.usd, "s": report.spent.work_s},
        signed_off_at=report.signed_off_at,
        signed_off_on=report.signed_off_on,
        since_sign_off=list(report.since_sign_off),
        unproven=report.unproven,
        older=report.older,
        drift=report.content.differs if report.content else None,
        judged_again_at=report.content.judged_again_at if report.content else None,
        driver=_driver_json(report.driver),
    )


def _driver_json(driver: Driver | None) -> dict[str, Any] | None:
    if driver is None:
        return None
    holder = driver.holder
    return {"pid": holder.pid, "host": holder.host, "since": holder.since, "alive": driver.alive}


def _standing_json(standing: Standing) -> dict[str, Any]:
    return {
        "id": standing.id,
        "title": standing.title,
        "state": standing.state,
        "attempts": standing.attempts,
        "verdict": standing.verdict,
        "stale": standing.stale,
        "held_before": standing.held_before,
        "carried": standing.carried,
        "tests": None if standing.tests is None else standing.tests.to_data(with_names=False),
        "handoff": list(standing.handoff),
        "accepted_by": standing.accepted_by,
    }


def show_status(report: StatusReport) -> None:
    """The same for people."""
    say(f"{report.title}  [{report.status}]")
    run = f"run {report.run}, " if report.run else ""
    say(
        f"{run}gate {report.gate.gate}, as of content {short(report.as_of)}, "
        f"isolation {report.isolation or '-'}"
    )
    if report.status is PlanStatus.IN_PROGRESS:
        _show_driver(report)
    for standing in (*report.gate.steps, *report.gate.postconditions):
        say(_standing_line(standing))
    if report.place.gone:
        say(_gone(report.place))
    if report.edited:
        say("the plan file differs from what this run was approved for: signoff diff")
        say(f"to take the edited plan: {report.next_for_edit}")
    for line in _missing_lines(report) if report.run else ():
        say_line(line)
    told = " ".join(missing.what for missing in report.gate.missing)
    for item in report.waiting:
        if item.step is None and item.id not in told:
            say(f"missing: plan: it waits for a person ({item.id}) (signoff inbox)")
    spent = report.spent
    if spent.work_s:
        usage = f"{spent.tokens:,} tokens, {dollars(spent.usd)}"
        reported = usage if spent.tokens or spent.usd else "no usage reported"
        say(f"spent: {reported}, {duration(spent.work_s)} of work")
    if report.older:
        path = shlex.quote(str(report.place.path))
        say(f"approved by an older version: approve again: signoff approve {path}")
    if report.unproven:
        say(f"person not proven: {count(report.unproven, 'decision')} (signoff log)")
    if report.signed_off_at:
        since = f"; since then {', '.join(report.since_sign_off)}" if report.since_sign_off else ""
        but = _but(report.content)
        on = f"{report.signed_off_at} on content {short(report.signed_off_on)}"
        say(f"signed off at {on}{since}{but}")


def _but(content: Content | None) -> str:
    """A sign-off does not un-happen; what is there now is another question."""
    if content is None or content.differs is False:
        return ""
    if content.differs is None:
        return "; the content could not be compared with it"
    if content.judged_again_at:
        return f", but this content is not it; judged again at {content.judged_again_at}: kept"
    return ", but this content is not it (drift)"


def _show_driver(report: StatusReport) -> None:
    """Whether somebody works on it now; of a run that waits for a person, nobody has to."""
    driver, going_on = report.driver, f"signoff run {shlex.quote(str(report.place.path))} goes on"
    if driver is not None and driver.alive:
        say_line(f"running: {driver.holder}")
    elif not report.waiting:
        gone = f"its driver is gone ({driver.holder})" if driver else "nobody drives it now"
        say_line(f"{gone}: {going_on}")


def _missing_lines(report: StatusReport) -> list[str]:
    """What is missing, one line each; done steps that only wait for the sweep are counted."""
    stale = {s.id for s in report.gate.steps if s.state is StepState.DONE and s.stale}
    lines = [
        f"missing: {m.subject}: {m.what} ({m.next})"
        for m in report.gate.missing
        if m.subject not in stale
    ]
    if stale:
        lines.append(f"missing: {count(len(stale), 'done step')} to be judged on the final content")
    return lines


def _standing_line(standing: Standing) -> str:
    notes = []
    if standing.attempts:
        notes.append(count(standing.attempts, "attempt"))
    if standing.verdict is not None:
        notes.append(str(standing.verdict))
    if standing.stale:
        notes.append("stale")
    if standing.held_before:
        notes.append("held before: proves nothing about this step")
    if standing.carried:
        notes.append("kept from an earlier run")
    if standing.tests is not None:
        notes.append(_tests(standing.tests))
    if standing.handoff:
        notes.append(f"makes other programs act: {', '.join(standing.handoff)}")
    if standing.state is StepState.WAIVED:
        notes.append("waived")
    if standing.accepted_by is not None:
        notes.append(f"{standing.accepted_by} says it holds; nothing was judged")
    detail = f"  ({', '.join(notes)})" if notes else ""
    return f"  {MARKS[standing.state]} {standing.id}  {standing.title}{detail}"


def _tests(counts: TestCounts) -> str:
    if not counts.endings:
        checked = f"{count(counts.files, 'file')} checked" if counts.files else ""
        uncounted = f"tests not counted: {counts.untold}" if counts.untold else ""
        return "; ".join(filter(None, (checked, uncounted)))
    aside = {"failed": counts.failed, "skipped": counts.skipped, "deselected": counts.deselected}
    more = "".join(f", {number} {what}" for what, number in aside.items() if number)
    return f"{count(counts.passed, 'test')} passed{more}"
