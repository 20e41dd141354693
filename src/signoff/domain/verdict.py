"""A verdict: what judging a contract on one snapshot said, what was seen, how many tests ran."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from signoff.domain.digests import ByMeaning
from signoff.domain.plan import JudgeIn


class Ending(StrEnum):
    """Ways in which a process ends; only EXITED carries a verdict of the command itself."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed-out"
    NOT_EXECUTABLE = "not-executable"
    NOT_FOUND = "not-found"
    CANCELLED = "cancelled"
    NOT_STARTED = "not-started"
    OUTPUT_LIMIT = "output-limit"
    OVER_BUDGET = "over-budget"  # the plan's budget was used up while it worked


class Output(Struct, frozen=True):
    """One stream: all of it counted and hashed, its head and tail kept."""

    size: int
    sha256: str
    head: bytes
    tail: bytes

    @property
    def complete(self) -> bool:
        """True when head and tail together are the whole stream."""
        return self.size == len(self.head) + len(self.tail)

    @property
    def kept(self) -> bytes:
        """Head and tail, with a line that says how much lies between."""
        if self.complete:
            return self.head + self.tail
        gap = self.size - len(self.head) - len(self.tail)
        return self.head + f"\n[... {gap} bytes not kept ...]\n".encode() + self.tail


class Observation(Struct, frozen=True):
    """One finished process and everything it started, all dead by now."""

    ending: Ending
    exit_code: int | None
    signal: int | None
    duration_s: float
    stdout: Output
    stderr: Output
    leftovers_killed: int = 0
    detail: str = ""
    stdout_matches: tuple[bool, ...] = ()
    stderr_matches: tuple[bool, ...] = ()
    denied_hosts: tuple[str, ...] = ()  # asked for, and not among those it may reach
    denied: tuple[str, ...] = ()  # families of sockets that the sandbox was seen to refuse

    def describe(self) -> str:
        """The ending in a few words."""
        if self.ending is Ending.EXITED:
            return f"exit code {self.exit_code}"
        if self.ending is Ending.SIGNALLED:
            return f"killed by signal {self.signal}"
        text = self.ending.replace("-", " ")
        return f"{text}: {self.detail}" if self.detail else text


MOST_NAMED = 20_000
MOST_CHARACTERS = 1_000_000
_GROUP = r"(?s)(.*(?:::|[./>›])\s*)?(.*)"


class TestOutcome(StrEnum):
    """Ending of one test; of several endings of one test the last in this list counts."""

    __test__ = False

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "failed"

    @property
    def ran(self) -> bool:
        """True unless the test was skipped."""
        return self is not TestOutcome.SKIPPED


Names = Mapping[str, TestOutcome]
_WORST = list(TestOutcome)


def named(told: Iterable[tuple[str, TestOutcome]]) -> dict[str, TestOutcome]:
    """The tests by their ids; the worst of several outcomes of one id counts."""
    found: dict[str, TestOutcome] = {}
    for test, outcome in told:
        found[test] = max(found.get(test, outcome), outcome, key=_WORST.index)
    return found


