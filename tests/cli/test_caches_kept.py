"""Compiled caches that are a person's: no verdict rests on them, and none is ever lost."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from signoff.testing.crash import VARIABLE, CachePoint
from tests.cli.kit import Desk
from tests.cli.plans import step

CACHES = {
    "tests/data/sample.pyc": "a fixture",
    ".hypothesis/examples/one": "found in an hour",
    "fixtures/__pycache__/keep.txt": "odd, and mine",
    "src/__pycache__/x.cpython-311.pyc": "compiled",
}
UNSEEN = " && ".join(f"test ! -e {path}" for path in CACHES)
TAKES_THE_PLACE = (
    "mkdir -p src/__pycache__ tests/data fixtures && echo > src/__pycache__/y.pyc"
    " && echo > tests/data/sample.pyc && echo > fixtures/__pycache__"
)

Seen = dict[str, tuple[str, int, int]]


def _seen(desk: Desk) -> Seen:
    """Content, mode and time of everything in the caches."""
    folders = ("tests/data", ".hypothesis", "fixtures", "src/__pycache__")
    paths = [p for f in folders for p in Path(desk.workspace, f).rglob("*") if p.is_file()]
    states = {str(p.relative_to(desk.workspace)): (p.read_text(), p.stat()) for p in paths}
    return {name: (text, s.st_mode, s.st_mtime_ns) for name, (text, s) in states.items()}


@pytest.fixture
def full(desk: Desk) -> Desk:
    """A project with caches, as one finds them."""
    for number, (path, text) in enumerate(CACHES.items()):
        desk.file(path, text)
        (desk.workspace / path).chmod(0o600 + number)
        os.utime(desk.workspace / path, ns=(10**18 + number, 10**18 + number))
    return desk.agent("echo firm > ground")


def test_a_contract_sees_no_cache_and_each_is_there_again_afterwards(full: Desk) -> None:
    before = _seen(full)
    full.plan(step("Lay the ground", f"{UNSEEN} && grep -qx firm ground"))
    full.run("--yes").exits(0)
    assert _seen(full) == before
    full.about_plan("audit").exits(0)
    assert _seen(full) == before


def test_a_cache_comes_back_where_the_contract_put_something_in_its_place(full: Desk) -> None:
    before = _seen(full)
    full.plan(step("Lay the ground", f"{TAKES_THE_PLACE}; grep -qx firm ground"))
    full.run("--yes")
    assert _seen(full) == before


@pytest.mark.parametrize("verb", ["run", "status", "audit"])
def test_after_a_kill_the_next_command_puts_them_back(full: Desk, verb: str) -> None:
    before = _seen(full)
    full.plan(step("Lay the ground", f"{UNSEEN} && grep -qx firm ground"))
    full.variable(**{VARIABLE: CachePoint.ASIDE}).run("--yes").exits(-9)
    assert _seen(full) == {}
    del full.variables[VARIABLE]
    full.about_plan(verb)
    assert _seen(full) == before


def test_what_git_tracks_since_the_approval_is_kept_and_what_an_agent_left_is_not(
    desk: Desk,
) -> None:
    desk.plan(step("Lay the ground", "grep -qx firm ground")).git()
    desk.agent("echo firm > ground; echo > stray.pyc")
    desk.about_plan("approve", "--yes").exits(0)
    desk.file("data/sample.pyc", "pulled in since")
    subprocess.run(["git", "add", "."], cwd=desk.workspace, check=True)
    desk.run().exits(0)
    assert desk.read("data/sample.pyc") == "pulled in since"
    assert not (desk.workspace / "stray.pyc").exists()


def test_what_a_plan_protects_is_kept_whenever_it_came(desk: Desk) -> None:
    desk.agent("mkdir -p spec/__pycache__; echo mine > spec/__pycache__/late; echo firm > ground")
    desk.plan(step("Lay the ground", "grep -qx firm ground", protects="spec/__pycache__/late"))
    desk.run("--yes").exits(0)
    assert desk.read("spec/__pycache__/late") == "mine\n"
