"""A clean room holds the snapshot and nothing else, and is cheap to keep."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from signoff.domain.snapshot import Change, ChangeKind
from signoff.errors import InternalError, RoomTooDear, StorageFailed
from signoff.workspace.byproducts import RoomLimits
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.store import load_stat_cache, save_stat_cache
from signoff.workspace.workspace import Workspace
from tests.workspace.conftest import Desk
from tests.workspace.listing import listing

RULES = IgnoreRules((IgnoreFile("", "*.log\nbuild/\n"),))


def written(path: Path) -> tuple[int, int]:
    """Different once somebody wrote the file or put another in its place."""
    seen = path.lstat()
    return seen.st_ino, seen.st_ctime_ns


def digest_of(desk: Desk, room: Path) -> str:
    return Workspace(room, desk.folder / "other store").digest_now().digest


def fill(desk: Desk) -> None:
    desk.write("src/a.py", "a = 1\n")
    desk.write("src/run.sh", "#!/bin/sh\n").chmod(0o700)
    desk.write("secret.key").chmod(0o600)
    (desk.root / "link").symlink_to("src/a.py")
    (desk.root / "dangling").symlink_to("/nowhere/at/all")
    (desk.root / "deep/empty").mkdir(parents=True)
    os.mkfifo(desk.root / "pipe")
    (desk.root / os.fsdecode(b"caf\xe9")).write_bytes(b"\0\xff")
    desk.write("sub/.git/HEAD", "ref: refs/heads/main\n")


def test_the_room_is_equal_to_the_snapshot(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    room = desk.clean_room(workspace).prepare(digest)
    assert listing(room.path) == listing(desk.root)
    assert digest_of(desk, room.path) == digest


def test_content_comes_from_the_store_and_not_from_the_files_of_an_agent(desk: Desk) -> None:
    file = desk.write("a", "as judged")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    file.write_text("as swapped")
    desk.write("late")
    room = desk.clean_room(workspace).prepare(digest)
    assert (room.path / "a").read_text() == "as judged"
    assert not (room.path / "late").exists()


def test_a_room_that_is_right_is_not_written_to(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    clean = desk.clean_room(workspace)
    room = clean.prepare(digest)
    before = {path: written(room.path / path) for path in listing(room.path)}
    clean.prepare(digest)
    workspace.snapshot()
    clean.prepare(digest)
    assert {path: written(room.path / path) for path in listing(room.path)} == before


def test_only_what_differs_is_written(desk: Desk) -> None:
    desk.write("same")
    desk.write("edited", "old")
    desk.write("gone/file")
    workspace = desk.workspace()
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    same = written(room.path / "same")
    desk.write("edited", "new")
    desk.write("added/file")
    (desk.root / "gone/file").unlink()
    (desk.root / "gone").rmdir()
    clean.prepare(workspace.snapshot().digest)
    assert listing(room.path) == listing(desk.root)
    assert written(room.path / "same") == same


def test_any_kept_snapshot_can_be_prepared(desk: Desk) -> None:
    desk.write("a", "old")
    desk.write("kind")
    (desk.root / "link").symlink_to("a")
    workspace = desk.workspace()
    clean = desk.clean_room(workspace)
    old = workspace.snapshot().digest
    desk.write("a", "new")
    (desk.root / "kind").unlink()
    desk.write("kind/inside")
    new = workspace.snapshot().digest
    for digest in (old, new, old):
        room = clean.prepare(digest)
        assert digest_of(desk, room.path) == digest
        assert clean.moved() == ()
    link = written(room.path / "link")
    clean.prepare(old)
    assert written(room.path / "link") == link


def test_files_have_the_times_of_the_workspace_so_that_build_tools_see_what_is_newer(
    desk: Desk,
) -> None:
    source = desk.write("main.c")
    workspace = desk.workspace()
    clean = desk.clean_room(workspace)
    for mtime_ns in (10**18, 10**18 + 1, 5 * 10**17):
        os.utime(source, ns=(mtime_ns, mtime_ns))
        room = clean.prepare(workspace.snapshot().digest)
        assert (room.path / "main.c").stat().st_mtime_ns == mtime_ns


def test_content_that_the_workspace_has_no_longer_is_newer_than_what_was_built(desk: Desk) -> None:
    desk.write("main.c", "old")
    workspace = desk.workspace(RULES)
    old = workspace.snapshot().digest
    desk.write("main.c", "new")
    desk.write("build/main.o")
    desk.settle()
    workspace.snapshot()
    room = desk.clean_room(workspace).prepare(old)
    source, built = room.path / "main.c", room.path / "build/main.o"
    assert source.stat().st_mtime_ns > built.stat().st_mtime_ns


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o1644, 0o6711])
def test_no_file_in_a_room_has_special_rights(desk: Desk, mode: int) -> None:
    desk.write("tool").chmod(mode)
    desk.write("build/tool").chmod(mode)
    workspace = desk.workspace(RULES)
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    found = [room.path / "tool", room.path / "build/tool"]
    assert [f.stat().st_mode & 0o7777 for f in found] == [mode & 0o777] * 2
    before = [written(f) for f in found]
    clean.prepare(workspace.snapshot().digest)
    assert [written(f) for f in found] == before


def test_modes_do_not_depend_on_the_umask(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    before = os.umask(0o077)
    try:
        room = desk.clean_room(workspace).prepare(digest)
    finally:
        os.umask(before)
    assert listing(room.path) == listing(desk.root)


def test_what_a_contract_changed_is_named(desk: Desk) -> None:
    desk.write("same")
    desk.write("edited", "old")
    desk.write("removed")
    desk.write("kind")
    workspace = desk.workspace(RULES)
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    assert clean.moved() == ()
    (room.path / "edited").write_text("new")
    (room.path / "removed").unlink()
    (room.path / "kind").unlink()
    (room.path / "kind").mkdir()
    (room.path / "new").write_text("new")
    (room.path / "same").chmod(0o755)
    expected = (
        Change("edited", ChangeKind.MODIFIED),
        Change("kind", ChangeKind.MODIFIED),
        Change("new", ChangeKind.ADDED),
        Change("removed", ChangeKind.REMOVED),
        Change("same", ChangeKind.MODIFIED),
    )
    assert clean.moved() == expected
    assert clean.moved() == expected


def test_by_products_and_caches_that_a_contract_writes_are_no_change(desk: Desk) -> None:
    desk.write("src/a.py")
    workspace = desk.workspace(RULES)
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    for path in ("build/out.o", "src/run.log", "src/__pycache__/a.pyc", ".pytest_cache/x"):
        (room.path / path).parent.mkdir(exist_ok=True)
        (room.path / path).write_text("made by the contract")
    assert clean.moved() == ()
    clean.prepare(workspace.snapshot().digest)
    assert set(listing(room.path)) == {"src", "src/a.py"}


def test_empty_folders_and_litter_of_tools_that_a_contract_adds_are_no_change(desk: Desk) -> None:
    desk.write("src/a.py")
    (desk.root / "bare").mkdir()
    workspace = desk.workspace(RULES)
    clean = desk.clean_room(workspace)
    digest = workspace.snapshot().digest
    room = clean.prepare(digest)
    for path in ("new", "bare/deep/new", "src/.benchmarks"):
        (room.path / path).mkdir(parents=True)
    for path in (".coverage", "src/.coverage.host.1.x", "htmlcov/index.html", ".tox/py/bin/x"):
        (room.path / path).parent.mkdir(parents=True, exist_ok=True)
        (room.path / path).write_text("made by the contract")
    assert clean.moved() == ()
    (room.path / "new/report").write_text("this is more")
    assert clean.moved() == (Change("new/report", ChangeKind.ADDED),)
    clean.prepare(digest)
    assert set(listing(room.path)) == {"bare", "src", "src/a.py"}


def test_a_touched_file_with_the_same_content_is_no_change(desk: Desk) -> None:
    desk.write("a", "same")
    workspace = desk.workspace()
    clean = desk.clean_room(workspace)
    room = clean.prepare(workspace.snapshot().digest)
    (room.path / "a").write_text("same")
    assert clean.moved() == ()


def test_nothing_can_be_said_about_a_room_that_was_not_prepared(desk: Desk) -> None:
    with pytest.raises(InternalError, match="before it was prepared"):
        desk.clean_room(desk.workspace()).moved()


def test_the_next_process_goes_on_with_the_room_of_the_last(desk: Desk) -> None:
    desk.write("a", "old")
    desk.write("b", "untouched")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    room = desk.clean_room(workspace).prepare(digest)
    (room.path / "a").write_text("bad")
    desk.settle()
    wait_past(room.path / "a", desk)
    untouched = written(room.path / "b")
    again = desk.clean_room(desk.workspace()).prepare(digest)
    assert listing(again.path) == listing(desk.root)
    assert written(room.path / "b") == untouched


def wait_past(file: Path, desk: Desk) -> None:
    """Until a change of the file now would be sure to show in its times."""
    probe = desk.folder / "probe"
    while True:
        probe.write_bytes(b"")
        if probe.stat().st_ctime_ns > file.stat().st_ctime_ns + 200_000_000:
            return
        time.sleep(0.005)


KILLED = """
import sys
from pathlib import Path
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.workspace import Workspace
workspace = Workspace(Path(sys.argv[1]), Path(sys.argv[2]))
digest = workspace.snapshot().digest
print(digest, flush=True)
CleanRoom(workspace, Path(sys.argv[3])).prepare(digest)
"""


def test_a_room_that_a_killed_driver_left_half_made_is_repaired(desk: Desk) -> None:
    for i in range(2_000):
        desk.write(f"d{i % 20}/f{i}", f"{i}\n" * 100)
    folder = desk.folder / "home" / "clean"
    arguments = (str(desk.root), str(desk.store), str(folder))
    with subprocess.Popen(
        (sys.executable, "-c", KILLED, *arguments), stdout=subprocess.PIPE, text=True
    ) as driver:
        assert driver.stdout is not None
        digest = driver.stdout.readline().strip()
        while driver.poll() is None and not list(folder.glob("room/d*/f*")):
            time.sleep(0.001)
        driver.send_signal(signal.SIGKILL)
    room = desk.clean_room(desk.workspace()).prepare(digest)
    assert listing(room.path) == listing(desk.root)


def test_a_damaged_store_gives_no_room_not_even_the_last_one(desk: Desk) -> None:
    workspace = desk.workspace()
    clean = desk.clean_room(workspace)
    clean.prepare(workspace.snapshot().digest)
    desk.write("a", "content that is stored\n" * 50)
    digest = workspace.snapshot().digest
    workspace.objects.seal()
    (pack,) = desk.store.glob("objects/pack/*.pack")
    pack.chmod(0o600)
    pack.write_bytes(bytes(pack.stat().st_size))
    with pytest.raises(StorageFailed, match="damaged"):
        clean.prepare(digest)
    with pytest.raises(InternalError):
        clean.moved()


def test_content_that_is_not_what_the_digest_covers_gives_no_room(desk: Desk) -> None:
    for i in range(100):
        desk.write(f"f{i}")
    desk.settle()
    desk.workspace().snapshot()
    (cache,) = desk.store.glob("stat-*")
    folders = load_stat_cache(cache)
    folders[""].files["f7"] = folders[""].files["f7"]._replace(sha256=bytes(32))
    save_stat_cache(cache, folders)
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    with pytest.raises(StorageFailed, match="`f7` is not the content of the snapshot"):
        desk.clean_room(workspace).prepare(digest)


def test_a_discarded_room_is_gone_and_can_be_made_again(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    clean = desk.clean_room(workspace)
    clean.discard()
    room = clean.prepare(digest)
    clean.discard()
    clean.discard()
    assert not room.path.parent.exists()
    assert listing(clean.prepare(digest).path) == listing(desk.root)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (RoomLimits(files=2), "3 files; the limit is 2"),
        (RoomLimits(mb=1), "2 MB; the limit is 1"),
        (RoomLimits(depth=1), "2 levels of folders; the limit is 1"),
    ],
)
def test_a_room_that_would_cost_too_much_is_refused_with_the_reason(
    desk: Desk, limits: RoomLimits, reason: str
) -> None:
    desk.write("a")
    desk.write("b", bytes(2 << 20))
    desk.write("x/y/z/c")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    with pytest.raises(RoomTooDear, match=reason):
        desk.clean_room(workspace, limits).prepare(digest)
    assert not (desk.folder / "home").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="mounting a small disk needs root")
def test_a_full_disk_makes_the_room_too_dear_and_leaves_nothing(desk: Desk) -> None:
    home = desk.folder / "home"
    home.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(home)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this system does not let us mount")
    try:
        desk.write("small")
        workspace = desk.workspace()
        clean = desk.clean_room(workspace)
        clean.prepare(workspace.snapshot().digest)
        desk.write("large", os.urandom(400_000))
        with pytest.raises(RoomTooDear, match="No space left"):
            clean.prepare(workspace.snapshot().digest)
        assert list(home.iterdir()) == []
        (desk.root / "large").unlink()
        room = clean.prepare(workspace.snapshot().digest)
        assert listing(room.path) == listing(desk.root)
    finally:
        subprocess.run(["umount", "-l", str(home)], check=True)
