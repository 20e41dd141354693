"""Status written outside a run, into the plan file and for those who only glance at the ledger.

Both are for readers; the ledger stays the truth.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from signoff.domain.plan import PlanStatus
from signoff.errors import SignoffError
from signoff.orchestrator.projection import PlanFileProjection, ProgressProjection, standing_note
from signoff.planfile.marks import mark_text
from signoff.planfile.outline import file_digest
from signoff.storage.files import swap_file
from signoff.storage.standings import StandingNote, write_standing
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import approved_by, read_history
from signoff.usecases.status import status_of

_BEGUN = (PlanStatus.IN_PROGRESS, PlanStatus.DONE, PlanStatus.FAILED)


def projection_of(harness: Harness, place: PlanLocation) -> PlanFileProjection:
    """Projection of a run for people: marks, standing and, for a plan of a vault, its progress."""
    plan = place.id
    return PlanFileProjection(place.path, harness.ledger, plan, progress_of(harness, place))


def progress_of(harness: Harness, place: PlanLocation) -> ProgressProjection | None:
    """The progress file of a plan in a vault; a plan elsewhere has none."""
    name = place.name_in_vault
    return None if name is None else ProgressProjection(harness.ledger, place.id, place.vault, name)


def show_run(harness: Harness, place: PlanLocation) -> None:
    """Bring the file up to date with a run that was ended by somebody who does not drive it."""
    history = read_history(harness.ledger, place.id)
    if history.run is None:
        return
    approved = approved_by(harness.ledger, place, history, history.run)
    status = history.status(approved.plan.plan_digest)
    projection_of(harness, place).show(approved.state, status, now=True)


def write_status(harness: Harness, place: PlanLocation, status: PlanStatus) -> bool:
    """Show the status in the frontmatter; False when the file cannot be written."""
    try:
        text = place.read()
        marked = mark_text(text, {}, status)
        if marked != text:
            swap_file(place.path, file_digest(text), marked.encode())
    except SignoffError:
        return False
    finally:
        with suppress(SignoffError):
            note_standing(harness, place)
    return True


def note_standing(harness: Harness, place: PlanLocation) -> StandingNote:
    """Compute where the plan stands, and write it down."""
    # First: what is appended meanwhile makes the note look old, never new.
    seq, _ = harness.ledger.head(place.id)
    report = status_of(harness, place)
    note = standing_note(report.gate, report.status, seq)
    if report.status not in _BEGUN:
        # The steps that an earlier run finished are to be done again.
        first = report.gate.steps[0] if report.gate.steps else None
        step, title = (first.id, first.title) if first is not None else (None, None)
        note = replace(note, done=0, step=step, title=title)
    write_standing(harness.ledger, place.id, note)
    return note
