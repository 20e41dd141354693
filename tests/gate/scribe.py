"""Writes ledger entries as the orchestrator does, and folds each of them as it is written."""

from __future__ import annotations

import json
from typing import Any

from msgspec import to_builtins

from signoff.domain.digests import canonical_json
from signoff.domain.ledger import GENESIS, Cause, Choice, Draft, Entry, Kind, Outcome, entry_hash
from signoff.domain.plan import (
    Contract,
    Effects,
    Holds,
    OnFail,
    Plan,
    Postcondition,
    RedFirst,
    Step,
    Then,
)
from signoff.domain.verdict import Phase, Reason, Result, Verdict
from signoff.gate.fold import fold
from signoff.gate.gate import GateReport, evaluate
from signoff.gate.record import Record
from signoff.gate.state import State

RUN = "run-1"
EARLIER_RUN = "run-0"
NOW = "content-1"
BEFORE_NOW = "content-0"
PLAN_ID = "plan-1"


def contract(
    *,
    red_first: RedFirst = RedFirst.RECORD,
    effects: Effects = Effects.NONE,
    holds: Holds = Holds.ALWAYS,
) -> Contract:
    """A contract with the options the gate reads."""
    return Contract("make check", red_first=red_first, effects=effects, holds=holds)


def step(
    step_id: str,
    *needs: str,
    target: str = "coder",
    retries: int = 2,
    then: Then = Then.ESCALATE,
    for_each: str | None = None,
    judged: Contract | None = None,
) -> Step:
    """A step with a contract."""
    return Step(
        id=step_id,
        title=f"title {step_id}",
        target=target,
        task=f"do {step_id}",
        contract=judged or contract(),
        needs=needs,
        on_fail=OnFail(retries, then),
        for_each=for_each,
    )


def plan_of(*steps: Step, posts: tuple[Postcondition, ...] = (), **fields: Any) -> Plan:
    """A plan with these steps."""
    return Plan("a plan", steps, posts, **fields)


def post(number: int = 1, *, judged: bool = True) -> Postcondition:
    """A postcondition, with a contract unless told otherwise."""
    return Postcondition(number, f"promise {number}", contract() if judged else None)


def key_of(subject: str, snapshot: str) -> str:
    """The evidence key that verdicts carry here."""
    return f"key of {subject} on {snapshot}"


