"""The drive of a run: fold the ledger, perform the next action, append, until it is over or waits.

    drive() → next_action(state) → one `_perform` method per action → append → …

It is idempotent: every action follows from the ledger alone, so a driver that died is replaced by
one that reads the same entries. At most the attempt in flight is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from signoff.domain.escalation import Cause, Outcome
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.domain.plan import DEFAULT_STEP_TIMEOUT_S, PlanStatus, Postcondition, Step
from signoff.domain.verdict import Phase, Verdict
from signoff.errors import Interrupted, LedgerBroken, ListUnreadable, StorageFailed
from signoff.gate.actions import (
    Abandon,
    Carry,
    Count,
    Dispatch,
    Escalate,
    Fail,
    Finish,
    JudgeStep,
    ReadList,
    Sweep,
    Wait,
    next_action,
)
from signoff.gate.fold import fold
from signoff.orchestrator import escalations
from signoff.orchestrator.attempts import Attempts
from signoff.orchestrator.events import Appended, Doing, Driving
from signoff.orchestrator.openrun import OpenRun
from signoff.orchestrator.sweep import FinalSweep
from signoff.planfile.verify import unfit_items
from signoff.planfile.verify.rules_steering import proposed_lines
from signoff.storage.failures import StorageCause
from signoff.testing.crash import CrashPoint, reach
from signoff.verification.evidence import Case, read_before

STATUS_OF = {
    Outcome.DONE: PlanStatus.DONE,
    Outcome.FAILED: PlanStatus.FAILED,
    Outcome.CANCELLED: PlanStatus.FAILED,
    Outcome.REVISED: PlanStatus.DRAFT,
}

_ITEMS_NAMED = 5

# What people may add to a run that somebody else drives.
_FROM_OTHERS = frozenset({Kind.ESCALATION_ANSWERED, Kind.STEP_WAIVED, Kind.AUDITED})


class Drive:
    """Drives one run; the only writer of its run while it holds the fence."""

    def __init__(self, work: OpenRun):
        self.work = work
        self.state = work.state
        # Verdicts are reused within a run only, so the fold is all the evidence there is to ask.
        self.court = replace(work.judge, evidence=self.state)
        self._last_hash = work.last_hash
        self._at_work = False
        self._attempts = Attempts(self)
        self._sweep = FinalSweep(self)
        self._perform: dict[type, Callable[[Any], None]] = {
            Abandon: self._attempts.abandon,
            Carry: self._carry,
            Count: self._count,
            Dispatch: self._attempts.dispatch,
            Escalate: self._escalate,
            Fail: self._fail,
            JudgeStep: self._judge,
            ReadList: self._read_list,
            Sweep: self._sweep.perform,
        }

    def drive(self) -> Outcome | None:
        """Go on until the run is over; None when it waits for a person."""
        self.catch_up()
        self.work.reporter.tell(Driving(self.state))
        self._at_work = True
        edits = self._attempts.notice_edits() if self.state.outcome is None else []
        if edits:
            self.append(*edits)
        while True:
            if self.work.cancelled():
                raise Interrupted("interrupted between two actions; state is safe")
            action = next_action(self.state, self.work.settings.policy)
            if isinstance(action, Finish):
                return self._finish(action.outcome)
            if isinstance(action, Wait):
                if self.catch_up():
                    continue
                self.project(now=True)
                return None
            self._perform[type(action)](action)

    def catch_up(self, ours: frozenset[str] = frozenset()) -> bool:
        """Fold what others appended (answers, most of all); whether there was anything.

        `ours` are the hashes of entries that this drive itself has just written.
        """
        seq = self.state.seq
        for entry in self.work.ledger.entries(self.work.plan_id, after=seq):
            if entry.hash not in ours:
                self._refuse_foreign(entry)
            self._fold(entry, intact=entry.hash == entry.expected_hash())
        return self.state.seq != seq

    def _refuse_foreign(self, entry: Entry) -> None:
        """While we drive, nobody else writes a verdict or an acceptance through an honest door."""
        if not self._at_work or entry.run != self.state.run or entry.kind in _FROM_OTHERS:
            return
        driver = self.work.ledger.run_record(self.work.run)
        if driver is not None and driver.token == self.work.fence.token:
            raise LedgerBroken(
                f"entry {entry.seq} (`{entry.kind}`) was written by somebody else",
                facts={"first_bad": entry.seq},
            )

    def _fold(self, entry: Entry, *, intact: bool) -> None:
        """Fold an entry that continues the chain; no other came through the ledger."""
        if entry.prev != self._last_hash or not intact:
            raise LedgerBroken(
                f"entry {entry.seq} of the ledger does not follow from the one before it",
                facts={"first_bad": entry.seq},
            )
        fold(self.state, (entry,))
        self._last_hash = entry.hash

    def append(
        self, *drafts: Draft, durable: bool = True, blobs: tuple[bytes, ...] = ()
    ) -> tuple[Entry, ...]:
        """One transaction: all of these entries, or none if a newer driver holds the fence.

        Not durable is enough where a power cut, which ends every process too, costs nothing but
        doing the same again; a crash of the driver alone loses nothing either way.
        """
        try:
            entries = self._write(drafts, durable, blobs)
        except StorageFailed as error:
            # A full disk must not cost the verdict in hand: the reserve makes room for it.
            if error.facts.get("cause") != StorageCause.FULL or not self.work.make_room():
                raise
            self._write(drafts, durable, blobs)
            raise
        if entries[0].seq != self.state.seq + 1:
            self.catch_up(frozenset(entry.hash for entry in entries))
        else:
            for entry in entries:
                self._fold(entry, intact=True)  # hashed in this process a moment ago
        for entry in entries:
            self.work.reporter.tell(Appended(entry))
        return entries

    def _write(
        self, drafts: tuple[Draft, ...], durable: bool, blobs: tuple[bytes, ...]
    ) -> tuple[Entry, ...]:
        return self.work.ledger.append(
            self.work.plan_id, drafts, fence=self.work.fence, durable=durable, blobs=blobs
        )

    def draft(
        self, kind: Kind, data: dict[str, Any], step: str | None = None, attempt: int | None = None
    ) -> Draft:
        """An entry of this run."""
        return Draft(kind, data, run=self.work.run, step=step, attempt=attempt)

    def project(self, *, now: bool = False) -> None:
        """Bring the marks in the plan file up to date."""
        self.work.projection.show(self.state, PlanStatus.IN_PROGRESS, now=now)
        reach(CrashPoint.PROJECTED)

    def judge(self, subject: Step | Postcondition, phase: Phase) -> Verdict:
        """Judge a contract on the workspace as it is."""
        self.work.reporter.tell(Doing(subject.id, "judging"))
        return self.court.judge(self._case(subject, phase))

    def tampered(self, step: Step) -> Verdict | None:
        """A refusal where what the step protects was changed; its contract is not run again."""
        case = self._case(step, Phase.SWEEP)
        # What steers a contract matters only while it runs, and this one was judged for good.
        return self.court.guard_only(replace(case, guard=replace(case.guard, influences=None)))

    def _case(self, subject: Step | Postcondition, phase: Phase) -> Case:
        contract = subject.contract
        assert contract is not None, "a plan file's step without contract is never verified"
        state = self.state
        record = state.record(subject.id)
        guards = self.work.guards
        guard = guards.of(subject, state.produced, state.products, record.allowed)
        if phase is Phase.ATTEMPT:
            guard = replace(guard, spans=record.spans)
        limit_s = subject.timeout_s if isinstance(subject, Step) else DEFAULT_STEP_TIMEOUT_S
        run, read = self.work.run, tuple(dict.fromkeys(record.read_sets))
        return Case(subject.id, contract, phase, guard, run, record.baseline, limit_s, read)

    def verdict_draft(self, verdict: Verdict, attempt: int | None = None) -> Draft:
        """The ledger entry of a verdict."""
        return self.draft(Kind.VERDICT, dict(vars(verdict)), verdict.subject, attempt)

    def acceptance(self, step: Step, key: str, snapshot: str, *, carried: bool = False) -> Draft:
        """The entry that accepts a kept verdict: `done` the first time, `restored` after that."""
        state, guards = self.state, self.work.guards
        again = state.record(step.id).accepted
        data = {
            "key": key,
            "snapshot": snapshot,
            "step_digest": step.digest,
            "produced": guards.owned_by(
                step, snapshot, state.produced, state.products, state.record(step.id).allowed
            ),
            "named": guards.named_by(step, snapshot, state.products),
            "relies_on": guards.relied_on_by(step, snapshot, state.products),
            "carried": carried,
        }
        return self.draft(Kind.STEP_RESTORED if again else Kind.STEP_DONE, data, step.id)

    def _count(self, action: Count) -> None:
        """How many tests a contract runs before anybody works; later verdicts are held to it."""
        verdict = self.judge(self._subject(action.subject), Phase.BASELINE)
        self.append(self.verdict_draft(verdict), durable=False)

    def _subject(self, subject: str) -> Step | Postcondition:
        if self.state.schedule.has(subject):
            return self.state.schedule.step(subject)
        return next(p for p in self.work.plan.postconditions if p.id == subject)

    def _judge(self, action: JudgeStep) -> None:
        if action.phase is Phase.BEFORE:
            self._attempts.clear_ground(action.step)
        verdict = self.judge(action.step, action.phase)
        reach(CrashPoint.CONTRACT_JUDGED)
        drafts = [self.verdict_draft(verdict, action.attempt)]
        read = read_before(self.court.blobs, [verdict.read] if verdict.read else ()).files
        if lines := proposed_lines(action.step, read):
            # Said before an agent is paid; nobody waits for it.
            drafts[0] = replace(drafts[0], data={**drafts[0].data, "proposed": list(lines)})
        if verdict.kept and action.phase is Phase.ATTEMPT:
            drafts.append(self.acceptance(action.step, verdict.key, verdict.snapshot))
        self.append(*drafts, durable=action.phase is not Phase.BEFORE)
        reach(CrashPoint.VERDICT_APPENDED)
        self.project()

    def _carry(self, action: Carry) -> None:
        before = self.state.record(action.step.id).before
        assert before is not None
        self.append(self.acceptance(action.step, before.key, before.snapshot, carried=True))
        self.project()

    def _read_list(self, action: ReadList) -> None:
        step = action.step
        judge = self.work.judge
        try:
            found = judge.bench.read_list(step.for_each or "", self.work.root)
        except ListUnreadable as error:
            if action.first_look:
                self.append(self.draft(Kind.STEP_LISTED, {"items": []}, step.id))
            else:
                self._ask_about_list(step, str(error))
            return
        reach(CrashPoint.LIST_READ)
        if action.first_look:
            self.append(self.draft(Kind.STEP_LISTED, {"items": list(found)}, step.id))
            return
        # An item that was there when the run began cannot be made to vanish by an earlier step.
        listed = self.state.record(step.id).listed or ()
        items = tuple(dict.fromkeys((*listed, *found)))
        if not items:
            self._ask_about_list(step, "the list is empty")
            return
        if unfit := unfit_items(step.contract.command if step.contract else "", items):
            named = ", ".join(f"`{item}`" for item in unfit[:_ITEMS_NAMED])
            why = "is in quotes there, and the shell would read what these items say"
            self._ask_about_list(step, f"`{{item}}` in its contract {why}: {named}")
            return
        self.append(self.draft(Kind.STEP_EXPANDED, {"items": list(items)}, step.id))

    def _ask_about_list(self, step: Step, why: str) -> None:
        question = f"step {step.id} ({step.title}): {why}"
        self.ask(Cause.LIST, question, step, {"command": step.for_each})

    def _escalate(self, action: Escalate) -> None:
        step = action.step
        question, context = escalations.about(action.cause, step, self.state.record(step.id))
        self.ask(action.cause, question, step, context)

    def ask(
        self, cause: Cause, question: str, step: Step | None, context: dict[str, Any] | None
    ) -> None:
        """Open an escalation and show it in the plan file."""
        self.append(self.question(cause, question, step.id if step else None, context))
        reach(CrashPoint.ESCALATED)
        self.project(now=True)

    def question(
        self, cause: Cause, question: str, subject: str | None, context: dict[str, Any] | None
    ) -> Draft:
        """The entry that asks; a policy may forbid waiving."""
        waivable = not self.work.settings.policy.forbid_waivers
        return escalations.ask(
            self.state, cause, question, step=subject, context=context, waivable=waivable
        )

    def _fail(self, action: Fail) -> None:
        latest = self.state.record(action.step.id).latest
        message = latest.message if latest else ""
        self.append(self.draft(Kind.STEP_FAILED, {"message": message}, action.step.id))

    def _finish(self, outcome: Outcome) -> Outcome:
        if self.state.outcome is None:
            self._attempts.abandon_all()
            reach(CrashPoint.BEFORE_FINISH)
            data = {"outcome": outcome, "snapshot": self.state.snapshot, "waived": self._waived()}
            drafts = [self.draft(Kind.RUN_FINISHED, data)]
            if outcome is Outcome.REVISED:
                drafts.append(self.draft(Kind.PLAN_DRAFTED, {"run": self.work.run}))
            self.append(*drafts)
        reach(CrashPoint.FINISHED)
        self.work.projection.show(self.state, STATUS_OF[outcome], now=True)
        return outcome

    def finish_done(self, snapshot: str) -> None:
        """Sign off: everything is kept on exactly this content."""
        reach(CrashPoint.BEFORE_FINISH)
        data = {"outcome": Outcome.DONE, "snapshot": snapshot, "waived": self._waived()}
        self.append(self.draft(Kind.RUN_FINISHED, data))

    def fail_run(self, why: str) -> None:
        """End the run as failed for a reason that belongs to no single step."""
        data = {"outcome": Outcome.FAILED, "snapshot": self.state.snapshot, "why": why}
        self.append(self.draft(Kind.RUN_FINISHED, {**data, "waived": self._waived()}))

    def _waived(self) -> list[str]:
        return sorted(subject for subject, r in self.state.records.items() if r.waived)
