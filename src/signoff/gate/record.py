"""Records of the ledger about one step or postcondition, one verdict, and one session."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct, field

from signoff.domain.facts import AttemptFinished, PlanWritten, SessionStarted, StepTurnedBack
from signoff.domain.plan import Budget, Plan
from signoff.domain.second_look import OpinionGiven, OpinionResult, Strength
from signoff.domain.session import Basis, ClaimStatus, Declared, ToolCall
from signoff.domain.verdict import Ending, FailureClass, Phase, TestCounts, Verdict, failure_of

MOST_TURNED_BACK = 2  # in a row; then the step is worked on in the workspace, by itself


class Judged(Verdict, frozen=True, dict=True):
    """A verdict as the ledger has it, in the entry `seq`."""

    seq: int = 0
    beside: bool = False  # made on content that was not the workspace's

    @cached_property
    def tests(self) -> TestCounts | None:
        """The tests that were counted."""
        return TestCounts.from_data(self.counts)

    @property
    def failure(self) -> FailureClass | None:
        """Class of the failure; None when the contract was kept."""
        return None if self.kept else failure_of(self.reason)

    def for_good(self) -> Verdict:
        """The plain verdict, no longer provisional."""
        said = {name: getattr(self, name) for name in Verdict.__struct_fields__}
        return Verdict(**said | {"provisional": False})

    def same_failure(self, other: Judged | None) -> bool:
        """True when the other verdict says the same of the same content: nothing was learnt."""
        return other is not None and (self.snapshot, self.reason, self.exit_code) == (
            other.snapshot,
            other.reason,
            other.exit_code,
        )


class Vouched(Struct, frozen=True):
    """A person says that it holds, of this content; no contract was judged."""

    by: str
    snapshot: str


class Worked(Struct, frozen=True):
    """Ending of the latest attempt's agent: shown to people, it decides nothing."""

    ending: str
    exit_code: int | None
    output_tail: str
    why: str = ""

    @classmethod
    def of(cls, fact: AttemptFinished) -> Worked | None:
        """None of a lost attempt, and of work that no process of ours did."""
        if fact.lost or fact.ending not in {str(ending) for ending in Ending}:
            return None
        return cls(fact.ending, fact.exit_code, fact.output_tail, fact.why)

    @property
    def in_trouble(self) -> bool:
        """True when the agent itself failed, whatever became of the work."""
        return self.exit_code != 0 if self.ending == Ending.EXITED else self.ending in _TROUBLE

    def __str__(self) -> str:
        code = "" if self.exit_code is None else f"exit code {self.exit_code}"
        how = "" if self.ending == Ending.EXITED else _TROUBLE.get(self.ending, self.ending)
        first, *more = [said for said in (how, code, self.why) if said] or [""]
        return first + (f" ({'; '.join(more)})" if more else "")


_TROUBLE: dict[str, str] = {
    Ending.SIGNALLED: "killed by a signal",
    Ending.TIMED_OUT: "out of time",
    Ending.NOT_EXECUTABLE: "a program could not be executed",
    Ending.NOT_FOUND: "a program was not found",
    Ending.NOT_STARTED: "could not be started",
    Ending.OUTPUT_LIMIT: "printed too much",
    Ending.OVER_BUDGET: "stopped",
}


class Claim(Struct):
    """An agent's claim about the subject in a session, and the basis of its evidence."""

    since: int = 0  # the entry that brought the subject into the plan
    begun: int = 0  # the entry that put it in progress last
    status: ClaimStatus = ClaimStatus.PENDING
    evidence: str = ""
    notes: str = ""
    basis: Basis | None = None  # of evidence that was accepted; None when nothing was
    ruling: str = ""  # of a second model, about a claim that it is blocked
    reopened: int = 0
    children: tuple[str, ...] = ()  # sessions that it was handed to

    @property
    def counts_from(self) -> int:
        """Evidence must be younger than this entry."""
        return max(self.begun, self.since)

    def send_back(self, seq: int) -> None:
        """Void the claim: nothing that was said of it counts any more."""
        self.status, self.begun, self.basis = ClaimStatus.PENDING, seq, None


class CandidateAttempt(Struct, frozen=True):
    """An attempt that works on a step beside others, until one of them is picked."""

    number: int
    base: str
    lane: int
    ended: AttemptFinished | None = None
    verdict: Judged | None = None  # on what it left, by itself


