"""Stored words: they stand in ledgers and engine databases, so changing one must hurt here."""

from __future__ import annotations

from enum import StrEnum

import pytest

from signoff.domain.ledger import Cause, Choice, Kind, Outcome
from signoff.domain.verdict import FailureClass, Isolation, Phase, Reason, Result
from signoff.orchestrator import dispatch, engine

STORED: dict[type[StrEnum], str] = {
    Kind: """
        plan.verified plan.approved plan.rejected plan.drafted plan.edited plan.amended
        run.started run.resumed run.finished step.listed step.expanded
        attempt.started attempt.finished verdict strength.measured opinion.given judge.calibrated
        step.picked step.landed step.turned_back
        step.done step.failed step.reopened step.restored step.cleared step.waived
        escalation.opened escalation.answered audited
        plan.bound plan.unbound plan.merged
        session.started plan.written step.claimed tool.called note.kept step.strayed
        session.delegated session.usage answer.refused answer.accepted session.ended session.signed
        definition.changed rollback.begun rollback.kept rollback.restored
        worker.trusted worker.revoked turn.halted
    """,
    Result: "kept broken unknown",
    Reason: """
        held expectation tampered held-before timed-out signalled not-executable not-found
        moved-while-judged sandbox-missing infrastructure tests held-out tool-changed flaky
        influenced outside-touches strength opinion opinion-undecided obstacle
    """,
    Phase: "before attempt sweep audit baseline",
    Isolation: "none landlock namespaces bubblewrap",
    Choice: "retry revise abort waive accept allow",
    Cause: """
        contract held-before human budget plan-edited postcondition list tampered repeated
        infrastructure flaky agent-answer handoff merge
        blocked unattainable ratchet refused influenced obstacle opinion usage-limit
    """,
    FailureClass: "broken tampered infrastructure flaky influenced opinion obstacle",
    Outcome: "done failed cancelled revised",
}


@pytest.mark.parametrize("words", STORED, ids=lambda words: words.__name__)
def test_no_stored_word_was_renamed_or_removed(words: type[StrEnum]) -> None:
    """A new word is added here too, and stays for good."""
    assert [str(word.value) for word in words] == STORED[words].split()


def test_the_names_of_the_durable_engine_are_as_they_were_stored() -> None:
    names = (
        engine.WORKFLOW_NAME,
        engine.DRIVE_NAME,
        engine.ANSWER_TOPIC,
        engine.QUEUE_NAME,
        engine.APPLICATION,
        engine.VERSION_PREFIX,
        engine.WAITING,
        dispatch.APPLICATION,
        dispatch.VERSION,
        dispatch.WORKFLOW_NAME,
        dispatch.STEP_NAME,
        dispatch.queue_of(["reviewer", "coder"]),
    )
    assert names == (
        "signoff.run",
        "signoff.drive",
        "signoff.answer",
        "signoff.runs",
        "signoff",
        "signoff-1",
        "waiting",
        "signoff-workers",
        "signoff-workers-1",
        "signoff.worker.run",
        "signoff.worker.drive",
        "signoff.roles:coder,reviewer",
    )