class TestCounts(ByMeaning, frozen=True):
    """Numbers from a runner's report; `source` names the report or the runner.

    An error counts as failed, an expected failure as skipped: neither is a test that passed.
    """

    __test__ = False  # not a test case, whatever pytest thinks of the name
    beside = frozenset({"endings", "names"})

    source: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    deselected: int = 0
    errors: int = 0  # of the failed: no test of their own (a file not collected, a subtest)
    cut_short: str = ""  # why the run did not reach every test
    files: int = 0  # that a linter or type checker says it looked at
    untold: str = ""  # a runner was reached and did not say how many tests: what would help
    endings: int = 1  # of runners; 0 where no tests were counted
    # Ids of tests, apart for reports and for what was printed: the two name a test differently.
    names: Mapping[str, Names] = field(default_factory=dict)

    @property
    def counted(self) -> bool:
        """True when there is a number of tests or of files to hold later runs to."""
        return bool(self.endings or self.files)

    @property
    def executed(self) -> int:
        """Tests that ran to an answer."""
        return self.passed + self.failed

    @property
    def least_executed(self) -> int:
        """Tests that certainly ran: errors may stand beside the outcome of the same test."""
        return self.executed - self.errors

    @property
    def collected(self) -> int:
        """Every test the runner found, run or not."""
        return self.passed + self.failed + self.skipped + self.deselected

    def names_all(self, where: str) -> bool:
        """True when a report names every test that ran; with a name too many, none is believed."""
        if where not in self.names:
            return False
        told = list(self.names[where].values())
        passed, failed = told.count(TestOutcome.PASSED), told.count(TestOutcome.FAILED)
        return passed == self.passed and self.failed - self.errors <= failed <= self.failed

    def __add__(self, other: TestCounts) -> TestCounts:
        """Two reports of one contract, taken together."""
        sources = dict.fromkeys((*self.source.split(" + "), *other.source.split(" + ")))
        numbers = ("passed", "failed", "skipped", "deselected", "errors", "files", "endings")
        names = {
            where: named((*self.names.get(where, {}).items(), *other.names.get(where, {}).items()))
            for where in self.names.keys() | other.names.keys()
        }
        return TestCounts(
            " + ".join(sources),
            cut_short=self.cut_short or other.cut_short,
            untold=self.untold or other.untold,
            names=names,
            **{name: getattr(self, name) + getattr(other, name) for name in numbers},
        )

    def to_data(self, *, with_names: bool = True) -> dict[str, Any]:
        """The stored form; names only where somebody will be held to them, and not too many."""
        first = ("source", "passed", "failed", "skipped", "deselected")
        data = {name: getattr(self, name) for name in first}
        more = {name: getattr(self, name) for name in ("errors", "cut_short", "files", "untold")}
        data |= {name: value for name, value in more.items() if value}
        data |= {"endings": self.endings} if self.endings != 1 else {}
        kept = {where: _grouped(tests) for where, tests in self.names.items() if _fits(tests)}
        return data | ({"names": kept} if with_names and kept else {})

    @classmethod
    def from_data(cls, data: dict[str, Any] | None) -> TestCounts | None:
        """The stored form read back; None when nothing was counted."""
        if data is None:
            return None
        names = {where: _ungrouped(kept) for where, kept in data.get("names", {}).items()}
        return cls(**{**data, "names": names})


def _fits(tests: Names) -> bool:
    return 0 < len(tests) <= MOST_NAMED and sum(map(len, tests)) <= MOST_CHARACTERS


def _grouped(tests: Names) -> dict[str, dict[str, list[str]]]:
    """Outcome → what ids begin with → how they go on: files and classes are stored once."""
    found: dict[str, dict[str, list[str]]] = {}
    for test, outcome in tests.items():
        match = re.fullmatch(_GROUP, test)
        head, rest = (match[1] or "", match[2]) if match else ("", test)
        found.setdefault(str(outcome), {}).setdefault(head, []).append(rest)
    return found


def _ungrouped(kept: Mapping[str, Mapping[str, list[str]]]) -> Names:
    return {
        head + rest: TestOutcome(outcome)
        for outcome, groups in kept.items()
        for head, rests in groups.items()
        for rest in rests
    }


