"""Where a plan stands: what the ledger says of it and of each of its steps.

A run, an agent's session and a task without a plan are the same state. They differ in who wrote
the plan (`author`), and in whether a driver dispatches its steps (`driven`) or the agent does.
"""

from __future__ import annotations

from signoff.domain import facts
from signoff.domain.counts import TestCounts
from signoff.domain.escalation import Outcome
from signoff.domain.ledger import Entry
from signoff.domain.plan import Author, Contract, Cost, Plan, Postcondition, Step
from signoff.domain.product import Product
from signoff.domain.sessionwork import SessionWork
from signoff.domain.task import AskedCondition
from signoff.domain.verdict import Isolation
from signoff.gate.record import DerivedPlan, Record, SessionFacts
from signoff.gate.schedule import Schedule


class State:
    """Where a plan stands. Only the fold changes it; everything else reads."""

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
        self.questions_asked = 0
        self.history: set[str] = set()
        self.spent = Cost()
        self.spent_s = 0.0
        self.attempts_ended = 0
        self.budget_grants = 1
        self.any_failed = False
        self.aborted = False
        self.revised = False
        self.outcome: Outcome | None = None
        self.noticed: set[str] = set()
        self.verdicts: dict[str, Entry] = {}
        self.snapshot: str | None = None
        self.produced: dict[str, dict[str, str]] = {}
        self.products: dict[str, Product] = {}  # those, and what contracts of accepted steps name
        self.moments: list[tuple[int, str, str]] = []
        self.unlisted = [step.id for step in self.schedule.steps if step.for_each is not None]
        self.counted: frozenset[str] = frozenset()
        self.uncounted: list[str] = []
        self.baselines: dict[str, TestCounts] = {}  # of earlier runs of the same approval
        self.read_sets: dict[str, tuple[str, ...]] = {}  # likewise
        self.handoff: dict[str, str] = {}
        self.isolations: set[Isolation] = set()
        self.earlier_work: SessionWork | None = None  # of a session, before this run began
        self.usage_told: set[str] = set()  # sessions whose usage is counted already
        self.session = SessionFacts()
        self.task: DerivedPlan | None = None  # what the harness derived from a person's words
        self.beside: tuple[AskedCondition, ...] = ()  # of it, what is due beside an agent's plan
        self.task_files: dict[str, str] = {}  # subjects of it → the file or folder to be made
        self.task_checks: frozenset[str] = frozenset()  # its other subjects that something decides
        self.seq = 0
        self.cursor = 0

    def record(self, subject: str) -> Record:
        """The facts about one subject, empty if nothing happened yet."""
        found = self.records.get(subject)
        if found is None:
            found = self.records[subject] = Record()
        return found

    def contract(self, subject: str) -> Contract | None:
        """What decides this subject, if a contract does."""
        return next((s.contract for s in self.subjects if s.id == subject), None)

    @property
    def subjects(self) -> tuple[Step | Postcondition, ...]:
        """Everything that is due: the plan's, and what the task asks for beside it."""
        return (*(self.plan.subjects if self.plan is not None else ()), *self.beside)

    @property
    def provable(self) -> bool:
        """Whether something decides: a list that the harness took for a plan proves nothing."""
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
