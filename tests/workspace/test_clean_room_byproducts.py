"""By-products in a clean room: dependencies shared, outputs copied, everything else absent."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from signoff.errors import RoomTooDear
from signoff.workspace.byproducts import RoomLimits
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.fitting import copy_content
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from tests.workspace.conftest import Desk
from tests.workspace.listing import listing

RULES = IgnoreRules((IgnoreFile("", "*.log\n*.o\nbuild/\n.venv\nnode_modules\nout\n"),))


def test_dependencies_are_shared_and_only_have_a_place_in_the_room(desk: Desk) -> None:
    desk.write("a.py")
    desk.write(".venv/pyvenv.cfg")
    desk.write(".venv/bin/python")
    desk.write("web/node_modules/left-pad/index.js")
    desk.write("out/env/conda-meta/history")
    workspace = desk.workspace(RULES)
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    assert room.shared == (".venv", "out/env", "web/node_modules")
    assert room.copied == ("out",)
    places = {".venv", "out", "out/env", "web", "web/node_modules"}
    assert set(listing(room.path)) == {"a.py", *places}
    assert clean.moved() == ()


def test_own_copies_of_dependencies_are_writable_and_as_the_workspace_has_them(desk: Desk) -> None:
    desk.write("web/node_modules/left-pad/index.js", "1")
    desk.write(".venv/pyvenv.cfg")
    workspace = desk.workspace(RULES)
    limits = RoomLimits(copied_files=1)  # of what nobody asked for
    clean = CleanRoom(workspace, desk.folder / "lane", limits, own=("*/node_modules",))
    digest = workspace.snapshot().digest
    room = clean.prepare(digest)
    assert (room.shared, room.copied) == ((".venv",), ("web/node_modules",))
    copy = room.path / "web/node_modules/left-pad/index.js"
    copy.write_text("agent")
    copy.with_name("new.js").write_text("agent")
    assert clean.prepare(digest) == room
    assert copy.read_text() == "1" and not copy.with_name("new.js").exists()
    desk.write("web/node_modules/left-pad/index.js", "2")
    clean.prepare(digest)
    assert copy.read_text() == "2"


def test_own_copies_have_a_limit_too(desk: Desk) -> None:
    for number in range(3):
        desk.write(f"node_modules/{number}.js")
    workspace = desk.workspace(RULES)
    clean = CleanRoom(workspace, desk.folder / "lane", RoomLimits(files=3), own=("node_modules",))
    with pytest.raises(RoomTooDear, match="`node_modules` is one of them"):
        clean.prepare(workspace.snapshot().digest)


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs a second file system")
def test_what_cannot_share_blocks_is_copied_in_full(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "from").write_bytes(data)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        for target in (tmp_path / "to", Path(other, "to")):
            with (tmp_path / "from").open("rb") as source, target.open("wb") as out:
                copy_content(source.fileno(), out.fileno())
            assert target.read_bytes() == data


def test_outputs_are_copied_with_modes_times_and_links(desk: Desk) -> None:
    desk.write("build/tool", "built").chmod(0o750)
    os.utime(desk.root / "build/tool", ns=(10**18, 10**18 + 7))
    (desk.root / "build/current").symlink_to("tool")
    (desk.root / "build/empty").mkdir()
    desk.write("src/a.o")
    workspace = desk.workspace(RULES)
    room = desk.clean_room(workspace).prepare(workspace.snapshot().digest)
    assert listing(room.path) == listing(desk.root)
    assert (room.path / "build/tool").stat().st_mtime_ns == 10**18 + 7
    assert (room.copied, room.shared) == (("build", "src/a.o"), ())


def test_writing_to_a_copy_never_reaches_the_workspace(desk: Desk) -> None:
    first = desk.write("build/a", "workspace")
    os.link(first, desk.root / "build/b")
    workspace = desk.workspace(RULES)
    room = desk.clean_room(workspace).prepare(workspace.snapshot().digest)
    for name in ("a", "b"):
        copy = room.path / "build" / name
        assert (copy.stat().st_nlink, copy.read_text()) == (1, "workspace")
        with copy.open("r+") as file:
            file.write("contract!")
    assert first.read_text() == "workspace"


def test_declared_writes_are_copied(desk: Desk) -> None:
    desk.write("a.py")
    desk.write("reports/coverage.xml", "<old/>")
    writes = IgnoreRules((IgnoreFile("", "/reports/**\n"),))
    workspace = desk.workspace(writes)
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    assert room.copied == ("reports/coverage.xml",)
    (room.path / "reports/coverage.xml").write_text("<new/>")
    assert clean.moved() == ()
    clean.prepare(workspace.snapshot().digest)
    assert (room.path / "reports/coverage.xml").read_text() == "<old/>"


def test_copies_follow_the_workspace_and_nothing_else(desk: Desk) -> None:
    for name in ("same", "edited", "removed", "touched"):
        desk.write(f"build/{name}", "old")
    workspace = desk.workspace(RULES)
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    same = (room.path / "build/same").stat().st_ino
    desk.write("build/edited", "by the agent")
    desk.write("build/added/deep", "by the agent")
    (desk.root / "build/removed").unlink()
    (room.path / "build/touched").write_text("by the contract")
    (room.path / "build/made").write_text("by the contract")
    (room.path / "made.o").write_text("by the contract")
    clean.prepare(workspace.snapshot().digest)
    assert listing(room.path) == listing(desk.root)
    assert (room.path / "build/same").stat().st_ino == same


def test_a_copy_that_was_changed_and_dated_back_is_copied_again(desk: Desk) -> None:
    desk.write("build/tool", "good")
    workspace = desk.workspace(RULES)
    clean = desk.clean_room(workspace)
    digest = workspace.snapshot().digest
    copy = clean.prepare(digest).path / "build/tool"
    for _ in range(100):
        seen = copy.stat()
        with copy.open("r+") as file:
            file.write("evil")
        os.utime(copy, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        clean.prepare(digest)
        assert copy.read_text() == "good"


def test_compiled_caches_are_nowhere_in_the_room(desk: Desk) -> None:
    desk.write("src/a.py")
    desk.write("src/__pycache__/a.pyc")
    desk.write("build/lib/a.pyc")
    desk.write("build/lib/__pycache__/a.pyc")
    desk.write("build/lib/a.py")
    workspace = desk.workspace(RULES)
    room = desk.clean_room(workspace).prepare(workspace.snapshot().digest)
    assert {p for p in listing(room.path) if "c" in Path(p).suffix or "cache" in p} == set()
    assert (room.path / "build/lib/a.py").exists()


def test_git_vault_and_plan_file_are_bound_and_have_their_places(desk: Desk) -> None:
    desk.write(".git/HEAD")
    desk.write(".harness/PLAN.md")
    desk.write("docs/PLAN.md")
    desk.write("a.py")
    apart = frozenset({".harness", ".harness/PLAN.md", "docs/PLAN.md", "absent"})
    workspace = desk.workspace(RULES, apart)
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    assert room.apart == (".git", ".harness", "docs/PLAN.md")
    found = listing(room.path)
    assert set(found) == {".git", ".harness", "docs", "docs/PLAN.md", "a.py"}
    assert found["docs/PLAN.md"] == ("file 1", 0o644, b"")
    assert clean.moved() == ()
    (room.path / "docs/PLAN.md").write_text("a contract wrote where nothing was bound")
    (room.path / ".git/hook").write_text("the same")
    clean.prepare(workspace.snapshot().digest)
    assert listing(room.path) == found


def test_the_git_file_of_a_worktree_is_bound_like_the_folder(desk: Desk) -> None:
    desk.write(".git", "gitdir: /elsewhere/.git/worktrees/w\n")
    workspace = desk.workspace(RULES)
    room = desk.clean_room(workspace).prepare(workspace.snapshot().digest)
    assert room.apart == (".git",)
    assert (room.path / ".git").is_file()


def test_a_by_product_where_an_older_snapshot_has_a_file_stays_out(desk: Desk) -> None:
    desk.write("build", "once a file")
    desk.write("web", "once a file")
    workspace = desk.workspace(RULES)
    old = workspace.snapshot().digest
    for name in ("build", "web"):
        (desk.root / name).unlink()
    desk.write("build/out")
    desk.write("build/env/pyvenv.cfg")
    desk.write("web/node_modules/x/index.js")
    desk.write("web/a.o")
    workspace.snapshot()
    room = desk.clean_room(workspace).prepare(old)
    assert room.shared == ()
    assert set(listing(room.path)) == {"build", "web"}


def test_what_cannot_be_copied_is_named(desk: Desk) -> None:
    os.mkfifo(desk.write("build/tool").with_name("pipe"))
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(desk.root / "build")
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        workspace = desk.workspace(RULES)
        room = desk.clean_room(workspace).prepare(workspace.snapshot().digest)
    assert sorted(room.left_out) == ["build/pipe", "build/socket"]
    assert set(listing(room.path)) == {"build", "build/tool"}


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (RoomLimits(copied_files=4), "more than 4 files and folders"),
        (RoomLimits(copied_mb=1), "1 MB or more"),
        (RoomLimits(depth=1), "more than 1 levels of folders"),
    ],
)
def test_outputs_that_are_too_much_to_copy_make_the_room_too_dear(
    desk: Desk, limits: RoomLimits, reason: str
) -> None:
    desk.write("build/x/y/a", bytes(1 << 20))
    desk.write("build/b")
    workspace = desk.workspace(RULES)
    digest = workspace.snapshot().digest
    with pytest.raises(RoomTooDear, match=f"{reason} of by-products; `build`"):
        desk.clean_room(workspace, limits).prepare(digest)


def test_a_sparse_giant_is_refused_before_it_is_copied(desk: Desk) -> None:
    with desk.write("build/disk.img").open("wb") as file:
        file.truncate(1 << 40)
    workspace = desk.workspace(RULES)
    digest = workspace.snapshot().digest
    with pytest.raises(RoomTooDear, match="256 MB or more of by-products; `build`"):
        desk.clean_room(workspace).prepare(digest)


def test_dependencies_of_any_size_cost_nothing(desk: Desk) -> None:
    with desk.write(".venv/lib/giant").open("wb") as file:
        file.truncate(1 << 40)
    desk.write(".venv/pyvenv.cfg")
    workspace = desk.workspace(RULES)
    room = desk.clean_room(workspace, RoomLimits(copied_files=1)).prepare(
        workspace.snapshot().digest
    )
    assert room.shared == (".venv",)


def test_copies_from_another_disk_are_whole_too(desk: Desk) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == desk.folder.stat().st_dev:
        pytest.skip("there is only one disk")
    desk.write("build/a", os.urandom((2 << 20) + 5))
    workspace = desk.workspace(RULES)
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        clean = CleanRoom(workspace, Path(folder) / "clean")
        room = clean.prepare(workspace.snapshot().digest)
        assert listing(room.path) == listing(desk.root)


@pytest.mark.parametrize("size", [0, 1, 1 << 20, (3 << 20) + 17])
def test_copies_of_every_size_are_whole(desk: Desk, size: int) -> None:
    desk.write("build/a", os.urandom(size))
    workspace = desk.workspace(RULES)
    digest = workspace.snapshot().digest
    room = desk.clean_room(workspace).prepare(digest)
    assert listing(room.path) == listing(desk.root)


PROGRAM = """
import os, sys
from pathlib import Path
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace
rules = IgnoreRules((IgnoreFile("", "build/"),))
root, store, folder = map(Path, sys.argv[1:])
if os.getuid() == 0:
    os.chown(root.parent, 65534, 65534)
    os.setgid(65534)
    os.setuid(65534)
workspace = Workspace(root, store, rules)
clean = CleanRoom(workspace, folder)
for _ in range(2):
    room = clean.prepare(workspace.snapshot().digest)
    found = sorted(str(p.relative_to(room.path)) for p in room.path.rglob("*"))
    print(sorted(room.left_out), found)
"""


def test_by_products_that_may_not_be_read_are_left_out(shared_desk: Desk) -> None:
    shared_desk.write("build/open")
    shared_desk.write("build/closed").chmod(0)
    shared_desk.write("build/locked/inside")
    (shared_desk.root / "build/locked").chmod(0)
    arguments = map(str, (shared_desk.root, shared_desk.store, shared_desk.folder / "rooms"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
    )
    (shared_desk.root / "build/locked").chmod(0o755)
    assert (
        done.stdout.splitlines() == ["['build/closed', 'build/locked'] ['build', 'build/open']"] * 2
    ), done.stderr
