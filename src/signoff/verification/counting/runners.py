"""The known test runners: how each is called, and when it stops at the first failure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

from signoff.verification.steering.launchers import python_words
from signoff.verification.steering.trail import Invocation


@dataclass(frozen=True)
class Runner:
    """One row; `stops` is what its arguments look like that make it stop early."""

    name: str
    is_called: Callable[[Invocation], bool]
    stops: str = "(?!)"
    goes_on: str = ""  # the option without which it stops early

    def stops_early(self, call: Invocation) -> bool:
        """Whether its arguments say that a failure keeps it from the tests that follow."""
        if self.goes_on:
            return self.goes_on not in call.args
        return any(re.fullmatch(self.stops, arg) for arg in call.args)


def _named(*tools: str) -> Callable[[Invocation], bool]:
    return lambda call: call.tool in tools


def _with_subcommand(tool: str, *subcommands: str) -> Callable[[Invocation], bool]:
    def is_called(call: Invocation) -> bool:
        words = [arg for arg in call.args if not arg.startswith(("-", "+"))]
        return call.tool == tool and words[:1] != [] and words[0] in subcommands

    return is_called


def _is_unittest(call: Invocation) -> bool:
    """`python -m unittest`, and Django's test command, which prints the same."""
    words = python_words(call.args) if call.tool == "python" else (call.tool, *call.args)
    manages = posixpath.basename(words[0]) in ("manage.py", "django-admin") if words else False
    return call.tool == "unittest" or (manages and words[1:2] == ("test",))


def _speaks_tap(call: Invocation) -> bool:
    return any("tap" in arg for arg in call.args)


def _is_mocha(call: Invocation) -> bool:
    return call.tool in ("mocha", "_mocha") and not _speaks_tap(call)


def _is_tap(call: Invocation) -> bool:
    by_choice = call.tool in ("mocha", "_mocha", "ava") and _speaks_tap(call)
    return by_choice or call.tool in ("prove", "bats", "tape", "tap")


def _is_node_test(call: Invocation) -> bool:
    return call.tool == "node" and "--test" in call.args


_BAIL = r"-b|--bail(?:=.*)?|--fail-fast"

# In the order in which they are tried where the contract does not show what it calls.
RUNNERS: tuple[Runner, ...] = (
    Runner(
        "pytest", _named("pytest"), r"-[lqsv]*x[lqsv]*|--exitfirst|--maxfail.*|--sw|--stepwise.*"
    ),
    Runner("unittest", _is_unittest, r"-[a-z]*f[a-z]*|--failfast"),
    Runner("jest", _named("jest"), _BAIL),
    Runner("vitest", _named("vitest"), _BAIL),
    Runner("mocha", _is_mocha, _BAIL),
    Runner("node", _is_node_test),
    Runner("cargo", _with_subcommand("cargo", "test", "t"), goes_on="--no-fail-fast"),
    Runner("nextest", _with_subcommand("cargo", "nextest"), goes_on="--no-fail-fast"),
    Runner("gotestsum", _named("gotestsum"), r"--?failfast|--max-fails.*"),
    Runner("go", _with_subcommand("go", "test"), r"--?failfast"),
    Runner("TAP", _is_tap, _BAIL),
)
