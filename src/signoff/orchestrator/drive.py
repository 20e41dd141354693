"""The drive of a run: fold the ledger, perform the next action, append, until it is over or waits.

    drive() → next_action(state) → one `_perform` method per action → append → …

It is idempotent: every action follows from the ledger alone, so a driver that died is replaced by
one that reads the same entries. At most the attempt in flight is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec.structs import asdict, replace

from signoff.domain.ledger import Cause, Draft, Entry, Kind, Outcome
from signoff.domain.plan import PlanStatus, Postcondition, Step
from signoff.domain.snapshot import Snapshot
from signoff.domain.verdict import Phase, Verdict
from signoff.errors import Interrupted, LedgerBroken, ListUnreadable, StorageFailed
from signoff.gate.actions import (
    Abandon,
    Action,
    Carry,
    Count,
    Dispatch,
    Escalate,
    EscalateHeldBefore,
    EscalateObstacle,
    Fail,
    Finish,
    JudgeCandidate,
    JudgeStep,
    Land,
    MeasureStrength,
    PickCandidate,
    ReadList,
    Sweep,
    Wait,
    next_action,
    required_strength,
)
from signoff.gate.fold import fold
from signoff.orchestrator import escalations
from signoff.orchestrator.attempts import Attempts
from signoff.orchestrator.events import Appended, Doing, Driving
from signoff.orchestrator.landing import Landing, judge_candidate, pick_candidate
from signoff.orchestrator.lanes import Lanes
from signoff.orchestrator.openrun import OpenRun
from signoff.orchestrator.projection import STATUS_OF
from signoff.orchestrator.sweep import Baselines, FinalSweep
from signoff.planfile.verify.rules_plan import proposed_lines
from signoff.storage.engine import StorageCause
from signoff.testing.crash import CrashPoint, reach
from signoff.verification.evidence import Case
from signoff.verification.guards import case_of
from signoff.workspace.opened import read_before

# What people may add to a run that somebody else drives.
_FROM_OTHERS = frozenset({Kind.ESCALATION_ANSWERED, Kind.STEP_WAIVED, Kind.AUDITED})


class Drive:
    """Drives one run; the only writer of its run while it holds the fence."""

    def __init__(self, work: OpenRun):
        self.work = work
        self.state = work.state
        # Verdicts are reused within a run only, so the fold is all the evidence there is to ask.
        self.run_judge = replace(work.judge, evidence=self.state)
        self._last_hash = work.last_hash
        self._at_work = False
        self.left: Snapshot | None = None  # what a judging or an attempt left, for the next action
        self._found: Snapshot | None = None
        self.attempts = Attempts(self)
        self.baselines = Baselines(self)
        self._sweep = FinalSweep(self)
        self.lanes = Lanes(self)
        self.landing = Landing(self)
        self._perform: dict[type, Callable[[Any], None]] = {
            Abandon: self.attempts.abandon,
            Carry: self._carry,
            Count: self.baselines.count,
            Dispatch: self.attempts.dispatch,
            Escalate: self._escalate,
            EscalateHeldBefore: self._escalate_held_before,
            EscalateObstacle: self._escalate_obstacle,
            Fail: self._fail,
            JudgeCandidate: partial(judge_candidate, self),
            JudgeStep: self._judge,
            Land: self.landing.land,
            MeasureStrength: self._measure_strength,
            PickCandidate: partial(pick_candidate, self),
            ReadList: self._read_list,
            Sweep: self._sweep.perform,
        }

    def look_ahead(self) -> None:
        """Begin to judge, beside the workspace, what was approved: what drives us still loads."""
        self.catch_up()
        while isinstance(action := self._next_action(), Count | JudgeStep):
            subject = action.step.id if isinstance(action, JudgeStep) else action.subject
            if not self.lanes.judges(self.subject(subject)):
                return
            self._perform[type(action)](action)

    def _next_action(self) -> Action:
        return next_action(self.state, self.work.settings.policy, self.lanes.underway)

    def drive(self) -> Outcome | None:
        """Go on until the run is over; None when it waits for a person."""
        self.catch_up()
        self.work.reporter.tell(Driving(self.state))
        self._at_work = True
        if self.state.outcome is None:
            self.landing.finish_landing()
        try:
            return self._drive()
        finally:
            self.lanes.close()

    def _drive(self) -> Outcome | None:
        if self.state.outcome is None and (edits := self.attempts.notice_edits()):
            self.append(*edits)
        while True:
            self._found, self.left = self.left, None
            if self.work.cancelled():
                raise Interrupted("interrupted between two actions; state is safe")
            if due := tuple(escalations.withdrawals(self.state, self.work.clock())):
                self.append(*due)
            self.lanes.take_in()
            if self.landing.go_on():
                continue
            action = self._next_action()
            if isinstance(action, Finish):
                self.lanes.close()
                return self._finish(action.outcome)
            if isinstance(action, Wait):
                if self.lanes.busy:
                    self.lanes.wait()
                    continue
                if self.catch_up():
                    continue
                self.project(now=True)
                if not escalations.stay_parked(self.work, self.state):
                    return None
                continue
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
        """Refuse a verdict or acceptance that somebody else wrote while we drive."""
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
        endorsed = self.work.endorse(drafts)
        return self.work.ledger.append(
            self.work.plan_id, endorsed, fence=self.work.fence, durable=durable, blobs=blobs
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
        verdict = self.run_judge.judge(replace(self.case(subject, phase), content=self._found))
        self._found = self.left = self.work.workspace.latest if verdict.kept else None
        return verdict

    def try_here(self, case: Case, verdict: Verdict) -> Verdict:
        """Try in the workspace what was red beside it, before anybody worked."""
        self._found = self.left = None
        self.work.reporter.tell(Doing(case.subject, "judging in the workspace"))
        return self.run_judge.try_here(case, verdict)

    def case(self, subject: Step | Postcondition, phase: Phase) -> Case:
        """The question to the judge about a subject now."""
        return case_of(self.state, self.work.guards, subject, phase, self.work.run)

    def second_look(self, step: Step, verdict: Verdict) -> Verdict:
        """The verdict, unless the contract is too weak or an opinion stands in its way."""
        if not (step.rubric or required_strength(step, self.work.settings.policy)):
            return verdict
        from signoff.orchestrator.opinions import opinion_on  # noqa: PLC0415 - few steps ask
        from signoff.orchestrator.strength import strong_enough  # noqa: PLC0415 - likewise

        return opinion_on(self, step, strong_enough(self, step, verdict))

    def _measure_strength(self, action: MeasureStrength) -> None:
        from signoff.orchestrator.strength import measure_strength  # noqa: PLC0415 - by policy only

        measure_strength(self, action)

    def verdict_draft(self, verdict: Verdict, attempt: int | None = None) -> Draft:
        """The ledger entry of a verdict."""
        return self.draft(Kind.VERDICT, asdict(verdict), verdict.subject, attempt)

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

    def subject(self, subject: str) -> Step | Postcondition:
        """The step or postcondition with this id."""
        if self.state.schedule.has(subject):
            return self.state.schedule.step(subject)
        return next(p for p in self.work.plan.postconditions if p.id == subject)

    def _judge(self, action: JudgeStep) -> None:
        if action.phase is Phase.BEFORE:
            self.attempts.clear_ground(action.step)
            take = partial(self._judged, action)
            if self.baselines.judge_beside(action.step, action.phase, take):
                return
        self._judged(action, self.judge(action.step, action.phase))

    def _judged(self, action: JudgeStep, verdict: Verdict) -> None:
        reach(CrashPoint.CONTRACT_JUDGED)
        if action.phase is Phase.ATTEMPT:
            verdict = self.second_look(action.step, verdict)
        drafts = [self.verdict_draft(verdict, action.attempt)]
        read = read_before(self.run_judge.blobs, [verdict.read] if verdict.read else ()).files
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
        try:
            found = self.work.judge.runner.read_list(step.for_each or "", self.work.root)
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
        if why := escalations.wrong_with_list(step, items):
            self._ask_about_list(step, why)
        else:
            self.append(self.draft(Kind.STEP_EXPANDED, {"items": list(items)}, step.id))

    def _ask_about_list(self, step: Step, why: str) -> None:
        question = f"step {step.id} ({step.title}): {why}"
        self.ask(Cause.LIST, question, step, {"command": step.for_each})

    def _escalate(self, action: Escalate) -> None:
        step = action.step
        question, context = escalations.about(action.cause, step, self.state.record(step.id))
        self.ask(action.cause, question, step, context)

    def _escalate_obstacle(self, action: EscalateObstacle) -> None:
        judged = self.state.obstacles[action.subject]
        question, context = escalations.about_obstacle(self.subject(action.subject), judged)
        self.append(self.question(Cause.OBSTACLE, question, action.subject, context))
        self.project(now=True)

    def _escalate_held_before(self, _action: EscalateHeldBefore) -> None:
        allowed = not self.work.settings.policy.forbid_waivers
        self.append(escalations.ask_held_before(self.state, allowed=allowed))
        reach(CrashPoint.ESCALATED)
        self.project(now=True)

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
            self.attempts.abandon_all()
            reach(CrashPoint.BEFORE_FINISH)
            data = {"outcome": outcome, "snapshot": self.state.snapshot, "waived": self.waived()}
            drafts = [self.draft(Kind.RUN_FINISHED, data)]
            if outcome is Outcome.REVISED:
                drafts.append(self.draft(Kind.PLAN_DRAFTED, {"run": self.work.run}))
            self.append(*drafts)
        reach(CrashPoint.FINISHED)
        self.work.projection.show(self.state, STATUS_OF[outcome], now=True)
        return outcome

    def waived(self) -> list[str]:
        """Subjects without which the run goes on."""
        return sorted(subject for subject, r in self.state.records.items() if r.waived)
