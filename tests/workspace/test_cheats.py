"""Tricks an agent could try against snapshots, each of which must come to nothing."""

from __future__ import annotations

import mmap
import os
import shutil
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from signoff.domain.snapshot import FileKind
from signoff.errors import StorageFailed
from signoff.workspace.ignore import read_ignore_rules
from signoff.workspace.workspace import Workspace
from tests.workspace.conftest import Desk


def test_a_gitignore_line_added_later_hides_nothing(desk: Desk) -> None:
    desk.write(".gitignore", "*.log\n")
    desk.write("tests/test_a.py", "assert False\n")
    workspace = desk.workspace(read_ignore_rules(desk.root))
    before = workspace.snapshot()
    desk.write(".gitignore", "*.log\ntests/\n.gitignore\n")
    desk.write("tests/.gitignore", "*\n")
    desk.write("tests/test_a.py", "assert True\n")
    changed = {c.path for c in workspace.diff(before.digest, workspace.snapshot().digest)}
    assert changed == {".gitignore", "tests/.gitignore", "tests/test_a.py"}


def test_exclude_file_and_global_configuration_hide_nothing(desk: Desk) -> None:
    desk.write("a.py")
    workspace = desk.workspace(read_ignore_rules(desk.root))
    before = workspace.snapshot()
    desk.write(".git/info/exclude", "*\n")
    desk.write("evil.py")
    assert workspace.snapshot().digest != before.digest


def test_same_size_content_with_the_old_time_put_back_is_seen(desk: Desk) -> None:
    file = desk.write("test_a.py", "assert 0\n")
    desk.settle()
    workspace = desk.workspace()
    before = workspace.snapshot()
    seen = file.stat()
    file.write_text("assert 1\n")
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert file.stat().st_mtime_ns == seen.st_mtime_ns
    assert workspace.snapshot().digest != before.digest
    assert desk.workspace().digest_now().digest != before.digest


def test_writing_right_after_the_snapshot_is_seen_whatever_the_clock_says(desk: Desk) -> None:
    """Within one clock tick all times can be the same; such files are read again."""
    workspace = desk.workspace()
    file = desk.root / "a"
    seen = set()
    for i in range(200):
        file.write_text(f"{i:04}")
        seen.add(workspace.digest_now().digest)
    assert len(seen) == 200


def test_a_memory_mapping_that_outlives_a_check_is_seen_by_the_next(desk: Desk) -> None:
    """Writing to a page that is dirty already leaves all times alone."""
    file = desk.write("a", b"good" * 100)
    with file.open("r+b") as handle, mmap.mmap(handle.fileno(), 0) as mapped:
        mapped[0:1] = b"g"
        desk.settle()
        workspace = desk.workspace()
        good = workspace.snapshot(quiet=False)
        mapped[0:4] = b"evil"
        assert workspace.snapshot().digest != good.digest


