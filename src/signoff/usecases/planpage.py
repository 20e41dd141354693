"""`board`: one plan with everything that the ledger has of it, for its page or a file."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum

from msgspec import Struct

from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Plan, Postcondition, Step
from signoff.domain.redaction import Redactor
from signoff.errors import UsageError
from signoff.gate.record import Judged
from signoff.gate.subjects import Standing
from signoff.storage.records import ChainHead
from signoff.usecases.board import NO_HEAD, BoardColumn, Card, card_of
from signoff.usecases.harness import Harness, PlanLocation, redactor_of
from signoff.usecases.history import PlanHistory, fold_run, read_history, read_pins
from signoff.usecases.inbox import questions
from signoff.usecases.journal import AttemptWords, DiffReport, attempt_of, diff_plan
from signoff.usecases.questions import InboxItem
from signoff.usecases.status import StatusReport, status_of, written_and_pinned
from signoff.usecases.worked import Work, worked
from signoff.verification.pins import Pins


class SubjectPage(Struct, frozen=True):
    """A step or postcondition with what was judged, and who worked on it."""

    standing: Standing
    subject: Step | Postcondition
    needs: tuple[str, ...]
    before: Judged | None  # the verdict before anybody worked
    latest: Judged | None
    works: tuple[Work, ...]


class PlanPage(Struct, frozen=True):
    """One plan as its page shows it, of one moment: that of `head`."""

    place: PlanLocation
    card: Card
    report: StatusReport
    plan: Plan
    head: ChainHead
    digest: str  # of the text as it lies there now; empty where it is gone
    pins: Pins | None
    subjects: tuple[SubjectPage, ...]
    items: tuple[InboxItem, ...]
    entries: tuple[Entry, ...]
    redactor: Redactor  # that knows what its contracts are given

    @property
    def moment(self) -> str:
        """The last entry and the text of the plan: what a decision on this page is about."""
        return f"{self.head.seq}.{self.head.hash[:16]}.{self.digest[:16]}"


def read_plan_page(harness: Harness, place: PlanLocation) -> PlanPage:
    """Everything about one plan; every hash of its chain is recomputed for it."""
    report = status_of(harness, place)
    history = read_history(harness.ledger, place.id)
    written, pinned = written_and_pinned(harness, place, history)
    plan = pinned or written
    assert plan is not None  # `status_of` raised otherwise
    pins = read_pins(harness.ledger, history.in_force) if history.in_force is not None else None
    if pins is not None:
        # What its contracts are given by name is secret on its page too.
        redactor_of(harness, plan, harness.settings)
    last = history.entries[-1] if history.entries else None
    head = ChainHead(last.seq, last.at, last.hash) if last is not None else NO_HEAD
    empty = Card(
        place.id,
        place.name,
        str(place.path),
        place.record.repository or "",
        "",
        BoardColumn.DRAFT,
        head.at,
        head.seq,
    )
    return PlanPage(
        place=place,
        card=card_of(empty, report),
        report=report,
        plan=plan,
        head=head,
        digest=written.plan_digest if written is not None else "",
        pins=pins,
        subjects=_subjects(harness, history, plan, report),
        items=tuple(i for i in questions(harness) if place.id in (i.plan_id, i.path)),
        entries=history.entries,
        redactor=harness.ledger.redactor,
    )


def _subjects(
    harness: Harness, history: PlanHistory, plan: Plan, report: StatusReport
) -> tuple[SubjectPage, ...]:
    state = fold_run(history, plan)
    works: dict[str, list[Work]] = {}
    if history.run is not None and not history.approved_anew and history.run_id is not None:
        pins = read_pins(harness.ledger, history.run)
        for work in worked(history.entries, history.run_id, pins):
            works.setdefault(work.step, []).append(work)
    subjects: tuple[Step | Postcondition, ...] = (
        *state.schedule.steps,
        *state.schedule.plan.postconditions,
        *state.beside,
    )
    found = []
    for subject, standing in zip(subjects, report.gate.subjects, strict=True):
        needs = state.schedule.needed(subject) if isinstance(subject, Step) else ()
        record = state.records.get(subject.id)
        before, latest = (record.before, record.latest) if record is not None else (None, None)
        mine = tuple(works.get(subject.id, ()))
        found.append(SubjectPage(standing, subject, needs, before, latest, mine))
    return tuple(found)


class AttemptPage(Struct, frozen=True):
    """One attempt: what it was asked and answered, and what it changed; None while it works."""

    step: str
    number: int
    said: AttemptWords
    diff: DiffReport | None


class PlanReport(Struct, frozen=True):
    """A plan's page with all attempts of its newest run, to be kept as a file."""

    page: PlanPage
    attempts: tuple[AttemptPage, ...]


def read_attempt(harness: Harness, place: PlanLocation, step: str, number: int) -> AttemptPage:
    said, diff = attempt_of(harness, place, step, number), None
    with suppress(UsageError):  # one that is not over has changed nothing yet
        diff = diff_plan(harness, place, step, number)
    return AttemptPage(step, number, said, diff)


def read_report(harness: Harness, place: PlanLocation) -> PlanReport:
    page = read_plan_page(harness, place)
    works = [work for subject in page.subjects for work in subject.works]
    attempts = (read_attempt(harness, place, work.step, work.attempt) for work in works)
    return PlanReport(page, tuple(attempts))


class Shown(StrEnum):
    """Filters of the timeline."""

    ALL = "all"
    VERDICTS = "verdicts"
    ATTEMPTS = "attempts"
    DECISIONS = "decisions"


_KINDS = {
    Shown.VERDICTS: {Kind.VERDICT, Kind.AUDITED, Kind.STRENGTH_MEASURED, Kind.OPINION_GIVEN},
    Shown.ATTEMPTS: {
        *(Kind.ATTEMPT_STARTED, Kind.ATTEMPT_FINISHED, Kind.STEP_PICKED, Kind.STEP_LANDED),
        *(Kind.STEP_DONE, Kind.STEP_FAILED, Kind.STEP_REOPENED, Kind.STEP_TURNED_BACK),
    },
    Shown.DECISIONS: {
        *(Kind.PLAN_APPROVED, Kind.PLAN_REJECTED, Kind.PLAN_AMENDED, Kind.STEP_WAIVED),
        *(Kind.ESCALATION_OPENED, Kind.ESCALATION_ANSWERED, Kind.RUN_FINISHED),
    },
}


def timeline(
    entries: tuple[Entry, ...], shown: Shown, before: int | None, most: int
) -> tuple[tuple[Entry, ...], bool]:
    """A window on the entries, the newest first, and whether there are older ones."""
    kinds = _KINDS.get(shown)
    found: list[Entry] = []
    for entry in reversed(entries):
        if (before is None or entry.seq < before) and (kinds is None or entry.kind in kinds):
            if len(found) == most:
                return tuple(found), True
            found.append(entry)
    return tuple(found), False