class Record(Struct):
    """Everything that the ledger says about one step or postcondition."""

    attempts: int = 0
    lost: int = 0  # of them, that do not count: their driver died, or a usage limit ended them
    in_flight: int | None = None
    began: str | None = None  # the content as the attempt in flight began; empty: as approved
    spans: tuple[tuple[str, str], ...] = ()  # content before and after attempts not accepted yet
    change: tuple[tuple[str, str], ...] = ()  # those of the attempts that were accepted
    strength: Strength | None = None  # of its contract, measured on that change
    unjudged: int | None = None
    failures: int = 0
    tamperings: int = 0
    unjudgeable: int = 0
    obstacles: int = 0  # in a row, after an attempt
    parks: int = 0  # since a person last said to go on: how often a usage limit postponed it
    parked_s: float = 0.0  # and for how long altogether
    flaky: bool = False
    influenced: bool = False  # it holds only with files changed that the plan does not name
    allowed: tuple[str, ...] = ()  # those that a person allowed since
    undecided: bool = False  # it holds, and a model's opinion asks for a person
    opinion: OpinionGiven | None = None  # the newest about its rubric
    overruled: frozenset[str] = frozenset()  # opinions in whose place a person accepted the work
    refused: Judged | None = None  # the last attempt since a person last said to go on
    repeated: bool = False
    answer: str | None = None
    answer_reason: str = ""
    worked: Worked | None = None
    hindered: str = ""  # what kept the latest attempt's agent from working, which changed nothing
    advice: tuple[tuple[str, str], ...] = ()  # what the agent asked, and what a person said to it
    restored: tuple[str, ...] = ()  # tampered files that the harness put back, or removed again
    cleared: int = 0  # the entry that says so of what was left for a person to look at
    handoff: tuple[str, ...] = ()
    held_before: bool | None = None
    before: Judged | None = None
    latest: Judged | None = None
    repinned: bool = False  # that was judged by pins which a person replaced since
    kept_keys: set[str] = field(default_factory=set)
    accepted: bool = False
    carried: bool = False
    reopened: bool = False
    suspects: tuple[str, ...] = ()
    failed: bool = False
    waived: bool = False
    let_go: bool = False  # called blocked, and the user's policy takes that for an answer
    question: str | None = None  # open, about this subject
    waivers: set[str] = field(default_factory=set)
    vouched: Vouched | None = None
    held_before_accepted: bool = False
    listed: tuple[str, ...] | None = None
    looking_again: bool = False
    baseline: TestCounts | None = None
    read_sets: tuple[str, ...] = ()  # what its check read before anybody worked
    claim: Claim = field(default_factory=Claim)
    base: str = ""  # what the lane was made of that it is worked on in; empty: in the workspace
    lane: int = 0  # of the attempt in flight; 0 is the workspace itself
    # By attempt, until one of them is picked.
    candidates: dict[int, CandidateAttempt] = field(default_factory=dict)
    picked: Judged | None = None  # verdict of the one that was, until its work is judged to land
    left_ignored: bool = False  # the latest attempt, in its lane
    turned_back: int = 0  # in a row
    turned_back_by: StepTurnedBack | None = None  # since its latest attempt

    @property
    def at_work(self) -> tuple[int, ...]:
        """Attempts that began and did not end."""
        several = (attempt for attempt, c in self.candidates.items() if c.ended is None)
        return (self.in_flight,) if self.in_flight is not None else tuple(several)

    @property
    def tries(self) -> int:
        """Attempts that count."""
        return self.attempts - self.lost

    @property
    def lanes(self) -> tuple[int, ...]:
        """Lanes in which somebody works on it now."""
        if self.in_flight is not None:
            return (self.lane,) if self.lane else ()
        return tuple(self.candidates[attempt].lane for attempt in self.at_work)

    @property
    def done(self) -> bool:
        """Accepted once, the newest verdict is still kept, and nobody is at work on it."""
        kept = self.latest is not None and self.latest.kept
        return self.accepted and kept and not self.at_work

    @property
    def never_red(self) -> bool:
        """True when it held at the run's first look, and nobody ever saw it broken before."""
        held = self.before is not None and self.before.kept and not self.carried
        return held and self.held_before is not False

    @property
    def opinion_lets_pass(self) -> bool:
        """True when the newest opinion does not stand in the way, or a person overruled it."""
        told = self.opinion
        return told is not None and (
            told.result is OpinionResult.HOLDS or told.about in self.overruled
        )

    @property
    def given_up(self) -> bool:
        """True when the work goes on without it, proved or not."""
        return self.waived or self.let_go or self.claim.status is ClaimStatus.DROPPED

    @property
    def settled(self) -> bool:
        """True when nothing more is to do for it unless a later change breaks it."""
        return self.done or self.waived

    def began_on(self, attempt: int) -> str:
        """The content before this attempt and those before it; empty: as it was approved."""
        if attempt in self.candidates:
            return self.candidates[attempt].base
        return self.spans[0][0] if self.spans else self.began or ""

    def hold_to(self, counts: TestCounts | None) -> None:
        """Remember what the first judging counted; one that could not count gives way."""
        if counts is not None and not (self.baseline and self.baseline.counted):
            self.baseline = counts

    def count_failure(self, judged: Judged) -> None:
        """One more verdict that was not kept, charged to the budget of its class."""
        failure = judged.failure
        if failure is FailureClass.INFRASTRUCTURE:
            # No attempt failed: the harness could not judge, so it judges the same one again.
            self.unjudgeable += 1
            self.unjudged = self.attempts
            return
        if failure is FailureClass.OBSTACLE:
            # Nobody's work was found wanting; whoever provokes one gets no new agent out of it.
            self.obstacles += 1
            self.unjudged = self.attempts
            return
        self.obstacles = 0
        self.undecided = failure is FailureClass.OPINION
        if self.undecided:
            return
        self.flaky = failure is FailureClass.FLAKY
        # Looking again after a person's answer is no attempt that could have failed.
        if self.looking_again:
            return
        self.influenced = failure is FailureClass.INFLUENCED
        if self.influenced:
            return
        if judged.phase is Phase.ATTEMPT:
            self.repeated = judged.same_failure(self.refused)
            self.refused = judged
        if failure is FailureClass.TAMPERED:
            self.tamperings += 1
        else:
            self.failures += 1

    def forgive(self) -> None:
        """A person said to go on: every budget starts again."""
        self.failures = self.tamperings = self.unjudgeable = self.obstacles = self.parks = 0
        self.parked_s = 0.0
        self.repeated = self.flaky = self.influenced = self.undecided = False
        self.answer = self.refused = None
        self.hindered = ""


