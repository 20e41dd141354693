"""Entries of the ledger: append-only, hash-chained, the only truth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from signoff.domain.digests import canonical_json, digest_bytes

GENESIS = "0" * 64


class Kind(StrEnum):
    """What an entry records. Stored words: add, never rename."""

    PLAN_VERIFIED = "plan.verified"
    PLAN_APPROVED = "plan.approved"
    PLAN_REJECTED = "plan.rejected"
    PLAN_DRAFTED = "plan.drafted"
    PLAN_EDITED = "plan.edited"
    PLAN_AMENDED = "plan.amended"
    RUN_STARTED = "run.started"
    RUN_RESUMED = "run.resumed"
    RUN_FINISHED = "run.finished"
    STEP_LISTED = "step.listed"
    STEP_EXPANDED = "step.expanded"
    ATTEMPT_STARTED = "attempt.started"
    ATTEMPT_FINISHED = "attempt.finished"
    VERDICT = "verdict"
    STEP_DONE = "step.done"
    STEP_FAILED = "step.failed"
    STEP_REOPENED = "step.reopened"
    STEP_RESTORED = "step.restored"
    STEP_CLEARED = "step.cleared"
    STEP_WAIVED = "step.waived"
    ESCALATION_OPENED = "escalation.opened"
    ESCALATION_ANSWERED = "escalation.answered"
    AUDITED = "audited"
    PLAN_BOUND = "plan.bound"
    PLAN_UNBOUND = "plan.unbound"
    PLAN_MERGED = "plan.merged"
    SESSION_STARTED = "session.started"
    PLAN_WRITTEN = "plan.written"
    STEP_CLAIMED = "step.claimed"
    TOOL_CALLED = "tool.called"
    NOTE_KEPT = "note.kept"
    STEP_STRAYED = "step.strayed"
    SESSION_DELEGATED = "session.delegated"
    SESSION_USAGE = "session.usage"
    ANSWER_REFUSED = "answer.refused"
    ANSWER_ACCEPTED = "answer.accepted"
    SESSION_ENDED = "session.ended"
    SESSION_SIGNED = "session.signed"
    DEFINITION_CHANGED = "definition.changed"
    ROLLBACK_BEGUN = "rollback.begun"
    ROLLBACK_KEPT = "rollback.kept"
    ROLLBACK_RESTORED = "rollback.restored"
    TURN_HALTED = "turn.halted"


KIND_MEANING: dict[Kind, str] = {
    Kind.PLAN_VERIFIED: "static verification found no error",
    Kind.PLAN_APPROVED: "a person (or their policy) approved; carries every pin",
    Kind.PLAN_REJECTED: "a person said no; the plan is a draft again",
    Kind.PLAN_DRAFTED: "the plan went back to draft for revision",
    Kind.PLAN_EDITED: "plan file or configuration changed behind the pin; noticed, not obeyed",
    Kind.PLAN_AMENDED: "a person allowed more, or approved an open run again; with every pin",
    Kind.RUN_STARTED: "a run of the approved plan began",
    Kind.RUN_RESUMED: "a driver took the run over, with a higher fence",
    Kind.RUN_FINISHED: "the run ended: done, failed or cancelled",
    Kind.STEP_LISTED: "the list of a for_each step as it was when the run began",
    Kind.STEP_EXPANDED: "a for_each step became one step per item the harness read",
    Kind.ATTEMPT_STARTED: "a step was dispatched to an agent",
    Kind.ATTEMPT_FINISHED: "the agent and everything it started is gone",
    Kind.VERDICT: "a contract was judged on a snapshot",
    Kind.STEP_DONE: "a kept verdict was accepted; once per step and run",
    Kind.STEP_FAILED: "the step's policy is used up",
    Kind.STEP_REOPENED: "a later change broke a step that was done",
    Kind.STEP_RESTORED: "a reopened step is kept again",
    Kind.STEP_CLEARED: "what a waiting step had tampered with was put back for the others",
    Kind.STEP_WAIVED: "a person decided to go on without it; never called kept",
    Kind.ESCALATION_OPENED: "a question for a person",
    Kind.ESCALATION_ANSWERED: "the person's answer",
    Kind.AUDITED: "somebody audited the plan",
    Kind.PLAN_BOUND: "a worktree works on this plan from now on",
    Kind.PLAN_UNBOUND: "a worktree does not work on this plan any more",
    Kind.PLAN_MERGED: "the plan's branch is in the base, judged again on the merged content",
    Kind.SESSION_STARTED: "an agent's session began, or was taken up again",
    Kind.PLAN_WRITTEN: "an agent wrote its plan, or wrote it anew; with what it dropped",
    Kind.STEP_CLAIMED: "an agent said where a step or postcondition stands; never proof by itself",
    Kind.TOOL_CALLED: "a tool was called, and what its result rests on",
    Kind.NOTE_KEPT: "an agent kept a note that its evidence can cite",
    Kind.STEP_STRAYED: "files changed that the step in progress does not declare",
    Kind.SESSION_DELEGATED: "a step was handed to a session of its own, with a share of the budget",
    Kind.SESSION_USAGE: "what a turn of the session used",
    Kind.ANSWER_REFUSED: "a final answer came while the gate was shut",
    Kind.ANSWER_ACCEPTED: "a final answer came while the gate was open: awaiting sign-off",
    Kind.SESSION_ENDED: "the session ended without an accepted answer",
    Kind.SESSION_SIGNED: "everything was judged once more with the agent gone",
    Kind.DEFINITION_CHANGED: "written by earlier versions: a fact about what a task asks for",
    Kind.ROLLBACK_BEGUN: "a call that may change files is about to be made; with what is there",
    Kind.ROLLBACK_KEPT: "what was there before a call changed it; names what cannot be had back",
    Kind.ROLLBACK_RESTORED: "changes of calls were undone",
    Kind.TURN_HALTED: "the runtime ended a turn: calls failed or were blocked again and again",
}


@dataclass(frozen=True)
class Draft:
    """An entry before the ledger gives it a place in the chain."""

    kind: Kind
    data: dict[str, Any]
    run: str | None = None
    step: str | None = None
    attempt: int | None = None


@dataclass(frozen=True)
class Entry:
    """An entry in its place; `hash` covers everything else, `prev` is the hash before it."""

    plan: str
    seq: int
    at: str
    kind: Kind
    run: str | None
    step: str | None
    attempt: int | None
    data: dict[str, Any]
    prev: str
    hash: str

    def expected_hash(self, data_json: str | None = None) -> str:
        """The hash this entry must carry if nobody touched it."""
        draft = Draft(self.kind, self.data, self.run, self.step, self.attempt)
        return entry_hash(self.plan, self.seq, self.at, draft, self.prev, data_json)


def entry_hash(
    plan: str, seq: int, at: str, draft: Draft, prev: str, data_json: str | None = None
) -> str:
    """The hash of one entry over its canonical encoding.

    The data is most of it, so whoever has it encoded already hands it in.
    """
    data = canonical_json(draft.data) if data_json is None else data_json
    before = canonical_json({"at": at, "attempt": draft.attempt})
    behind = canonical_json(
        {
            "kind": draft.kind,
            "plan": plan,
            "prev": prev,
            "run": draft.run,
            "seq": seq,
            "step": draft.step,
        }
    )
    whole = f'{before[:-1]},"data":{data},{behind[1:]}'
    return digest_bytes(whole.encode("utf-8", "surrogatepass"))
