"""Rules about expectations and options of a contract."""

from __future__ import annotations

from collections.abc import Iterator

from signoff.commands.programs import is_networked
from signoff.domain.findings import Finding
from signoff.domain.plan import Contract, Effects, ExpectationKind, RedFirst
from signoff.planfile.findinglog import did_you_mean
from signoff.planfile.verify.view import Subject, View

_NEVER_KEPT = (126, 127)
_CONTAINS = (ExpectationKind.STDOUT_CONTAINS, ExpectationKind.STDERR_CONTAINS)


def expectations_can_fail(_view: View, subject: Subject, contract: Contract) -> Iterator[Finding]:
    """An expectation that says nothing, or that can never be judged."""
    for expectation in contract.expectations:
        kind, value = expectation.kind, expectation.value
        line = max(expectation.line - subject.line, 0)
        none = kind is ExpectationKind.TESTS_AT_LEAST and value == 0
        if none or (kind in _CONTAINS and value == ""):
            yield subject.warning(
                "expectation-always-holds",
                line,
                f"`{expectation}` always holds",
                "say what must be there, or delete the line",
            )
        if kind is ExpectationKind.EXIT_CODE and value in _NEVER_KEPT:
            yield subject.warning(
                "exit-code-never-kept",
                line,
                f"exit code {value} means that a command could not run, which is judged as unknown",
                "test for the command instead: `! command -v NAME`",
            )


def timeouts(view: View) -> Iterator[Finding]:
    """Deadlines that leave no time, or more time for the check than for the work."""
    for step in view.plan.steps:
        contract_s = step.contract.timeout_s if step.contract else None
        if step.timeout_s <= 0 or (contract_s is not None and contract_s <= 0):
            yield view.error(
                "timeout-empty",
                view.line_of(step, "timeout"),
                "the timeout leaves no time at all",
                "name a positive time, such as `10 minutes`",
                step.id,
            )
        elif contract_s is not None and contract_s > step.timeout_s:
            yield view.warning(
                "timeout-order",
                view.line_of(step, "timeout"),
                f"the contract may take {contract_s:g} s, the whole step only {step.timeout_s:g} s",
                "lengthen `**timeout:**` or shorten `**contract_timeout:**`",
                step.id,
            )


def external_effects(_view: View, subject: Subject, contract: Contract) -> Iterator[Finding]:
    """Contracts that reach outside: forbidden by their own options, or not marked as such."""
    external = contract.effects is Effects.EXTERNAL
    if external and contract.red_first is RedFirst.REQUIRED:
        yield subject.warning(
            "red-first-external",
            0,
            "`effects: external` is judged once, but `red_first: required` judges it twice",
            "drop one of the two options",
        )
    call = next((c for c in subject.facts.calls if is_networked(c.name, c.args)), None)
    if call is not None and contract.network is not True:
        said = "says `network: no`" if contract.network is False else "does not ask for it"
        yield subject.warning(
            "network-needed",
            call.line,
            f"`{call.name}` needs the network, but the contract {said}",
            "add `**network:** yes`, or check without it: a sandbox has none otherwise",
        )
    if call is not None and not external:
        yield subject.note(
            "looks-external",
            call.line,
            f"`{call.name}` asks the world outside; its answer changes by itself",
            "add `**effects:** external` if it should be judged only once",
        )


def heldout_known(view: View, subject: Subject, contract: Contract) -> Iterator[Finding]:
    """A held-out check must exist."""
    name, known = contract.heldout, view.surroundings.heldout_names
    if name is None or name in known:
        return
    line = subject.line if subject.step is None else view.line_of(subject.step, "heldout")
    advice = "write its command into `heldout/NAME/contract` in the home folder"
    hint = did_you_mean(name, known, advice, listed=True)
    yield view.error(
        "heldout-unknown", line, f"no held-out check is named `{name}`", hint, subject.owner
    )
