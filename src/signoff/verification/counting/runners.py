"""The test runners whose tests are counted: where each prints its ending, and who reads that."""

from __future__ import annotations

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

Reader = Callable[[Sequence[str]], list[TestCounts]]


@dataclass(frozen=True)
class Runner:
    """One row: `read` returns one item for each run that the runner printed an ending of.

    The name is the one by which `commands` knows the runner.

    `whole` says that the counts lie all over the output, so that none can be had from a part.
    `shared` says that other runners print the same format too.
    """

    name: str
    read: Reader
    on_stderr: bool = False
    whole: bool = False
    shared: bool = False


# In the order in which they are tried where the contract does not show what it calls.
RUNNERS: tuple[Runner, ...] = (
    Runner("pytest", read_pytest),
    Runner("unittest", read_unittest, on_stderr=True),
    Runner("jest", read_jest, on_stderr=True),
    Runner("vitest", read_vitest),
    Runner("mocha", read_mocha),
    Runner("node", read_node),
    Runner("cargo", read_cargo, whole=True),
    Runner("nextest", read_nextest, on_stderr=True),
    Runner("gotestsum", read_gotestsum),
    Runner("go", read_go, whole=True),
    Runner("TAP", read_tap, whole=True, shared=True),
)
