"""Built-in checks: what an agent may ask for by name, turned into contracts that we word."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any

from signoff.agents.sessions.urls import names_url_check, url_command, url_in, url_problem
from signoff.commands.analysis import is_readable
from signoff.domain.plan import Contract, Effects, Expectation, ExpectationKind
from signoff.domain.text import escape
from signoff.process.syntax import syntax_problems
from signoff.verification.counting.sight import runs_only_tests

LONGEST_COMMAND = 4_000
LONGEST_CONTRACT_TIMEOUT_S = 600.0


class BadRequest(ValueError):
    """What an agent asked for cannot be had; the message tells it what to do instead."""


def contract_of(part: Mapping[str, Any], hosts: tuple[str, ...]) -> Contract | None:
    """The contract that a step, postcondition or precondition asks for, if it asks for one."""
    command, check = part.get("contract"), part.get("check")
    if command is not None and check is not None:
        raise BadRequest("give a `contract` or a `check`, not both")
    if command is not None:
        contract = Contract(_command(command, "contract"), _expectations(part.get("expect")))
        _refuse_odd_url_check(contract)
        _refuse_untold_counts(contract)
        return contract
    if check is None:
        return None
    if not isinstance(check, Mapping):
        raise BadRequest(f'a `check` is an object such as {{"kind": "file_exists", …}}; {_kinds()}')
    kind = check.get("kind")
    builder = CHECKS.get(kind) if isinstance(kind, str) else None
    if builder is None:
        raise BadRequest(f"`{kind}` is no kind of check; {_kinds()}")
    return builder(check, hosts)


def _refuse_odd_url_check(contract: Contract) -> None:
    """Its words are ours: written otherwise, it would be no command that any shell knows."""
    odd = url_in(contract) is None or contract.expectations
    if names_url_check(contract.command) and odd:
        raise BadRequest('to ask a URL, use the check {"kind": "url_responds", "url": "…"} alone')


def _refuse_untold_counts(contract: Contract) -> None:
    """A number of tests is believed to a runner, not to whatever can print `5 passed`."""
    counted = any(e.kind is ExpectationKind.TESTS_AT_LEAST for e in contract.expectations)
    if counted and not runs_only_tests(contract.command):
        raise BadRequest(
            "a number of tests is read from a test runner alone: let the command call nothing else"
            " (pytest -q, python3 -m unittest, npx jest, cargo test, go test ./...); for a script"
            " or make target use `command_succeeds`"
        )


def _file_exists(check: Mapping[str, Any], hosts: tuple[str, ...]) -> Contract:
    del hosts
    return Contract(f"test -f {_path(check)}")


def _file_contains(check: Mapping[str, Any], hosts: tuple[str, ...]) -> Contract:
    del hosts
    text = check.get("text")
    if not isinstance(text, str) or not text.strip():
        raise BadRequest("`file_contains` needs a `text` that is not blank")
    if "\n" in text:
        # grep takes lines for alternatives, so any one of them would be enough.
        raise BadRequest("`file_contains` looks for one line; write one check per line")
    return Contract(f"grep -qF -e {shlex.quote(_clean(text, 'text'))} -- {_path(check)}")


def _command_succeeds(check: Mapping[str, Any], hosts: tuple[str, ...]) -> Contract:
    del hosts
    return Contract(_command(check.get("command"), "command"))


def _tests_pass(check: Mapping[str, Any], hosts: tuple[str, ...]) -> Contract:
    del hosts
    count = check.get("min_count", 1)
    if type(count) is not int or count < 1:
        raise BadRequest("`tests_pass` needs a `min_count` of at least 1")
    command = check.get("command")
    if command is None:
        raise BadRequest("`tests_pass` needs the `command` that runs the tests, such as pytest -q")
    expected = Expectation(ExpectationKind.TESTS_AT_LEAST, count)
    contract = Contract(_command(command, "command"), (expected,))
    _refuse_untold_counts(contract)
    return contract


def _url_responds(check: Mapping[str, Any], hosts: tuple[str, ...]) -> Contract:
    url = check.get("url")
    if not isinstance(url, str):
        raise BadRequest("`url_responds` needs a `url`")
    problem = url_problem(url, hosts)
    if problem:
        raise BadRequest(problem)
    return Contract(url_command(url), network=True, effects=Effects.EXTERNAL)


CHECKS: dict[str, Callable[[Mapping[str, Any], tuple[str, ...]], Contract]] = {
    "file_exists": _file_exists,
    "file_contains": _file_contains,
    "command_succeeds": _command_succeeds,
    "tests_pass": _tests_pass,
    "url_responds": _url_responds,
}


def _kinds() -> str:
    return f"the kinds are {', '.join(CHECKS)}"


def _path(check: Mapping[str, Any]) -> str:
    path = check.get("path")
    if not isinstance(path, str) or not path.strip():
        raise BadRequest(f"`{check.get('kind')}` needs a `path`")
    path = _clean(path, "path")
    # Without it, a name that begins with a dash would be an option.
    return shlex.quote(path if path.startswith("/") else f"./{path}")


def _command(command: Any, name: str) -> str:
    if not isinstance(command, str) or not command.strip():
        raise BadRequest(f"`{name}` must be a shell command")
    clean = _clean(command.strip(), name)
    if not is_readable(clean) and not syntax_problems((clean,)):
        # What cannot be read could be anything, also a check that never fails.
        raise BadRequest(f"`{name}` uses shell syntax that cannot be read here; write it simpler")
    return clean


def _clean(text: str, name: str) -> str:
    if len(text) > LONGEST_COMMAND:
        raise BadRequest(f"`{name}` is longer than {LONGEST_COMMAND} characters")
    if escape(text) != text:
        raise BadRequest(f"`{name}` holds characters that a reader cannot see")
    return text


def _expectations(lines: Any) -> tuple[Expectation, ...]:
    """Lines such as `stdout contains "x"`, or `{"tests": 3}`'s longer spelling `tests >= 3`."""
    if lines is None:
        return ()
    if isinstance(lines, str):
        lines = [lines]
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise BadRequest("`expect` is a list of lines such as `exit_code == 0`")
    return tuple(_expectation(line.strip()) for line in lines)


def _expectation(line: str) -> Expectation:
    for kind in ExpectationKind:
        rest = line.removeprefix(kind.value)
        if rest == line:
            continue
        value = rest.strip()
        if kind in (ExpectationKind.EXIT_CODE, ExpectationKind.TESTS_AT_LEAST):
            if value.isascii() and value.isdigit():
                return Expectation(kind, int(value[:9]))
        elif len(value) > 2 and value[0] == value[-1] == '"':
            return Expectation(kind, _clean(value[1:-1], "expect"))
    known = ", ".join(f"`{kind.value} …`" for kind in ExpectationKind)
    raise BadRequest(f"`{line[:80]}` is no expectation; write one of {known}")
