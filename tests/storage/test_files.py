"""Plan files are read with care, swapped without loss, and never half written."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from signoff.errors import (
    Held,
    PlanConflict,
    PlanNotFound,
    PlanUnreadable,
    StorageFailed,
    UsageError,
)
from signoff.storage.files import append_lines, durable_replace, read_plan_file, swap_file
from tests.storage.kit import WAIT_S, outputs, worker, workers

SWAP_FIFTY = """
import hashlib, sys
from pathlib import Path
from signoff.errors import PlanConflict
from signoff.storage.files import swap_file
path = Path(sys.argv[1])
for number in range(50):
    while True:
        data = path.read_bytes() if path.exists() else None
        line = f"{sys.argv[2]}-{number}\\n".encode()
        expected = None if data is None else hashlib.sha256(data).hexdigest()
        try:
            swap_file(path, expected, (data or b"") + line)
            break
        except PlanConflict:
            continue
"""

APPEND_FIFTY = """
import sys
from pathlib import Path
from signoff.storage.files import append_lines
for number in range(50):
    append_lines(Path(sys.argv[1]), f"{sys.argv[2]}-{number} " + "x" * 3000)
"""

SWAP_FOR_EVER = """
import hashlib, sys
from pathlib import Path
from signoff.storage.files import swap_file
path = Path(sys.argv[1])
number = 0
while True:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    number += 1
    print(swap_file(path, digest, f"{number}\\n".encode() * 20000), flush=True)
"""


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_bytes_are_read_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.md"
    path.write_bytes(b"\xef\xbb\xbf# T\r\n\0\xff")
    assert read_plan_file(path) == b"\xef\xbb\xbf# T\r\n\0\xff"


def test_a_link_to_a_regular_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_bytes(b"x")
    (tmp_path / "link.md").symlink_to("real.md")
    assert read_plan_file(tmp_path / "link.md") == b"x"
    with pytest.raises(PlanUnreadable, match="is a symbolic link"):
        read_plan_file(tmp_path / "link.md", follow=False)


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(PlanNotFound, match="no plan at"):
        read_plan_file(tmp_path / "no.md")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(PlanNotFound):
        read_plan_file(tmp_path / "file" / "PLAN.md")
    (tmp_path / "link.md").symlink_to("gone.md")
    with pytest.raises(PlanNotFound, match=r"points to `gone\.md`, which does not exist"):
        read_plan_file(tmp_path / "link.md")


def test_a_folder_is_refused_and_the_plan_inside_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanUnreadable, match="is a folder"):
        read_plan_file(tmp_path)
    (tmp_path / "PLAN.md").write_bytes(b"")
    with pytest.raises(PlanUnreadable) as caught:
        read_plan_file(tmp_path)
    assert caught.value.hint == f"name the file: {tmp_path / 'PLAN.md'}"


@pytest.mark.parametrize("linked", [False, True])
def test_what_would_block_or_never_end_is_refused_unread(tmp_path: Path, linked: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.mknod(tmp_path / "socket", stat.S_IFSOCK | 0o600)
    kinds = {"pipe": "a named pipe", "socket": "a socket", "/dev/zero": "a device"}
    for number, (name, kind) in enumerate(kinds.items()):
        path = tmp_path / name
        if linked:
            path = tmp_path / f"link-{number}"
            path.symlink_to(name)
        with pytest.raises(PlanUnreadable, match=f"is {kind}, not a regular file"):
            read_plan_file(path)


def test_a_link_that_leads_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(PlanUnreadable, match="cannot be followed"):
        read_plan_file(tmp_path / "a")


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.md"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(PlanUnreadable, match="has 1099511627776 bytes, the limit is 20971520"):
        read_plan_file(path)
    path.write_bytes(b"12345")
    assert read_plan_file(path, limit_bytes=5) == b"12345"
    with pytest.raises(PlanUnreadable):
        read_plan_file(path, limit_bytes=4)


def test_a_file_that_grows_without_a_size_is_still_limited() -> None:
    # Files in /proc say they have no bytes and have some.
    with pytest.raises(PlanUnreadable):
        read_plan_file(Path("/proc/self/status"), limit_bytes=10)


def test_a_replaced_file_keeps_mode_and_owner(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.md"
    path.write_bytes(b"old")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12345, 54321)
    before = path.stat()
    durable_replace(path, b"new")
    after = path.stat()
    assert path.read_bytes() == b"new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert [p.name for p in tmp_path.iterdir()] == ["PLAN.md"]


def test_a_new_file_honours_the_umask(tmp_path: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from signoff.storage.files import durable_replace
os.umask(0o027)
durable_replace(Path(sys.argv[1]), b"x")
"""
    process = worker(code, tmp_path / "PLAN.md")
    process.communicate(timeout=WAIT_S)
    assert stat.S_IMODE((tmp_path / "PLAN.md").stat().st_mode) == 0o640