class Rewrite(Struct, frozen=True):
    """One plan that replaced another."""

    seq: int
    reason: str
    dropped: tuple[str, ...]
    weakened: tuple[str, ...]
    question: str | None = None


class Share(Struct, frozen=True):
    """The part of the budget that a child session was given, and the step that it works on."""

    step: str
    budget: Budget


class Signed(Struct, frozen=True):
    """A sign-off with the agent gone."""

    seq: int
    snapshot: str
    self_set: bool
    accepted: bool  # whether the user's policy lets self-set checks count


class DerivedPlan(Struct, frozen=True):
    """The plan that the harness derived from a task, and the fact that says so."""

    plan: Plan
    fact: PlanWritten


class SessionFacts(Struct):
    """Empty for a run that a driver dispatches."""

    started: SessionStarted | None = None
    declared: Mapping[str, Declared] = field(default_factory=dict)
    rewrites: list[Rewrite] = field(default_factory=list)
    pending: PlanWritten | None = None  # a plan that waits for a person to let it come into force
    calls: dict[str, tuple[int, ToolCall]] = field(default_factory=dict)
    notes: dict[str, tuple[int, str]] = field(default_factory=dict)
    strayed: dict[str, None] = field(default_factory=dict)
    shares: dict[str, Share] = field(default_factory=dict)
    mutated: bool = False
    touched: dict[str, None] = field(default_factory=dict)  # what calls changed, newest last
    changed_at: int = 0  # the last entry that says so
    failed_on: set[str] = field(default_factory=set)  # contents on which the task's checks failed
    refusals: int = 0
    refused_lately: int = 0  # since the session was taken up, or a person answered
    refusal: str = ""
    repeated: int = 0
    accepted: bool = False
    dropped: tuple[str, ...] = ()  # what a person's task asks for and the accepted answer lacks
    ended: str = ""
    signed: Signed | None = None
    silent_urls: frozenset[str] = frozenset()  # cited, and without an answer at the last sign-off

    def forget_refusals(self) -> None:
        """The count begins anew: the session was taken up, accepted, or a person answered."""
        self.repeated, self.refused_lately, self.refusal = 0, 0, ""
        self.failed_on.clear()
