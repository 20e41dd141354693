"""State of a plan: the ledger's facts about it and each of its steps, and what its budget leaves.

A run, an agent's session and a task without a plan are the same state. They differ in who wrote
the plan (`author`), and in whether a driver dispatches its steps (`driven`) or the agent does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain import facts
from signoff.domain.facts import SessionWork
from signoff.domain.ledger import Entry, Outcome
from signoff.domain.plan import (
    Author,
    Contract,
    Cost,
    JudgeIn,
    Plan,
    Postcondition,
    RedFirst,
    Step,
    expand,
)
from signoff.domain.second_look import OpinionGiven, Strength
from signoff.domain.session import AskedCondition
from signoff.domain.snapshot import Product
from signoff.domain.verdict import Isolation, TestCounts
from signoff.gate.record import DerivedPlan, Judged, Record, SessionFacts

_TIME_MARGIN = 2  # of an attempt beside others, over the average


class Schedule:
    """The plan's steps as they stand in this run; expanded steps replace their template."""

    def __init__(self, plan: Plan | None):
        self.plan = plan or Plan("", ())
        self.steps: list[Step] = list(self.plan.steps)
        self._position = {step.id: i for i, step in enumerate(self.steps)}
        self._children: dict[str, tuple[str, ...]] = {}

    def expand(self, step_id: str, items: tuple[str, ...]) -> None:
        """Put one step per item in the place of a `for_each` step."""
        index = self._position[step_id]
        children = expand(self.steps[index], items)
        self.steps[index : index + 1] = children
        self._children[step_id] = tuple(child.id for child in children)
        self._position = {step.id: i for i, step in enumerate(self.steps)}

    def has(self, step_id: str) -> bool:
        """True when a step with this id is to be done in this run."""
        return step_id in self._position

    def step(self, step_id: str) -> Step:
        """The step with this id, expanded ones included."""
        return self.steps[self._position[step_id]]

    def position(self, step_id: str) -> int:
        """Index of the step in the order."""
        return self._position[step_id]

    def needed(self, step: Step) -> tuple[str, ...]:
        """The ids that must be settled before this step may start."""
        ids: list[str] = []
        for need in step.needs:
            ids.extend(self._children.get(need, (need,)))
        return tuple(ids)

    def parents(self) -> dict[str, tuple[str, ...]]:
        """Templates that were expanded, with the ids that took their place."""
        return dict(self._children)


