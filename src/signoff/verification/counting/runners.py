"""The known test runners: how each is called, where it prints its ending, and who reads that."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from signoff.domain.counts import TestCounts
from signoff.verification.counting.cargo_text import read_cargo, read_nextest
from signoff.verification.counting.go_text import read_go, read_gotestsum
from signoff.verification.counting.jest_text import read_jest
from signoff.verification.counting.mocha_text import read_mocha
from signoff.verification.counting.node_text import read_node
from signoff.verification.counting.pytest_text import read_pytest
from signoff.verification.counting.tap import read_tap
from signoff.verification.counting.unittest_text import read_unittest
from signoff.verification.counting.vitest_text import read_vitest
from signoff.verification.steering.launchers import python_words
from signoff.verification.steering.trail import Invocation

Reader = Callable[[Sequence[str]], list[TestCounts]]


@dataclass(frozen=True)
class Runner:
    """One row: `read` returns one item for each run that the runner printed an ending of.

    `whole` says that the counts lie all over the output, so that none can be had from a part.
    `shared` says that other runners print the same format too.
    """

    name: str
    is_called: Callable[[Invocation], bool]
    read: Reader
    on_stderr: bool = False
    whole: bool = False
    shared: bool = False


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


# In the order in which they are tried where the contract does not show what it calls.
RUNNERS: tuple[Runner, ...] = (
    Runner("pytest", _named("pytest"), read_pytest),
    Runner("unittest", _is_unittest, read_unittest, on_stderr=True),
    Runner("jest", _named("jest"), read_jest, on_stderr=True),
    Runner("vitest", _named("vitest"), read_vitest),
    Runner("mocha", _is_mocha, read_mocha),
    Runner("node", _is_node_test, read_node),
    Runner("cargo", _with_subcommand("cargo", "test", "t"), read_cargo, whole=True),
    Runner("nextest", _with_subcommand("cargo", "nextest"), read_nextest, on_stderr=True),
    Runner("gotestsum", _named("gotestsum"), read_gotestsum),
    Runner("go", _with_subcommand("go", "test"), read_go, whole=True),
    Runner("TAP", _is_tap, read_tap, whole=True, shared=True),
)