def test_replacing_a_link_does_not_write_through_it(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"precious")
    (tmp_path / "PLAN.md").symlink_to("victim")
    durable_replace(tmp_path / "PLAN.md", b"new")
    assert (tmp_path / "victim").read_bytes() == b"precious"


def test_a_folder_in_the_way_is_an_error_and_leaves_no_rubbish(tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").mkdir()
    with pytest.raises(StorageFailed):
        durable_replace(tmp_path / "PLAN.md", b"new")
    with pytest.raises(StorageFailed):
        durable_replace(tmp_path / "no" / "PLAN.md", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["PLAN.md"]


def test_a_file_is_swapped_by_who_read_its_latest_version(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.md"
    first = swap_file(path, None, b"one")
    assert first == sha(b"one")
    second = swap_file(path, first, b"two")
    with pytest.raises(PlanConflict, match=f"its digest is now `{second}`") as caught:
        swap_file(path, first, b"three")
    assert caught.value.facts == {"path": str(path), "expected": first, "current": second}
    assert path.read_bytes() == b"two"
    assert [p.name for p in tmp_path.iterdir()] == ["PLAN.md"]


def test_creating_what_exists_and_swapping_what_is_gone_are_conflicts(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.md"
    with pytest.raises(PlanConflict, match="does not exist any more"):
        swap_file(path, sha(b"one"), b"two")
    swap_file(path, None, b"")
    with pytest.raises(PlanConflict, match=f"exists already with digest `{sha(b'')}`"):
        swap_file(path, None, b"two")


def test_the_losing_text_is_kept_beside_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.md"
    swap_file(path, None, b"one")
    for number in (1, 2):
        with pytest.raises(PlanConflict) as caught:
            swap_file(path, "stale", b"mine %d" % number, keep_loser=True)
        kept = tmp_path / f"PLAN.md.conflict-{number}"
        assert caught.value.facts["kept"] == str(kept)
        assert kept.read_bytes() == b"mine %d" % number
        assert caught.value.hint == f"diff {path} {kept}"


def test_a_symlink_planted_as_the_plan_is_not_swapped(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "PLAN.md").symlink_to(victim)
    with pytest.raises(PlanUnreadable, match="is a symbolic link"):
        swap_file(tmp_path / "PLAN.md", sha(b"precious"), b"new")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "PLAN.md").is_symlink()


def test_a_symlink_planted_as_the_losers_copy_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    path = tmp_path / "PLAN.md"
    swap_file(path, None, b"one")
    (tmp_path / "PLAN.md.conflict-1").symlink_to(victim)
    with pytest.raises(PlanConflict) as caught:
        swap_file(path, "stale", b"mine", keep_loser=True)
    assert caught.value.facts["kept"].endswith("conflict-2")
    assert victim.read_bytes() == b"precious"


def test_a_pipe_planted_as_the_plan_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "PLAN.md")
    with pytest.raises(PlanUnreadable, match="is a named pipe"):
        swap_file(tmp_path / "PLAN.md", "x", b"new")
    os.mkfifo(tmp_path / "progress.md")
    with pytest.raises(PlanUnreadable, match="is a named pipe"):
        append_lines(tmp_path / "progress.md", "line")


def test_eight_processes_swapping_one_file_lose_nothing(tmp_path: Path) -> None:
    with workers(SWAP_FIFTY, 8, tmp_path / "PLAN.md") as processes:
        outputs(processes)
    lines = (tmp_path / "PLAN.md").read_text().splitlines()
    assert sorted(lines) == sorted(f"{w}-{n}" for w in range(8) for n in range(50))


def test_eight_processes_appending_lose_and_tear_nothing(tmp_path: Path) -> None:
    with workers(APPEND_FIFTY, 8, tmp_path / "progress.md") as processes:
        outputs(processes)
    lines = (tmp_path / "progress.md").read_text().splitlines()
    wanted = [f"{w}-{n} " + "x" * 3000 for w in range(8) for n in range(50)]
    assert sorted(lines) == sorted(wanted)


@pytest.mark.parametrize("acknowledged", [1, 4, 9])
def test_a_killed_swapper_leaves_a_whole_file(tmp_path: Path, acknowledged: int) -> None:
    path = tmp_path / "PLAN.md"
    path.write_bytes(b"0\n" * 20000)
    process = worker(SWAP_FOR_EVER, path)
    assert process.stdout is not None
    try:
        for _ in range(acknowledged):
            assert process.stdout.readline()
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)
    data = path.read_bytes()
    number = int(data.split(b"\n", 1)[0])
    assert data == f"{number}\n".encode() * 20000
    assert number >= acknowledged
    swap_file(path, sha(data), b"goes on")


def test_a_line_torn_by_a_crash_is_closed_before_the_next(tmp_path: Path) -> None:
    path = tmp_path / "progress.md"
    path.write_bytes(b"whole\nto")
    append_lines(path, "next")
    assert path.read_bytes() == b"whole\nto\nnext\n"


@pytest.mark.parametrize("line", ["a\nb", "a\r", "a\0b"])
def test_a_line_is_one_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError):
        append_lines(tmp_path / "progress.md", line)
    assert list(tmp_path.iterdir()) == []


