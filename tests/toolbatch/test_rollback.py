"""What was there before each change can be had back, unless somebody else changed it since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.domain.digests import digest_bytes
from signoff.errors import PlanConflict
from signoff.storage.database import open_database
from signoff.storage.ledger import Ledger
from signoff.toolbatch.calls import Call
from signoff.toolbatch.disk import NOTHING, Folder, Thing, ThingKind
from signoff.toolbatch.events import RollbackKept
from signoff.toolbatch.kept import MOST_IN_MEMORY, LedgerShelf, Lost, MemoryShelf, Rollback, Unkept
from signoff.toolbatch.restoring import Target, put_back
from signoff.toolbatch.undoing import Restoring, Rollbacks
from tests.toolbatch.batch_kit import Scene


def undone(scene: Scene, back: int = 1, *, force: bool = False) -> list[tuple[str, Restoring]]:
    done = rollbacks(scene).undo(back, force=force)
    return [(step.path, step.doing) for step in done.steps]


def rollbacks(scene: Scene) -> Rollbacks:
    return Rollbacks(scene.shelf, scene.root, scene.snapshots)


def test_a_write_can_be_undone(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "before")
    scene.one("write", path="a.txt", content="after")
    assert scene.seen(RollbackKept) == [RollbackKept(1, ("a.txt",), "c1")]
    assert undone(scene) == [("a.txt", Restoring.RESTORE)]
    assert scene.text("a.txt") == "before"


def test_a_file_that_was_made_is_removed_with_the_folders_that_were_made_for_it(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    scene.one("write", path="deep/down/a.txt", content="x")
    assert undone(scene) == [("deep/down/a.txt", Restoring.REMOVE)]
    assert list(scene.root.iterdir()) == []


def test_several_changes_go_back_from_the_newest(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for text in ("one", "two", "three"):
        scene.one("write", path="a.txt", content=text)
    undone(scene, 2)
    assert scene.text("a.txt") == "one"
    undone(scene)
    assert not (scene.root / "a.txt").exists()
    assert undone(scene) == []


def test_a_file_changed_since_by_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "before")
    scene.one("write", path="a.txt", content="after")
    scene.put("a.txt", "a person's own")
    with pytest.raises(PlanConflict) as caught:
        undone(scene)
    assert "`a.txt`" in str(caught.value)
    assert scene.text("a.txt") == "a person's own"
    undone(scene, force=True)
    assert scene.text("a.txt") == "before"


def test_a_conflict_in_one_file_leaves_all_of_them_as_they_are(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.one("write", path="a.txt", content="A")
    scene.one("write", path="b.txt", content="B")
    scene.put("a.txt", "mine")
    with pytest.raises(PlanConflict):
        undone(scene, 2)
    assert scene.text("b.txt") == "B"


def test_a_change_by_somebody_else_between_two_calls_is_noticed_too(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.one("write", path="a.txt", content="one")
    scene.put("a.txt", "mine")
    scene.one("write", path="a.txt", content="two")
    assert undone(scene) == [("a.txt", Restoring.RESTORE)]
    assert scene.text("a.txt") == "mine"
    with pytest.raises(PlanConflict):
        undone(scene)


def test_looking_at_what_would_be_undone_touches_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.one("write", path="a.txt", content="one")
    steps = rollbacks(scene).last(5).steps
    assert [(step.path, step.doing) for step in steps] == [("a.txt", Restoring.REMOVE)]
    assert scene.text("a.txt") == "one"
    assert len(scene.shelf.open()) == 1


def test_what_a_command_changed_comes_back_from_the_snapshot_before_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.put("a.txt", "A")
    scene.put("run.sh", "#!/bin/sh\n")
    (scene.root / "run.sh").chmod(0o755)
    scene.one("bash", command="rm a.txt; rm run.sh; mkdir made; echo B | tee made/b.txt | cat")
    assert not (scene.root / "a.txt").exists()
    undone(scene)
    assert scene.text("a.txt") == "A"
    assert os.access(scene.root / "run.sh", os.X_OK)
    assert not (scene.root / "made").exists()


def test_a_command_that_changed_nothing_leaves_nothing_to_undo(tmp_path: Path) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.put("a.txt", "A")
    scene.one("bash", command="python3 -c 'print(1)'")
    assert scene.shelf.open() == ()


def test_a_change_that_was_interrupted_can_be_undone(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "before")

    def cut_off(_call: Call) -> None:
        scene.put("a.txt", "half")
        raise KeyboardInterrupt

    scene.tools.inside = cut_off
    with pytest.raises(KeyboardInterrupt):
        scene.one("write", path="a.txt", content="after")
    undone(scene)
    assert scene.text("a.txt") == "before"


def test_a_change_that_failed_halfway_can_be_undone(tmp_path: Path) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.put("a.txt", "A")
    outcome = scene.one("bash", command="mv a.txt b.txt; exit 3")
    assert not outcome.ok
    undone(scene)
    assert scene.text("a.txt") == "A"


def test_a_link_is_never_followed_out_of_the_workspace(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("secret")
    scene.one("write", path="sub/a.txt", content="x")
    (scene.root / "sub" / "a.txt").unlink()
    (scene.root / "sub").rmdir()
    (scene.root / "sub").symlink_to(outside)
    disk = Folder(scene.root)
    assert disk.read("sub/a.txt") is None
    undone(scene, force=True)
    assert (outside / "a.txt").read_text() == "secret"
    thing = Thing(ThingKind.FILE, digest_bytes(b"x"), 0o644, 1)
    with pytest.raises(PlanConflict):
        put_back(scene.root, [Target("sub/new.txt", thing, lambda: iter([b"x"]))])
    assert not (outside / "new.txt").exists()


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x"])
def test_paths_that_leave_the_workspace_are_refused(tmp_path: Path, path: str) -> None:
    assert Folder(tmp_path).read(path) is None
    for thing in (NOTHING, Thing(ThingKind.FILE, digest_bytes(b"x"), 0o644, 1)):
        with pytest.raises(ValueError, match="workspace"):
            put_back(tmp_path, [Target(path, thing, lambda: iter([b"x"]))])
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_and_cannot_be_kept_is_never_taken_for_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (scene.root / "real.txt").write_text("real")
    (scene.root / "link.txt").symlink_to("real.txt")
    scene.one("write", path="link.txt", content="through the link")
    (kept,) = scene.shelf.open()
    assert kept.files == () and kept.lost == (Lost("link.txt", Unkept.LINKED),)


def test_the_memory_keeps_only_the_last_changes(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for number in range(MOST_IN_MEMORY + 60):
        scene.one("write", path="a.txt", content=str(number))
    kept = scene.shelf.open()
    assert len(kept) <= MOST_IN_MEMORY
    undone(scene, len(kept))
    assert scene.text("a.txt").isdigit()


def test_changes_outlive_the_process_on_the_ledger(tmp_path: Path, database_url: str) -> None:
    database = open_database(database_url)
    session = "session-0000000000000001"
    scene = Scene(tmp_path, shelf=LedgerShelf(Ledger(database), session))
    scene.put("a.txt", "before")
    scene.one("write", path="a.txt", content="one")
    scene.one("write", path="a.txt", content="two")
    later = LedgerShelf(Ledger(database), session)
    assert [r.number for r in later.open()] == [1, 2]
    assert [Rollback.from_data(r.to_data()) for r in later.open()] == list(later.open())
    Rollbacks(later, scene.root).undo(1)
    assert scene.text("a.txt") == "one"
    assert [r.number for r in later.open()] == [1]
    again = Scene(tmp_path, shelf=later)
    again.one("write", path="a.txt", content="three")
    assert [r.number for r in later.open()] == [1, 3]
    Rollbacks(later, scene.root).undo(2)
    assert scene.text("a.txt") == "before"
    database.close()


def test_what_a_forced_undo_overwrote_is_kept(tmp_path: Path) -> None:
    shelf = MemoryShelf()
    scene = Scene(tmp_path, shelf=shelf)
    scene.one("write", path="a.txt", content="one")
    scene.put("a.txt", "mine")
    Rollbacks(shelf, scene.root).undo(1, force=True)
    digest = MemoryShelf().put(b"mine")
    assert shelf.get(digest) == b"mine"
