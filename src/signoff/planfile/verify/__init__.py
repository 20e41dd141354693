"""Static verification: everything that can be said about a plan before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from msgspec.structs import replace

from signoff.domain.findings import Finding
from signoff.domain.plan import Contract
from signoff.planfile.parse import Parsed, without_collection
from signoff.planfile.verify import rules_contract, rules_plan, rules_weak
from signoff.planfile.verify.view import Anywhere, ShellSubject, Surroundings, VerifyView

__all__ = ["CODES", "Anywhere", "Surroundings", "verify"]

Findings = Iterator[Finding]

PLAN_RULES: tuple[Callable[[VerifyView], Findings], ...] = (
    rules_contract.tools_exist,
    rules_plan.needs_make_sense,
    rules_plan.postconditions_decidable,
    rules_plan.subscriptions_exist,
    rules_plan.roles_exist,
    rules_plan.rubrics_have_a_judge,
    rules_plan.budget_is_enforced,
    rules_plan.protects_something,
    rules_plan.decides_its_own_check,
    rules_plan.named_files_may_change,
    rules_plan.named_files_may_be_touched,
)
# For every shell text, lists of items included.
TEXT_RULES: tuple[Callable[[VerifyView, ShellSubject], Findings], ...] = (
    rules_contract.item_use,
    rules_contract.contract_syntax,
    rules_contract.cannot_tell,
    rules_contract.scripts_exist,
    rules_contract.writes,
)
CONTRACT_RULES: tuple[Callable[[VerifyView, ShellSubject, Contract], Findings], ...] = (
    rules_contract.cannot_fail,
    rules_contract.network_allowed,
    rules_contract.heldout_known,
    rules_weak.holds_without_work,
)


def _rule_findings(view: VerifyView) -> Findings:
    for rule in PLAN_RULES:
        yield from rule(view)
    for subject in view.subjects:
        for text_rule in TEXT_RULES:
            yield from text_rule(view, subject)
        if subject.contract is not None:
            for contract_rule in CONTRACT_RULES:
                yield from contract_rule(view, subject, subject.contract)


@without_collection
def verify(parsed: Parsed, surroundings: Surroundings) -> tuple[Finding, ...]:
    """The parser's findings and those of every rule, by line."""
    view = VerifyView(parsed, surroundings)
    told = (replace(f, text=view.text_at(f.line)) for f in _rule_findings(view))
    found = [*parsed.findings, *told]
    return tuple(sorted(found, key=lambda f: (f.line, f.code)))


CODES: Mapping[str, str] = {
    "budget-not-enforced": "a role does not tell what it uses, so no budget can end it",
    "cannot-fail": "the contract holds whatever the workspace contains",
    "cannot-hold": "the contract can never end as expected",
    "cannot-tell": "the analysis cannot see what this part of a contract does",
    "circular-dependency": "plans that wait for each other",
    "contract-syntax": "bash would refuse the contract",
    "contract-writes": "the contract changes files that it did not declare",
    "heldout-unknown": "a held-out check that is not configured",
    "item-quoted": "`{item}` inside quotes, though it arrives quoted",
    "item-unused": "a `for_each` step whose contract does not name `{item}`",
    "item-without-list": "`{item}` in a step that has no `for_each`",
    "judge-missing": "a rubric, and no model that could give an opinion on it",
    "needs-cycle": "a step that waits for itself, or steps that wait for each other",
    "network-needed": "a networked tool in a contract that does not say `network: yes`",
    "only-last-counts": "a failure that later commands, later rounds or an `echo` hide",
    "postcondition-undecidable": "a postcondition only people could decide, and they may not",
    "propose-may-change": "a file that a step speaks of may steer its check; no line allows it",
    "propose-touches": "a file that a step speaks of lies outside what it may change",
    "protected-by-check": "a step may not change a file that decides its check",
    "protects-nothing": "a protected pattern that matches no file",
    "protects-own-product": "a step that may not change what it should produce",
    "role-command-unreadable": "a role's command is empty, or its quotes are not closed",
    "role-hosts-open": "nothing here keeps a role to the hosts that it names",
    "role-not-logged-in": "the client of a role has neither a key nor a login here",
    "role-place-denied": "the sandbox in use denies a known agent a place that it must write to",
    "role-program-missing": "a role's program is not found here",
    "role-shell-syntax": "a role's command needs a shell, and none runs it",
    "role-variable-unset": "a variable that a role asks for is not set here",
    "role-variable-withheld": "a key that the client needs is set here, and not passed to it",
    "script-missing": "a contract runs a script that does not exist, or comes later",
    "subscription-missing": "a subscribed file or topic that does not exist, or comes later",
    "tool-missing": "a command that is not installed here",
    "unknown-dependency": "the plan depends on what is no plan of the vault",
    "unknown-role": "a step goes to a role that is not configured",
    "weak-contract": "something other than the work keeps the contract, such as an empty file",
    "writes-what-it-checks": "the contract makes the file that it then checks",
}
"""Everything that the rules can find, with what each means."""
