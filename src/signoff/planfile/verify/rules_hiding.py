"""Rules about failures that a contract meets and does not pass on, and output it never prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from signoff.commands.statuses import WeaknessKind
from signoff.domain.findings import Finding, Severity
from signoff.domain.plan import ExpectationKind
from signoff.planfile.verify.rules_shell import looks_at_output
from signoff.planfile.verify.view import View

_ABOUT_OUTPUT = (ExpectationKind.STDOUT_CONTAINS, ExpectationKind.STDOUT_EQUALS)


class _Words(NamedTuple):
    code: str
    message: str
    hint: str


_SAID = {
    WeaknessKind.ROUNDS: _Words(
        "only-last-round-counts",
        "the `{}` loop goes on when a round fails, so only its last round counts",
        "end it at the first failure: `for …; do … || exit 1; done`",
    ),
    WeaknessKind.PRINTED_FAILURE: _Words(
        "failure-only-printed",
        "`{} echo` prints the failure and goes on as if there were none",
        "end the contract there: `|| { echo …; exit 1; }`",
    ),
    WeaknessKind.PRINTED_ANSWER: _Words(
        "answer-only-printed",
        "`{}` succeeds whatever it finds; it only prints the answer",
        'look at what it prints: `… | grep -q .`, or `test -z "$(…)"` for nothing',
    ),
}


def failures_are_passed_on(view: View) -> Iterator[Finding]:
    """A loop, an `echo` or a search that lets the contract hold after a failure."""
    for subject in view.subjects:
        facts = subject.facts
        if subject.contract is None or not facts.weaknesses or len(facts.statuses) == 1:
            continue
        if looks_at_output(subject):
            continue
        for kind, said in _SAID.items():
            found = next((w for w in facts.weaknesses if w.kind is kind), None)
            if found is not None:
                yield view.finding(
                    said.code,
                    Severity.WARNING,
                    subject.line + found.line,
                    said.message.format(found.what),
                    said.hint,
                    step=subject.owner,
                )


def prints_what_is_expected(view: View) -> Iterator[Finding]:
    """A contract without any output, of which output is expected."""
    for subject in view.subjects:
        if subject.contract is None or not subject.facts.silent:
            continue
        for expectation in subject.contract.expectations:
            if expectation.kind in _ABOUT_OUTPUT and expectation.value != "":
                yield view.finding(
                    "cannot-hold",
                    Severity.ERROR,
                    expectation.line or subject.line,
                    f"the {subject.kind} prints nothing, so `{expectation}` never holds",
                    "print what is to be compared, or delete the expectation",
                    step=subject.owner,
                )
