"""Whether a plan is proved, read straight from its entries: a second opinion on the gate.

It shares no code with the gate: no fold, no schedule, only lists of entries searched again and
again. Slow, and obvious.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from signoff.domain.ledger import Cause, Choice, Entry, Kind
from signoff.domain.plan import Contract, Plan, RedFirst, Step, expand
from signoff.domain.verdict import Phase, Result


@dataclass(frozen=True)
class Oracle:
    """The entries of a ledger, and the run and content in question."""

    plan: Plan
    entries: Sequence[Entry]
    run: str
    snapshot: str | None

    def proven(self) -> bool:
        """Whether everything is kept on this content, or decided by a person, but not all of it."""
        steps = self._steps()
        if not steps or all(self._waived_by_a_person(s.id) for s in steps):
            return False
        if self._nothing_was_red(steps) and not self._called_done_all_the_same():
            return False
        posts = self.plan.postconditions
        return all(self._step_proven(s) for s in steps) and all(
            self._waived_by_a_person(p.id)
            or (p.contract is not None and self._kept_now(p.id, p.contract))
            or (p.contract is None and self._accepted_by_a_person(p.id))
            for p in posts
        )

    def _steps(self) -> list[Step]:
        """A list stands for every item that was read from it; unread, for itself."""
        steps: list[Step] = []
        for step in self.plan.steps:
            items = self._items(step.id) if step.for_each is not None else ()
            steps.extend(expand(step, items) if items else [step])
        return steps

    def _items(self, step_id: str) -> tuple[str, ...]:
        """Of the first reading that left out nothing of the first look."""
        for reading in self._of(Kind.STEP_EXPANDED, step_id):
            looks = [e for e in self._of(Kind.STEP_LISTED, step_id) if e.seq < reading.seq]
            wanted = looks[0].data["items"] if looks else []
            items = reading.data["items"]
            if items and all(item in items for item in wanted):
                return tuple(dict.fromkeys(items))
        return ()

    def _step_proven(self, step: Step) -> bool:
        if self._waived_by_a_person(step.id):
            return True
        if step.for_each is not None or step.contract is None:
            return False
        worked = self._accepted(step) and self._kept_now(step.id, step.contract)
        if worked and step.contract.red_first is RedFirst.REQUIRED:
            worked = not self._held_before(step.id) or self._carried(step)
        return worked or (self._carried(step) and self._carry_is_current(step))

    def _accepted(self, step: Step) -> bool:
        """Some `step.done` whose key is that of the newest kept verdict of its time."""
        for done in self._of(Kind.STEP_DONE, step.id):
            earlier = [v for v in self._work(step.id) if v.seq < done.seq]
            if earlier and _kept(earlier[-1]) and earlier[-1].data["key"] == done.data["key"]:
                return True
        return self._carried(step)

    def _carried(self, step: Step) -> bool:
        """Done in another run, and accepted on a verdict from before any work of this one."""
        return any(
            done.data["carried"]
            and self._in_history(step, done.seq)
            and not any(v.seq < done.seq for v in self._work(step.id))
            and any(
                _kept(v) and v.seq < done.seq and v.data["key"] == done.data["key"]
                for v in self._looks_before(step.id)
            )
            for done in self._of(Kind.STEP_DONE, step.id)
        )

    def _carry_is_current(self, step: Step) -> bool:
        assert step.contract is not None
        looks = [v for v in self._looks_before(step.id) if _kept(v)]
        return not self._work(step.id) and any(self._current(v, step.contract) for v in looks)

    def _in_history(self, step: Step, seq: int) -> bool:
        return any(
            e.kind is Kind.STEP_DONE
            and e.run != self.run
            and e.seq < seq
            and e.data["step_digest"] == step.digest
            for e in self.entries
        )

    def _held_before(self, subject: str) -> bool:
        looks = self._looks_before(subject)
        if not looks or not _kept(looks[0]):
            return False
        return not self._told_to_go_on(subject)

    def _nothing_was_red(self, steps: list[Step]) -> bool:
        """Every step that was to be red first held before, and a person wants to be asked."""
        asks = any(e.data.get("asks_held_before") for e in self._of(Kind.RUN_STARTED, None))
        to_be_red = [
            s
            for s in steps
            if s.contract is not None
            and s.contract.red_first is not RedFirst.OFF
            and not self._waived_by_a_person(s.id)
            and not self._told_to_go_on(s.id)
        ]
        nothing = all(self._held_before(s.id) and not self._carried(s) for s in to_be_red)
        return asks and bool(to_be_red) and nothing

    def _told_to_go_on(self, subject: str) -> bool:
        return any(
            q.data["cause"] == Cause.HELD_BEFORE and self._answered(q, Choice.RETRY)
            for q in self._of(Kind.ESCALATION_OPENED, subject)
        )

    def _called_done_all_the_same(self) -> bool:
        return any(
            q.data["cause"] == Cause.HELD_BEFORE and self._answered(q, Choice.ACCEPT)
            for q in self._of(Kind.ESCALATION_OPENED, None)
        )

    def _waived_by_a_person(self, subject: str) -> bool:
        return any(
            self._answered(question, Choice.WAIVE, before=waived.seq)
            for waived in self._of(Kind.STEP_WAIVED, subject)
            for question in self._of(Kind.ESCALATION_OPENED, subject)
            if question.data["id"] == waived.data["escalation"]
        )

    def _accepted_by_a_person(self, subject: str) -> bool:
        return any(
            self._answered(question, Choice.ACCEPT)
            for question in self._of(Kind.ESCALATION_OPENED, subject)
            if question.data["snapshot"] == self.snapshot
        )

    def _answered(self, question: Entry, choice: Choice, before: int | None = None) -> bool:
        return any(
            e.kind is Kind.ESCALATION_ANSWERED
            and e.run == self.run
            and e.data["id"] == question.data["id"]
            and e.data["choice"] == choice
            and choice in question.data["choices"]
            and e.seq > question.seq
            and (before is None or e.seq < before)
            for e in self.entries
        )

    def _kept_now(self, subject: str, contract: Contract) -> bool:
        work = self._work(subject)
        return bool(work) and _kept(work[-1]) and self._current(work[-1], contract)

    def _current(self, verdict: Entry, contract: Contract) -> bool:
        return contract.judged_once or verdict.data["snapshot"] == self.snapshot

    def _work(self, subject: str) -> list[Entry]:
        phases = (Phase.ATTEMPT, Phase.SWEEP)
        return [v for v in self._verdicts(subject) if v.data["phase"] in phases]

    def _looks_before(self, subject: str) -> list[Entry]:
        return [v for v in self._verdicts(subject) if v.data["phase"] == Phase.BEFORE]

    def _verdicts(self, subject: str) -> list[Entry]:
        found = [v for v in self._of(Kind.VERDICT, subject) if not v.data["provisional"]]
        return [v for v in found if v.data["subject"] == subject]

    def _of(self, kind: Kind, subject: str | None) -> list[Entry]:
        found = [e for e in self.entries if e.kind is kind and e.step == subject]
        return [e for e in found if e.run == self.run]


def _kept(verdict: Entry) -> bool:
    return bool(verdict.data["result"] == Result.KEPT)
