"""`undo`: what the calls of an agent's session changed, put back; the newest change first."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from signoff.domain.ledger import Kind
from signoff.domain.plan import Plan
from signoff.domain.session import SESSION_PREFIX, ClaimStatus, session_id_of
from signoff.errors import NoSuchRun
from signoff.storage.records import Holder
from signoff.toolbatch.kept import KEEPING, Lost, Rollbacks, open_rollbacks
from signoff.toolbatch.undo import Restoring, Undone, UndoStep, last, plan_undo, since, undo
from signoff.usecases.harness import Harness, PlanLocation, session_place
from signoff.usecases.history import read_pins
from signoff.usecases.openwork import taken
from signoff.usecases.person import require_person
from signoff.usecases.sessions import find_session_record
from signoff.usecases.workspaces import open_pinned_workspace

__all__ = ["HowFar", "Lost", "Restoring", "UndoReport", "UndoStep", "restore_step", "undo_changes"]


class HowFar(StrEnum):
    """Distance to go back, where it is no number of changes."""

    STEP = "step"  # to where the step that the agent works on, or worked on last, began
    ALL = "all"  # to where the session began


class UndoReport(Struct, frozen=True):
    """Changes that were put back, or would be, and those that could not be; `left` more remain."""

    session: str
    steps: tuple[UndoStep, ...]
    lost: tuple[Lost, ...]
    undone: bool
    left: int


def undo_changes(
    harness: Harness,
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
    require_person(harness.environ, harness.home.path)
    name = session_id_of(session) if session is not None else _newest(harness, workspace)
    changes = _Changes.of(harness, name)
    kept = changes.rollbacks.open()
    if not any(rollback.can_be_undone for rollback in kept):
        lost = [lost for rollback in kept for lost in rollback.lost]
        names = ((f"`{one.path}`" if one.path else "something", one.text) for one in lost[:3])
        said = "".join(f"; {path} changed: {text}" for path, text in names)
        raise NoSuchRun(
            f"nothing of session `{name}` is left that can be undone{said}", f"signoff log {name}"
        )
    return changes.report(back) if dry_run else changes.undo(back, force=force)


def restore_step(harness: Harness, session: str) -> UndoReport | None:
    """Put back what an agent that gave up changed in its unfinished step; None: nothing.

    The harness's own doing, so no person is needed; all or none, and nothing that somebody else
    changed since is overwritten.
    """
    changes = _Changes.of(harness, session)
    return changes.undo(HowFar.STEP) if changes.planned(HowFar.STEP).steps else None


class _Changes(Struct, frozen=True):
    harness: Harness
    session: str
    place: PlanLocation
    rollbacks: Rollbacks

    @classmethod
    def of(cls, harness: Harness, session: str) -> _Changes:
        record = find_session_record(harness, session)
        place = session_place(record.workspace, session)
        pins = read_pins(harness.ledger, record.started)
        kept = open_pinned_workspace(harness, place, pins, Plan(title="", steps=()))
        return cls(harness, session, place, Rollbacks(harness.ledger, session, kept))

    def planned(self, back: int | HowFar) -> Undone:
        if isinstance(back, int):
            chosen = last(self.rollbacks, back)
        else:
            number = before = 0  # of the last change, and of the last before the step began
            for entry in self.harness.ledger.entries(self.session):
                if entry.kind in KEEPING:
                    number = max(number, int(entry.data["number"]))
                elif entry.data.get("status") == ClaimStatus.IN_PROGRESS:
                    before = number if entry.kind is Kind.STEP_CLAIMED else before
            chosen = since(self.rollbacks, before if back is HowFar.STEP else 0)
        return plan_undo(self.rollbacks.workspace, chosen)

    def report(self, back: int | HowFar) -> UndoReport:
        return self._report(self.planned(back), undone=False)

    def undo(self, back: int | HowFar, *, force: bool = False) -> UndoReport:
        with taken(self.harness, self.place, Holder.current(str(self.rollbacks.workspace.root))):
            done = self.planned(back)
            undo(self.rollbacks, done, force=force)
        return self._report(done, undone=True)

    def _report(self, done: Undone, *, undone: bool) -> UndoReport:
        left = sum(rollback.can_be_undone for rollback in self.rollbacks.open())
        return UndoReport(self.session, done.steps, done.lost, undone, left)


def _newest(harness: Harness, workspace: Path) -> str:
    """The session of a workspace that changed something last; one that can be undone goes first."""
    found: list[tuple[bool, str, str]] = []
    for record in harness.ledger.plans():
        if not record.id.startswith(SESSION_PREFIX) or record.path != str(workspace):
            continue
        kept = open_rollbacks(harness.ledger, record.id)
        if kept:
            entries = (e for e in harness.ledger.entries(record.id) if e.kind in KEEPING)
            what = ("files", "lost", "snapshot")
            at = max((e.at for e in entries if any(e.data[name] for name in what)), default="")
            found.append((any(one.can_be_undone for one in kept), at, record.id))
    if not found:
        raise NoSuchRun(
            f"no session changed anything in `{workspace}` that can be undone", "signoff sessions"
        )
    return max(found)[2]
