"""Counts and names of tests from what the runners of a contract printed.

A runner ends with its summary, but product code can print the same line: in a test that is not
captured, or after the runner (`atexit`). Where the text shows how often a runner is called, more
endings than calls are not all the runner's, and which ones are cannot be told: the smallest count.
Where it does not show that (loops, `make test`), every ending counts, and `source` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add

from signoff.domain.counts import TestCounts, TestOutcome, named
from signoff.domain.text import decode_output
from signoff.verification.counting.sight import Sight
from signoff.verification.counting.summaries import read_summaries
from signoff.verification.counting.verbose import (
    FAILED,
    PASSED,
    PRINTED,
    SKIPPED,
    read_cargo,
    read_go,
    read_tap,
)

# Within one line: an escape that is never closed must not swallow the runner's own last line.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\\]^_])")
_GAP = re.compile(r"\[\.\.\. [0-9]+ bytes not kept \.\.\.\]")
_STOPPED = re.compile(
    r"!{3,} ((?:stopping after|\S*Interrupted:|\S*Exit:|\S*KeyboardInterrupt).*?) !{3,}"
    r"|INTERNALERROR> .*|error: test failed, to rerun pass .*"
    r"| *Summary \[.*\] [0-9]+/[0-9]+ tests? run: .*|(?:#|ℹ) cancelled [1-9][0-9]*"
)
# Files and classes that could not be loaded: which tests are in them is not known.
_UNLOADED = re.compile(
    r"ERROR: .*(?:_FailedTest|setUp(?:Class|Module) \().*|  ● Test suite failed to run"
    r"|.* Failed Suites [0-9]+ .*|FAIL\t.*\[(?:build|setup) failed\]|not ok .*bats-gather-tests.*"
    r"|(?: *✖|not ok [0-9]+ -) \S+\.[cm]?[jt]sx?(?: \([0-9.]+ms\))?"
)

Said = dict[str, int]
Reader = Callable[[Sequence[str]], list[TestCounts]]


def lines_of(data: bytes) -> tuple[str, ...]:
    """The lines as a terminal would show them, without colours."""
    text = _ESCAPES.sub("", decode_output(data))
    return tuple(line.rstrip("\r").rpartition("\r")[2].rstrip() for line in text.split("\n"))


def _tally(told: str | None, separator: str = ", ") -> Said | None:
    """`4 passed, 1 skipped` as numbers by word; None for any other shape."""
    found: Said = {}
    for part in told.split(separator) if told else ():
        one = re.fullmatch(r"([0-9]{1,9}) ([a-z]+(?: [a-z]+)?)", part.strip())
        if one is None or one[2] in found:
            return None
        found[one[2]] = int(one[1])
    return found


def _pytest(match: re.Match[str]) -> Said | None:
    collected = re.fullmatch(
        rf"(?:no|(?P<skipped>{_N}))(?:/[0-9]+)? tests? (?:ran|collected)"
        rf"(?: \((?P<deselected>{_N}) deselected\))?(?:, (?P<errors>{_N}) errors?)?",
        match["told"],
    )
    if collected:  # `--collect-only` finds tests and runs none of them
        return {word: int(n or 0) for word, n in collected.groupdict().items()}
    said = _tally(match["told"])
    known = said and any(re.fullmatch(_PYTEST_WORDS, word) for word in said)
    return said if known else None


def _nextest(match: re.Match[str]) -> Said | None:
    """Everything that is neither a pass nor a skip has failed."""
    said = _tally(re.sub(r" \([^()]*\)", "", match["told"]))
    if said is None:
        return None
    failed = sum(n for word, n in said.items() if word not in ("passed", "skipped"))
    not_run = max(0, int(match["all"] or match["ran"]) - int(match["ran"]))
    return {**said, "failed": failed, "skipped": said.get("skipped", 0) + not_run}


def _pairs(pattern: str, match: re.Match[str]) -> Said:
    return {m["word"]: int(m["n"]) for m in re.finditer(pattern, match[0])}


_PYTEST_WORDS = "passed|failed|skipped|deselected|xfailed|xpassed|errors?"
_NODE_WORDS = ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms")
_N = "[0-9]{1,9}"


@dataclass(frozen=True)
class Ending:
    """The shape of a runner's last lines, how they are read, and what their words count as.

    Where the shape has a `total`, what neither failed nor was skipped has passed.
    """

    shape: str
    read: Callable[[re.Match[str]], Said | None]
    passed: str = "passed"
    failed: tuple[str, ...] = ("failed",)
    skipped: tuple[str, ...] = ("skipped", "todo", "pending")
    errors: tuple[str, ...] = ()  # failures that are not always a test of their own

    def counts(self, lines: Sequence[str]) -> list[TestCounts]:
        """One for each ending."""
        found = re.finditer(f"^{self.shape}$", "\n".join(lines), re.MULTILINE)
        told = [(self.read(match), match.groupdict().get("total")) for match in found]
        return [self._counts(said, total) for said, total in told if said is not None]

    def _counts(self, said: Said, total: str | None) -> TestCounts:
        failed, skipped, errors = (
            sum(said.get(word, 0) for word in words)
            for words in (self.failed, self.skipped, self.errors)
        )
        passed, beside = said.get(self.passed, 0), errors
        if total is not None:
            # Subtests and class-wide skips are told but not in the total: never less than none.
            passed = max(0, int(total) - failed - skipped)
            beside += max(0, failed - max(0, int(total) - skipped))
        deselected = said.get("deselected", 0)
        return TestCounts("", passed, failed + errors, skipped, deselected, errors=beside)


_ENDINGS: Mapping[str, Ending] = {
    "pytest": Ending(
        r"(=+ )?(?P<told>[0-9n][^=\n]*) in [0-9]+\.[0-9]+s(?: \([0-9a-z:, ]+\))?(?(1) =+)",
        _pytest,
        # A test that may fail proves nothing by passing: `xpassed` is no pass either.
        skipped=("skipped", "xfailed", "xpassed"),
        errors=("error", "errors"),
    ),
    "unittest": Ending(
        rf"-{{70}}\nRan (?P<total>{_N}) tests? in [0-9]+\.[0-9]+s\n\n"
        r"(?:OK|FAILED|NO TESTS RAN)(?: \([a-z]+(?: [a-z]+)?=[0-9a-z=, ]+\))?",
        partial(_pairs, rf"(?P<word>[a-z]+(?: [a-z]+)?)=(?P<n>{_N})"),
        failed=("failures", "errors", "unexpected successes"),
        skipped=("skipped", "expected failures"),
    ),
    "jest": Ending(
        r"Tests: {2,}(?:(?P<told>.+), )?[0-9]+ total\nSnapshots:.*", lambda m: _tally(m["told"])
    ),
    "vitest": Ending(
        r" Test Files  .*\n +Tests  (?:no tests|(?P<told>.+) \([0-9]+\))",
        lambda m: _tally(m["told"], " | "),
        skipped=("skipped", "todo", "expected fail"),
    ),
    "mocha": Ending(
        rf"  {_N} passing \([0-9]+(?:ms|s|m|h|d)\)(?:\n  {_N} pending)?(?:\n  {_N} failing)?",
        partial(_pairs, rf"(?P<n>{_N}) (?P<word>passing|pending|failing)"),
        passed="passing",
        failed=("failing",),
    ),
    "node": Ending(
        r"\n".join(rf"(?:#|ℹ) {word} {_N}(?:\.[0-9]+)?" for word in _NODE_WORDS),
        partial(_pairs, rf"(?P<word>[a-z_]+) (?P<n>{_N})"),
        passed="pass",
        failed=("fail", "cancelled"),
    ),
    "nextest": Ending(
        rf" *Summary \[ *[0-9.]+s\] (?P<ran>{_N})(?:/(?P<all>{_N}))? tests? run: (?P<told>[^=\n]+)",
        _nextest,
    ),
    "gotestsum": Ending(
        rf"DONE (?:[0-9]+ runs, )?(?P<total>{_N}) tests?(?:, {_N} skipped)?"
        rf"(?:, {_N} (?:failures?|failed))?(?:, {_N} errors?)? in [0-9.]+s",
        partial(_pairs, rf"(?P<n>{_N}) (?P<word>skipped|failures?|failed|errors?)"),
        failed=("failure", "failures", "failed"),
        errors=("error", "errors"),
    ),
}
# Counts that lie all over the output: none can be had from a part of it.
_WHOLE: Mapping[str, Reader] = {"cargo": read_cargo, "go": read_go, "TAP": read_tap}
SUMMARY = "summary"  # of a runner whose ending has no row here
# In the order in which they are tried; the last two only where no other found anything.
READERS: Mapping[str, Reader] = {
    **{name: ending.counts for name, ending in _ENDINGS.items()},
    **_WHOLE,
    SUMMARY: read_summaries,
}
_ON_STDERR = frozenset(("unittest", "jest", "nextest"))

# Possessive, so that a line made to be slow is not: one way to read it, and not one for each colon.
_ID = r"(?P<id>[^\s:]++::[^\[\n]+?(?:\[.*?\])?)"
_WORDS = "PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS"
_METHOD = r"(?P<id>(?!setUp|tearDown)\w+ \((?!.*\b_FailedTest)[\w.]+\))"
_NAMED: Mapping[str, tuple[str, ...]] = {
    "pytest": (
        rf"(?P<word>{_WORDS}) {_ID}(?: - .*)?",
        rf"{_ID} (?P<word>{_WORDS})(?: \(.*\))?(?: +\[ *[0-9]+%\])?",
        rf"\[gw[0-9]+\] \[ *[0-9]+%\] (?P<word>{_WORDS}) {_ID}",
    ),
    "unittest": (
        rf"{_METHOD}(?:\n.*)? \.\.\. (?P<word>ok|FAIL|ERROR|skipped|expected failure).*",
        rf"(?P<word>FAIL|ERROR): {_METHOD}.*",
    ),
    "cargo": (
        r"test (?P<id>.+?)(?: - should panic)? \.\.\. (?P<word>ok|FAILED|ignored).*",
        r"(?P<word>----) (?P<id>.+?) stdout ----",
    ),
    "nextest": (r" +(?P<word>[A-Z]+) \[ *[>0-9.]+s\] (?:\( *[0-9]+/[0-9]+\) )?(?P<id>\S+ \S+)",),
    "vitest": (
        r" +(?P<word>[✓✔×✗↓□]) (?P<id>\S+ > .+?)(?: [0-9]+ms)?",
        r" (?P<word>FAIL)  (?P<id>\S+ > .+)",
    ),
    "jest": (r"  (?P<word>●) (?P<id>(?!Console|Test suite failed).+)",),
    SUMMARY: (
        r" *(?P<word>[✓✔√✗✘✖×-]) (?:\[(?:fail|skip|todo)\]:? )?(?P<id>.+?)(?: \([0-9.]+ ?m?s\))?",
    ),
}
_TOOK = r"(?: \([0-9.]+ ?m?s\))?"
_IN_TREE = re.compile(
    r"( *)(?P<word>○ skipped|✎ todo|[✓✔√✕✖×﹣]|[0-9]+\)|-|(?:not )?ok [0-9]+ -) "
    rf"(?P<name>.+?){_TOOK}(?P<aside> # (?i:skip|todo).*)?"
)
# What stands above the tests of a group. Other lines at the margin are what the tests print.
_HEADINGS = {
    "jest": re.compile(r"( {2,})(?P<name>\S.*)|(?P<file>(?:PASS|FAIL) .*)"),
    "mocha": re.compile(r"( {2,})(?P<name>\S.*)"),
    "node": re.compile(rf"( *)(?:▶|# Subtest:) (?P<name>.+?){_TOOK}|(?P<suite> *type: 'suite')"),
}
_FILE = re.compile(r"\S+\.[cm]?[jt]sx?")  # node's test for one that could not be loaded
_TREE_ENDS = re.compile(r"Tests: |  [0-9]+ passing \(|(?:#|ℹ) tests [0-9]+$")
_OUTCOMES = {
    **dict.fromkeys(("PASSED", "PASS", "ok", *"✓✔√"), PASSED),
    **dict.fromkeys(("SKIPPED", "XFAIL", "XPASS", "SKIP", "skipped", "ignored"), SKIPPED),
    **dict.fromkeys(("expected failure", "-", *"↓□﹣○✎"), SKIPPED),
}
_ADDRESS = re.compile(r"\b0x[0-9a-f]{4,}")  # other in every run


def _names(runner: str, lines: Sequence[str]) -> dict[str, TestOutcome]:
    """The tests that one runner names, as far as it does."""
    text = "\n".join(lines)
    told = [
        (match["id"], _OUTCOMES.get(match["word"], FAILED))
        for pattern in _NAMED.get(runner, ())
        for match in re.finditer(f"^{pattern}$", text, re.MULTILINE)
    ]
    if runner in _HEADINGS:
        told += _tree(lines, _HEADINGS[runner])
    return named((_ADDRESS.sub("0x…", test), outcome) for test, outcome in told)


def _tree(lines: Sequence[str], headings: re.Pattern[str]) -> list[tuple[str, TestOutcome]]:
    """Tests under the headings they are indented below, up to the runner's ending."""
    above: list[tuple[int, str]] = []
    found: list[tuple[str, TestOutcome]] = []
    for line in lines:
        if _TREE_ENDS.match(line):
            break
        test, heading = _IN_TREE.fullmatch(line), headings.fullmatch(line)
        match = test or heading
        if match is None:
            continue
        marks = match.groupdict()
        if marks.get("suite"):
            del found[-1:]  # the point before it was a group, not a test
        elif marks.get("file"):
            above.clear()
        else:
            above = [(depth, name) for depth, name in above if depth < len(match[1])]
            path = (*above, (len(match[1]), match["name"]))
            if test is None:
                above = list(path)
            else:
                word = "-" if test["aside"] else test["word"].split(" ")[0]
                told = _OUTCOMES.get(word, FAILED)
                if told is not FAILED or not _FILE.fullmatch(test["name"]):
                    found.append((" › ".join(name for _, name in path), told))
    return found


