"""Tell which plan a file is, and which worktree works on it.

A plan is known by repository and name in a vault, by its real path anywhere else. A binding is
written to the ledger first, because that counts, then to the worktree's marker file.
"""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from signoff.domain.digests import digest_bytes, digest_of
from signoff.domain.ledger import Draft, Kind
from signoff.domain.names import name_of_file
from signoff.errors import PlanConflict
from signoff.storage.active import (
    OWNERS_FILE,
    SHARED_VAULT_FOLDER,
    VaultPlace,
    marker_path,
    refuse_clash,
    repository_of_vault,
)
from signoff.storage.engine import os_failure
from signoff.storage.files import durable_replace, read_plan_file, swap_file, sync_folder
from signoff.storage.ledger import Ledger
from signoff.storage.records import PlanRecord, utc_now
from signoff.storage.vault import Vault

_ID_DIGITS = 16
_NOW_BOUND = "SELECT plan, name FROM bindings WHERE worktree = ?"
_BOUND_TO = "SELECT worktree FROM bindings WHERE plan = ?"
_WRITE = (
    "INSERT INTO bindings (worktree, repository, plan, name, since) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (worktree) DO UPDATE SET repository = excluded.repository,"
    " plan = excluded.plan, name = excluded.name, since = excluded.since"
)


def plan_identity(plan_path: Path, here: VaultPlace | None = None) -> PlanRecord:
    """Repository and name for a plan in a repository's vault, else its real path.

    `here` is the vault around the caller: a shared one may not know its repository yet.
    """
    real = Path(os.path.realpath(plan_path))
    name = name_of_file(real.name)
    repository = repository_of_vault(real.parent) if name is not None else None
    if here is not None and here.shared and real.parent == Path(os.path.realpath(here.folder)):
        repository = here.repository
    if repository is not None and name is not None:
        main = str(repository)
        return PlanRecord(_short_id("vault", main, name), name, str(real), main)
    # The name is for people; the identity keeps the exact bytes of the path.
    shown = os.fsencode(real.stem).decode("utf-8", "replace")
    return PlanRecord(_short_id("file", str(real)), shown, str(real), None)


def remember_plan(ledger: Ledger, record: PlanRecord) -> None:
    """Note in the ledger where a plan lives, and in a shared vault whose plans these are."""
    folder = Path(record.path).parent
    if record.repository is not None and folder.name == SHARED_VAULT_FOLDER:
        own_shared_vault(folder, Path(record.repository))
    ledger.register_plan(record)


def own_vault(place: VaultPlace) -> None:
    """Claim a shared vault before the first write into it; VaultClash if it is another's."""
    if place.shared:
        Vault(place.folder).create()
        own_shared_vault(place.folder, Path(place.owner))


def own_shared_vault(folder: Path, owner: Path) -> None:
    """Say that this repository keeps its plans here, so that no other takes them for its own.

    Other machines that share the folder have paths of their own; their lines stay.
    """
    path = folder / OWNERS_FILE
    host = os.fsencode(os.uname().nodename)
    mine = host + b"\t" + os.fsencode(owner)
    while True:
        before = read_plan_file(path, follow=False) if path.exists() else None
        # After that look: whoever comes in between is refused by the swap, and seen next time.
        refuse_clash(VaultPlace(str(folder), str(owner), str(owner), shared=True))
        lines = before.split(b"\n") if before else []
        if mine in lines:
            return
        kept = [line for line in lines if line and not line.startswith(host + b"\t")]
        text = b"\n".join([*kept, mine]) + b"\n"
        with suppress(PlanConflict):
            swap_file(path, None if before is None else digest_bytes(before), text)
            return


def _short_id(*parts: str) -> str:
    return digest_of(list(parts))[:_ID_DIGITS]


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
