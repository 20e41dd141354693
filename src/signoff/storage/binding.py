"""Binding a worktree to a plan: the ledger first, because it counts, then the marker file."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from signoff.domain.ledger import Draft, Kind
from signoff.errors import PlanConflict
from signoff.storage.active import marker_path
from signoff.storage.failures import os_failure
from signoff.storage.files import durable_replace, sync_folder
from signoff.storage.ledger import Ledger
from signoff.storage.records import PlanRecord, utc_now

_NOW_BOUND = "SELECT plan, name FROM bindings WHERE worktree = ?"
_BOUND_TO = "SELECT worktree FROM bindings WHERE plan = ?"
_WRITE = (
    "INSERT INTO bindings (worktree, repository, plan, name, since) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (worktree) DO UPDATE SET repository = excluded.repository,"
    " plan = excluded.plan, name = excluded.name, since = excluded.since"
)


def bind_worktree(
    ledger: Ledger, plan: PlanRecord, worktree: Path, repository: Path, by: str
) -> None:
    """Bind `worktree` to the plan; PlanConflict names the worktree that has it already.

    Killed in between, the marker disagrees with the ledger, which is loud, and the same call
    mends it.
    """
    with ledger.database.transaction():
        rows = ledger.database.fetch(_BOUND_TO, plan.id)
        other = Path(os.fsdecode(bytes(rows[0][0]))) if rows else worktree
        if other != worktree:
            if other.exists():
                raise PlanConflict(
                    f"plan `{plan.name}` is bound to the worktree `{other}`",
                    f"cd {shlex.quote(str(other))} && signoff unbind",
                    {"worktree": str(other)},
                )
            _release(ledger, other, repository, by)
        _release(ledger, worktree, repository, by, unless=plan.id)
        _record(ledger, plan.id, Kind.PLAN_BOUND, worktree, by)
        _row(ledger, worktree, repository, plan.id, plan.name)
    write_marker(worktree, plan.name)


def unbind_worktree(ledger: Ledger, worktree: Path, repository: Path, by: str) -> str | None:
    """Take the binding back, marker included; the plan it was bound to, on record or by marker."""
    with ledger.database.transaction():
        name = _release(ledger, worktree, repository, by)
        _row(ledger, worktree, repository, None, None)
    remove_marker(worktree)
    return name


def write_marker(worktree: Path, slug: str) -> None:
    """Write the worktree's marker, wholly or not at all."""
    path = marker_path(worktree)
    try:
        path.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise os_failure(f"`{path.parent}`", error) from error
    durable_replace(path, f"{slug}\n".encode())


def remove_marker(worktree: Path) -> None:
    """Remove the worktree's marker, and its folder when nothing else is in it."""
    path = marker_path(worktree)
    try:
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            sync_folder(path.parent)
    except OSError as error:
        raise os_failure(f"`{path}`", error) from error
    with suppress(OSError):
        path.parent.rmdir()


def _release(
    ledger: Ledger, worktree: Path, repository: Path, by: str, *, unless: str | None = None
) -> str | None:
    rows = ledger.database.fetch(_NOW_BOUND, os.fsencode(worktree))
    if not rows or rows[0][0] is None or rows[0][0] == unless:
        return None
    plan, name = rows[0]
    _record(ledger, plan, Kind.PLAN_UNBOUND, worktree, by)
    _row(ledger, worktree, repository, None, None)
    return str(name)


def _record(ledger: Ledger, plan: str, kind: Kind, worktree: Path, by: str) -> None:
    shown = os.fsencode(worktree).decode("utf-8", "replace")
    ledger.append_within(plan, [Draft(kind, {"worktree": shown, "by": by})])


def _row(
    ledger: Ledger, worktree: Path, repository: Path, plan: str | None, name: str | None
) -> None:
    where, whose = os.fsencode(worktree), os.fsencode(repository)
    ledger.database.execute(_WRITE, where, whose, plan, name, utc_now())
