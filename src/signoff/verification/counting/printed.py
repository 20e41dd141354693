"""Counts and names of tests from what the runners of a contract printed: one table of shapes.

A runner ends with its summary, but product code can print the same line: in a test that is not
captured, or after the runner (`atexit`). Where the text shows how often a runner is called, more
endings than calls are not all the runner's, and which ones are cannot be told: the smallest count.
Where it does not show that (loops, `make test`), every ending counts, and `source` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.text import decode_output
from signoff.domain.verdict import TestCounts, TestOutcome, named
from signoff.verification.counting.verbose import (
    FAILED,
    PASSED,
    PRINTED,
    SKIPPED,
    Sight,
    read_cargo,
    read_go,
    read_summaries,
    read_tap,
)

# Within one line: an escape that is never closed must not swallow the runner's own last line.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z\\\]^_])")
_GAP = re.compile(r"\[\.\.\. [0-9]+ bytes not kept \.\.\.\]")
_STOPPED = re.compile(
    r"!{3,} ((?:stopping after|\S*Interrupted:|\S*Exit:|\S*KeyboardInterrupt).*?) !{3,}"
    r"|INTERNALERROR> .*|error: test failed, to rerun pass .*|(?:=+ )?(no tests ran) in .*"
    r"| *Summary \[.*\] [0-9]+/[0-9]+ tests? run: .*|(?:#|ℹ) cancelled [1-9][0-9]*"
)
# Files and classes that could not be loaded: which tests are in them is not known.
_UNLOADED = re.compile(
    r"ERROR: .*(?:_FailedTest|setUp(?:Class|Module) \().*|  ● Test suite failed to run"
    r"|.* Failed Suites [0-9]+ .*|FAIL\t.*\[(?:build|setup) failed\]|not ok .*bats-gather-tests.*"
    r"|(?: *✖|not ok [0-9]+ -) \S+\.[cm]?[jt]sx?(?: \([0-9.]+ms\))?"
    r"| *✘ (?:Internal error.*|No tests found in .*|\S+ exited (?:due to|with a) .*)"
)

Said = dict[str, int]
Streams = tuple[Sequence[str], Sequence[str]]

_N = "[0-9]{1,9}"
_TALLY = rf"{_N}(?:/[0-9]+)? [a-z]+(?: [a-z]+)?"
_NUMBER_FIRST = re.compile(rf"(?P<n>{_N})(?:/[0-9]+)? (?P<word>[a-z]+(?: [a-z]+)?)")
_WORD_FIRST = re.compile(rf"(?P<word>[a-z_]+(?: [a-z]+)?)[= ](?P<n>{_N})")


def _nextest(match: re.Match[str]) -> Said:
    """Everything that is neither a pass nor a skip has failed."""
    told = re.sub(r" \([^()]*\)", "", match["told"])
    said = {m["word"]: int(m["n"]) for m in _NUMBER_FIRST.finditer(told)}
    failed = sum(n for word, n in said.items() if word not in ("passed", "skipped"))
    not_run = max(0, int(match["all"] or match["ran"]) - int(match["ran"]))
    return {**said, "failed": failed, "skipped": said.get("skipped", 0) + not_run}


class SummaryShape(Struct, frozen=True):
    """The shape of a runner's last lines, what their words count as, and how it names tests.

    Where the shape has a `total`, what neither failed nor was skipped has passed. Numbers stand in
    its part `told`, or in all of it.
    """

    ending: str = ""
    pair: re.Pattern[str] = _NUMBER_FIRST
    read: Callable[[re.Match[str]], Said] | None = None
    passed: str = "passed"
    failed: tuple[str, ...] = ("failed",)
    skipped: tuple[str, ...] = ("skipped", "todo", "pending")
    errors: tuple[str, ...] = ()  # failures that are not always a test of their own
    on_stderr: bool = False
    # Reads counts that lie all over the output: none can be had from a part of it.
    whole: Callable[[Sequence[str]], list[TestCounts]] | None = None
    names: tuple[str, ...] = ()
    # What stands above the tests of a group. Other lines at the margin are what the tests print.
    heading: str = ""

    def counts(self, lines: Sequence[str]) -> list[TestCounts]:
        """One for each ending."""
        if self.whole is not None:
            return self.whole(lines)
        found = re.finditer(f"^{self.ending}$", "\n".join(lines), re.MULTILINE)
        return [counts for match in found if (counts := self._counts(match)) is not None]

    def _counts(self, match: re.Match[str]) -> TestCounts | None:
        groups = match.groupdict()
        told = groups["told"] or "" if "told" in groups else match[0]
        pairs = [(m["word"], int(m["n"])) for m in self.pair.finditer(told)]
        said = dict(pairs) if self.read is None else self.read(match)
        total = groups.get("total")
        known = {self.passed, *self.failed, *self.skipped, *self.errors, "deselected"}
        if self.read is None and len(said) < len(pairs):
            return None
        if said and total is None and known.isdisjoint(said):
            return None
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


# Possessive, so that a line made to be slow is not: one way to read it, and not one for each colon.
_ID = r"(?P<id>[^\s:]++::[^\[\n]+?(?:\[.*?\])?)"
_WORDS = "PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS"
_METHOD = r"(?P<id>(?!setUp|tearDown)\w+ \((?!.*\b_FailedTest)[\w.]+\))"
_TOOK = r"(?: \([0-9.]+ ?m?s\))?"
_NODE_WORDS = ("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo", "duration_ms")
SUMMARY = "summary"  # of a runner whose ending has no row here
# In the order in which they are tried; the last two only where no other found anything.
RUNNERS: Mapping[str, SummaryShape] = {
    "pytest": SummaryShape(
        rf"(=+ )?(?P<told>(?:no tests (?:ran|collected)|{_TALLY}(?:, {_TALLY})*)"
        rf"(?: \({_N} deselected\))?(?:, {_N} errors?)?)"
        r" in [0-9]+\.[0-9]+s(?: \([0-9a-z:, ]+\))?(?(1) =+)",
        # A test that may fail proves nothing by passing, and `--collect-only` runs none of them.
        skipped=("skipped", "xfailed", "xpassed", "test collected", "tests collected"),
        errors=("error", "errors"),
        names=(
            rf"(?P<word>{_WORDS}) {_ID}(?: - .*)?",
            rf"{_ID} (?P<word>{_WORDS})(?: \(.*\))?(?: +\[ *[0-9]+%\])?",
            rf"\[gw[0-9]+\] \[ *[0-9]+%\] (?P<word>{_WORDS}) {_ID}",
        ),
    ),
    "unittest": SummaryShape(
        rf"-{{70}}\nRan (?P<total>{_N}) tests? in [0-9]+\.[0-9]+s\n\n"
        r"(?:OK|FAILED|NO TESTS RAN)(?P<told>(?: \([a-z]+(?: [a-z]+)?=[0-9a-z=, ]+\))?)",
        _WORD_FIRST,
        failed=("failures", "errors", "unexpected successes"),
        skipped=("skipped", "expected failures"),
        on_stderr=True,
        names=(
            rf"{_METHOD}(?:\n.*)? \.\.\. (?P<word>ok|FAIL|ERROR|skipped|expected failure).*",
            rf"(?P<word>FAIL|ERROR): {_METHOD}.*",
        ),
    ),
    "jest": SummaryShape(
        rf"Tests: {{2,}}(?:(?P<told>{_TALLY}(?:, {_TALLY})*), )?[0-9]+ total\nSnapshots:.*",
        on_stderr=True,
        names=(r"  (?P<word>●) (?P<id>(?!Console|Test suite failed).+)",),
        heading=r"( {2,})(?P<name>\S.*)|(?P<file>(?:PASS|FAIL) .*)",
    ),
    "vitest": SummaryShape(
        r" Test Files  .*\n +Tests  "
        rf"(?:no tests|(?P<told>{_TALLY}(?: \| {_TALLY})*) \([0-9]+\))",
        skipped=("skipped", "todo", "expected fail"),
        names=(
            r" +(?P<word>[✓✔×✗↓□]) (?P<id>\S+ > .+?)(?: [0-9]+ms)?",
            r" (?P<word>FAIL)  (?P<id>\S+ > .+)",
        ),
    ),
    "mocha": SummaryShape(
        rf"  {_N} passing \([0-9]+(?:ms|s|m|h|d)\)(?:\n  {_N} pending)?(?:\n  {_N} failing)?",
        passed="passing",
        failed=("failing",),
        heading=r"( {2,})(?P<name>\S.*)",
    ),
    "node": SummaryShape(
        r"\n".join(rf"(?:#|ℹ) {word} {_N}(?:\.[0-9]+)?" for word in _NODE_WORDS),
        _WORD_FIRST,
        passed="pass",
        failed=("fail", "cancelled"),
        heading=rf"( *)(?:▶|# Subtest:) (?P<name>.+?){_TOOK}|(?P<suite> *type: 'suite')",
    ),
    "nextest": SummaryShape(
        rf" *Summary \[ *[0-9.]+s\] (?P<ran>{_N})(?:/(?P<all>{_N}))? tests? run: (?P<told>[^=\n]+)",
        read=_nextest,
        on_stderr=True,
        names=(r" +(?P<word>[A-Z]+) \[ *[>0-9.]+s\] (?:\( *[0-9]+/[0-9]+\) )?(?P<id>\S+ \S+)",),
    ),
    "gotestsum": SummaryShape(
        rf"DONE (?:[0-9]+ runs, )?(?P<total>{_N}) tests?(?P<told>(?:, {_N} skipped)?"
        rf"(?:, {_N} (?:failures?|failed))?(?:, {_N} errors?)?) in [0-9.]+s",
        failed=("failure", "failures", "failed"),
        errors=("error", "errors"),
    ),
    "cargo": SummaryShape(
        whole=read_cargo,
        names=(
            r"test (?P<id>.+?)(?: - should panic)? \.\.\. (?P<word>ok|FAILED|ignored).*",
            r"(?P<word>----) (?P<id>.+?) stdout ----",
        ),
    ),
    "go": SummaryShape(whole=read_go),
    "TAP": SummaryShape(whole=read_tap),
    SUMMARY: SummaryShape(
        whole=read_summaries,
        names=(
            r" *(?P<word>[✓✔√✗✘✖×-]) (?:\[(?:fail|skip|todo)\]:? )?(?P<id>.+?)"
            r"(?: \([0-9.]+ ?m?s\))?",
        ),
    ),
}
# They end with a summary unless they are told not to, or have nothing to run.
ALWAYS_END = RUNNERS.keys() - {"TAP", SUMMARY}
_IN_TREE = re.compile(
    r"( *)(?P<word>○ skipped|✎ todo|[✓✔√✕✖×﹣]|[0-9]+\)|-|(?:not )?ok [0-9]+ -) "
    rf"(?P<name>.+?){_TOOK}(?P<aside> # (?i:skip|todo).*)?"
)
FILE = re.compile(r"\S+\.[cm]?[jt]sx?")  # node's test for one that told no tests of its own
_TREE_ENDS = re.compile(r"Tests: |  [0-9]+ passing \(|(?:#|ℹ) tests [0-9]+$")
_OUTCOMES = {
    **dict.fromkeys(("PASSED", "PASS", "ok", *"✓✔√"), PASSED),
    **dict.fromkeys(("SKIPPED", "XFAIL", "XPASS", "SKIP", "skipped", "ignored"), SKIPPED),
    **dict.fromkeys(("expected failure", "-", *"↓□﹣○✎"), SKIPPED),
}
_ADDRESS = re.compile(r"\b0x[0-9a-f]{4,}")  # other in every run


def lines_of(data: bytes) -> tuple[str, ...]:
    """The lines as a terminal would show them, without colours."""
    text = _ESCAPES.sub("", decode_output(data))
    return tuple(line.rstrip("\r").rpartition("\r")[2].rstrip() for line in text.split("\n"))


def count_printed(sight: Sight, streams: Streams, *, ended_well: bool) -> TestCounts | None:
    """All runners of the contract together; None when no number can be stood up for.

    `streams` are the lines of stdout and stderr.
    """
    total: TestCounts | None = None
    calls: dict[str, int] = {}
    for runner, number in sight.calls.items():
        known = runner if runner in RUNNERS else SUMMARY
        calls[known] = calls.get(known, 0) + number
    if "TAP" in calls:
        calls.setdefault(SUMMARY, calls["TAP"])  # `prove` shows TAP only if it is told to
    for runner in RUNNERS if not calls or not sight.shows_all else filter(calls.get, RUNNERS):
        if runner in ("TAP", SUMMARY) and total is not None:
            continue  # another runner's own ending says more about the same lines
        try:
            counts = _count(runner, calls.get(runner, 0), sight, streams)
        except _Unreadable:
            return None
        if counts is not None:
            total = counts if total is None else total + counts
    if total is None:
        return None
    why = total.cut_short or _says(streams, _STOPPED)
    if total.failed and sight.stops_early:
        why = why or "it stops at a failure"
    if not ended_well and total.endings < sum(sight.calls.values()):
        why = why or "not every runner was reached"
    return replace(total, cut_short=why or _says(streams, _UNLOADED))


class _Unreadable(Exception):
    """Counts lie in the part that was not kept."""


def _count(runner: str, calls: int, sight: Sight, streams: Streams) -> TestCounts | None:
    # Its own stream first; the other one in case the contract redirected it.
    row = RUNNERS[runner]
    own, other = reversed(streams) if row.on_stderr else streams
    runs, cut = row.counts(own), has_gap(own)
    if not runs:
        runs, cut = row.counts(other), cut or has_gap(other)
    is_whole = row.whole is not None and runner != SUMMARY
    if cut and ((is_whole and (runs or calls)) or 0 < len(runs) < calls):
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
    names = total.names.get(PRINTED) or _names(row, (*streams[0], "", *streams[1]))
    return replace(total, source=source, names={PRINTED: names})


def has_gap(lines: Sequence[str]) -> bool:
    """True when something between these lines was not kept."""
    return any(map(_GAP.fullmatch, lines))


def _says(streams: Streams, pattern: re.Pattern[str]) -> str:
    """A runner's words that it did not reach every test; empty when there are none."""
    said = (m for m in map(pattern.fullmatch, (*streams[0], *streams[1])) if m)
    return next((m[m.lastindex or 0] for m in said), "")


def _names(row: SummaryShape, lines: Sequence[str]) -> dict[str, TestOutcome]:
    """The tests that one runner names, as far as it does."""
    text = "\n".join(line for line in lines if not _UNLOADED.fullmatch(line))
    told = [
        (match["id"], _OUTCOMES.get(match["word"], FAILED))
        for pattern in row.names
        for match in re.finditer(f"^{pattern}$", text, re.MULTILINE)
    ]
    if row.heading:
        told += _tree(lines, re.compile(row.heading))
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
                if told is not FAILED or not FILE.fullmatch(test["name"]):
                    found.append((" › ".join(name for _, name in path), told))
    return found
