"""Use cases return frozen reports, tell events as data, print nothing, and refuse what is stale."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from signoff.domain.ledger import Choice, Kind, Outcome
from signoff.domain.plan import PlanStatus
from signoff.errors import (
    ApprovalRefused,
    Held,
    Interrupted,
    NothingToAnswer,
    PlanConflict,
)
from signoff.orchestrator.events import Appended, Doing
from signoff.storage.home import hold
from signoff.storage.records import Holder
from signoff.usecases.approve import approve, propose, reject
from signoff.usecases.audit import audit_plan
from signoff.usecases.cancel import cancel_run
from signoff.usecases.inbox import answer
from signoff.usecases.journal import diff_plan, read_log
from signoff.usecases.questions import open_items
from signoff.usecases.status import status_of
from signoff.usecases.verify import verify_plan
from tests.cli.plans import step
from tests.usecases.library import Library, Listener

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="escalate")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A plan of one step that its agent does."""
    return Library(tmp_path).plan(GROUND)


@pytest.fixture
def idle(tmp_path: Path) -> Library:
    """A plan of one step that its agent does not do."""
    return Library(tmp_path, script="echo done").plan(GROUND)


def test_reports_are_frozen_and_nothing_is_printed(
    library: Library, capfd: pytest.CaptureFixture[str]
) -> None:
    harness, place = library.open()
    reports: list[object] = [verify_plan(harness, place), propose(harness, place), library.run()]
    reports += [status_of(harness, place), diff_plan(harness, place), audit_plan(harness, place)]
    for report in reports:
        assert isinstance(report, msgspec.Struct)
        name = report.__struct_fields__[0]
        with pytest.raises(AttributeError, match="immutable"):
            setattr(report, name, None)
    assert capfd.readouterr() == ("", "")


def test_events_are_the_entries_of_the_ledger_in_their_order(library: Library) -> None:
    listener = Listener()
    assert library.run(listener).outcome is Outcome.DONE
    harness, place = library.open()
    told = [event.entry for event in listener.events if isinstance(event, Appended)]
    entries = [e for e in read_log(harness, place) if e.kind is not Kind.PLAN_APPROVED]
    assert told == entries
    doing = [event.what for event in listener.events if isinstance(event, Doing)]
    assert doing == ["judging", "coder works", "judging"]


def test_a_proposal_that_is_out_of_date_cannot_be_approved(library: Library) -> None:
    harness, place = library.open()
    proposal = propose(harness, place)
    place.path.write_text(place.read().replace("firm", "soft"))
    with pytest.raises(PlanConflict, match="changed while it was shown"):
        approve(harness, proposal, interactive=True)
    assert list(read_log(harness, place)) == []


def test_an_approval_shows_in_the_status_until_the_text_changes(library: Library) -> None:
    harness, place = library.open()
    approve(harness, propose(harness, place), interactive=True)
    assert status_of(harness, place).status is PlanStatus.APPROVED
    place.path.write_text(place.read().replace("firm", "soft"))
    assert status_of(harness, place).status is PlanStatus.DRAFT
    reject(harness, place, "no")
    assert status_of(harness, place).status is PlanStatus.DRAFT


def test_decisions_from_inside_an_attempt_are_refused(idle: Library) -> None:
    idle.run()
    harness, place = idle.open(SIGNOFF_ATTEMPT="r:1:1")
    (item,) = open_items(harness.ledger)
    with pytest.raises(ApprovalRefused):
        approve(harness, propose(harness, place), interactive=True)
    with pytest.raises(ApprovalRefused):
        reject(harness, place, "")
    with pytest.raises(ApprovalRefused):
        answer(harness, item.id, Choice.WAIVE, "", interactive=True)
    with pytest.raises(ApprovalRefused):
        cancel_run(harness, place, "")


def test_a_question_is_answered_once(idle: Library) -> None:
    assert idle.run().outcome is None
    harness, place = idle.open()
    (item,) = open_items(harness.ledger)
    report = answer(harness, item.id, Choice.ABORT, "enough", interactive=True)
    assert report.ended is Outcome.FAILED
    with pytest.raises(NothingToAnswer):
        answer(harness, item.id, Choice.WAIVE, "", interactive=True)
    status = status_of(harness, place)
    assert status.status is PlanStatus.FAILED and status.gate.waived == ()


def test_an_interrupted_run_is_resumed_and_repeats_only_its_attempt(tmp_path: Path) -> None:
    library = Library(tmp_path, script="[ -e go ] || exec sleep 300; echo firm > ground").plan(
        GROUND
    )
    listener = Listener()

    def when_it_works() -> bool:
        return any(isinstance(e, Doing) and e.what == "coder works" for e in listener.events)

    with pytest.raises(Interrupted):
        library.run(listener, cancelled=when_it_works)
    (library.workspace / "go").touch()
    assert library.run().outcome is Outcome.DONE
    harness, place = library.open()
    kinds = [e.kind for e in read_log(harness, place)]
    assert kinds.count(Kind.ATTEMPT_STARTED) == 2 and kinds.count(Kind.STEP_DONE) == 1
    lost = [e for e in read_log(harness, place) if e.kind is Kind.ATTEMPT_FINISHED]
    assert [bool(e.data.get("lost")) for e in lost] == [True, False]


def test_a_workspace_is_one_plans_at_a_time(library: Library) -> None:
    harness, place = library.open()
    with (
        hold(harness.home.locks, f"plan-{place.record.id}", Holder.current(str(place.path))),
        pytest.raises(Held, match=r"PLAN\.md"),
    ):
        library.run()
    assert library.run().outcome is Outcome.DONE


def test_a_signed_off_plan_has_nothing_to_do(library: Library) -> None:
    first, again = library.run(), library.run()
    assert not first.nothing_to_do and again.nothing_to_do
    assert again.status.signed_off_at == first.status.signed_off_at


def test_an_audit_is_recorded_with_what_it_found(library: Library) -> None:
    library.run()
    harness, place = library.open()
    report = audit_plan(harness, place)
    *_, last = read_log(harness, place)
    assert last.kind is Kind.AUDITED
    assert last.data["lines"] == {line.subject: line.finding for line in report.lines}
    assert last.data["snapshot"] == report.content == report.signed_off_on
