"""An agent's request turned into the text of a plan, and read back: one Plan type, one parser."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from signoff.agents.sessions.checks import BadRequest, contract_of
from signoff.domain.findings import Severity
from signoff.domain.plan import Contract, Plan
from signoff.domain.session import Declared, Precondition
from signoff.domain.text import escape_line
from signoff.planfile.compose import TARGET, compose, is_external
from signoff.planfile.parse import parse
from signoff.planfile.verify import Anywhere, verify
from signoff.process.syntax import syntax_problems

LONGEST_DESCRIPTION = 2_000
MOST_PARTS = 200
MOST_TOUCHES = 50

_STEP_KEYS = frozenset(
    {"description", "contract", "expect", "check", "touches", "preconditions", "splits"}
)
_POST_KEYS = frozenset({"description", "contract", "expect", "check"})
_STEP_REFERENCE = re.compile(r"(?:step[ :]*)?#?([0-9]{1,6})", re.IGNORECASE)
# Findings of static verification that make a contract worthless; the others are for people.
_WORTHLESS = frozenset(
    {
        "cannot-fail",
        "cannot-hold",
        "contract-syntax",
        "exit-code-never-kept",
        "expectation-always-holds",
        "hidden-characters",
        "writes-what-it-checks",
    }
)
# What a plan file must have and an agent's plan need not.
_NOT_ASKED_FOR = frozenset({"missing-contract", "tool-missing", "path-outside", "network-needed"})


@dataclass(frozen=True)
class WrittenPlan:
    """A plan as text, as the parser reads it, and what each step says beside its task."""

    text: str
    plan: Plan
    declared: Mapping[str, Declared]


@dataclass(frozen=True)
class _Part:
    description: str
    contract: Contract | None
    declared: Declared


def write_plan(
    objective: Any, steps: Any, postconditions: Any, hosts: tuple[str, ...]
) -> WrittenPlan:
    """The plan that was asked for; BadRequest with what to change when it cannot be one."""
    aim = _description(objective, "objective")
    parts = [_part(p, f"step {n}", _STEP_KEYS, hosts) for n, p in _listed(steps, "steps")]
    posts = [
        _part(p, f"postcondition {n}", _POST_KEYS, hosts)
        for n, p in _listed(postconditions, "postconditions")
    ]
    if not parts:
        raise BadRequest("a plan without steps is no plan; give at least one step")
    _check_order(parts)
    text = compose(aim, parts, posts)
    parsed = parse(text)
    _check_same(parsed.plan, parts, posts)
    for finding in verify(parsed, Anywhere(frozenset({TARGET}), check_syntax=syntax_problems)):
        bad = finding.code in _WORTHLESS or finding.severity is Severity.ERROR
        if bad and finding.code not in _NOT_ASKED_FOR:
            raise BadRequest(f"{finding.message}; {finding.hint}")
    declared = {s.id: p.declared for s, p in zip(parsed.plan.steps, parts, strict=True)}
    return WrittenPlan(text, parsed.plan, declared)


def _listed(parts: Any, name: str) -> list[tuple[int, Any]]:
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise BadRequest(f"`{name}` must be a list")
    if len(parts) > MOST_PARTS:
        raise BadRequest(f"`{name}` has {len(parts)} entries; {MOST_PARTS} is the most")
    return list(enumerate(parts, 1))


def _part(part: Any, name: str, known: frozenset[str], hosts: tuple[str, ...]) -> _Part:
    if isinstance(part, str):
        part = {"description": part}
    if not isinstance(part, Mapping):
        raise BadRequest(f"{name} must be a text or an object with a `description`")
    unknown = sorted(str(key) for key in part if key not in known)
    if unknown:
        raise BadRequest(f"{name} has an unknown `{unknown[0]}`; known: {', '.join(sorted(known))}")
    try:
        return _Part(
            _description(part.get("description"), "description"),
            contract_of(part, hosts),
            _declared(part, hosts),
        )
    except BadRequest as error:
        raise BadRequest(f"{name}: {error}") from None


def _description(text: Any, name: str) -> str:
    """On one line, with nothing in it that a reader does not see."""
    if not isinstance(text, str) or not text.strip():
        raise BadRequest(f"`{name}` must not be blank")
    if len(text) > LONGEST_DESCRIPTION:
        raise BadRequest(f"`{name}` is longer than {LONGEST_DESCRIPTION} characters")
    return escape_line(" ".join(text.split()))


def _declared(part: Mapping[str, Any], hosts: tuple[str, ...]) -> Declared:
    touches = part.get("touches") or []
    if not isinstance(touches, list) or not all(isinstance(t, str) and t.strip() for t in touches):
        raise BadRequest("`touches` is a list of paths or globs")
    conditions = part.get("preconditions") or []
    if not isinstance(conditions, list):
        raise BadRequest("`preconditions` is a list")
    splits = part.get("splits", "")
    return Declared(
        tuple(escape_line(t.strip()) for t in touches[:MOST_TOUCHES]),
        tuple(_precondition(c, hosts) for c in conditions),
        "" if splits in ("", None) else _step_number(splits, "splits"),
    )


def _step_number(value: Any, name: str) -> str:
    found = _STEP_REFERENCE.fullmatch(str(value).strip())
    if found is None:
        raise BadRequest(f"`{name}` is the number of a step")
    return str(int(found[1]))


def _precondition(condition: Any, hosts: tuple[str, ...]) -> Precondition:
    """An earlier step, or a check; prose alone could not be checked before the step begins."""
    if isinstance(condition, int | str) and not isinstance(condition, bool):
        if _STEP_REFERENCE.fullmatch(str(condition).strip()):
            number = _step_number(condition, "precondition")
            return Precondition(f"step {number} is done", step=number)
        condition = {"description": condition}
    if not isinstance(condition, Mapping):
        raise BadRequest("a precondition is `step:N`, or an object with a check or contract")
    text = _description(condition.get("description", "a check"), "description")
    contract = contract_of(condition, hosts)
    if contract is None or contract.expectations or is_external(contract):
        raise BadRequest(
            f"precondition `{text[:80]}` cannot be checked; write `step:N`, or give it a check"
            " of kind file_exists, file_contains or command_succeeds"
        )
    return Precondition(text, command=contract.command)


def _check_order(parts: list[_Part]) -> None:
    for number, part in enumerate(parts, 1):
        for condition in part.declared.preconditions:
            if condition.step and not 1 <= int(condition.step) < number:
                raise BadRequest(
                    f"step {number} waits for step {condition.step}; only an earlier step can be"
                    " waited for"
                )


def _check_same(plan: Plan, steps: list[_Part], posts: list[_Part]) -> None:
    """What the parser read must be what was asked for, or a text was taken for structure."""
    if len(plan.steps) != len(steps) or len(plan.postconditions) != len(posts):
        raise BadRequest("a description reads like a part of the plan's structure; reword it")
    for step, part in zip(plan.steps, steps, strict=True):
        if step.task != part.description or not _means(step.contract, part.contract):
            raise BadRequest(f"step {step.id} cannot be written as a plan; reword it")
    for post, part in zip(plan.postconditions, posts, strict=True):
        if post.text != part.description or not _means(post.contract, part.contract):
            raise BadRequest(f"postcondition {post.number} cannot be written as a plan; reword it")


def _means(read: Contract | None, asked: Contract | None) -> bool:
    if read is None or asked is None:
        return read is asked
    same = read.command == asked.command and read.effects is asked.effects
    return same and set(read.all_expectations()) == set(asked.all_expectations())
