"""All rules, and the meaning of every code they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from signoff.domain.findings import Finding
from signoff.domain.plan import Contract
from signoff.planfile.verify import (
    rules_contract,
    rules_plan,
    rules_references,
    rules_shell,
    rules_steering,
)
from signoff.planfile.verify.view import ShellSubject, VerifyView

Findings = Iterator[Finding]

PLAN_RULES: tuple[Callable[[VerifyView], Findings], ...] = (
    rules_contract.hidden_in_fields,
    rules_shell.tools_exist,
    rules_contract.timeouts,
    rules_plan.needs_make_sense,
    rules_plan.postconditions_decidable,
    rules_plan.subscriptions_exist,
    rules_plan.roles_exist,
    rules_plan.roles_can_work,
    rules_plan.budget_is_possible,
    rules_plan.paths_stay_inside,
    rules_plan.steps_stay_in_the_plan,
    rules_plan.protects_something,
    rules_plan.produced_once,
    rules_steering.decides_its_own_check,
    rules_steering.named_files_may_change,
    rules_references.references_are_protected,
    rules_references.protection_leaves_room,
    rules_references.tests_are_protected,
)
# For every shell text, lists of items included.
TEXT_RULES: tuple[Callable[[VerifyView, ShellSubject], Findings], ...] = (
    rules_contract.hidden_characters,
    rules_contract.typographic_characters,
    rules_contract.item_use,
    rules_shell.contract_syntax,
    rules_shell.cannot_tell,
    rules_shell.scripts_exist,
    rules_shell.writes_what_it_checks,
    rules_shell.contract_writes,
)
CONTRACT_RULES: tuple[Callable[[VerifyView, ShellSubject, Contract], Findings], ...] = (
    rules_shell.cannot_fail,
    rules_shell.only_last_counts,
    rules_shell.condition_skips_check,
    rules_shell.failures_are_passed_on,
    rules_shell.prints_what_is_expected,
    rules_contract.expectations_can_fail,
    rules_contract.external_effects,
    rules_contract.heldout_known,
    rules_references.tests_can_be_counted,
)


def rule_findings(view: VerifyView) -> Findings:
    """What every rule has to say."""
    for rule in PLAN_RULES:
        yield from rule(view)
    for subject in view.subjects:
        for text_rule in TEXT_RULES:
            yield from text_rule(view, subject)
        if subject.contract is not None:
            for contract_rule in CONTRACT_RULES:
                yield from contract_rule(view, subject, subject.contract)


CODES: Mapping[str, str] = MappingProxyType(
    {
        "budget-below-estimates": "the steps' own estimates add up to more than the budget",
        "budget-below-timeout": "one step may take longer than the whole plan may",
        "budget-empty": "the budget is zero or negative",
        "budget-thin": "the budget leaves next to nothing for each step",
        "cannot-fail": "the contract holds whatever the workspace contains",
        "cannot-hold": "the contract can never end or print as expected",
        "cannot-tell": "the analysis cannot see what this part of a contract does",
        "circular-dependency": "plans that wait for each other",
        "condition-skips-check": "a contract's last `if` lets it hold without checking",
        "contract-syntax": "bash would refuse the contract",
        "contract-writes": "the contract changes files that it did not declare",
        "exit-code-never-kept": "exit codes 126 and 127 are judged as unknown",
        "expectation-always-holds": "an expectation that nothing can break",
        "failure-only-printed": "a failure after which the contract prints words and goes on",
        "heldout-unknown": "a held-out check that is not configured",
        "hidden-characters": "a character that a reader cannot see, in text that is run or decides",
        "item-quoted": "`{item}` inside quotes, though it arrives quoted",
        "item-unused": "a `for_each` step whose contract does not name `{item}`",
        "item-without-list": "`{item}` in a step that has no `for_each`",
        "looks-external": "the contract asks the world outside without `effects: external`",
        "needs-cycle": "steps that wait for each other",
        "needs-itself": "a step that waits for itself",
        "network-needed": "a networked tool in a contract that does not say `network: yes`",
        "only-last-counts": "a failure that the contract's later commands hide",
        "only-last-round-counts": "a loop that goes on after a failure",
        "path-outside": "a path that is absolute or leaves the workspace",
        "postcondition-undecidable": "a postcondition only people could decide, and they may not",
        "produced-twice": "two steps that produce the same files",
        "propose-may-change": "a file that a step speaks of may steer its check; no line allows it",
        "protected-by-check": "a step may not change a file that decides its check",
        "protected-by-other": "a file to be made where another step lets nobody add one",
        "protects-nothing": "a protected pattern that matches no file",
        "protects-own-product": "a step that may not change what it should produce",
        "red-first-external": "a contract to be judged once and yet judged before",
        "reference-unprotected": "the step may change what its contract compares with or lists",
        "role-command-unreadable": "a role's command is empty, or its quotes are not closed",
        "role-program-missing": "a role's program is not found here",
        "role-shell-syntax": "a role's command needs a shell, and none runs it",
        "role-variable-unset": "a variable that a role asks for is not set here",
        "script-missing": "a contract runs a script of the workspace that does not exist",
        "script-order": "a contract runs a script that only a later step makes",
        "subscription-missing": "a subscribed file that does not exist",
        "subscription-order": "a subscribed file that only a later step makes",
        "tests-uncounted": "a test runner, called so, does not say how many tests it ran",
        "tests-unprotected": "the contract runs tests that the step may change",
        "timeout-empty": "a timeout that is zero or negative",
        "timeout-order": "a contract may take longer than its step",
        "tool-missing": "a command that is not installed here",
        "topic-missing": "a subscribed topic that does not exist",
        "touches-outside-plan": "a step may change files that the plan does not say it changes",
        "typographic-characters": "a typographic quote or dash in shell text",
        "unknown-dependency": "the plan depends on what is no plan of the vault",
        "unknown-role": "a step goes to a role that is not configured",
        "writes-what-it-checks": "the contract makes the file that it then checks",
    }
)
