"""`undo`: what the calls of an agent's session changed, put back; the newest change first."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Plan
from signoff.domain.session import SESSION_PREFIX, ClaimStatus, session_id_of
from signoff.errors import NoSuchRun
from signoff.storage.records import Holder
from signoff.toolbatch.kept import LedgerShelf
from signoff.toolbatch.moments import WorkspaceSnapshots
from signoff.toolbatch.undoing import Restoring, Rollbacks, Step, Undone, Unrestored
from signoff.usecases.openwork import open_pinned_workspace, taken
from signoff.usecases.person import require_person
from signoff.usecases.site import PlanPlace, Site, session_place
from signoff.verification.pins import Pins

__all__ = [
    "HowFar",
    "Restoring",
    "Step",
    "UndoReport",
    "Unrestored",
    "restore_step",
    "undo_changes",
]


class HowFar(StrEnum):
    """How far back, where it is no number of changes."""

    STEP = "step"  # to where the step that the agent works on, or worked on last, began
    ALL = "all"  # to where the session began


@dataclass(frozen=True)
class UndoReport:
    """What was put back, or would be, and what could not be; `left` more can be undone."""

    session: str
    steps: tuple[Step, ...]
    lost: tuple[Unrestored, ...]
    undone: bool
    left: int


def undo_changes(
    site: Site,
    workspace: Path,
    back: int | HowFar = 1,
    *,
    session: str | None = None,
    force: bool = False,
    dry_run: bool = False,
) -> UndoReport:
    """Undo changes of a session, all or none: the one named, or the newest of this workspace.

    Refused inside an attempt, and while an agent works here.
    """
    require_person(site.environ, site.home.path)
    name = session_id_of(session) if session is not None else _newest(site, workspace)
    changes = _Changes.of(site, name)
    _refuse_nothing(changes.shelf, name)
    if dry_run:
        return _report(name, changes.planned(back), changes.shelf, undone=False)
    return changes.undo(back, force=force)


def restore_step(site: Site, session: str) -> UndoReport | None:
    """Put back what an agent that gave up changed in its unfinished step; None: nothing.

    The harness's own doing, so no person is needed; all or none, and nothing that somebody else
    changed since is overwritten.
    """
    changes = _Changes.of(site, session)
    if not changes.planned(HowFar.STEP).steps:
        return None
    return changes.undo(HowFar.STEP, force=False)


@dataclass(frozen=True)
class _Changes:
    """What a session changed, opened for undoing."""

    site: Site
    session: str
    root: Path
    place: PlanPlace
    shelf: LedgerShelf
    rollbacks: Rollbacks

    @classmethod
    def of(cls, site: Site, session: str) -> _Changes:
        began = _beginning(site, session)
        root = Path(began.data["workspace"])
        place = session_place(root, session)
        shelf = LedgerShelf(site.ledger, session)
        pins = Pins.from_bytes(site.ledger.get_blob(str(began.data["pins"])))
        kept = open_pinned_workspace(site, place, pins, Plan(title="", steps=()))
        rollbacks = Rollbacks(shelf, root, WorkspaceSnapshots(kept))
        return cls(site, session, root, place, shelf, rollbacks)

    def planned(self, back: int | HowFar) -> Undone:
        if isinstance(back, int):
            return self.rollbacks.last(back)
        return self.rollbacks.since(_point(self.site, self.session, back))

    def undo(self, back: int | HowFar, *, force: bool) -> UndoReport:
        with taken(self.site, self.place, Holder.current(str(self.root))):
            if isinstance(back, int):
                done = self.rollbacks.undo(back, force=force)
            else:
                point = _point(self.site, self.session, back)
                done = self.rollbacks.undo_since(point, force=force)
        return _report(self.session, done, self.shelf, undone=True)


def _report(session: str, done: Undone, shelf: LedgerShelf, *, undone: bool) -> UndoReport:
    left = sum(rollback.can_be_undone for rollback in shelf.open())
    return UndoReport(session, done.steps, done.lost, undone, left)


def _refuse_nothing(shelf: LedgerShelf, session: str) -> None:
    kept = shelf.open()
    if any(rollback.can_be_undone for rollback in kept):
        return
    lost = [lost for rollback in kept for lost in rollback.lost]
    names = ((f"`{one.path}`" if one.path else "something", one.text) for one in lost[:3])
    said = "".join(f"; {name} changed: {text}" for name, text in names)
    raise NoSuchRun(
        f"nothing of session `{session}` is left that can be undone{said}", f"signoff log {session}"
    )


def _point(site: Site, session: str, back: HowFar) -> int:
    """The number of the last change before the point."""
    number = before = 0
    for entry in site.ledger.entries(session):
        if entry.kind in (Kind.ROLLBACK_BEGUN, Kind.ROLLBACK_KEPT):
            number = max(number, int(entry.data["number"]))
        elif entry.kind is Kind.STEP_CLAIMED:
            begins = entry.data.get("status") == ClaimStatus.IN_PROGRESS
            before = number if begins else before
    return before if back is HowFar.STEP else 0


def _newest(site: Site, workspace: Path) -> str:
    """The session of a workspace that changed something last; one that can be undone goes first."""
    found: list[tuple[bool, str, str]] = []
    for record in site.ledger.plans():
        if not record.id.startswith(SESSION_PREFIX) or record.path != str(workspace):
            continue
        kept = LedgerShelf(site.ledger, record.id).open()
        if kept:
            at = max((e.at for e in site.ledger.entries(record.id) if _changes(e)), default="")
            found.append((any(one.can_be_undone for one in kept), at, record.id))
    if not found:
        raise NoSuchRun(
            f"no session changed anything in `{workspace}` that can be undone", "signoff sessions"
        )
    return max(found)[2]


def _changes(entry: Entry) -> bool:
    kinds = (Kind.ROLLBACK_BEGUN, Kind.ROLLBACK_KEPT)
    what = ("files", "lost", "snapshot")
    return entry.kind in kinds and any(entry.data[name] for name in what)


def _beginning(site: Site, session: str) -> Entry:
    for entry in site.ledger.entries(session):
        if entry.kind is Kind.SESSION_STARTED:
            return entry
    raise NoSuchRun(f"no session has the id `{session}`", "signoff sessions")
