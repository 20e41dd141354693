"""Entries of the ledger, append-only and hash-chained, the only truth; questions and answers."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

from signoff.domain.digests import canonical_json, digest_bytes

GENESIS = "0" * 64


class Kind(StrEnum):
    """Kinds of entries, each with its meaning. Stored words: add, never rename."""

    meaning: str

    def __new__(cls, word: str, meaning: str = "") -> Kind:
        """A member is its stored word; it carries its meaning for the reference page."""
        kind = str.__new__(cls, word)
        kind._value_, kind.meaning = word, meaning
        return kind

    PLAN_VERIFIED = "plan.verified", "static verification found no error"
    PLAN_APPROVED = "plan.approved", "a person (or their policy) approved; carries every pin"
    PLAN_REJECTED = "plan.rejected", "a person said no; the plan is a draft again"
    PLAN_DRAFTED = "plan.drafted", "the plan went back to draft for revision"
    PLAN_EDITED = (
        "plan.edited",
        "plan file or configuration changed behind the pin; not obeyed",
    )
    PLAN_AMENDED = (
        "plan.amended",
        "a person allowed more, or approved an open run again; all pins",
    )
    RUN_STARTED = "run.started", "a run of the approved plan began"
    RUN_RESUMED = "run.resumed", "a driver took the run over, with a higher fence"
    RUN_FINISHED = "run.finished", "the run ended: done, failed or cancelled"
    STEP_LISTED = "step.listed", "the list of a for_each step as it was when the run began"
    STEP_EXPANDED = "step.expanded", "a for_each step became one step per item the harness read"
    ATTEMPT_STARTED = "attempt.started", "a step was dispatched to an agent"
    ATTEMPT_FINISHED = "attempt.finished", "the agent and everything it started is gone"
    VERDICT = "verdict", "a contract was judged on a snapshot"
    STRENGTH_MEASURED = (
        "strength.measured",
        "how many deliberately wrong versions of a change its contract rejects",
    )
    OPINION_GIVEN = "opinion.given", "what a model says about a rubric; it opens no gate"
    JUDGE_CALIBRATED = (
        "judge.calibrated",
        "how many wrong versions of accepted work a model's opinion refused",
    )
    STEP_PICKED = "step.picked", "of several candidates, the one whose work is to land"
    STEP_LANDED = "step.landed", "what a lane holds goes onto the workspace's content, judged first"
    STEP_TURNED_BACK = (
        "step.turned_back",
        "kept in its lane, and does not fit onto what landed meanwhile",
    )
    STEP_DONE = "step.done", "a kept verdict was accepted; once per step and run"
    STEP_FAILED = "step.failed", "the step's policy is used up"
    STEP_REOPENED = "step.reopened", "a later change broke a step that was done"
    STEP_RESTORED = "step.restored", "a reopened step is kept again"
    STEP_CLEARED = "step.cleared", "what a waiting step tampered with was put back for the others"
    STEP_WAIVED = "step.waived", "a person decided to go on without it; never called kept"
    ESCALATION_OPENED = "escalation.opened", "a question for a person"
    ESCALATION_ANSWERED = "escalation.answered", "the person's answer"
    AUDITED = "audited", "somebody audited the plan"
    PLAN_BOUND = "plan.bound", "a worktree works on this plan from now on"
    PLAN_UNBOUND = "plan.unbound", "a worktree does not work on this plan any more"
    PLAN_MERGED = "plan.merged", "the plan's branch is in the base, judged again on what was merged"
    SESSION_STARTED = "session.started", "an agent's session began, or was taken up again"
    PLAN_WRITTEN = "plan.written", "an agent wrote its plan, or wrote it anew; with what it dropped"
    STEP_CLAIMED = "step.claimed", "an agent said where a step or postcondition stands; never proof"
    TOOL_CALLED = "tool.called", "a tool was called, and what its result rests on"
    NOTE_KEPT = "note.kept", "an agent kept a note that its evidence can cite"
    STEP_STRAYED = "step.strayed", "files changed that the step in progress does not declare"
    SESSION_DELEGATED = (
        "session.delegated",
        "a step was handed to a child session, with a budget",
    )
    SESSION_USAGE = "session.usage", "what a turn of the session used"
    ANSWER_REFUSED = "answer.refused", "a final answer came while the gate was shut"
    ANSWER_ACCEPTED = (
        "answer.accepted",
        "a final answer came while the gate was open; not signed",
    )
    SESSION_ENDED = "session.ended", "the session ended without an accepted answer"
    SESSION_SIGNED = "session.signed", "everything was judged once more with the agent gone"
    DEFINITION_CHANGED = (
        "definition.changed",
        "by earlier versions: what a task asks for",
    )
    ROLLBACK_BEGUN = "rollback.begun", "a call that may change files is about to be made"
    ROLLBACK_KEPT = "rollback.kept", "what a call changed as it was before; names what is lost"
    ROLLBACK_RESTORED = "rollback.restored", "changes of calls were undone"
    WORKER_TRUSTED = "worker.trusted", "a person trusts a worker's key from now on"
    WORKER_REVOKED = "worker.revoked", "a person trusts it no more"
    TURN_HALTED = "turn.halted", "the runtime ended a turn: calls failed or were blocked repeatedly"


class Draft(Struct, frozen=True):
    """An entry before the ledger gives it a place in the chain."""

    kind: Kind
    data: dict[str, Any]
    run: str | None = None
    step: str | None = None
    attempt: int | None = None


class Entry(Struct, frozen=True):
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


class Cause(StrEnum):
    """Reasons for which a run stops to ask. Stored words."""

    CONTRACT = "contract"  # the step's retries are used up
    HELD_BEFORE = "held-before"  # the contract already held; of a plan, every one of them
    HUMAN = "human"  # the step is a person's to do
    BUDGET = "budget"  # the next dispatch would go over the budget
    PLAN_EDITED = "plan-edited"  # plan file or configuration changed behind the pin
    POSTCONDITION = "postcondition"  # broken at the end, or without a contract
    LIST = "list"  # the list of a for_each step could not be read
    TAMPERED = "tampered"  # the check was changed again after it had been put back
    REPEATED = "repeated"  # the same content failed the same way twice
    INFRASTRUCTURE = "infrastructure"  # the harness could not judge, repeatedly
    FLAKY = "flaky"  # the same contract on the same content gave different answers
    AGENT_ANSWER = "agent-answer"  # the agent says blocked, impossible or needs input
    HANDOFF = "handoff"  # files that other tools execute were created or changed
    MERGE = "merge"  # the merged content conflicts, or does not hold
    BLOCKED = "blocked"  # an agent calls a step of its session blocked
    UNATTAINABLE = "unattainable"  # an agent says that a postcondition cannot be reached
    RATCHET = "ratchet"  # an agent wants to drop or weaken a part of its plan
    REFUSED = "refused"  # a session's final answer was refused over and over
    INFLUENCED = "influenced"  # files changed that steer the check, and no line allows it
    OBSTACLE = "obstacle"  # the machine or the sandbox keeps a check from working
    OPINION = "opinion"  # a model cannot decide about a rubric
    USAGE_LIMIT = "usage-limit"  # the agent's model will not serve it before a certain time


class Choice(StrEnum):
    """Answers that a person can give. Stored words."""

    RETRY = "retry"  # go on: try again, or look again now that you have seen to it
    REVISE = "revise"  # end this run and take the plan back to draft
    ABORT = "abort"  # end this run as failed
    WAIVE = "waive"  # go on without it; recorded, always shown, never called kept
    ACCEPT = "accept"  # say that it holds, where no check can tell; recorded with your name
    ALLOW = "allow"  # add the line that allows it to the plan, and judge the same content again


class Outcome(StrEnum):
    """Ways in which a run ends. Stored words."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    REVISED = "revised"
