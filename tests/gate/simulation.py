"""An orchestrator in miniature: performs each next action with invented agents, people, crashes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from signoff.domain.ledger import Cause, Choice, Outcome
from signoff.domain.plan import Plan, Step
from signoff.domain.verdict import Phase, Reason, Result
from signoff.gate.actions import (
    TAMPERING_RETRIES,
    Abandon,
    Carry,
    Count,
    Dispatch,
    Escalate,
    EscalateHeldBefore,
    Fail,
    Finish,
    JudgeStep,
    ReadList,
    Sweep,
    Wait,
    next_action,
)
from signoff.gate.fold import fold
from signoff.gate.gate import Gate, evaluate
from signoff.gate.state import State, shortfall
from signoff.gate.subjects import is_stale
from signoff.settings.policy import HeldBeforeRule, Policy
from signoff.settings.roles import HUMAN_ROLE
from tests.gate.scribe import RUN, Scribe

ITEMS = ("a", "b", "c")
TOKENS_EACH = 10


@dataclass
class World:
    """How agents, contracts, machines and people behave."""

    chance: Random
    kept: float  # how often a contract is kept
    patience: int  # how many questions people answer before they stop answering
    crashes: int  # how many drivers die during an attempt
    answers: tuple[Choice, ...] = tuple(Choice)

    def happens(self, probability: float) -> bool:
        return self.chance.random() < probability

    def result(self) -> tuple[Result, Reason]:
        if self.happens(self.kept):
            return Result.KEPT, Reason.HELD
        return self.chance.choice(_REFUSALS)


_REFUSALS = (
    (Result.BROKEN, Reason.EXPECTATION),
    (Result.BROKEN, Reason.EXPECTATION),
    (Result.BROKEN, Reason.TAMPERED),
    (Result.UNKNOWN, Reason.TIMED_OUT),
    (Result.UNKNOWN, Reason.INFRASTRUCTURE),
    (Result.UNKNOWN, Reason.FLAKY),
)


FOR_THE_PLAN = (Choice.ACCEPT, Choice.REVISE, Choice.ABORT)


class Simulation:
    """run() → next_action → one method per action → entries → … until Finish or Wait."""

    def __init__(self, plan: Plan, world: World, policy: Policy):
        self.plan, self.world, self.policy = plan, world, policy
        self.ledger = Scribe(plan=plan)
        counted = (s.id for s in plan.subjects if world.happens(0.5))
        asks = policy.held_before is HeldBeforeRule.ASK
        self.ledger.begun(*counted, asks_held_before=asks)
        self.content = 0
        self.asked = 0
        self.answered = 0
        self.crashed = 0
        self.actions = 0
        self.attempts_since_answer: Counter[str] = Counter()
        self._perform: dict[type, Callable[[Any], None]] = {
            Abandon: self._abandon,
            Carry: self._carry,
            Count: self._count_tests,
            Dispatch: self._dispatch,
            Escalate: lambda a: self._ask(a.cause, a.step.id),
            EscalateHeldBefore: lambda _: self._ask(Cause.HELD_BEFORE, None, FOR_THE_PLAN),
            Fail: self._fail,
            JudgeStep: self._judge,
            ReadList: self._read_list,
            Sweep: lambda _a: self._sweep(),
        }

    @property
    def state(self) -> State:
        """The fold of what was written so far."""
        return self.ledger.state

    @property
    def most_actions(self) -> int:
        """More than any run may take: what the policies allow between two answers, and crashes."""
        items = sum(len(ITEMS) if s.for_each else 1 for s in self.plan.steps)
        retries = max(s.on_fail.retries for s in self.plan.steps)
        # Twice the subjects for counting, and three judgings where one could not be done.
        subjects = items + len(self.plan.postconditions)
        between_answers = items * (6 * (retries + 3) + 6) + 2 * subjects
        return (self.answered + 1) * between_answers + 3 * self.crashed

    def run(self) -> Finish | Wait:
        """Go on until the run is over, or nobody answers any more."""
        while True:
            action = next_action(self.state, self.policy)
            again = fold(State(self.plan, RUN), self.ledger.entries)
            assert next_action(again, self.policy) == action, "a new driver would act otherwise"
            if isinstance(action, Finish):
                return action
            if isinstance(action, Wait):
                assert action.questions, "it waits for nobody"
                if self.answered == self.world.patience:
                    return action
                self._answer(self.world.chance.choice(action.questions))
                continue
            self.actions += 1
            assert self.actions <= self.most_actions, f"no end in sight: {action}"
            self._perform[type(action)](action)

    def snapshot(self) -> str:
        """The content as it is now."""
        return f"content-{self.content}"

    def _abandon(self, action: Abandon) -> None:
        self.ledger.lost(action.step.id, action.attempt)

    def _fail(self, action: Fail) -> None:
        self.ledger.failed(action.step.id)

    def _dispatch(self, action: Dispatch) -> None:
        step = action.step
        needed = [self.state.record(n) for n in self.state.schedule.needed(step)]
        assert all(r.done or r.waived for r in needed), "dispatched before what it needs"
        assert action.attempt == self.state.record(step.id).attempts + 1
        if shortfall(self.state, step) is not None:
            self._ask(Cause.BUDGET, None)
        elif step.target == HUMAN_ROLE:
            self._count(step)
            self.ledger.started(step.id, action.attempt)
            self._ask(Cause.HUMAN, step.id)
        else:
            self._work(step, action.attempt)

    def _work(self, step: Step, attempt: int) -> None:
        self.ledger.started(step.id, attempt)
        if self.crashed < self.world.crashes and self.world.happens(0.3):
            self.crashed += 1
            return
        self._count(step)
        self.content += self.world.happens(0.8)
        self.ledger.finished(
            step.id,
            attempt,
            snapshot=self.snapshot(),
            tokens=TOKENS_EACH,
            answer={"kind": "blocked", "reason": "?"} if self.world.happens(0.1) else None,
            handoff={f".envrc-{self.content}": "x"} if self.world.happens(0.1) else None,
        )

    def _count(self, step: Step) -> None:
        self.attempts_since_answer[step.id] += 1
        # Tampering has a budget of its own, of one retry at most.
        most = step.on_fail.retries + 1 + min(step.on_fail.retries, TAMPERING_RETRIES)
        assert self.attempts_since_answer[step.id] <= most

    def _judge(self, action: JudgeStep) -> None:
        result = self._verdict(action.step.id, action.phase)
        if result is Result.KEPT and action.phase is Phase.ATTEMPT:
            again = self.state.record(action.step.id).accepted
            self.ledger.done(action.step.id, snapshot=self.snapshot(), again=again)

    def _verdict(self, subject: str, phase: Phase) -> Result:
        result, reason = self.world.result()
        self.ledger.verdict(subject, result, phase=phase, snapshot=self.snapshot(), reason=reason)
        return result

    def _count_tests(self, action: Count) -> None:
        self._verdict(action.subject, Phase.BASELINE)

    def _carry(self, action: Carry) -> None:
        self.ledger.done(action.step.id, snapshot=self.snapshot(), carried=True)

    def _read_list(self, action: ReadList) -> None:
        found = ITEMS[: self.world.chance.randrange(len(ITEMS) + 1)]
        if action.first_look:
            self.ledger.listed(action.step.id, *found)
            return
        listed = self.state.record(action.step.id).listed or ()
        items = dict.fromkeys((*listed, *found))
        if items:
            self.ledger.expanded(action.step.id, *items)
        else:
            self._ask(Cause.LIST, action.step.id)

    def _sweep(self) -> None:
        if not (self._steps_hold() and self._postconditions_hold()):
            return
        report = evaluate(self.state, self.snapshot())
        if not all(s.id in report.waived for s in report.steps):
            assert report.gate is not Gate.SHUT, f"all holds, yet shut: {report.missing}"
        self.ledger.ended(Outcome.FAILED if report.gate is Gate.SHUT else Outcome.DONE)

    def _steps_hold(self) -> bool:
        for step in self.state.schedule.steps:
            record = self.state.record(step.id)
            assert record.settled, "swept before every step was settled"
            if record.waived or not is_stale(step.contract, record, self.snapshot()):
                continue
            result = self._verdict(step.id, Phase.SWEEP)
            if result is not Result.KEPT:
                self.ledger.reopened(step.id)
                return False
        return True

    def _postconditions_hold(self) -> bool:
        holds = True
        for post in self.plan.postconditions:
            record = self.state.record(post.id)
            if record.waived:
                continue
            vouched = record.vouched
            if post.contract is None and vouched and vouched.snapshot == self.snapshot():
                continue
            if post.contract is not None and (
                record.latest is None or is_stale(post.contract, record, self.snapshot())
            ):
                self._verdict(post.id, Phase.SWEEP)
            latest = self.state.record(post.id).latest
            if post.contract is None or latest is None or not latest.kept:
                self._ask(Cause.POSTCONDITION, post.id)
                holds = False
        return holds

    def _ask(self, cause: Cause, subject: str | None, choices: tuple[Choice, ...] = ()) -> None:
        self.asked += 1
        name, now = f"{RUN}-{self.asked}", self.snapshot()
        self.ledger.ask(name, subject, cause, snapshot=now, choices=choices)

    def _answer(self, escalation: str) -> None:
        self.answered += 1
        opened = self.state.questions[escalation]
        offered = [c for c in self.world.answers if c in opened.choices]
        fallback = Choice.RETRY if Choice.RETRY in opened.choices else Choice.ACCEPT
        choice = self.world.chance.choice(offered or [fallback])
        self.ledger.answer(escalation, choice)
        if opened.subject is not None:
            self.attempts_since_answer[opened.subject] = 0
            if choice is Choice.WAIVE:
                self.ledger.waived(opened.subject, escalation)
