"""Large files: their digest is of their content, and holes cost nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.errors import SnapshotTooSlow, StorageFailed
from signoff.workspace.content import LARGE_BYTES, whole_content
from signoff.workspace.workspace import Workspace
from tests.workspace.conftest import Desk

TERABYTE = 1 << 40


def _sparse(desk: Desk, name: str, size: int, **data: int) -> Path:
    """A file of holes, with these words at these offsets."""
    path = desk.root / name
    with path.open("wb") as file:
        for word, offset in data.items():
            file.seek(offset)
            file.write(word.encode())
        file.truncate(size)
    return path


def _sha256(workspace: Workspace, path: str) -> str:
    return workspace.manifest(workspace.snapshot().digest)[path].sha256


def test_a_terabyte_of_holes_is_walked_kept_and_restored_at_once(desk: Desk) -> None:
    _sparse(desk, "disk.img", TERABYTE, begin=0, middle=TERABYTE // 2 + 3, end=TERABYTE - 3)
    workspace = desk.workspace()
    taken = workspace.snapshot()
    again = desk.folder / "again"
    workspace.restore(taken.digest, again)
    with (again / "disk.img").open("rb") as file:
        assert os.fstat(file.fileno()).st_size == TERABYTE
        assert os.fstat(file.fileno()).st_blocks * 512 < 16 << 20
        assert os.pread(file.fileno(), 6, TERABYTE // 2 + 3) == b"middle"
    assert Workspace(again, desk.store).digest_now().digest == taken.digest


def test_the_same_content_has_the_same_digest_with_holes_and_without(desk: Desk) -> None:
    size = LARGE_BYTES + 5
    _sparse(desk, "sparse", size, word=1 << 21)
    full = bytearray(size)
    full[1 << 21 : (1 << 21) + 4] = b"word"
    desk.write("full", bytes(full))
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    states = workspace.manifest(digest)
    assert states["sparse"].sha256 == states["full"].sha256
    entry = workspace.content(digest)[""]["sparse"]
    assert b"".join(whole_content(workspace.objects, entry.blob, size)) == bytes(full)


@pytest.mark.parametrize(
    "other",
    [{"word": 3}, {"Word": 2}, {"word": 2, "w": 1 << 30}, {}],
    ids=["elsewhere", "other", "more", "none"],
)
def test_another_content_has_another_digest(desk: Desk, other: dict[str, int]) -> None:
    _sparse(desk, "a", 1 << 31, word=2)
    _sparse(desk, "b", 1 << 31, **other)
    workspace = desk.workspace()
    assert _sha256(workspace, "a") != _sha256(workspace, "b")


def test_another_size_is_another_content(desk: Desk) -> None:
    _sparse(desk, "a", 1 << 31)
    _sparse(desk, "b", (1 << 31) + 1)
    workspace = desk.workspace()
    assert _sha256(workspace, "a") != _sha256(workspace, "b")


def test_a_large_file_is_not_read_into_memory(desk: Desk) -> None:
    _sparse(desk, "a", TERABYTE)
    workspace = desk.workspace()
    with pytest.raises(StorageFailed, match="too many to be read at once"):
        workspace.read(workspace.snapshot().digest, "a")


def test_a_walk_that_takes_longer_than_its_limit_is_ended(desk: Desk) -> None:
    desk.write("src/a.py")
    workspace = desk.workspace()
    with workspace.time_limit(0.0), pytest.raises(SnapshotTooSlow, match="longer than 0 s"):
        workspace.snapshot()
    assert workspace.snapshot().files == 1
