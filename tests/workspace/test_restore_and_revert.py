"""Content comes back exactly, into an empty folder or over a workspace that moved on."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.snapshot import Change, ChangeKind
from signoff.errors import StorageFailed
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace
from tests.workspace.conftest import Desk
from tests.workspace.test_snapshot_digest import build, entry_names, trees

RULES = IgnoreRules((IgnoreFile("", "*.log\nbuild/\n"),))


def test_content_is_kept_even_when_the_workspace_is_gone(desk: Desk) -> None:
    file = desk.write("a/b.txt", "kept\n")
    digest = desk.workspace().snapshot().digest
    file.unlink()
    assert desk.workspace().read(digest, "a/b.txt") == b"kept\n"


def test_a_digest_without_content_can_be_kept_later(desk: Desk) -> None:
    desk.write("a", "kept\n")
    desk.settle()
    workspace = desk.workspace()
    seen = workspace.digest_now()
    with pytest.raises(StorageFailed, match=seen.digest):
        workspace.read(seen.digest, "a")
    assert workspace.snapshot() == seen
    assert workspace.read(seen.digest, "a") == b"kept\n"


def test_restoring_gives_modes_links_fifos_and_empty_folders(desk: Desk) -> None:
    desk.write("run.sh").chmod(0o700)
    (desk.root / "link").symlink_to("/nowhere")
    (desk.root / "deep/empty").mkdir(parents=True)
    os.mkfifo(desk.root / "pipe")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    again = desk.folder / "not/yet/there"
    workspace.restore(digest, again)
    assert (again / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (again / "link").readlink() == Path("/nowhere")
    assert (again / "deep/empty").is_dir()
    assert (again / "pipe").is_fifo()


def test_restoring_over_something_is_refused(desk: Desk) -> None:
    desk.write("a")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    occupied = desk.folder / "occupied"
    occupied.mkdir()
    (occupied / "mine").write_text("mine")
    with pytest.raises(StorageFailed, match="mine"):
        workspace.restore(digest, occupied)
    assert [f.name for f in occupied.iterdir()] == ["mine"]


def test_reverting_undoes_every_change_and_names_it(desk: Desk) -> None:
    desk.write("same")
    desk.write("edited", "old")
    desk.write("removed/file")
    desk.write("kind")
    (desk.root / "empty").mkdir()
    workspace = desk.workspace(RULES)
    digest = workspace.snapshot().digest
    desk.write("edited", "new")
    desk.write("added/deep/file")
    desk.write("added/deep/__pycache__/x.pyc")
    (desk.root / "removed/file").unlink()
    (desk.root / "removed").rmdir()
    (desk.root / "kind").unlink()
    desk.write("kind/inside")
    (desk.root / "empty").rmdir()
    same_inode = (desk.root / "same").stat().st_ino
    assert workspace.revert(digest) == (
        Change("added/deep/file", ChangeKind.ADDED),
        Change("edited", ChangeKind.MODIFIED),
        Change("empty", ChangeKind.REMOVED),
        Change("kind", ChangeKind.REMOVED),
        Change("kind/inside", ChangeKind.ADDED),
        Change("removed/file", ChangeKind.REMOVED),
    )
    assert workspace.digest_now().digest == digest
    assert workspace.revert(digest) == ()
    assert not (desk.root / "added").exists()
    assert (desk.root / "same").stat().st_ino == same_inode


def test_reverting_leaves_by_products_and_what_is_apart(desk: Desk) -> None:
    desk.write("a", "old")
    apart = frozenset({"PLAN.md"})
    workspace = desk.workspace(RULES, apart)
    digest = workspace.snapshot().digest
    kept = [desk.write(p) for p in ("build/out.o", "new/run.log", "PLAN.md", ".git/HEAD")]
    desk.write("new/source")
    workspace.revert(digest)
    assert all(file.exists() for file in kept)
    assert not (desk.root / "new/source").exists()
    assert workspace.digest_now().digest == digest


def test_reverting_does_not_write_through_a_link(desk: Desk) -> None:
    outside = desk.folder / "outside"
    outside.mkdir()
    (outside / "a.py").write_text("theirs")
    desk.write("src/a.py", "ours")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    (desk.root / "src/a.py").unlink()
    (desk.root / "src").rmdir()
    (desk.root / "src").symlink_to(outside)
    workspace.revert(digest)
    assert (outside / "a.py").read_text() == "theirs"
    assert (desk.root / "src/a.py").read_text() == "ours"
    assert workspace.digest_now().digest == digest


def test_a_by_product_in_the_way_of_a_source_file_makes_room_for_it(desk: Desk) -> None:
    desk.write("build", "a source file: the rule is for folders")
    workspace = desk.workspace(RULES)
    digest = workspace.snapshot().digest
    (desk.root / "build").unlink()
    desk.write("build/out.o")
    desk.write("out.log", "a by-product that is in nobody's way")
    workspace.revert(digest)
    assert workspace.digest_now().digest == digest
    assert (desk.root / "out.log").exists()


OBSTACLES = {
    "a file": lambda place: place.write_text("in the way"),
    "a link to a folder": lambda place: place.symlink_to(place.parent.parent / "outside"),
    "a link to nowhere": lambda place: place.symlink_to("nowhere"),
    "a pipe": os.mkfifo,
    "a folder": lambda place: (place / "deep").mkdir(parents=True),
    "a folder of by-products": lambda place: (
        (place / "build").mkdir(parents=True),
        (place / "build/x.log").write_text("x"),
    ),
}


@pytest.mark.parametrize("name", ["t", "t/d", "t/d/y"])
@pytest.mark.parametrize("obstacle", OBSTACLES.values(), ids=OBSTACLES)
def test_named_files_come_back_whatever_stands_in_their_place(
    desk: Desk, obstacle: Callable[[Path], object], name: str
) -> None:
    outside = desk.folder / "outside"
    (outside / "d").mkdir(parents=True)
    theirs = [outside / "x", outside / "y", outside / "d/y"]
    for file in theirs:
        file.write_text("theirs")
    desk.write("t/d/y", "ours")
    desk.write("t/x", "ours")
    workspace = desk.workspace(RULES)
    digest = workspace.snapshot().digest
    place = desk.root / name
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    obstacle(place)
    workspace.revert(digest, only={"t/d/y", "t/x"})
    assert [(desk.root / p).read_text() for p in ("t/d/y", "t/x")] == ["ours", "ours"]
    assert [file.read_text() for file in theirs] == ["theirs"] * 3
    assert not (desk.root / "t").is_symlink()


@settings(max_examples=30)
@given(st.dictionaries(entry_names, trees, max_size=4), st.dictionaries(entry_names, trees))
def test_any_tree_can_be_reverted_to_any_other(
    one: dict[str, object], two: dict[str, object]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "desk")
        build(desk.root, one)
        workspace = desk.workspace()
        first = workspace.snapshot()
        workspace.restore(first.digest, desk.folder / "copy")
        moved = Workspace(desk.folder / "moved", desk.store)
        build(moved.root, two)
        moved.revert(first.digest)
        assert moved.digest_now().digest == first.digest
