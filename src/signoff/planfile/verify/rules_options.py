"""Rules about expectations and options of a contract."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from signoff.commands.programs import is_networked
from signoff.domain.findings import Finding, Severity
from signoff.domain.plan import Contract, Effects, ExpectationKind, RedFirst
from signoff.planfile.verify.view import Subject, View

_NEVER_KEPT = (126, 127)


def expectation_always_holds(view: View) -> Iterator[Finding]:
    """An expectation that says nothing."""
    for subject, contract in _contracts(view):
        for expectation in contract.expectations:
            empty = expectation.value == "" and expectation.kind in (
                ExpectationKind.STDOUT_CONTAINS,
                ExpectationKind.STDERR_CONTAINS,
            )
            none = expectation.kind is ExpectationKind.TESTS_AT_LEAST and expectation.value == 0
            if empty or none:
                yield view.finding(
                    "expectation-always-holds",
                    Severity.WARNING,
                    expectation.line or subject.line,
                    f"`{expectation}` always holds",
                    "say what must be there, or delete the line",
                    step=subject.owner,
                )


def exit_code_never_kept(view: View) -> Iterator[Finding]:
    """126 and 127 mean that nothing could be judged."""
    for subject, contract in _contracts(view):
        for expectation in contract.expectations:
            is_code = expectation.kind is ExpectationKind.EXIT_CODE
            if is_code and expectation.value in _NEVER_KEPT:
                yield view.finding(
                    "exit-code-never-kept",
                    Severity.WARNING,
                    expectation.line or subject.line,
                    f"exit code {expectation.value} means that a command could not run, "
                    "which is judged as unknown",
                    "test for the command instead: `! command -v NAME`",
                    step=subject.owner,
                )


def _contracts(view: View) -> Iterator[tuple[Subject, Contract]]:
    for subject in view.subjects:
        if subject.contract is not None:
            yield subject, subject.contract


def timeouts(view: View) -> Iterator[Finding]:
    """Deadlines that leave no time, or more time for the check than for the work."""
    for step in view.plan.steps:
        contract_s = step.contract.timeout_s if step.contract else None
        if step.timeout_s <= 0 or (contract_s is not None and contract_s <= 0):
            yield view.finding(
                "timeout-empty",
                Severity.ERROR,
                view.line_of(step, "timeout"),
                "the timeout leaves no time at all",
                "name a positive time, such as `10 minutes`",
                step=step.id,
            )
        elif contract_s is not None and contract_s > step.timeout_s:
            yield view.finding(
                "timeout-order",
                Severity.WARNING,
                view.line_of(step, "timeout"),
                f"the contract may take {contract_s:g} s, the whole step only {step.timeout_s:g} s",
                "lengthen `**timeout:**` or shorten `**contract_timeout:**`",
                step=step.id,
            )


def external_effects(view: View) -> Iterator[Finding]:
    """Contracts that reach outside: forbidden by their own options, or not marked as such."""
    for subject, contract in _contracts(view):
        external = contract.effects is Effects.EXTERNAL
        if external and contract.red_first is RedFirst.REQUIRED:
            yield view.finding(
                "red-first-external",
                Severity.WARNING,
                subject.line,
                "`effects: external` is judged once, but `red_first: required` judges it twice",
                "drop one of the two options",
                step=subject.owner,
            )
        call = next((c for c in subject.facts.calls if is_networked(c.name, c.args)), None)
        if call is None:
            continue
        line = subject.line + call.line
        if contract.network is not True:
            said = "says `network: no`" if contract.network is False else "does not ask for it"
            yield view.finding(
                "network-needed",
                Severity.WARNING,
                line,
                f"`{call.name}` needs the network, but the contract {said}",
                "add `**network:** yes`, or check without it: a sandbox has none otherwise",
                step=subject.owner,
            )
        if not external:
            yield view.finding(
                "looks-external",
                Severity.NOTE,
                line,
                f"`{call.name}` asks the world outside; its answer changes by itself",
                "add `**effects:** external` if it should be judged only once",
                step=subject.owner,
            )


def heldout_known(view: View) -> Iterator[Finding]:
    """A held-out check must exist."""
    for subject, contract in _contracts(view):
        name = contract.heldout
        if name is None or name in view.surroundings.heldout_names:
            continue
        line = subject.line if subject.step is None else view.line_of(subject.step, "heldout")
        yield view.finding(
            "heldout-unknown",
            Severity.ERROR,
            line,
            f"no held-out check is named `{name}`",
            did_you_mean(
                name,
                view.surroundings.heldout_names,
                "write its command into `heldout/NAME/contract` in the home folder",
            ),
            step=subject.owner,
        )


def did_you_mean(name: str, known: frozenset[str], otherwise: str) -> str:
    """The nearest known name as a hint, or what to do without one."""
    close = get_close_matches(name, sorted(known), n=1)
    if close:
        return f"did you mean `{close[0]}`?"
    listed = ", ".join(f"`{k}`" for k in sorted(known))
    return f"{otherwise}; known: {listed}" if listed else otherwise
