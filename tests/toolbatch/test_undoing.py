"""Undoing is all or nothing, never takes a person's work away, and says what it could not do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from signoff.domain.digests import digest_bytes
from signoff.errors import PlanConflict, StorageFailed
from signoff.toolbatch.disk import NOTHING, Thing, ThingKind, look
from signoff.toolbatch.kept import MemoryShelf
from signoff.toolbatch.restoring import Target, put_back
from signoff.toolbatch.rollback import LARGEST_KEPT
from signoff.toolbatch.undoing import Restoring, Rollbacks
from tests.toolbatch.batch_kit import Scene

Person = Callable[[Path], object]


def rollbacks(scene: Scene) -> Rollbacks:
    return Rollbacks(scene.shelf, scene.root, scene.snapshots)


def replaced_by_link(root: Path) -> None:
    (root / "x").unlink(missing_ok=True)
    (root / "x").symlink_to("mine.txt")


def replaced_by_large_file(root: Path) -> None:
    (root / "x").write_bytes(b"P" * (LARGEST_KEPT + 1))


def made_private(root: Path) -> None:
    (root / "x").chmod(0o600)


@pytest.mark.parametrize("person", [replaced_by_link, replaced_by_large_file, made_private])
@pytest.mark.parametrize("snapshots", [True, False])
def test_whatever_a_person_made_of_a_file_stays(
    tmp_path: Path, person: Person, snapshots: bool
) -> None:
    scene = Scene(tmp_path, snapshots=snapshots)
    scene.put("mine.txt", "mine")
    scene.one("write", path="x", content="the agent's")
    person(scene.root)
    before = look(scene.root, "x")
    with pytest.raises(PlanConflict, match="somebody else"):
        rollbacks(scene).undo()
    assert look(scene.root, "x").same(before) and scene.text("mine.txt") == "mine"


@pytest.mark.parametrize("person", [replaced_by_link, replaced_by_large_file])
def test_what_a_person_put_where_a_file_was_removed_stays(tmp_path: Path, person: Person) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.put("x", "before")
    scene.one("bash", command="rm x")
    person(scene.root)
    with pytest.raises(PlanConflict, match="somebody else"):
        rollbacks(scene).undo()


class Remembering(MemoryShelf):
    """Knows where what was replaced is kept."""

    replaced: Mapping[str, Sequence[str]]

    def close(self, numbers: Iterable[int], replaced: Mapping[str, Sequence[str]]) -> None:
        self.replaced = replaced
        super().close(numbers, replaced)


def test_a_large_file_that_is_overwritten_by_force_is_kept(tmp_path: Path) -> None:
    shelf = Remembering()
    scene = Scene(tmp_path, shelf=shelf, snapshots=True)
    scene.one("write", path="x", content="the agent's")
    replaced_by_large_file(scene.root)
    rollbacks(scene).undo(force=True)
    assert not (scene.root / "x").exists() and scene.snapshots is not None
    _digest, snapshot = shelf.replaced["x"]
    assert sum(map(len, scene.snapshots.stream(snapshot, "x"))) == LARGEST_KEPT + 1


def test_a_large_file_that_nothing_can_keep_is_not_overwritten_by_force(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.one("write", path="x", content="the agent's")
    replaced_by_large_file(scene.root)
    with pytest.raises(PlanConflict, match="too large to be kept"):
        rollbacks(scene).undo(force=True)
    assert (scene.root / "x").stat().st_size > LARGEST_KEPT


@pytest.mark.parametrize("force", [True, False])
def test_a_folder_in_the_way_stops_everything_even_when_forced(tmp_path: Path, force: bool) -> None:
    scene = Scene(tmp_path)
    scene.one("write", path="x", content="the agent's")
    scene.one("write", path="a.txt", content="the agent's")
    (scene.root / "x").unlink()
    scene.put("x/mine.txt", "mine")
    with pytest.raises(PlanConflict, match="`x`: a folder with other things"):
        rollbacks(scene).undo(2, force=force)
    assert scene.text("a.txt") == "the agent's" and scene.text("x/mine.txt") == "mine"
    assert len(scene.shelf.open()) == 2
    assert rollbacks(scene).last(2).doing(Restoring.BLOCKED) == ("x",)


def test_a_file_where_a_folder_was_is_overwritten_only_when_forced_and_kept(tmp_path: Path) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.put("d/a.txt", "before")
    scene.put("b.txt", "before")
    scene.one("bash", command="rm -r d b.txt")
    scene.put("d", "mine")
    with pytest.raises(PlanConflict, match="somebody else: `d`"):
        rollbacks(scene).undo()
    assert scene.text("d") == "mine" and not (scene.root / "b.txt").exists()
    rollbacks(scene).undo(force=True)
    assert scene.text("d/a.txt") == scene.text("b.txt") == "before"
    assert scene.shelf.get(digest_bytes(b"mine")) == b"mine"


def test_a_file_where_a_folder_would_have_to_be_stops_everything_even_when_forced(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    scene.put("d/a.txt", "before")
    scene.one("write", path="d/a.txt", content="after")
    scene.one("write", path="b.txt", content="after")
    (scene.root / "d" / "a.txt").unlink()
    (scene.root / "d").rmdir()
    scene.put("d", "mine")
    with pytest.raises(PlanConflict, match="`d` is no folder now"):
        rollbacks(scene).undo(2, force=True)
    assert scene.text("d") == "mine" and scene.text("b.txt") == "after"


def test_a_folder_that_a_person_uses_is_left(tmp_path: Path) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.one("bash", command="mkdir made; echo x > a.txt")
    scene.put("made/mine.txt", "mine")
    done = rollbacks(scene).undo()
    assert done.doing(Restoring.LEAVE) == ("made",) and done.paths == ("a.txt",)
    assert scene.text("made/mine.txt") == "mine" and not (scene.root / "a.txt").exists()


def test_everything_since_a_point_goes_back_at_once(tmp_path: Path) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.one("write", path="a.txt", content="one")
    mark = rollbacks(scene).mark()
    scene.one("bash", command="touch c.txt; cp c.txt a.txt; mkdir d")
    scene.one("write", path="d/b.txt", content="b")
    scene.one("write", path="a.txt", content="three")
    done = rollbacks(scene).undo_since(mark)
    assert set(done.paths) == {"a.txt", "c.txt", "d", "d/b.txt"} and done.lost == ()
    assert scene.text("a.txt") == "one"
    assert sorted(path.name for path in scene.root.iterdir()) == ["a.txt"]
    assert rollbacks(scene).undo_since(mark).steps == ()
    rollbacks(scene).undo_since(0)
    assert list(scene.root.iterdir()) == []


def test_going_back_to_a_point_refuses_what_a_person_changed_and_touches_nothing(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    mark = rollbacks(scene).mark()
    for name in ("a.txt", "b.txt"):
        scene.one("write", path=name, content="the agent's")
    scene.put("a.txt", "mine")
    with pytest.raises(PlanConflict, match=r"`a\.txt`"):
        rollbacks(scene).undo_since(mark)
    assert scene.text("b.txt") == "the agent's"


def test_work_goes_on_after_undoing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert scene.runner.keep is not None
    mark = scene.runner.keep.rollbacks.mark()
    scene.one("write", path="a.txt", content="one")
    scene.runner.keep.rollbacks.undo_since(mark)
    scene.one("write", path="a.txt", content="two")
    assert [one.number for one in scene.shelf.open()] == [2]
    scene.runner.keep.rollbacks.undo()
    assert not (scene.root / "a.txt").exists()


def _file(text: bytes) -> Thing:
    return Thing(ThingKind.FILE, digest_bytes(text), 0o644, len(text))


def test_an_error_halfway_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """A name that no file system takes comes last: what was moved before it is moved back."""
    (tmp_path / "a.txt").write_text("now")
    (tmp_path / "gone.txt").write_text("now")
    (tmp_path / "gone.txt").chmod(0o640)
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "dir").mkdir(mode=0o711)
    targets = [
        Target("a.txt", _file(b"before"), lambda: iter([b"before"])),
        Target("gone.txt", NOTHING, lambda: iter([])),
        Target("link", _file(b"before"), lambda: iter([b"before"])),
        Target("dir", Thing(ThingKind.FOLDER, mode=0o700), lambda: iter([])),
        Target("new/deep/b.txt", _file(b"before"), lambda: iter([b"before"])),
        Target("z" * 300, _file(b"x"), lambda: iter([b"x"])),
    ]
    with pytest.raises(PlanConflict):
        put_back(tmp_path, targets)
    assert (tmp_path / "a.txt").read_text() == "now"
    assert (tmp_path / "gone.txt").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link").readlink() == Path("a.txt")
    assert (tmp_path / "dir").stat().st_mode & 0o777 == 0o711
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "dir", "gone.txt", "link"]
    put_back(tmp_path, targets[:-1])
    assert (tmp_path / "new" / "deep" / "b.txt").read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.txt", "dir", "link", "new"]


def test_content_that_is_not_what_was_kept_is_never_put_back(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("now")
    with pytest.raises(StorageFailed, match="not what was there"):
        put_back(tmp_path, [Target("a.txt", _file(b"before"), lambda: iter([b"forged"]))])
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "now"
