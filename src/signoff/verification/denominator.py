"""The denominator guard: "all tests pass" says nothing when there are fewer of them.

Tests are compared by their names where the runner tells them, otherwise by their numbers. A
baseline that was cut short says nothing about the tests that it did not reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from signoff.domain.counts import TestCounts
from signoff.domain.observation import Ending
from signoff.domain.plan import Contract, ExpectationKind
from signoff.domain.redaction import NOTHING_SECRET, Redactor
from signoff.domain.text import escape_line
from signoff.domain.verdict import Reason, Result
from signoff.verification.bench import Seen
from signoff.verification.counting import (
    SAYS_FILES,
    count_files,
    count_tests,
    runs_tests,
    tools_called,
)
from signoff.verification.expectations import Answer
from signoff.verification.suppressions import CHECKERS, SKIP_MARK, Suppression

MOST_SHOWN = 5
LONGEST_SHOWN = 160
_MEANT = "; if that is meant, the step says `**may_shrink:** yes`"
_SILENT = (
    "no count although tests were expected: no {what} reported any more; {number} {verb} before the"
    " work began; let the runner come to its end and show its summary, or write a report into"
    " `$SIGNOFF_REPORT_DIR`"
)


def is_counted(contract: Contract, texts: Sequence[str] = ()) -> bool:
    """Whether the contract is run as a run begins, to count: it says a number, or calls a runner.

    `texts` is what the contract runs indirectly: scripts, recipes, package scripts.
    """
    shown = (contract.command, *texts)
    return _least(contract) is not None or any(
        runs_tests(text) or not tools_called(text).isdisjoint(SAYS_FILES) for text in shown
    )


def count(
    contract: Contract,
    seen: Seen,
    texts: Sequence[str] = (),
    redactor: Redactor = NOTHING_SECRET,
) -> TestCounts | None:
    """What one run of the contract says about its tests and checked files; None when nothing.

    Names are as they are stored: a secret in one must not make it look like another test.
    """
    observation = seen.observation
    streams = observation.stdout.kept, observation.stderr.kept
    ended = observation.ending is Ending.EXITED
    ended_well = ended and observation.exit_code == 0
    counts = count_tests(
        contract.command, *streams, seen.reports, recipes=texts, ended_well=ended_well
    )
    if counts is not None and not ended:
        counts = replace(counts, cut_short=counts.cut_short or observation.describe())
    files = count_files((contract.command, *texts), *streams)
    if files:
        counts = replace(counts or TestCounts("", endings=0), files=files)
    return None if counts is None else TestCounts.from_data(redactor.data(counts.to_data()))


def judge_counts(
    contract: Contract, counts: TestCounts | None, baseline: TestCounts | None
) -> Answer | None:
    """Why a contract that held otherwise is not kept; None when the counts are as they should be.

    `tests >= N` counts tests that passed. Against the baseline, tests that are gone or skipped
    break the contract unless the step says `may_shrink`.
    """
    least = _least(contract)
    told = counts if counts is not None and counts.endings else None
    if least is not None and told is None:
        message = f"could not judge: no test report was found for `tests >= {least}`"
        return Answer(Result.UNKNOWN, Reason.TESTS, message)
    if least is not None and told is not None and told.passed < least:
        message = f"{told.passed} tests passed ({told.source}), expected at least {least}"
        return Answer(Result.BROKEN, Reason.TESTS, message)
    if baseline is None or contract.may_shrink:
        return None
    found = _silence(baseline, counts) or _shrinkage(baseline, counts)
    return Answer(Result.BROKEN, Reason.TESTS, found + _MEANT) if found else None


def watched_kinds(
    contract: Contract, texts: Sequence[str], baseline: TestCounts | None
) -> frozenset[str]:
    """Which suppressions count for the contract: of its checkers, and of tests it cannot compare.

    Where the baseline was cut short, how many tests it would have skipped is not known.
    """
    if contract.may_shrink:
        return frozenset()
    tools = frozenset().union(*map(tools_called, (contract.command, *texts)))
    kinds = {kind for tool in tools for kind in CHECKERS.get(tool, ())}
    return frozenset(kinds | ({SKIP_MARK} if baseline and baseline.cut_short else set()))


def judge_suppressions(found: Sequence[Suppression]) -> Answer | None:
    """Why a contract that held otherwise is not kept: its checks were told to look away."""
    if not found:
        return None
    what = "1 new suppression" if len(found) == 1 else f"{len(found)} new suppressions"
    shown = _shown([f"{one.path}:{one.line}: {one.text}" for one in found])
    return Answer(Result.BROKEN, Reason.TESTS, f"{what} since the approval: {shown}{_MEANT}")


def _silence(then: TestCounts, now: TestCounts | None) -> str:
    """A baseline with an ending, and none now: the runner was ended, or is not heard any more."""
    if then.endings and not (now and now.endings):
        return _SILENT.format(what="tests are", number=then.executed, verb="ran")
    if then.files and not (now and now.files):
        return _SILENT.format(what="files are", number=then.files, verb="were checked")
    return ""


def _shrinkage(then: TestCounts, now: TestCounts | None) -> str:
    if now is None:
        return ""
    if now.cut_short and not now.failed:
        return f"the tests were cut short: {escape_line(now.cut_short)}"
    changes = _lost(then, now)
    if not changes and not _all_named(then, now):
        ran, whole = then.least_executed, not _cut_short(then, now)
        left_out = now.deselected - then.deselected
        changes = [
            f"{after} {'test' if after == 1 else 'tests'} {what}, {before} before the work began"
            for what, before, after, worse in (
                ("ran", ran, now.executed, now.executed < ran),
                ("skipped", then.skipped, now.skipped, whole and now.skipped > then.skipped),
                ("deselected", then.deselected, now.deselected, whole and left_out > 0),
            )
            if worse
        ]
    if now.files < then.files:
        changes.append(f"{now.files} files checked, {then.files} before the work began")
    return "; ".join(changes)


def _cut_short(then: TestCounts, now: TestCounts) -> bool:
    """Whether the baseline did not reach every test, as it says or as more endings now show."""
    return bool(then.cut_short) or (then.failed > 0 and then.endings < now.endings)


def _lost(then: TestCounts, now: TestCounts) -> list[str]:
    """Tests that ran at the baseline and are skipped now, or not there at all."""
    gone: dict[str, None] = {}
    skipped: dict[str, None] = {}
    for where, tests in then.names.items():
        here, all_named = now.names.get(where, {}), now.names_all(where)
        for test in (test for test, outcome in tests.items() if outcome.ran):
            outcome = here.get(test)
            if outcome is not None and not outcome.ran:
                skipped[test] = None
            elif outcome is None and where in now.names and all_named:
                gone[test] = None
    return [
        f"{len(tests)} {'test' if len(tests) == 1 else 'tests'} that ran before the work began"
        f" {'is' if len(tests) == 1 else 'are'} {what} now: {_shown(list(tests))}"
        for what, tests in (("missing", gone), ("skipped", skipped))
        if tests
    ]


def _shown(tests: Sequence[str]) -> str:
    more = f" and {len(tests) - MOST_SHOWN} more" if len(tests) > MOST_SHOWN else ""
    return ", ".join(f"`{escape_line(test[:LONGEST_SHOWN])}`" for test in tests[:MOST_SHOWN]) + more


def _all_named(then: TestCounts, now: TestCounts) -> bool:
    """Whether every test of both runs was compared by its name."""
    return any(then.names_all(where) and now.names_all(where) for where in then.names)


def _least(contract: Contract) -> int | None:
    kind = ExpectationKind.TESTS_AT_LEAST
    numbers = [int(e.value) for e in contract.expectations if e.kind is kind]
    return max(numbers, default=None)
