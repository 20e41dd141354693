"""`signoff worker`, `workers`, `pull`: runs on many machines, and what came of them."""

from __future__ import annotations

import os
import shlex
import signal
import socket
from pathlib import Path
from typing import Any

import click

from signoff.cli.events import LineReporter
from signoff.cli.opening import open_here, open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.show import answer_json, count, duration, note, say, say_line
from signoff.cli.streams import leave_at_once
from signoff.domain.ledger import Outcome
from signoff.errors import Exit, SignoffError, UsageError
from signoff.settings.loading import MOST_JOBS
from signoff.storage.keys import SigningKey
from signoff.storage.leases import LEASE_S
from signoff.storage.workers import (
    WorkerName,
    key_word,
    read_key_word,
    read_trust,
    revoke_worker,
    trust_worker,
)
from signoff.usecases.handover import WorkerLine, pull_plan, workers_report
from signoff.usecases.harness import Harness
from signoff.usecases.person import find_worker, require_person
from signoff.usecases.working import WorkerOptions, serve, worker_name
from signoff.wiring import open_harness

_SHORTEST_LEASE_S = 3.0
_LONGEST_LEASE_S = 3600.0
_name_option = click.option(
    "--name",
    metavar="NAME",
    help="What people call this worker [default: $SIGNOFF_WORKER, else the host's name].",
)


@click.group("worker", invoke_without_command=True)
@_name_option
@click.option("--roles", metavar="NAME,NAME", help="Roles that it plays [default: any].")
@click.option(
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    help="How many agents of a run at once, each in a lane of its own [default: `[run] jobs`].",
)
@click.option(
    "--lease",
    "lease_s",
    type=click.FloatRange(_SHORTEST_LEASE_S, _LONGEST_LEASE_S),
    default=LEASE_S,
    show_default=True,
    help="Seconds without a sign of life after which others take over.",
)
@click.pass_context
def worker_command(
    ctx: click.Context, name: str | None, roles: str | None, jobs: int | None, lease_s: float
) -> None:
    """Take runs from the queues of $SIGNOFF_DATABASE and drive them on this machine.

    It ends with Ctrl-C or SIGTERM; what is under way is free for other workers at once. Nothing is
    taken before a person trusts its key."""
    if ctx.invoked_subcommand is not None:
        return
    here = open_here()
    named = [role.strip() for role in (roles or "").split(",")]
    if roles is not None and not all(named):
        raise UsageError("`--roles` needs names, such as coder,reviewer")
    options = WorkerOptions(
        _own_name(here, name),
        tuple(dict.fromkeys(filter(None, named))),
        jobs,
        lease_s,
        note,
        lambda _plan: LineReporter(),
        lambda folder: open_harness(dict(os.environ), folder, folder),
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: options.stop.set())
    try:
        serve(here, options)
    except SignoffError as error:
        from signoff.cli.app import show_failure  # noqa: PLC0415 - it loads verbs by name

        leave_at_once(show_failure(error, as_json=False))
    leave_at_once(Exit.YES)


@worker_command.command("enroll")
@_name_option
@json_option
def enroll_command(name: str | None, as_json: bool) -> int:
    """Print this machine's worker key, made on first use, and what a person does with it."""
    worker, key = _own(name)
    word = key_word(key.public)
    if as_json:
        answer_json(name=worker.name, key=word, key_id=worker.key_id)
        return Exit.YES
    say_line(f"signoff worker trust {shlex.quote(worker.name)} {word}")
    note("a person who may approve types that, after comparing it with what this machine shows")
    return Exit.YES


def _own(name: str | None) -> tuple[WorkerName, SigningKey]:
    here = open_here()
    return worker_name(here, _own_name(here, name))


def _own_name(here: Harness, name: str | None) -> str:
    found = find_worker(here.environ, name)
    return found.name if found.named else socket.gethostname()


