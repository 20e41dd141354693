"""An agent's request turned into the text of a plan, and read back: one Plan type, one parser.

Checks that it asks for by name become contracts that we word.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from signoff.agents.sessions.chain import Refused
from signoff.commands.analysis import is_readable
from signoff.domain.findings import Severity
from signoff.domain.plan import Contract, Expectation, ExpectationKind, Plan
from signoff.domain.session import Declared, Precondition
from signoff.domain.text import escape, escape_line
from signoff.planfile.compose import TARGET, compose
from signoff.planfile.contracts import EXPECTATION_HINT, read_expectation
from signoff.planfile.parse import parse
from signoff.planfile.verify import Anywhere, verify
from signoff.process.shell import syntax_problems
from signoff.verification.counting.verbose import runs_only_tests

LONGEST_DESCRIPTION = 2_000
LONGEST_COMMAND = 4_000
MOST_PARTS = 200
MOST_TOUCHES = 50
CHECK_KINDS = ("file_exists", "file_contains", "command_succeeds", "tests_pass")

_POST_KEYS = frozenset({"description", "contract", "expect", "check"})
_STEP_KEYS = _POST_KEYS | {"touches", "preconditions", "splits"}
_STEP_REFERENCE = re.compile(r"(?:step[ :]*)?#?([0-9]{1,6})", re.IGNORECASE)
# Findings of static verification that make a contract worthless; the others are for people.
_WORTHLESS = frozenset(
    {
        "cannot-fail",
        "cannot-hold",
        "contract-syntax",
        "expectation-always-holds",
        "hidden-characters",
        "writes-what-it-checks",
    }
)
# What a plan file must have and an agent's plan need not.
_NOT_ASKED_FOR = frozenset({"missing-contract", "tool-missing", "path-outside", "network-needed"})


class WrittenPlan(Struct, frozen=True):
    """A plan as text, as the parser reads it, and what each step says beside its task."""

    text: str
    plan: Plan
    declared: Mapping[str, Declared]


class _Part(Struct, frozen=True):
    description: str
    contract: Contract | None
    declared: Declared


def write_plan(objective: Any, steps: Any, postconditions: Any) -> WrittenPlan:
    """The plan that was asked for; Refused with what to change when it cannot be one."""
    aim = _description(objective, "objective")
    parts = [_part(p, f"step {n}", _STEP_KEYS) for n, p in _listed(steps, "steps")]
    listed = _listed(postconditions, "postconditions")
    posts = [_part(p, f"postcondition {n}", _POST_KEYS) for n, p in listed]
    if not parts:
        raise Refused("a plan without steps is no plan; give at least one step")
    for number, part in enumerate(parts, 1):
        for condition in part.declared.preconditions:
            if condition.step and not 1 <= int(condition.step) < number:
                raise Refused(
                    f"step {number} waits for step {condition.step}; only an earlier step can be"
                    " waited for"
                )
    text = compose(aim, parts, posts)
    parsed = parse(text)
    _check_same(parsed.plan, parts, posts)
    for finding in verify(parsed, Anywhere(frozenset({TARGET}), check_syntax=syntax_problems)):
        bad = finding.code in _WORTHLESS or finding.severity is Severity.ERROR
        if bad and finding.code not in _NOT_ASKED_FOR:
            raise Refused(f"{finding.message}; {finding.hint}")
    declared = {s.id: p.declared for s, p in zip(parsed.plan.steps, parts, strict=True)}
    return WrittenPlan(text, parsed.plan, declared)


def _listed(parts: Any, name: str) -> Iterator[tuple[int, Any]]:
    if isinstance(parts, str) or not isinstance(parts, Sequence):
        raise Refused(f"`{name}` must be a list")
    if len(parts) > MOST_PARTS:
        raise Refused(f"`{name}` has {len(parts)} entries; {MOST_PARTS} is the most")
    return enumerate(parts, 1)


def _part(part: Any, name: str, known: frozenset[str]) -> _Part:
    if isinstance(part, str):
        part = {"description": part}
    if not isinstance(part, Mapping):
        raise Refused(f"{name} must be a text or an object with a `description`")
    unknown = sorted(str(key) for key in part if key not in known)
    if unknown:
        raise Refused(f"{name} has an unknown `{unknown[0]}`; known: {', '.join(sorted(known))}")
    try:
        return _Part(
            _description(part.get("description"), "description"), _contract(part), _declared(part)
        )
    except Refused as error:
        raise Refused(f"{name}: {error}") from None


def _description(text: Any, name: str) -> str:
    """The text on one line, with nothing in it that a reader does not see."""
    if not isinstance(text, str) or not text.strip():
        raise Refused(f"`{name}` must not be blank")
    if len(text) > LONGEST_DESCRIPTION:
        raise Refused(f"`{name}` is longer than {LONGEST_DESCRIPTION} characters")
    return escape_line(" ".join(text.split()))


def _declared(part: Mapping[str, Any]) -> Declared:
    touches = part.get("touches") or []
    if not isinstance(touches, list) or not all(isinstance(t, str) and t.strip() for t in touches):
        raise Refused("`touches` is a list of paths or globs")
    conditions = part.get("preconditions") or []
    if not isinstance(conditions, list):
        raise Refused("`preconditions` is a list")
    splits = part.get("splits")
    if splits not in ("", None) and _step_number(splits) is None:
        raise Refused("`splits` is the number of a step")
    return Declared(
        tuple(escape_line(t.strip()) for t in touches[:MOST_TOUCHES]),
        tuple(map(_precondition, conditions)),
        _step_number(splits) or "",
    )


def _step_number(value: Any) -> str | None:
    found = _STEP_REFERENCE.fullmatch(str(value).strip())
    return str(int(found[1])) if found is not None else None


def _precondition(condition: Any) -> Precondition:
    """An earlier step, or a check; prose alone could not be checked before the step begins."""
    if isinstance(condition, int | str) and not isinstance(condition, bool):
        number = _step_number(condition)
        if number is not None:
            return Precondition(f"step {number} is done", step=number)
        condition = {"description": condition}
    if not isinstance(condition, Mapping):
        raise Refused("a precondition is `step:N`, or an object with a check or contract")
    text = _description(condition.get("description", "a check"), "description")
    contract = _contract(condition)
    if contract is None or contract.expectations:
        raise Refused(
            f"precondition `{text[:80]}` cannot be checked; write `step:N`, or give it a check"
            " of kind file_exists, file_contains or command_succeeds"
        )
    return Precondition(text, command=contract.command)


def _check_same(plan: Plan, steps: list[_Part], posts: list[_Part]) -> None:
    """Refuse a plan that the parser reads otherwise: a text was taken for structure."""
    if len(plan.steps) != len(steps) or len(plan.postconditions) != len(posts):
        raise Refused("a description reads like a part of the plan's structure; reword it")
    read = [(f"step {s.id}", s.task, s.contract) for s in plan.steps]
    read += [(f"postcondition {p.number}", p.text, p.contract) for p in plan.postconditions]
    for (name, text, contract), part in zip(read, (*steps, *posts), strict=True):
        asked = part.contract
        same = contract is asked or (
            contract is not None
            and asked is not None
            and (contract.command, contract.effects) == (asked.command, asked.effects)
            and set(contract.all_expectations()) == set(asked.all_expectations())
        )
        if text != part.description or not same:
            raise Refused(f"{name} cannot be written as a plan; reword it")


def _contract(part: Mapping[str, Any]) -> Contract | None:
    """The contract that a step, postcondition or precondition asks for, if it asks for one."""
    command, check = part.get("contract"), part.get("check")
    if command is not None and check is not None:
        raise Refused("give a `contract` or a `check`, not both")
    if command is not None:
        expected = _expectations(part.get("expect"))
        return _with_told_counts(Contract(_command(command, "contract"), expected))
    if check is None:
        return None
    if not isinstance(check, Mapping):
        raise Refused(f'a `check` is an object such as {{"kind": "file_exists", …}}; {_KINDS}')
    return _checked(check)


def _checked(check: Mapping[str, Any]) -> Contract:
    match check.get("kind"):
        case "file_exists":
            return Contract(f"test -f {_path(check)}")
        case "file_contains":
            text = check.get("text")
            if not isinstance(text, str) or not text.strip():
                raise Refused("`file_contains` needs a `text` that is not blank")
            if "\n" in text:
                # grep takes lines for alternatives, so any one of them would be enough.
                raise Refused("`file_contains` looks for one line; write one check per line")
            return Contract(f"grep -qF -e {shlex.quote(_clean(text, 'text'))} -- {_path(check)}")
        case "command_succeeds":
            return Contract(_command(check.get("command"), "command"))
        case "tests_pass":
            count = check.get("min_count", 1)
            if type(count) is not int or count < 1:
                raise Refused("`tests_pass` needs a `min_count` of at least 1")
            if check.get("command") is None:
                raise Refused(
                    "`tests_pass` needs the `command` that runs the tests, such as pytest -q"
                )
            expected = Expectation(ExpectationKind.TESTS_AT_LEAST, count)
            return _with_told_counts(Contract(_command(check["command"], "command"), (expected,)))
        case kind:
            raise Refused(f"`{kind}` is not a kind of check; {_KINDS}")


_KINDS = f"the kinds are {', '.join(CHECK_KINDS)}"


def _with_told_counts(contract: Contract) -> Contract:
    """A number of tests is believed to a runner, not to whatever can print `5 passed`."""
    counted = any(e.kind is ExpectationKind.TESTS_AT_LEAST for e in contract.expectations)
    if counted and not runs_only_tests(contract.command):
        raise Refused(
            "a number of tests is read from a test runner alone: let the command call nothing else"
            " (pytest -q, python3 -m unittest, npx jest, cargo test, go test ./...); for a script"
            " or make target use `command_succeeds`"
        )
    return contract


def _path(check: Mapping[str, Any]) -> str:
    path = check.get("path")
    if not isinstance(path, str) or not path.strip():
        raise Refused(f"`{check.get('kind')}` needs a `path`")
    path = _clean(path, "path")
    # Without it, a name that begins with a dash would be an option.
    return shlex.quote(path if path.startswith("/") else f"./{path}")


def _command(command: Any, name: str) -> str:
    if not isinstance(command, str) or not command.strip():
        raise Refused(f"`{name}` must be a shell command")
    clean = _clean(command.strip(), name)
    if not is_readable(clean) and not syntax_problems((clean,)):
        # What cannot be read could be anything, also a check that never fails.
        raise Refused(f"`{name}` uses shell syntax that cannot be read here; write it simpler")
    return clean


def _clean(text: str, name: str) -> str:
    if len(text) > LONGEST_COMMAND:
        raise Refused(f"`{name}` is longer than {LONGEST_COMMAND} characters")
    if escape(text) != text:
        raise Refused(f"`{name}` holds characters that a reader cannot see")
    return text


def _expectations(lines: Any) -> tuple[Expectation, ...]:
    """The lines as a plan file has them below a contract."""
    if lines is None:
        return ()
    if isinstance(lines, str):
        lines = [lines]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise Refused("`expect` is a list of lines such as `exit_code == 0`")
    expected = []
    for line in lines:
        read = read_expectation(_clean(line.strip(), "expect"))
        if not isinstance(read, tuple):
            raise Refused(f"`{line.strip()[:80]}` is not an expectation; {EXPECTATION_HINT}")
        expected.append(Expectation(*read))
    return tuple(expected)