@dataclass(frozen=True)
class Printed:
    """Both streams in lines."""

    stdout: tuple[str, ...]
    stderr: tuple[str, ...]

    @classmethod
    def of(cls, stdout: bytes, stderr: bytes) -> Printed:
        """The streams as they were kept."""
        return cls(lines_of(stdout), lines_of(stderr))

    def endings_of(self, runner: str) -> tuple[list[TestCounts], bool]:
        """What the runner printed, and whether the stream it is on was cut.

        Its own stream first; the other one in case the contract redirected it.
        """
        own, other = self.stdout, self.stderr
        if runner in _ON_STDERR:
            own, other = other, own
        read = READERS[runner]
        runs = read(own)
        if runs:
            return runs, _has_gap(own)
        return read(other), _has_gap(own) or _has_gap(other)

    def says(self, pattern: re.Pattern[str]) -> str:
        """What a runner says that did not reach every test; empty when it says nothing such."""
        said = (m for m in map(pattern.fullmatch, (*self.stdout, *self.stderr)) if m)
        return next((m[m.lastindex or 0] for m in said), "")


def _has_gap(lines: tuple[str, ...]) -> bool:
    return any(_GAP.fullmatch(line) for line in lines)


class _Unreadable(Exception):
    """Counts lie in the part that was not kept."""


