"""Tricks of a contract in the room, and of an agent against it, that must come to nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.errors import StorageFailed
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace
from tests.workspace.conftest import Desk
from tests.workspace.listing import listing
from tests.workspace.traces import TRACES, fill

RULES = IgnoreRules((IgnoreFile("", "*.log\nbuild/\n.venv\n"),))
APART = frozenset({"PLAN.md"})


@pytest.mark.parametrize("again", ["same process", "next process"])
@pytest.mark.parametrize("trace", TRACES)
def test_nothing_that_a_contract_leaves_is_there_for_the_next(
    desk: Desk, trace: str, again: str
) -> None:
    fill(desk.root)
    outside = desk.folder / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("theirs\n")
    workspace = desk.workspace(RULES, APART)
    digest = workspace.snapshot().digest
    clean = desk.clean_room(workspace)
    room = clean.prepare(digest)
    before, beside = listing(room.path), listing(outside)
    TRACES[trace](room.path, outside)
    if again == "next process":
        workspace = desk.workspace(RULES, APART)
        clean = desk.clean_room(workspace)
    clean.prepare(digest)
    assert listing(room.path) == before
    assert listing(outside) == beside
    assert clean.moved() == ()
    assert Workspace(room.path, desk.folder / "s", RULES, APART).digest_now().digest == digest


PROGRAM = """
import os, sys
from pathlib import Path
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace
from tests.workspace.listing import listing
from tests.workspace.traces import TRACES, fill
rules = IgnoreRules((IgnoreFile("", "*.log\\nbuild/"),))
top = Path(sys.argv[1])
if os.getuid() == 0:
    os.chown(top, 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
os.umask(0o077)
root, outside = top / "work", top / "outside"
outside.mkdir()
(outside / "a.py").write_text("theirs")
fill(root)
for name, trace in TRACES.items():
    workspace = Workspace(root, top / "store", rules, frozenset({"PLAN.md"}))
    digest = workspace.snapshot().digest
    clean = CleanRoom(workspace, top / "rooms")
    room = clean.prepare(digest)
    before, beside = listing(room.path), listing(outside)
    trace(room.path, outside)
    moved = clean.moved()
    if len(sys.argv) > 2:
        clean = CleanRoom(workspace, top / "rooms")
    clean.prepare(digest)
    assert listing(room.path) == before, name
    assert listing(outside) == beside, name
    assert clean.moved() == (), name
    clean.discard()
    print(name, len(moved) > 0)
"""
UNCHANGED = {"caches_and_by_products", "attributes"}


@pytest.mark.parametrize("process", [(), ("another",)])
def test_the_same_holds_for_a_user_whom_modes_stop(
    shared_desk: Desk, process: tuple[str, ...]
) -> None:
    shutil.rmtree(shared_desk.root)
    top = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(shared_desk.folder), *process],
        env={**os.environ, "PYTHONPATH": f"{top / 'src'}:{top}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert dict(line.split() for line in done.stdout.splitlines()) == {
        name: str(name not in UNCHANGED) for name in TRACES
    }


@pytest.mark.parametrize("trace", ["closed_folders", "deep_tree"])
def test_content_that_cannot_be_looked_at_any_more_has_moved(desk: Desk, trace: str) -> None:
    fill(desk.root)
    workspace = desk.workspace(RULES, APART)
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    TRACES[trace](room.path, desk.folder)
    assert clean.moved() != ()
    clean.discard()
    assert not room.path.exists()


@pytest.mark.parametrize("name", [".git", "PLAN.md", ".venv", "build"])
def test_a_link_planted_where_something_is_bound_stays_a_link(desk: Desk, name: str) -> None:
    """Bound or copied, it would open what it points at, the home for one, to the contract."""
    home = desk.folder / "home of another"
    home.mkdir()
    (home / "key").write_text("secret")
    (home / "pyvenv.cfg").write_text("")
    desk.write("a.py")
    rules = IgnoreRules((IgnoreFile("", "build\n.venv\n"),))
    (desk.root / name).symlink_to(home)
    workspace = desk.workspace(rules, APART)
    room = desk.clean_room(workspace).prepare(workspace.snapshot().digest)
    assert (room.shared, room.apart) == ((), ())
    assert (room.path / name).readlink() == home
    assert set(listing(room.path)) == {"a.py", name}


@pytest.mark.parametrize("path", ["build", "build/lib"])
def test_a_by_product_swapped_for_a_link_after_the_walk_is_not_followed(
    desk: Desk, path: str
) -> None:
    fill(desk.root)
    outside = desk.folder / "outside"
    outside.mkdir()
    (outside / "x.so").write_text("secret")
    (outside / "tool").write_text("secret")
    workspace = desk.workspace(RULES, APART)
    digest = workspace.snapshot().digest
    shutil.rmtree(desk.root / path)
    (desk.root / path).symlink_to(outside)
    room = desk.clean_room(workspace).prepare(digest)
    assert (room.path / path).is_symlink()
    contents = [line[2] for line in listing(room.path).values()]
    assert b"secret" not in contents


def test_a_room_folder_swapped_for_a_link_is_replaced_and_not_written_through(desk: Desk) -> None:
    fill(desk.root)
    workspace = desk.workspace(RULES, APART)
    digest = workspace.snapshot().digest
    clean = desk.clean_room(workspace)
    room = clean.prepare(digest)
    before = listing(room.path)
    elsewhere = desk.folder / "elsewhere"
    room.path.rename(elsewhere)
    room.path.symlink_to(elsewhere)
    (elsewhere / "src/a.py").write_text("theirs")
    clean.prepare(digest)
    assert not room.path.is_symlink()
    assert listing(room.path) == before
    assert (elsewhere / "src/a.py").read_text() == "theirs"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can make a file immutable")
def test_a_room_that_cannot_be_put_right_is_an_error_and_no_room(desk: Desk) -> None:
    desk.write("a", "honest")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    clean = desk.clean_room(workspace)
    file = clean.prepare(digest).path / "a"
    file.write_text("evil")
    chattr = shutil.which("chattr")
    if chattr is None or subprocess.run([chattr, "+i", str(file)], check=False).returncode:
        pytest.skip("this file system has no immutable files")
    try:
        with pytest.raises(StorageFailed, match="cannot be put right: Operation not permitted"):
            clean.prepare(digest)
    finally:
        subprocess.run([chattr, "-i", str(file)], check=True)
    assert clean.prepare(digest).path.joinpath("a").read_text() == "honest"
