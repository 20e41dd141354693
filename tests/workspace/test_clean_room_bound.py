"""A clean room bound over its workspace: a contract sees the workspace and cannot change it."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from signoff.workspace.cleanroom import Room
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from tests.workspace.conftest import Desk
from tests.workspace.listing import listing

RULES = IgnoreRules((IgnoreFile("", "build/\n.venv\n"),))
BWRAP = shutil.which("bwrap")


def can_bind() -> bool:
    probe = (str(BWRAP), "--ro-bind", "/", "/", "true")
    return BWRAP is not None and subprocess.run(probe, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not can_bind(), reason="bubblewrap does not work here")


def run_in(desk: Desk, room: Room, command: str) -> subprocess.CompletedProcess[str]:
    """As a judge does it: the room at the workspace's own path, what is shared read-only in it."""
    root = str(desk.root)
    binds = ["--dev-bind", "/", "/", "--bind", str(room.path), root]
    for path in (*room.shared, *room.apart):
        binds += ["--ro-bind", f"{root}/{path}", f"{root}/{path}"]
    argv = [str(BWRAP), *binds, "--cap-drop", "ALL", "--chdir", root, "bash", "-c", command]
    return subprocess.run(argv, capture_output=True, text=True, check=False)


def fill(desk: Desk) -> None:
    desk.write("src/a.py", "honest\n")
    desk.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    desk.write(".git/HEAD", "ref: refs/heads/main\n")
    desk.write("PLAN.md", "# Plan\n")
    desk.write("build/out", "built\n")


def test_a_contract_sees_everything_at_its_own_path(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace(RULES, frozenset({"PLAN.md"}))
    room = desk.clean_room(workspace).prepare(workspace.snapshot().digest)
    paths = ("src/a.py", ".venv/pyvenv.cfg", ".git/HEAD", "PLAN.md", "build/out")
    done = run_in(desk, room, "cat " + " ".join(f"'{desk.root}/{path}'" for path in paths))
    assert done.stdout.splitlines() == [
        "honest",
        "home = /usr/bin",
        "ref: refs/heads/main",
        "# Plan",
        "built",
    ], done.stderr


def test_nothing_that_a_contract_writes_reaches_the_workspace(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace(RULES, frozenset({"PLAN.md"}))
    clean = desk.clean_room(workspace)
    digest = workspace.snapshot().digest
    room = clean.prepare(digest)
    before, prepared = listing(desk.root), listing(room.path)
    done = run_in(
        desk,
        room,
        """
        echo evil > src/a.py; echo evil > build/out; echo evil > build/new; rm -rf src
        for f in .venv/pyvenv.cfg .git/HEAD PLAN.md; do
            echo evil > $f && echo "wrote $f"
        done
        mv build build2; mkdir -p build; exit 0
        """,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert listing(desk.root) == before
    assert [change.path for change in clean.moved()] == ["build2/new", "build2/out", "src/a.py"]
    clean.prepare(digest)
    assert listing(room.path) == prepared