def count_printed(sight: Sight, printed: Printed, *, ended_well: bool) -> TestCounts | None:
    """All runners of the contract together; None when no number can be stood up for."""
    total: TestCounts | None = None
    calls: dict[str, int] = {}
    for runner, number in sight.calls.items():
        known = runner if runner in READERS else SUMMARY
        calls[known] = calls.get(known, 0) + number
    if "TAP" in calls:
        calls.setdefault(SUMMARY, calls["TAP"])  # `prove` shows TAP only if it is told to
    for runner in READERS if not calls or not sight.shows_all else filter(calls.get, READERS):
        if runner in ("TAP", SUMMARY) and total is not None:
            continue  # another runner's own ending says more about the same lines
        try:
            counts = _count(runner, calls.get(runner, 0), sight, printed)
        except _Unreadable:
            return None
        if counts is not None:
            total = counts if total is None else total + counts
    if total is None:
        return None
    why = total.cut_short or printed.says(_STOPPED)
    if total.failed and sight.stops_early:
        why = why or "it stops at a failure"
    if not ended_well and total.endings < sum(sight.calls.values()):
        why = why or "not every runner was reached"
    return replace(total, cut_short=why or printed.says(_UNLOADED))


def _count(runner: str, calls: int, sight: Sight, printed: Printed) -> TestCounts | None:
    runs, cut = printed.endings_of(runner)
    if cut and ((runner in _WHOLE and (runs or calls)) or 0 < len(runs) < calls):
        raise _Unreadable
    if not runs:
        return None
    if calls and len(runs) > calls and not sight.repeats:
        source = f"{runner} (least of {len(runs)} endings for {calls} calls)"
        runs = sorted(runs, key=lambda r: (r.passed, r.executed))[:calls]
    else:
        source = runner if calls else f"{runner} (not seen in the contract)"
        source += f", {len(runs)} endings" if len(runs) > max(calls, 1) else ""
    total = reduce(add, runs)
    names = total.names.get(PRINTED) or _names(runner, (*printed.stdout, "", *printed.stderr))
    return replace(total, source=source, names={PRINTED: names})
