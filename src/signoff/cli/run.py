"""`signoff run`: drive a plan; live on a terminal, lines when piped, JSON when asked."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, Protocol

import click

from signoff.cli.app import show_failure
from signoff.cli.events import JsonReporter, LineReporter, item_json, show_item
from signoff.cli.opening import OpenedPlan, agent_roles, open_plan
from signoff.cli.options import agent_option, json_option, plan_argument, role_option, worker_option
from signoff.cli.report import (
    audit_code,
    audit_json,
    say_judged,
    show_status,
    show_strictness,
    status_json,
)
from signoff.cli.show import finding_line, note, say, say_json, versioned
from signoff.cli.streams import leave_at_once
from signoff.domain.findings import Finding
from signoff.domain.ledger import Outcome
from signoff.domain.verdict import Result
from signoff.errors import Exit
from signoff.orchestrator.events import Reporter
from signoff.process.proctable import own_output
from signoff.settings.loading import MOST_JOBS, RunOn
from signoff.usecases.run import RunOptions, RunReport
from signoff.usecases.sign import run_or_sign
from signoff.wiring import open_engine


class ClosableReporter(Reporter, Protocol):
    """A reporter that may hold the terminal."""

    def close(self) -> None:
        """Give it back."""


@click.command("run")
@plan_argument
@agent_option
@role_option
@worker_option
@click.option("--yes", is_flag=True, help="Approve without asking; recorded as non-interactive.")
@click.option("--strict", is_flag=True, help="Waived steps count as not done (exit 1).")
@click.option(
    "--wait", is_flag=True, help="Stay while a usage limit parks the run, and go on after it."
)
@click.option("--anyway", is_flag=True, help="Also when plans it depends on are not merged.")
@click.option(
    "--all", "every", is_flag=True, help="Run every ready plan, each in its own worktree."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    help="How many agents at once, each in a lane of its own [default: 1, or `[run] jobs`]. "
    "With --all: of all plans together [default: number of cores].",
)
@click.option(
    "--on",
    type=click.Choice([on.value for on in RunOn]),
    help="Machines that drive the run [default: here, or `[run] on`]; see: signoff workers.",
)
@json_option
def run_command(
    plan: str | None,
    workspace: Path | None,
    agent: str | None,
    model: str | None,
    roles: dict[str, str],
    worker: str | None,
    yes: bool,
    strict: bool,
    wait: bool,
    anyway: bool,
    every: bool,
    jobs: int | None,
    on: str | None,
    as_json: bool,
) -> int:
    """Run an approved plan, or resume its run.

    After a crash, a power cut or Ctrl-C the same command continues; at most the attempt that was
    running is repeated. Work that an agent did in a client is judged first and, if its contracts
    hold, signed without running the agent again. With --all every ready plan runs in a worktree
    of its own and is merged in order; a plan that fails delays only those that depend on it.
    With --on workers the run is handed over to other machines and followed; Ctrl-C leaves it."""
    if every:
        if plan is not None or workspace is not None or on == RunOn.WORKERS:
            raise click.UsageError("--all goes without PLAN, --workspace and --on workers")
        from signoff.cli.fleet import run_all  # noqa: PLC0415 - merging is only for many plans

        return run_all(jobs, yes, roles, as_json, (agent, model))
    roles = agent_roles(plan, workspace, agent, model) | roles
    opened = open_plan(plan, workspace, roles, staged=False)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    reporter = _notifying(opened, _reporter(as_json))
    asked = RunOptions(
        reporter,
        lambda: open_engine(opened.harness),
        yes,
        roles,
        cancelled=stop.is_set,
        worker=worker,
        wait=wait,
        jobs=jobs,
        anyway=anyway,
        output=own_output(),
        warn=lambda found: _warn(opened.place.path.name, found),
        tell=note,
    )
    chosen = opened.harness.settings.on_workers if on is None else on == RunOn.WORKERS
    return _run_one(opened, asked, reporter, strict, as_json, on_workers=chosen)


def _run_one(
    opened: OpenedPlan,
    asked: RunOptions,
    reporter: ClosableReporter,
    strict: bool,
    as_json: bool,
    *,
    on_workers: bool,
) -> NoReturn:
    try:
        if on_workers:
            from signoff.usecases.handover import run_on_workers  # noqa: PLC0415 - few have workers

            report = run_on_workers(*opened, asked)
        else:
            report = run_or_sign(*opened, asked)
    except BaseException as error:
        reporter.close()
        leave_at_once(show_failure(error, as_json))
    reporter.close()
    with suppress(OSError):  # a reader who left does not change how the run stands
        _show(report, strict, as_json)
    leave_at_once(_code(report, strict))


def _reporter(as_json: bool) -> ClosableReporter:
    if as_json:
        return JsonReporter()
    if sys.stderr.isatty():
        from signoff.cli.live import LiveReporter  # noqa: PLC0415 - rich is only for terminals

        return LiveReporter()
    return LineReporter()


def _notifying(opened: OpenedPlan, reporter: ClosableReporter) -> ClosableReporter:
    """The reporter, and beside it the user's `[notify]`, if there is any."""
    ways = opened.harness.settings.notify
    if ways is None:
        return reporter
    from signoff.cli.notify import NotifyingReporter  # noqa: PLC0415 - seldom configured
    from signoff.usecases.notify import Notifier  # noqa: PLC0415 - as above

    return NotifyingReporter(reporter, Notifier(*opened, ways))


def _warn(name: str, findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        note(finding_line(name, finding))


def _show(report: RunReport, strict: bool, as_json: bool) -> None:
    if report.no_receipt:
        note(f"no receipt: {report.no_receipt} (signoff receipt export makes it)")
    if report.unheeded:
        note(report.unheeded)
    if report.unmarked:
        note(f"the plan file was not marked: {report.unmarked} (the ledger has it all)")
    if as_json:
        inbox = [*map(item_json, report.inbox)]
        looked = report.status.content
        said = versioned(report=status_json(report.status), inbox=inbox)
        said["drift"] = looked.differs if report.nothing_to_do and looked else None
        say_json(said | {"audit": audit_json(report.audit) if report.audit else None})
        return
    if report.nothing_to_do:
        note("already signed off; approve it again to run it again")
    show_status(report.status)
    show_strictness(report.status, strict)
    if report.audit is not None:
        say_judged(report.audit.lines)
        say(f"judged again on this content: {report.audit.contracts}")
        if report.audit.contracts is not Result.KEPT:
            path = shlex.quote(str(report.status.place.path))
            note(f"next: signoff approve {path}, then signoff run {path}")
    for item in report.inbox:
        show_item(item)


def _code(report: RunReport, strict: bool) -> int:
    if report.audit is not None:
        return audit_code(report.audit.contracts, strict and bool(report.audit.waivers))
    if report.outcome is None:
        return Exit.WAITING
    if report.outcome is not Outcome.DONE:
        return Exit.NOT_DONE
    return Exit.NOT_DONE if strict and report.status.gate.waived else Exit.YES
