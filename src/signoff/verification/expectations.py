"""Comparing what a process did with what the contract says it must show."""

from __future__ import annotations

from typing import NamedTuple

from signoff.domain.digests import digest_bytes
from signoff.domain.observation import Ending, Observation
from signoff.domain.plan import Contract, Expectation, ExpectationKind
from signoff.domain.verdict import Reason, Result


class Answer(NamedTuple):
    """A verdict's core before it is bound to content."""

    result: Result
    reason: Reason
    message: str


_UNKNOWN: dict[Ending, Reason] = {
    Ending.SIGNALLED: Reason.SIGNALLED,
    Ending.TIMED_OUT: Reason.TIMED_OUT,
    Ending.NOT_EXECUTABLE: Reason.NOT_EXECUTABLE,
    Ending.NOT_FOUND: Reason.NOT_FOUND,
    Ending.NOT_STARTED: Reason.INFRASTRUCTURE,
    Ending.OUTPUT_LIMIT: Reason.INFRASTRUCTURE,
}


def needles(contract: Contract, kind: ExpectationKind) -> tuple[bytes, ...]:
    """What to look for in a stream while it flows by, in the order of the expectations."""
    return tuple(str(e.value).encode() for e in contract.all_expectations() if e.kind is kind)


def compare(contract: Contract, observation: Observation) -> Answer:
    """Kept when every expectation holds; unknown when the command did not come to its own end."""
    reason = _UNKNOWN.get(observation.ending)
    if reason is not None:
        return Answer(Result.UNKNOWN, reason, f"could not judge: {observation.describe()}")
    stdout_found = iter(observation.stdout_matches)
    stderr_found = iter(observation.stderr_matches)
    misses: list[str] = []
    for expected in contract.all_expectations():
        if expected.kind is ExpectationKind.STDOUT_CONTAINS:
            held = next(stdout_found, False)
        elif expected.kind is ExpectationKind.STDERR_CONTAINS:
            held = next(stderr_found, False)
        elif expected.kind is ExpectationKind.TESTS_AT_LEAST:
            continue  # judged on the counts, by the denominator guard
        elif expected.kind is ExpectationKind.EXIT_CODE:
            held = observation.exit_code == expected.value
        else:
            wanted = str(expected.value).encode()
            held = observation.stdout.sha256 in map(digest_bytes, (wanted, wanted + b"\n"))
        if not held:
            misses.append(_miss(expected, observation))
    if misses:
        return Answer(Result.BROKEN, Reason.EXPECTATION, "; ".join(misses))
    return Answer(Result.KEPT, Reason.HELD, observation.describe())


def _miss(expected: Expectation, observation: Observation) -> str:
    if expected.kind is ExpectationKind.EXIT_CODE:
        return f"exit code {observation.exit_code}, expected {expected.value}"
    if expected.kind is ExpectationKind.STDOUT_EQUALS:
        return f"stdout ({observation.stdout.size} bytes) is not the expected text"
    stream = "stdout" if expected.kind is ExpectationKind.STDOUT_CONTAINS else "stderr"
    return f'{stream} does not contain "{expected.value}"'
