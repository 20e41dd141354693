"""What calls changed can be had back: all or nothing, and never at the cost of a person's work."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.errors import PlanConflict, StorageFailed
from signoff.toolbatch.kept import Lost, Rollback, Rollbacks, Unkept
from signoff.toolbatch.undo import Restoring, Undone, last, plan_undo, since, undo
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from tests.toolbatch.batch_kit import Scene, rollbacks_of


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path, snapshots=True)


def kept(scene: Scene) -> Rollbacks:
    """As the next process finds it."""
    return rollbacks_of(scene.root.parent)


def planned(scene: Scene, back: int = 1) -> list[tuple[str, Restoring]]:
    rollbacks = kept(scene)
    steps = plan_undo(rollbacks.workspace, last(rollbacks, back)).steps
    return [(step.path, step.doing) for step in steps]


def undone(scene: Scene, back: int = 1, *, force: bool = False, after: int | None = None) -> Undone:
    rollbacks = kept(scene)
    chosen = last(rollbacks, back) if after is None else since(rollbacks, after)
    done = plan_undo(rollbacks.workspace, chosen)
    undo(rollbacks, done, force=force)
    return done


def tree(root: Path) -> dict[str, tuple[str, int]]:
    """Everything below a folder: what it holds or points to, and its permissions."""
    found = {}
    for path in sorted(root.rglob("*")):
        held = str(path.readlink()) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            held = path.read_text()
        found[str(path.relative_to(root))] = (held, path.lstat().st_mode)
    return found


def test_several_changes_go_back_from_the_newest(scene: Scene) -> None:
    for text in ("one", "two", "three"):
        scene.one("write", path="deep/down/a.txt", content=text)
    assert planned(scene, 2) == [("deep/down/a.txt", Restoring.RESTORE)] * 2
    undone(scene, 2)
    assert scene.text("deep/down/a.txt") == "one"
    undone(scene)
    assert tree(scene.root) == {}, "the folders that were made for it are gone too"
    assert planned(scene) == []


@pytest.mark.parametrize(
    "command",
    [
        "rm secret.key",
        "echo more >> secret.key",
        "chmod 777 secret.key run.sh; chmod 700 docs",
        "rm -r docs empty link secret.key",
        "mkdir -p made/deeper; mkdir empty/inside",
        "rm link; ln -s elsewhere link",
        "rm link; echo text > link",
        "rm secret.key; ln -s run.sh secret.key",
        "rm -r docs; echo now a file > docs",
        "rm secret.key; mkdir secret.key; echo x > secret.key/inside",
        "mv docs moved; mv run.sh moved/",
        "rm -r empty; echo x > made.txt",
        "head -c 11000000 /dev/zero > run.sh",
        "echo x > empty/a.txt",
    ],
)
def test_whatever_a_command_did_the_workspace_is_as_it_was(scene: Scene, command: str) -> None:
    for name in ("docs/a.md", "docs/deep/b.md", "run.sh"):
        scene.put(name, name)
    scene.put("secret.key", "s3cret")
    (scene.root / "secret.key").chmod(0o600)
    (scene.root / "run.sh").chmod(0o750)
    (scene.root / "docs").chmod(0o711)
    (scene.root / "empty").mkdir(mode=0o700)
    (scene.root / "link").symlink_to("docs/a.md")
    before = tree(scene.root)
    scene.one("bash", command=f"{command}; true")
    assert tree(scene.root) != before
    undone(scene)
    assert tree(scene.root) == before


def test_a_tool_that_nobody_knows_and_one_that_fails_halfway_are_kept_too(scene: Scene) -> None:
    scene.put("a.txt", "before")
    scene.tools.inside = lambda _call: scene.put("a.txt", "after")
    assert not scene.one("somebody_elses_tool").ok
    undone(scene)
    assert scene.text("a.txt") == "before"


def test_names_that_are_no_text_can_be_undone(scene: Scene) -> None:
    name = os.fsdecode(b"odd-\xff\n.txt")
    (scene.root / name).write_text("before")
    scene.one("bash", command='for f in odd*; do echo after > "$f"; done')
    undone(scene)
    assert (scene.root / name).read_text() == "before"


def test_looking_changes_nothing_and_leaves_nothing_to_undo(scene: Scene) -> None:
    scene.one("bash", command="python3 -c pass")
    scene.one("bash", command="ls")
    assert kept(scene).open() == ()


def replaced_by_link(root: Path) -> None:
    (root / "x").unlink(missing_ok=True)
    (root / "x").symlink_to("mine.txt")


def rewritten(root: Path) -> None:
    (root / "x").write_text("a person's")


def made_private(root: Path) -> None:
    (root / "x").chmod(0o600)


@pytest.mark.parametrize("person", [replaced_by_link, rewritten, made_private])
def test_what_a_person_made_of_a_file_is_overwritten_only_by_force(
    scene: Scene, person: Callable[[Path], object]
) -> None:
    scene.put("mine.txt", "mine")
    scene.one("write", path="x", content="the agent's")
    scene.one("write", path="other.txt", content="the agent's")
    person(scene.root)
    before = tree(scene.root)
    with pytest.raises(PlanConflict, match="cut off: `x`"):
        undone(scene, 2)
    assert tree(scene.root) == before, "nothing of it was put back"
    rollbacks = kept(scene)
    undone(scene, 2, force=True)
    assert list(tree(scene.root)) == ["mine.txt"]
    (closed,) = [e for e in rollbacks._ledger.entries(rollbacks._session) if e.kind.endswith("red")]
    content = rollbacks.workspace.read(closed.data["replaced"]["x"][1], "x")
    assert content.decode() == before["x"][0] or content == b"the agent's"


def test_a_change_by_somebody_else_between_two_calls_is_noticed_too(scene: Scene) -> None:
    scene.one("write", path="a.txt", content="one")
    scene.put("a.txt", "mine")
    scene.one("write", path="a.txt", content="two")
    undone(scene)
    assert scene.text("a.txt") == "mine"
    with pytest.raises(PlanConflict):
        undone(scene)


@pytest.mark.parametrize("force", [True, False])
def test_a_folder_in_the_way_stops_everything_even_when_forced(scene: Scene, force: bool) -> None:
    scene.one("write", path="x", content="the agent's")
    scene.one("write", path="a.txt", content="the agent's")
    (scene.root / "x").unlink()
    scene.put("x/mine.txt", "mine")
    with pytest.raises(PlanConflict, match="`x`: a folder with other things"):
        undone(scene, 2, force=force)
    assert scene.text("a.txt") == "the agent's" and scene.text("x/mine.txt") == "mine"
    assert len(kept(scene).open()) == 2


@pytest.mark.parametrize("force", [True, False])
def test_what_cannot_be_kept_is_not_overwritten_even_when_forced(scene: Scene, force: bool) -> None:
    scene.put("d/x", "before")
    scene.one("bash", command="rm -r d")
    (scene.root / "elsewhere").mkdir()
    (scene.root / "d").symlink_to("elsewhere")
    os.mkfifo(scene.root / "elsewhere/pipe")
    with pytest.raises(PlanConflict):
        undone(scene)
    scene.one("bash", command="rm d; mkfifo d")
    with pytest.raises(PlanConflict):
        undone(scene, 2, force=force)


def test_a_folder_that_a_person_uses_is_left(scene: Scene) -> None:
    scene.one("bash", command="mkdir made")
    scene.put("made/mine.txt", "mine")
    assert [(s.path, s.doing) for s in undone(scene).steps] == [("made", Restoring.LEAVE)]
    assert scene.text("made/mine.txt") == "mine"


def test_everything_since_a_point_goes_back_at_once_and_work_goes_on(scene: Scene) -> None:
    scene.one("write", path="a.txt", content="one")
    scene.one("write", path="a.txt", content="two")
    scene.one("bash", command="mv a.txt b.txt; mkdir d")
    undone(scene, after=1)
    assert list(tree(scene.root)) == ["a.txt"] and scene.text("a.txt") == "one"
    scene.one("write", path="a.txt", content="three")
    assert [one.number for one in kept(scene).open()] == [1, 4]


def test_an_error_halfway_leaves_everything_as_it_was(scene: Scene) -> None:
    scene.put("a.txt", "before")
    scene.put("b.txt", "before")
    scene.one("bash", command="rm a.txt; chmod 640 b.txt; mv b.txt c.txt; mkdir made")
    before = tree(scene.root)
    rollbacks = kept(scene)
    done = plan_undo(rollbacks.workspace, last(rollbacks, 1))
    lost = [replace(s, stored="f" * 64) if s.path == "b.txt" else s for s in done.steps]
    done = replace(done, steps=tuple(lost))
    with pytest.raises(StorageFailed):
        undo(rollbacks, done)
    assert tree(scene.root) == before and kept(scene).open()


def test_what_is_ignored_cannot_be_kept_and_is_said(tmp_path: Path) -> None:
    rules = IgnoreRules((IgnoreFile("", "*.log\nbuild/\n"),))
    scene = Scene(tmp_path)
    scene.put("a.log", "before")
    scene.put("build/x.o", "before")
    keep = rollbacks_of(tmp_path, rules)
    for file in ("a.log", "build/x.o"):
        keep.begin(*scene.calls(("bash", {"command": "make"})))
        scene.put(file, "after")
        ended = keep.end()
        assert ended is not None and not ended.can_be_undone
        assert ended.lost == (Lost(ended.number, "", Unkept.IGNORED),)


def test_a_call_that_was_cut_off_for_good_is_undone_only_by_force(scene: Scene) -> None:
    """As after a kill: the call began, and nobody was there to see what it did."""
    scene.put("a.txt", "before")
    scene.put("b.txt", "B")
    scene.one("write", path="early.txt", content="early")
    (call,) = scene.calls(("bash", {"command": "echo x > a.txt; rm b.txt; sleep 60"}))
    kept(scene).begin(call)
    scene.put("a.txt", "half")
    (scene.root / "b.txt").unlink()
    assert planned(scene) == [("a.txt", Restoring.CHANGED), ("b.txt", Restoring.CHANGED)]
    with pytest.raises(PlanConflict, match="cut off"):
        undone(scene)
    undone(scene, force=True)
    assert scene.text("a.txt") == "before" and scene.text("b.txt") == "B"
    assert [one.number for one in kept(scene).open()] == [1]


def test_of_a_write_that_was_cut_off_only_its_file_is_in_question(scene: Scene) -> None:
    kept(scene).begin(*scene.calls(("write", {"path": "a.txt", "content": "x"})))
    scene.put("a.txt", "x")
    scene.put("mine.txt", "mine")
    undone(scene, force=True)
    assert list(tree(scene.root)) == ["mine.txt"]


def test_an_ignored_file_whose_write_was_cut_off_holds_up_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    keep = rollbacks_of(tmp_path, IgnoreRules((IgnoreFile("", "*.log\n"),)))
    scene.put("a.log", "before")
    keep.begin(*scene.calls(("write", {"path": "b.txt", "content": "x"})))
    scene.put("b.txt", "x")
    keep.end()
    keep.begin(*scene.calls(("write", {"path": "a.log", "content": "x"})))
    done = plan_undo(keep.workspace, last(keep, 1))
    assert [lost.path for lost in done.lost] == ["a.log"]
    undo(keep, done)
    assert not (scene.root / "b.txt").exists() and scene.text("a.log") == "before"


def test_paths_outside_are_neither_read_nor_removed(scene: Scene) -> None:
    outside = scene.root.parent / "outside.txt"
    outside.write_text("mine")
    kept(scene).begin(*scene.calls(("write", {"path": "../outside.txt", "content": "x"})))
    assert undone(scene, force=True).steps == ()
    assert outside.read_text() == "mine"


def test_what_an_older_version_kept_beside_the_ledger_is_named_as_lost() -> None:
    before, after = ["file", "aa", 0o644, 3], ["file", "bb", 0o644, 3]
    data = {"number": 1, "call": "c1", "tool": "write", "lost": [], "snapshot": ""}
    read = Rollback.from_data({**data, "files": [["a.txt", before, after, "", ""]]})
    assert read.lost == (Lost(1, "a.txt", Unkept.NO_SNAPSHOT),) and not read.can_be_undone