def test_a_symlink_planted_as_progress_is_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "progress.md").symlink_to(victim)
    with pytest.raises(PlanUnreadable):
        append_lines(tmp_path / "progress.md", "line")
    assert victim.read_bytes() == b"precious"


def test_a_folder_reached_through_a_link_is_locked_as_one(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to("vault")
    digest = swap_file(tmp_path / "link" / "PLAN.md", None, b"one")
    swap_file(tmp_path / "vault" / "PLAN.md", digest, b"two")


def test_files_do_not_stay_open(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    for number in range(5):
        append_lines(tmp_path / "progress.md", str(number))
        swap_file(tmp_path / f"PLAN-{number}.md", None, b"x")
        with pytest.raises(PlanConflict):
            swap_file(tmp_path / f"PLAN-{number}.md", None, b"x")
    assert descriptors() == before


def test_strangers_who_keep_a_lock_are_waited_for_only_so_long(tmp_path: Path) -> None:
    progress = tmp_path / "progress.md"
    progress.touch()
    with locked(tmp_path), pytest.raises(Held, match=r"was locked by another process for 0\.2 s"):
        swap_file(tmp_path / "PLAN.md", None, b"x", lock_timeout_s=0.2)
    with locked(progress), pytest.raises(Held, match=r"progress\.md` was locked"):
        append_lines(progress, "x", lock_timeout_s=0.2)
    assert progress.read_bytes() == b""


def test_a_progress_file_replaced_while_waiting_is_appended_to_under_its_name(
    tmp_path: Path,
) -> None:
    code = "import sys; from pathlib import Path; from signoff.storage.files import append_lines\n"
    code += "append_lines(Path(sys.argv[1]), 'late')"
    progress, newer = tmp_path / "progress.md", tmp_path / "newer"
    progress.write_text("old\n")
    newer.write_text("new\n")
    with locked(progress):
        process = worker(code, progress)
        descriptors = Path(f"/proc/{process.pid}/fd")
        deadline = time.monotonic() + WAIT_S
        while not any(is_same(entry, progress) for entry in descriptors.iterdir()):
            assert time.monotonic() < deadline and process.poll() is None
        newer.rename(progress)
    process.communicate(timeout=WAIT_S)
    assert progress.read_text() == "new\nlate\n"


def is_same(entry: Path, path: Path) -> bool:
    try:
        return entry.samefile(path)
    except OSError:
        return False


@contextmanager
def locked(path: Path) -> Iterator[None]:
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