def test_a_hard_link_from_outside_cannot_change_content_unseen(desk: Desk) -> None:
    outside = desk.folder / "outside"
    outside.write_text("assert 0\n")
    os.link(outside, desk.root / "test_a.py")
    desk.settle()
    workspace = desk.workspace()
    before = workspace.snapshot()
    seen = outside.stat()
    with outside.open("r+") as handle:
        handle.write("assert 1\n")
    os.utime(outside, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert workspace.snapshot().digest != before.digest


def test_swapping_two_files_of_one_size_and_time_is_seen(desk: Desk) -> None:
    for name in "ab":
        os.utime(desk.write(name, name), ns=(10**18, 10**18))
    desk.settle()
    workspace = desk.workspace()
    before = workspace.snapshot()
    (desk.root / "a").rename(desk.root / "t")
    (desk.root / "b").rename(desk.root / "a")
    (desk.root / "t").rename(desk.root / "b")
    assert workspace.snapshot().digest != before.digest


def test_swapping_two_folders_is_seen(desk: Desk) -> None:
    desk.write("one/f", "1")
    desk.write("two/f", "2")
    desk.settle()
    workspace = desk.workspace()
    before = workspace.snapshot()
    (desk.root / "one").rename(desk.root / "t")
    (desk.root / "two").rename(desk.root / "one")
    (desk.root / "t").rename(desk.root / "two")
    changed = workspace.diff(before.digest, workspace.snapshot().digest)
    assert [c.path for c in changed] == ["one/f", "two/f"]


def test_symlinks_are_never_followed(desk: Desk) -> None:
    outside = desk.folder / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (desk.root / "folder").symlink_to(outside)
    (desk.root / "loop").symlink_to("loop")
    (desk.root / "up").symlink_to("..")
    (desk.root / "__pycache__").symlink_to(outside)
    (desk.root / "x.pyc").symlink_to(outside / "secret")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    assert {s.kind for s in workspace.manifest(digest).values()} == {FileKind.LINK}
    assert len(workspace.manifest(digest)) == 5
    assert workspace.remove_caches() == 0
    (outside / "secret").write_text("other!")
    assert workspace.snapshot().digest == digest


def test_a_cache_folder_full_of_links_is_removed_and_nothing_behind_them(desk: Desk) -> None:
    outside = desk.folder / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    cache = desk.root / "__pycache__"
    (cache / "deep").mkdir(parents=True)
    (cache / "out").symlink_to(outside)
    (cache / "deep/out").symlink_to(outside / "kept")
    assert desk.workspace().remove_caches() == 1
    assert not cache.exists()
    assert (outside / "kept").read_text() == "kept"


def test_a_cache_that_became_a_link_since_the_walk_leads_nowhere(desk: Desk) -> None:
    outside = desk.folder / "outside"
    (outside / "__pycache__").mkdir(parents=True)
    kept = outside / "__pycache__" / "kept.pyc"
    kept.write_text("kept")
    desk.write("lib/__pycache__/a.pyc")
    desk.write("here/__pycache__/b.pyc")
    workspace = desk.workspace()
    workspace.snapshot()
    shutil.rmtree(desk.root / "lib")
    shutil.rmtree(desk.root / "here/__pycache__")
    (desk.root / "lib").symlink_to(outside)
    (desk.root / "here/__pycache__").symlink_to(outside)
    assert workspace.remove_caches() == 0
    assert kept.read_text() == "kept"


def test_special_files_are_recorded_and_never_opened(desk: Desk) -> None:
    os.mkfifo(desk.root / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(desk.root)
    try:
        listener.bind("socket")
    finally:
        os.chdir(here)
        listener.close()
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    assert {s.kind for s in workspace.manifest(digest).values()} == {FileKind.OTHER}
    with pytest.raises(StorageFailed):
        workspace.read(digest, "pipe")
    (desk.root / "pipe").unlink()
    desk.write("pipe", "")
    assert workspace.snapshot().digest != digest


@pytest.mark.parametrize(
    "name", [b"new\nline", b"\x1b[2J\x1b[1;1Hall done", b"\xff\xfe", b"a'b\"c$(x)", b"-rf", b"%2F"]
)
def test_any_name_the_system_allows_is_kept_exactly(desk: Desk, name: bytes) -> None:
    folder = desk.root / os.fsdecode(b"in-" + name)
    folder.mkdir()
    (folder / os.fsdecode(name)).write_text("x")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    path = os.fsdecode(b"in-" + name + b"/" + name)
    assert list(desk.workspace().manifest(digest)) == [path]
    assert workspace.read(digest, path) == b"x"
    again = desk.folder / "again"
    workspace.restore(digest, again)
    assert os.fsencode(next(again.iterdir()).name) == b"in-" + name
    assert Workspace(again, desk.store).digest_now().digest == digest


def dig(root: Path, depth: int, name: str = "folder") -> None:
    """Folders nested deeper than any path the system takes in one call."""
    here = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("treasure", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def bury(folder: Path) -> None:
    """Deep trees defeat the recursive removal that pytest uses."""
    subprocess.run(["rm", "-rf", "--", str(folder)], check=True)


def test_folders_deeper_than_any_path_are_walked_and_restored(desk: Desk) -> None:
    try:
        dig(desk.root, 1_200)
        dig_cache = desk.root / "__pycache__"
        dig_cache.mkdir()
        dig(dig_cache, 1_200)
        workspace = desk.workspace()
        taken = workspace.snapshot()
        assert list(workspace.manifest(taken.digest)) == ["folder/" * 1_200 + "treasure"]
        assert workspace.remove_caches() == 1
        workspace.restore(taken.digest, desk.folder / "again")
        again = Workspace(desk.folder / "again", desk.store).digest_now()
        assert again.digest == taken.digest
    finally:
        bury(desk.root)
        bury(desk.folder / "again")


def test_folders_nested_without_end_are_an_error_not_a_hang(desk: Desk) -> None:
    try:
        dig(desk.root, 100, "x" * 200)
        with pytest.raises(StorageFailed, match="too deeply"):
            desk.workspace().digest_now()
    finally:
        bury(desk.root)


def test_a_large_file_is_hashed_and_stored_in_bounded_memory(desk: Desk) -> None:
    with (desk.root / "sparse").open("wb") as file:
        file.truncate(96 << 20)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from signoff.workspace.workspace import Workspace\n"
        "print(Workspace(Path(sys.argv[1]), Path(sys.argv[2])).snapshot().digest)\n"
        # getrusage would remember the memory of whoever started this process.
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
    )
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-c", program, str(desk.root), str(desk.store)],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    digest, peak_kib = done.stdout.split()
    assert int(peak_kib) < 80 << 10
    again = desk.folder / "again"
    desk.workspace().restore(digest, again)
    assert (again / "sparse").stat().st_size == 96 << 20


def test_a_file_written_while_it_is_read_never_gets_a_content_it_did_not_have(desk: Desk) -> None:
    contents = [letter * 200_000 for letter in (b"a", b"b")]
    file = desk.write("busy", contents[0])
    stop = threading.Event()

    def keep_writing() -> None:
        while not stop.is_set():
            for content in contents:
                fresh = desk.folder / "fresh"
                fresh.write_bytes(content)
                fresh.replace(file)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        workspace = desk.workspace()
        read = 0
        while read < 30:
            # That it never holds still is a true answer too; a content of two halves would not be.
            with suppress(StorageFailed):
                digest = workspace.snapshot().digest
                assert workspace.read(digest, "busy") in contents
                read += 1
    finally:
        stop.set()
        writer.join()


def test_files_and_folders_that_vanish_during_the_walk_do_not_break_it(desk: Desk) -> None:
    stop = threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            for i in range(20):
                desk.write(f"gone{i}/below/file", str(i))
            for i in range(20):
                (desk.root / f"gone{i}/below/file").unlink()
                (desk.root / f"gone{i}/below").rmdir()
                (desk.root / f"gone{i}").rmdir()

    desk.write("stays")
    writer = threading.Thread(target=come_and_go)
    writer.start()
    try:
        workspace = desk.workspace()
        for _ in range(60):
            taken = workspace.snapshot()
            assert "stays" in workspace.manifest(taken.digest)
    finally:
        stop.set()
        writer.join()
    final = workspace.snapshot()
    assert final.digest == desk.workspace().digest_now().digest


SWAPPER = """
import os, sys
os.chdir(sys.argv[1])
while True:
    os.rename("real", "spare")
    os.rename("link", "real")
    os.rename("real", "link")
    os.rename("spare", "real")
"""


def test_a_folder_swapped_for_a_link_while_walking_is_not_entered(desk: Desk) -> None:
    outside = desk.folder / "outside"
    for i in range(100):
        desk.write(f"real/below{i}/open", "open")
        (outside / f"below{i}").mkdir(parents=True)
        (outside / f"below{i}/secret").write_text("secret")
    (desk.root / "link").symlink_to(outside)
    workspace = desk.workspace()
    with subprocess.Popen([sys.executable, "-c", SWAPPER, str(desk.root)]) as swapper:
        try:
            for _ in range(60):
                digest = workspace.digest_now().digest
                assert not any("secret" in path for path in workspace.manifest(digest))
        finally:
            swapper.kill()