class Scribe:
    """One ledger and its fold; every method writes what one act of the harness records."""

    def __init__(self, *steps: Step, plan: Plan | None = None, run: str = RUN):
        self.plan = plan or plan_of(*steps)
        self.run = run
        self.entries: list[Entry] = []
        self.state = State(self.plan, run)

    def write(
        self,
        kind: Kind,
        data: dict[str, Any],
        step_id: str | None = None,
        *,
        attempt: int | None = None,
        run: str | None = None,
    ) -> Entry:
        """Append one entry to the chain, as read back from storage, and fold it."""
        stored = json.loads(canonical_json(data))
        draft = Draft(kind, stored, run or self.run, step_id, attempt)
        seq = len(self.entries) + 1
        prev = self.entries[-1].hash if self.entries else GENESIS
        at = f"2026-01-01T00:00:00.{seq:06d}+00:00"
        entry = Entry(
            plan=PLAN_ID,
            seq=seq,
            at=at,
            kind=kind,
            run=draft.run,
            step=step_id,
            attempt=attempt,
            data=stored,
            prev=prev,
            hash=entry_hash(PLAN_ID, seq, at, draft, prev),
        )
        self.entries.append(entry)
        fold(self.state, (entry,))
        return entry

    def record(self, subject: str) -> Record:
        """What the fold knows about a subject."""
        return self.state.record(subject)

    def gate(self, snapshot: str | None = NOW) -> GateReport:
        """The gate's answer on the content in question."""
        return evaluate(self.state, snapshot)

    def begun(self, *counted: str, **said: Any) -> Entry:
        """The run began, and says whose tests are counted."""
        return self.write(Kind.RUN_STARTED, {"counted": list(counted), **said})

    def started(self, step_id: str, attempt: int = 1) -> Entry:
        """A step was dispatched."""
        return self.write(Kind.ATTEMPT_STARTED, {"role": "coder"}, step_id, attempt=attempt)

    def finished(
        self,
        step_id: str,
        attempt: int = 1,
        *,
        snapshot: str = NOW,
        tokens: int = 0,
        usd: float = 0.0,
        duration_s: float = 0.0,
        answer: dict[str, str] | None = None,
        handoff: dict[str, str] | None = None,
    ) -> Entry:
        """The agent and everything it started is gone."""
        data = {
            "usage": {"tokens": tokens, "usd": usd},
            "duration_s": duration_s,
            "snapshot": snapshot,
            "answer": answer,
            "handoff": handoff or {},
        }
        return self.write(Kind.ATTEMPT_FINISHED, data, step_id, attempt=attempt)

    def lost(self, step_id: str, attempt: int = 1) -> Entry:
        """A driver found an attempt whose driver had died."""
        data = {"lost": True, "leftovers_killed": 0, "usage": None}
        return self.write(Kind.ATTEMPT_FINISHED, data, step_id, attempt=attempt)

    def verdict(
        self,
        subject: str,
        result: Result = Result.KEPT,
        *,
        phase: Phase = Phase.ATTEMPT,
        snapshot: str = NOW,
        provisional: bool = False,
        run: str | None = None,
        duration_s: float = 0.0,
        reused_from: int | None = None,
        reason: Reason = Reason.EXPECTATION,
        counts: dict[str, Any] | None = None,
    ) -> Entry:
        """A contract was judged; `reason` is for verdicts that are not kept."""
        kept = result is Result.KEPT
        verdict = Verdict(
            subject=subject,
            phase=phase,
            result=result,
            reason=Reason.HELD if kept else reason,
            message="exit code 0" if kept else "exit code 1",
            key=key_of(subject, snapshot),
            snapshot=snapshot,
            provisional=provisional,
            duration_s=duration_s,
            reused_from=reused_from,
            counts=counts,
        )
        return self.write(Kind.VERDICT, to_builtins(verdict), subject, run=run)

    def done(
        self,
        step_id: str,
        *,
        key: str | None = None,
        snapshot: str = NOW,
        carried: bool = False,
        run: str | None = None,
        produced: dict[str, str] | None = None,
        named: dict[str, str] | None = None,
        relies_on: list[str] | None = None,
        again: bool = False,
    ) -> Entry:
        """A kept verdict was accepted."""
        data = {
            "key": key or key_of(step_id, snapshot),
            "snapshot": snapshot,
            "step_digest": self._digest(step_id),
            "produced": produced or {},
            "named": named or {},
            "relies_on": relies_on or [],
            "carried": carried,
        }
        kind = Kind.STEP_RESTORED if again else Kind.STEP_DONE
        return self.write(kind, data, step_id, run=run)

    def settle(self, step_id: str, snapshot: str = NOW) -> None:
        """The step was judged kept and accepted."""
        self.verdict(step_id, snapshot=snapshot)
        self.done(step_id, snapshot=snapshot)

    def ask(
        self,
        escalation: str,
        subject: str | None = None,
        cause: Cause = Cause.CONTRACT,
        *,
        run: str | None = None,
        snapshot: str = NOW,
        choices: tuple[Choice, ...] = (),
    ) -> Entry:
        """A question for a person was opened, about this content where their word would count."""
        of_a_step = (Choice.WAIVE, Choice.ALLOW)
        offered = choices or [c for c in Choice if subject is not None or c not in of_a_step]
        data = {"id": escalation, "cause": cause, "question": "?", "choices": offered}
        data["snapshot"] = snapshot
        return self.write(Kind.ESCALATION_OPENED, data, subject, run=run)

    def answer(self, escalation: str, choice: Choice, *, run: str | None = None) -> Entry:
        """A person answered."""
        data = {"id": escalation, "choice": choice}
        return self.write(Kind.ESCALATION_ANSWERED, data, run=run)

    def waived(self, subject: str, escalation: str, *, run: str | None = None) -> Entry:
        """The entry that follows a `waive`."""
        return self.write(Kind.STEP_WAIVED, {"escalation": escalation}, subject, run=run)

    def waive(self, subject: str, escalation: str = "q-waive") -> None:
        """A person was asked about the subject and waived it."""
        self.ask(escalation, subject)
        self.answer(escalation, Choice.WAIVE)
        self.waived(subject, escalation)

    def accept(self, subject: str, escalation: str = "q-accept", *, snapshot: str = NOW) -> None:
        """A person was asked whether the subject holds, and says so."""
        self.ask(escalation, subject, Cause.POSTCONDITION, snapshot=snapshot)
        self.answer(escalation, Choice.ACCEPT)

    def listed(self, step_id: str, *items: str) -> Entry:
        """The first look at a list."""
        return self.write(Kind.STEP_LISTED, {"items": list(items)}, step_id)

    def expanded(self, step_id: str, *items: str) -> Entry:
        """One step per item."""
        return self.write(Kind.STEP_EXPANDED, {"items": list(items)}, step_id)

    def failed(self, step_id: str) -> Entry:
        """The policy of a step is used up."""
        return self.write(Kind.STEP_FAILED, {"message": "exit code 1"}, step_id)

    def reopened(self, step_id: str, *suspects: str) -> Entry:
        """A later change broke a step that was done."""
        return self.write(Kind.STEP_REOPENED, {"suspects": list(suspects)}, step_id)

    def ended(self, outcome: Outcome, *, run: str | None = None) -> Entry:
        """The run ended."""
        return self.write(Kind.RUN_FINISHED, {"outcome": outcome, "snapshot": NOW}, run=run)

    def _digest(self, step_id: str) -> str:
        schedule = self.state.schedule
        return schedule.step(step_id).digest if schedule.has(step_id) else ""