class State:
    """State of a plan. Only the fold changes it; everything else reads."""

    def __init__(self, plan: Plan | None, run: str = "", *, driven: bool = True):
        self.run = run
        self.driven = driven
        self.author = Author.AGENT if plan is None else Author.PERSON
        self.plan = plan
        self.schedule = Schedule(plan)
        self.records: dict[str, Record] = {}
        if plan is not None and not driven:
            self.records = {subject.id: Record() for subject in plan.subjects}
        self.questions: dict[str, facts.QuestionOpened] = {}  # open ones
        self.history: set[str] = set()
        self.spent, self.spent_s = Cost(), 0.0
        self.untold_tokens = self.untold_usd = 0  # attempts that did not tell what they used
        self.attempts_ended = self.questions_asked = 0
        self.any_worked = False  # to the end, so that it is known what an attempt takes
        self.budget_grants = 1
        self.any_failed = self.aborted = self.revised = False
        self.outcome: Outcome | None = None
        self.noticed: set[str] = set()
        self.verdicts: dict[str, Entry] = {}
        self.strength_at_end: dict[str, Strength] = {}  # by step, as the run ended
        self.strengths: dict[str, Strength] = {}  # by what they were measured of
        self.snapshot: str | None = None
        self.landed: facts.StepLanded | None = None  # nobody worked in place since
        self.produced: dict[str, dict[str, str]] = {}
        self.products: dict[str, Product] = {}  # those, and what contracts of accepted steps name
        self.moments: list[tuple[int, str, str]] = []
        self.unlisted = [step.id for step in self.schedule.steps if step.for_each is not None]
        self.counted: frozenset[str] = frozenset()
        self.uncounted: list[str] = []
        self.tried: set[str] = set()  # whose checks earlier runs of the same approval tried
        self.outgrew_room: dict[str, str] = {}  # whose checks work in the workspace only, and why
        self.wrote: dict[str, tuple[str, ...]] = {}  # protected paths that checks made themselves
        self.obstacles: dict[str, Judged] = {}  # what kept checks from working before anybody did
        self.baselines: dict[str, TestCounts] = {}  # of earlier runs of the same approval
        self.read_sets: dict[str, tuple[str, ...]] = {}  # likewise
        self.opinions: dict[str, tuple[int, OpinionGiven]] = {}  # by input; of earlier runs too
        self.measured: dict[str, str] = {}  # by model: how good its opinions were found to be
        self.handoff: dict[str, str] = {}
        self.isolations: set[Isolation] = set()
        self.earlier_work: SessionWork | None = None  # of a session, before this run began
        self.asks_held_before = False  # a person, if every contract held before the work
        self.approved_content = ""
        self.held_before_accepted_by = ""  # the person who calls it done although they did
        self.usage_told: set[str] = set()  # sessions whose usage is counted already
        self.session = SessionFacts()
        self.task: DerivedPlan | None = None  # what the harness derived from a person's words
        self.beside: tuple[AskedCondition, ...] = ()  # of it, what is due beside an agent's plan
        self.task_files: dict[str, str] = {}  # subjects of it → the file or folder to be made
        self.task_checks: frozenset[str] = frozenset()  # its other subjects that something decides
        self.seq = self.cursor = 0

    def record(self, subject: str) -> Record:
        """The facts about one subject, empty if nothing happened yet."""
        found = self.records.get(subject)
        if found is None:
            found = self.records[subject] = Record()
        return found

    def contract(self, subject: str) -> Contract | None:
        """The contract of this subject; None where there is none."""
        return next((s.contract for s in self.subjects if s.id == subject), None)

    @property
    def all_held_before(self) -> bool:
        """True when no step was seen red, of those that were to be: nothing shows what was done.

        What a person let go or accepted, and refactorings (`red_first: off`), are not asked about.
        """
        asked_about = [
            record
            for step in self.schedule.steps
            if step.contract is not None and step.contract.red_first is not RedFirst.OFF
            if not (record := self.records.get(step.id, Record())).given_up
            and not record.held_before_accepted
        ]
        return bool(asked_about) and all(r.never_red and r.held_before for r in asked_about)

    @property
    def needs_word_on_held_before(self) -> bool:
        """True when only a person can call it done, and nobody did."""
        unanswered = self.asks_held_before and not self.held_before_accepted_by
        return unanswered and self.all_held_before

    @property
    def self_made(self) -> tuple[str, ...]:
        """Protected paths that checks of this plan were seen to make themselves."""
        return tuple(dict.fromkeys(path for found in self.wrote.values() for path in found))

    def judged_as(self, subject: Step | Postcondition) -> Contract | None:
        """The subject's contract, set to the workspace where it was seen to work nowhere else."""
        contract = subject.contract
        moves = subject.id in self.outgrew_room and contract is not None
        if moves and contract is not None and contract.judge_in is None:
            return replace(contract, judge_in=JudgeIn.WORKSPACE)
        return contract

    @property
    def subjects(self) -> tuple[Step | Postcondition, ...]:
        """Everything that is due: the plan's, and what the task asks for beside it."""
        return (*(self.plan.subjects if self.plan is not None else ()), *self.beside)

    @property
    def provable(self) -> bool:
        """True when something decides: a list that the harness took for a plan proves nothing."""
        decided = self.author is not Author.DERIVED or any(s.contract for s in self.subjects)
        return self.plan is not None and decided

    def find_verdict(self, key: str) -> Entry | None:
        """The newest verdict of this run with this evidence key."""
        return self.verdicts.get(key)

    def verdicts_on(self, subject: str, snapshot: str) -> list[Entry]:
        """The verdicts of this run about one subject on one content, whatever lay beside it."""
        about = (e for e in self.verdicts.values() if e.data["subject"] == subject)
        return [entry for entry in about if entry.data["snapshot"] == snapshot]

    def settle_cursor(self) -> int:
        """The position of the first step that still needs something."""
        steps = self.schedule.steps
        while self.cursor < len(steps) and self.record(steps[self.cursor].id).settled:
            self.cursor += 1
        return self.cursor


