"""Drivers that share a limit on attempts: a place is free again however its driver ended."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from signoff.agents.pooled import AttemptPool
from signoff.storage.records import Holder

TAKE = """
import sys, time
from pathlib import Path
from signoff.agents.pooled import AttemptPool
from signoff.storage.records import Holder
held = AttemptPool(Path(sys.argv[1]), "pool", 2, Holder.current("other")).enter(lambda: False)
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def pool(tmp_path: Path) -> AttemptPool:
    return AttemptPool(tmp_path, "pool", 2, Holder.current("plan"))


def first_look_only() -> Callable[[], bool]:
    looks = iter([False])
    return lambda: next(looks, True)


def test_no_more_are_let_in_than_the_pool_is_large(pool: AttemptPool) -> None:
    one, two = pool.enter(lambda: False), pool.enter(lambda: False)
    assert one is not None and two is not None
    assert pool.enter(first_look_only()) is None
    one.close()
    again = pool.enter(lambda: False)
    assert again is not None
    again.close()
    two.close()


def test_a_driver_that_was_killed_frees_its_place(pool: AttemptPool, tmp_path: Path) -> None:
    words = [sys.executable, "-c", TAKE, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        mine = pool.enter(lambda: False)
        assert mine is not None and pool.enter(first_look_only()) is None
        other.kill()
    theirs = pool.enter(lambda: False)
    assert theirs is not None
    theirs.close()
    mine.close()