@worker_command.command("trust")
@click.argument("name")
@click.argument("key")
def trust_command(name: str, key: str) -> int:
    """Trust a worker's KEY under NAME: from now on it may take runs, and its verdicts count.

    A person's decision, recorded like an approval. Another key under the same name goes."""
    here = open_here()
    by = require_person(here.environ, here.home.path)
    public = read_key_word(key)
    trust_worker(here.ledger, find_worker({}, name).name, public, by)
    say_line(f"worker {name} is trusted with key {public.id[:16]}, by {by}")
    return Exit.YES


@worker_command.command("revoke")
@click.argument("name")
def revoke_command(name: str) -> int:
    """Trust the worker NAME no more: it stops, and others take up what it had."""
    here = open_here()
    by = require_person(here.environ, here.home.path)
    if not any(t.name == name and t.until_s is None for t in read_trust(here.ledger)):
        raise UsageError(f"nobody trusts a worker `{name}`", "signoff workers")
    revoke_worker(here.ledger, name, by)
    say_line(f"worker {name} is not trusted any more, says {by}")
    return Exit.YES


@click.command("workers")
@json_option
def workers_command(as_json: bool) -> int:
    """List workers: host, roles, what they do, last sign of life; and what waits in the queues.

    Exit code 1: something waits for a worker that is not there."""
    report = workers_report(open_here())
    if as_json:
        answer_json(
            workers=[_worker_json(line) for line in report.workers],
            queues=[
                {
                    "roles": list(queue.roles),
                    "waiting": queue.waiting,
                    "running": queue.under_way,
                    "oldest_s": round(queue.oldest_s, 1),
                }
                for queue in report.queues
            ],
            missing=list(report.missing),
        )
        return Exit.NOT_DONE if report.missing else Exit.YES
    for line in report.workers:
        say_line(_worker_words(line))
    for queue in report.queues:
        waits = f", the oldest for {duration(queue.oldest_s)}" if queue.waiting else ""
        roles = ", ".join(queue.roles) or "no role"
        waiting = count(queue.waiting, "run")
        say_line(f"queue {roles}: {waiting} waiting{waits}, {queue.under_way} under way")
    for said in report.missing:
        note(said)
    if not report.workers:
        note("no worker is there: signoff worker, on each machine")
    return Exit.NOT_DONE if report.missing else Exit.YES


def _worker_json(line: WorkerLine) -> dict[str, Any]:
    worker = line.worker
    return {
        "name": worker.name,
        "host": worker.host,
        "roles": list(worker.roles) or None,
        "doing": worker.doing or None,
        "since": worker.since,
        "alive": worker.live,
        "trusted": line.trusted,
        "sign_of_life_s": round(line.sign_of_life_s, 1),
    }


def _worker_words(line: WorkerLine) -> str:
    worker = line.worker
    state = worker.doing or "idle"
    if not worker.live:
        state = "gone without a word"
    elif not line.trusted:
        state = "not trusted: takes no runs"
    roles = ",".join(worker.roles) or "any role"
    ago = duration(line.sign_of_life_s)
    return f"{worker.name} on {worker.host} ({roles}): {state}; sign of life {ago} ago"


@click.command("pull")
@plan_argument
@json_option
def pull_command(plan: str | None, workspace: Path | None, as_json: bool) -> int:
    """Bring what a run on workers came to into this workspace, beside what changed here since.

    Files that both changed in the same place are named, and nothing is written (exit 5)."""
    pulled = pull_plan(*open_plan(plan, workspace, staged=False))
    if as_json:
        answer_json(
            run=pulled.run,
            outcome=pulled.outcome,
            snapshot=pulled.snapshot,
            changed=list(pulled.changed),
        )
    else:
        for path in pulled.changed:
            say_line(path)
        say(f"run {pulled.run} ({pulled.outcome}): {count(len(pulled.changed), 'file')} changed")
    return Exit.YES if pulled.outcome is Outcome.DONE else Exit.NOT_DONE
