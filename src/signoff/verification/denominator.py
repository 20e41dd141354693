"""The denominator guard: "all tests pass" says nothing when there are fewer of them."""

from __future__ import annotations

from signoff.domain.counts import TestCounts
from signoff.domain.plan import Contract, ExpectationKind
from signoff.domain.verdict import Reason, Result
from signoff.verification.bench import Seen
from signoff.verification.counting import count_tests, runs_tests
from signoff.verification.expectations import Answer


def is_counted(contract: Contract) -> bool:
    """Whether the contract's tests are counted: it says a number, or calls a known runner."""
    return _least(contract) is not None or runs_tests(contract.command)


def count(contract: Contract, seen: Seen) -> TestCounts | None:
    """How many tests one run of the contract reports; None when it does not say."""
    if not (seen.reports or is_counted(contract)):
        return None
    observation = seen.observation
    return count_tests(
        contract.command, observation.stdout.kept, observation.stderr.kept, seen.reports
    )


def judge_counts(
    contract: Contract, counts: TestCounts | None, baseline: TestCounts | None
) -> Answer | None:
    """Why a contract that held otherwise is not kept; None when the counts are as they should be.

    `tests >= N` counts tests that passed. Against the baseline, fewer tests that ran, more skipped
    or more deselected ones break the contract unless the step says `may_shrink`.
    """
    least = _least(contract)
    if least is not None and counts is None:
        message = f"could not judge: no test report was found for `tests >= {least}`"
        return Answer(Result.UNKNOWN, Reason.TESTS, message)
    if least is not None and counts is not None and counts.passed < least:
        message = f"{counts.passed} tests passed ({counts.source}), expected at least {least}"
        return Answer(Result.BROKEN, Reason.TESTS, message)
    if baseline is None or contract.may_shrink:
        return None
    shrinkage = _shrinkage(baseline, counts)
    return Answer(Result.BROKEN, Reason.TESTS, shrinkage) if shrinkage else None


def _shrinkage(then: TestCounts, now: TestCounts | None) -> str:
    if now is None:
        if not then.executed:
            return ""
        return f"no tests are reported any more; {then.executed} ran before the work began"
    changes = [
        f"{after} {'test' if after == 1 else 'tests'} {what}, {before} before the work began"
        for what, before, after, worse in (
            ("ran", then.executed, now.executed, now.executed < then.executed),
            ("skipped", then.skipped, now.skipped, now.skipped > then.skipped),
            ("deselected", then.deselected, now.deselected, now.deselected > then.deselected),
        )
        if worse
    ]
    hint = "; if that is meant, the step says `**may_shrink:** yes`"
    return "; ".join(changes) + hint if changes else ""


def _least(contract: Contract) -> int | None:
    kind = ExpectationKind.TESTS_AT_LEAST
    numbers = [int(e.value) for e in contract.expectations if e.kind is kind]
    return max(numbers, default=None)
