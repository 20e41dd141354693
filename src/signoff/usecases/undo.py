"""`undo`: what the calls of an agent's session changed, put back; the newest change first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Plan
from signoff.domain.session import SESSION_PREFIX, session_id_of
from signoff.errors import NoSuchRun
from signoff.gate.definition import Touched
from signoff.storage import Holder
from signoff.toolbatch import (
    Folder,
    Keeper,
    LedgerBook,
    LedgerShelf,
    WorkspaceSnapshots,
    undo,
    undoing,
)
from signoff.toolbatch.rollback import Restoring, Step
from signoff.usecases.person import require_person
from signoff.usecases.site import Site
from signoff.usecases.watching import session_place
from signoff.usecases.workbench import open_pinned_workspace, taken
from signoff.verification import Pins

__all__ = ["Restoring", "Step", "UndoReport", "undo_changes"]

TOOL = "undo"


@dataclass(frozen=True)
class UndoReport:
    """What was put back, or would be; `left` more changes of the session can be undone."""

    session: str
    steps: tuple[Step, ...]
    undone: bool
    left: int


def undo_changes(
    site: Site,
    workspace: Path,
    back: int = 1,
    *,
    session: str | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> UndoReport:
    """Undo the last `back` changes of a session: the one named, or the newest of this workspace.

    Refused inside an attempt, and while an agent works here.
    """
    require_person(site.environ, site.home.path)
    name = session_id_of(session) if session is not None else _newest(site, workspace)
    began = _beginning(site, name)
    root = Path(began.data["workspace"])
    shelf, disk = LedgerShelf(site.ledger, name), Folder(root)
    if not shelf.open():
        raise NoSuchRun(f"nothing of session `{name}` is left to undo", f"signoff log {name}")
    if dry_run:
        steps = undoing(shelf, disk, back)
        return UndoReport(name, steps, False, len(shelf.open()))
    place = session_place(root, name)
    with taken(site, place, Holder.current(str(root))):
        pins = Pins.from_bytes(site.ledger.get_blob(str(began.data["pins"])))
        snapshots = WorkspaceSnapshots(
            open_pinned_workspace(site, place, pins, Plan(title="", steps=()))
        )
        steps = undo(shelf, disk, back, snapshots=snapshots, force=force)
        _touch(site, name, steps)
    return UndoReport(name, steps, True, len(shelf.open()))


def _touch(site: Site, session: str, steps: tuple[Step, ...]) -> None:
    """What was proved about the files before is not proved any more."""
    entries = site.ledger.entries(session)
    if any(entry.kind is Kind.DEFINITION_CHANGED for entry in entries):
        paths = tuple(dict.fromkeys(step.path for step in steps))
        Keeper(LedgerBook(site.ledger, session)).record(Touched(paths, TOOL, TOOL))


def _newest(site: Site, workspace: Path) -> str:
    """The session of a workspace that changed something last."""
    newest: tuple[str, str] | None = None
    for record in site.ledger.plans():
        if not record.id.startswith(SESSION_PREFIX) or record.path != str(workspace):
            continue
        kept = LedgerShelf(site.ledger, record.id).open()
        at = max((e.at for e in site.ledger.entries(record.id) if _keeps(e)), default="")
        if kept and at and (newest is None or at > newest[0]):
            newest = (at, record.id)
    if newest is None:
        raise NoSuchRun(
            f"no session changed anything in `{workspace}` that can be undone", "signoff sessions"
        )
    return newest[1]


def _keeps(entry: Entry) -> bool:
    return entry.kind is Kind.ROLLBACK_KEPT


def _beginning(site: Site, session: str) -> Entry:
    for entry in site.ledger.entries(session):
        if entry.kind is Kind.SESSION_STARTED:
            return entry
    raise NoSuchRun(f"no session has the id `{session}`", "signoff sessions")
