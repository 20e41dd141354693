"""`signoff log`: the ledger of a plan or a session, one entry per line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from signoff.cli.opening import open_here, open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.progress import entry_line
from signoff.cli.show import picked, say, say_json
from signoff.domain.ledger import Entry
from signoff.domain.session import SESSION_PREFIX
from signoff.usecases.journal import read_log, read_session_log


@click.command("log")
@plan_argument
@click.option("--after", default=0, help="Only entries after this number.")
@click.option("--run", "run_id", help="Only entries of this run.")
@json_option
def log_command(
    plan: str | None, workspace: Path | None, after: int, run_id: str | None, as_json: bool
) -> int:
    """Print what happened, entry by entry.

    PLAN may also be the id of a session: then its claims with their evidence, changes of its plan
    with their reasons and dropped steps, and everything that was judged."""
    for entry in _entries(plan, workspace, after, run_id):
        if as_json:
            say_json(entry_json(entry))
        else:
            say(f"{entry.seq:>5}  {entry.at[:19]}  {entry_line(entry)}")
    return 0


def _entries(
    plan: str | None, workspace: Path | None, after: int, run_id: str | None
) -> Iterator[Entry]:
    if plan is not None and plan.startswith(SESSION_PREFIX):
        yield from read_session_log(open_here(), plan, after=after)
        return
    harness, place = open_plan(plan, workspace)
    yield from read_log(harness, place, after=after, run=run_id)


def entry_json(entry: Entry) -> dict[str, Any]:
    """The stable shape of one entry."""
    return picked(entry, "seq at kind run step attempt data prev hash")