class Result(StrEnum):
    """Result of judging; unknown is never kept."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"


class Reason(StrEnum):
    """Reasons for a verdict; stored words."""

    HELD = "held"
    EXPECTATION = "expectation"
    TAMPERED = "tampered"
    HELD_BEFORE = "held-before"
    TIMED_OUT = "timed-out"
    SIGNALLED = "signalled"
    NOT_EXECUTABLE = "not-executable"
    NOT_FOUND = "not-found"
    MOVED = "moved-while-judged"
    SANDBOX_MISSING = "sandbox-missing"
    INFRASTRUCTURE = "infrastructure"
    TESTS = "tests"  # fewer tests than demanded or than approved
    HELD_OUT = "held-out"  # a check the agent never sees did not hold
    TOOL_CHANGED = "tool-changed"  # a command is not the one that was approved
    FLAKY = "flaky"  # the same key was judged twice with different answers
    INFLUENCED = "influenced"  # it holds only with files changed that steer the check
    OUTSIDE = "outside-touches"  # a file changed that the plan does not let anybody change
    STRENGTH = "strength"  # it rejects fewer wrong versions than the plan demands
    OPINION = "opinion"  # it holds, and a model's opinion vetoes the work
    UNDECIDED = "opinion-undecided"  # it holds, and a model's opinion asks for a person
    OBSTACLE = "obstacle"  # the machine or the sandbox kept the check from working


class FailureClass(StrEnum):
    """Causes of a verdict that is not kept; each class has a retry budget of its own."""

    BROKEN = "broken"  # the work is not done, or could not be seen to be: the agent tries again
    TAMPERED = "tampered"  # the agent changed the check
    INFRASTRUCTURE = "infrastructure"  # the harness could not judge: it judges again
    FLAKY = "flaky"  # the contract contradicts itself: nobody's retry helps
    INFLUENCED = "influenced"  # a person says whether the plan lacks a line: no attempt is spent
    OPINION = "opinion"  # a model cannot decide about its rubric: a person does
    OBSTACLE = "obstacle"  # nobody's: judged once more, then a person mends it or writes the line


_FAILURE_OF = {
    Reason.TAMPERED: FailureClass.TAMPERED,
    Reason.SANDBOX_MISSING: FailureClass.INFRASTRUCTURE,
    Reason.INFRASTRUCTURE: FailureClass.INFRASTRUCTURE,
    Reason.TOOL_CHANGED: FailureClass.INFRASTRUCTURE,
    Reason.FLAKY: FailureClass.FLAKY,
    Reason.INFLUENCED: FailureClass.INFLUENCED,
    Reason.OUTSIDE: FailureClass.INFLUENCED,
    Reason.UNDECIDED: FailureClass.OPINION,
    Reason.OBSTACLE: FailureClass.OBSTACLE,
}


def failure_of(reason: Reason) -> FailureClass:
    """The class of a verdict that is not kept."""
    return _FAILURE_OF.get(reason, FailureClass.BROKEN)


class Phase(StrEnum):
    """Moment of a judging; `baseline` is at the start of the run, to count its tests."""

    BEFORE = "before"
    ATTEMPT = "attempt"
    SWEEP = "sweep"
    AUDIT = "audit"
    BASELINE = "baseline"


class HeldOutKind(StrEnum):
    """Ways in which a held-out check meets the product, and so what its answer proves."""

    SEPARATE = "separate"  # it gets what the product printed: the product cannot read the answers
    IN_PROCESS = "in-process"  # it runs the product, which can look around meanwhile


class Isolation(StrEnum):
    """Barriers between the contract and the rest of the machine."""

    NONE = "none"
    LANDLOCK = "landlock"
    NAMESPACES = "namespaces"
    BUBBLEWRAP = "bubblewrap"

    @property
    def has_own_view(self) -> bool:
        """True when the command sees a file system, processes and a network of its own."""
        return self in (Isolation.NAMESPACES, Isolation.BUBBLEWRAP)


def weakest(isolations: Iterable[Isolation]) -> Isolation:
    """The weakest of several isolations: all that can be said of their verdicts together."""
    order = list(Isolation)
    return min(isolations, key=order.index, default=Isolation.NONE)


class Verdict(Struct, frozen=True):
    """The answer about one contract, bound to one snapshot and one evidence key."""

    subject: str
    phase: Phase
    result: Result
    reason: Reason
    message: str
    key: str
    snapshot: str
    environment: str = ""
    isolation: Isolation = Isolation.NONE
    exit_code: int | None = None
    duration_s: float = 0.0
    output_tail: str = ""
    stdout_sha256: str = ""
    stderr_sha256: str = ""
    provisional: bool = False
    reused_from: int | None = None
    tampered: tuple[str, ...] = ()
    environment_changed: bool = False
    leftovers_killed: int = 0
    judged_in: JudgeIn = JudgeIn.WORKSPACE
    room: str = ""  # how the clean room was made, or why there was none
    counts: dict[str, Any] | None = None
    heldout: Result | None = None
    heldout_kind: HeldOutKind | None = None
    heldout_tail: str = ""  # why a held-out check could not be run: for people, never for agents
    influences: tuple[str, ...] = ()  # changed files that steer the check and did not decide
    unwatched: str = ""  # why it cannot be told what the check read
    read: str = ""  # before anybody worked: what the check read, by the digest of a blob
    outgrew_room: bool = False  # before anybody worked: only in the workspace did it work
    wrote: tuple[str, ...] = ()  # before anybody worked: protected paths that the check itself made

    @property
    def kept(self) -> bool:
        """True for the only answer that can back a `done`."""
        return self.result is Result.KEPT