def shortfall(state: State, step: Step, at_work: Sequence[Step] = ()) -> str | None:
    """The part of the budget that this step would exceed if dispatched; None when it fits.

    A step is expected to take its own estimate, else the average of the attempts so far. So are
    the attempts at work, which told nothing yet.
    """
    budget, spent = state.schedule.plan.budget, state.spent
    each, others = _expected(state, step), [_expected(state, other) for other in at_work]
    for limit, used, each_of, show in (
        (budget.tokens, spent.tokens, 0, "{:,.0f} tokens".format),
        (budget.usd, spent.usd, 1, "${:,.2f}".format),
        (budget.wall_s, state.spent_s, 2, _minutes),
    ):
        allowed = None if limit is None else limit * state.budget_grants
        more = each[each_of]
        in_flight = sum(other[each_of] for other in others)
        # The limit of an attempt is fixed when it starts: time is set aside for a slow one.
        in_flight *= _TIME_MARGIN if each_of == 2 else 1
        if allowed is not None and (used + in_flight + more > allowed or used >= allowed):
            left = sum(not state.record(s.id).settled for s in state.schedule.steps)
            return (
                f"budget exceeded: {show(used)} of {show(allowed)} used, {left}"
                f" step{'' if left == 1 else 's'} left, about {show(more * left)} more needed"
            )
    return None


def _expected(state: State, step: Step) -> tuple[float, float, float]:
    """Tokens, dollars and seconds that one attempt is expected to use."""
    attempts, spent = max(state.attempts_ended, 1), state.spent
    cost = step.estimate or Cost(spent.tokens, spent.usd)
    share = 1 if step.estimate is not None else attempts
    return cost.tokens / share, cost.usd / share, state.spent_s / attempts


def fits_beside(state: State, step: Step, at_work: Sequence[Step]) -> bool:
    """True when the budget allows this step too, while those others are at work.

    While nobody knows what an attempt takes, one alone finds out.
    """
    budget = state.schedule.plan.budget
    untold = any(s.estimate is None for s in (step, *at_work))
    told_later = untold and (budget.tokens is not None or budget.usd is not None)
    if at_work and not state.any_worked and (told_later or budget.wall_s is not None):
        return False
    return shortfall(state, step, at_work) is None


class Grant(Struct, frozen=True):
    """The part of the budget that one attempt may use; None is without a limit."""

    tokens: int | None = None
    usd: float | None = None
    wall_s: float | None = None


def budget_left(state: State, granted: Iterable[Grant] = (), among: int = 1) -> Grant:
    """Share of the remaining budget for one of `among` agents, without what others were granted."""
    budget, spent, grants = state.schedule.plan.budget, state.spent, state.budget_grants
    given = tuple(granted)
    tokens, usd, wall_s = budget.tokens, budget.usd, budget.wall_s
    if tokens is not None:
        tokens = tokens * grants - spent.tokens - sum(g.tokens or 0 for g in given)
        tokens = max(0, tokens) // among
    if usd is not None:
        usd = usd * grants - spent.usd - sum(g.usd or 0.0 for g in given)
        usd = max(0.0, usd) / among
    if wall_s is not None:
        wall_s = wall_s * grants - state.spent_s - sum(g.wall_s or 0.0 for g in given)
        wall_s = max(0.0, wall_s) / among
    return Grant(tokens, usd, wall_s)


def attempt_limit_s(*limits_s: float | None) -> float:
    """Seconds for one attempt: the shortest of its own limits and of what the budget leaves."""
    return max(1.0, min(limit for limit in limits_s if limit is not None))


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.0f} seconds"
