"""Before a call changes anything, what is there is kept whole; what cannot be is on record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.domain.digests import digest_bytes
from signoff.storage.database import open_database
from signoff.storage.ledger import Ledger
from signoff.toolbatch.disk import ThingKind
from signoff.toolbatch.kept import LedgerShelf, Lost, MemoryShelf, Unkept
from signoff.toolbatch.moments import WorkspaceSnapshots
from signoff.toolbatch.rollback import LARGEST_KEPT, Keep
from signoff.toolbatch.undoing import Restoring, Rollbacks, Undone
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace
from tests.toolbatch.batch_kit import Scene


def undo(scene: Scene, back: int = 1, *, force: bool = False) -> Undone:
    return Rollbacks(scene.shelf, scene.root, scene.snapshots).undo(back, force=force)


def tree(root: Path) -> dict[str, tuple[str, int]]:
    """Everything below a folder: what it holds or points to, and its permissions."""
    found = {}
    for path in sorted(root.rglob("*")):
        held = str(path.readlink()) if path.is_symlink() else ""
        if path.is_file() and not path.is_symlink():
            held = path.read_text()
        found[str(path.relative_to(root))] = (held, path.lstat().st_mode)
    return found


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
    ],
)
def test_whatever_a_command_did_the_workspace_is_as_it_was(tmp_path: Path, command: str) -> None:
    scene = Scene(tmp_path, snapshots=True)
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
    undo(scene)
    assert tree(scene.root) == before


def test_permissions_come_back_with_a_file_that_was_written(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.sh", "before")
    (scene.root / "a.sh").chmod(0o700)
    scene.one("write", path="a.sh", content="after")
    (scene.root / "a.sh").unlink()
    undo(scene, force=True)
    assert (scene.root / "a.sh").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_was_there_and_empty_stays(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (scene.root / "logs").mkdir()
    scene.one("write", path="logs/deep/a.txt", content="x")
    undo(scene)
    assert list(scene.root.rglob("*")) == [scene.root / "logs"]


def test_a_large_file_comes_back_from_a_snapshot(tmp_path: Path) -> None:
    scene = Scene(tmp_path, snapshots=True)
    large = "L" * (LARGEST_KEPT + 1)
    scene.put("big.txt", large)
    scene.one("write", path="big.txt", content="small")
    scene.one("bash", command="rm big.txt; head -c 11000000 /dev/zero > made.bin")
    undo(scene)
    assert scene.text("big.txt") == "small" and not (scene.root / "made.bin").exists()
    undo(scene)
    assert scene.text("big.txt") == large


def test_a_file_that_is_too_large_to_keep_is_on_record_and_named_when_undoing(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path)
    scene.put("big.txt", "L" * (LARGEST_KEPT + 1))
    scene.one("write", path="other.txt", content="x")
    scene.one("write", path="big.txt", content="small")
    assert scene.shelf.open()[-1].lost == (Lost("big.txt", Unkept.TOO_LARGE),)
    done = undo(scene)
    assert [one.lost.path for one in done.lost] == ["big.txt"]
    assert "too large" in done.lost[0].lost.text
    assert scene.text("big.txt") == "small"
    assert not (scene.root / "other.txt").exists(), "one that cannot be undone is not counted"


def test_what_is_ignored_is_named_when_a_command_changes_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, shelf=MemoryShelf())
    rules = IgnoreRules((IgnoreFile("", "*.log\nbuild/\n"),))
    scene.put("a.log", "before")
    scene.put("build/x.o", "before")
    snapshots = WorkspaceSnapshots(Workspace(scene.root, tmp_path / "store", rules))
    keep = Keep(scene.disk, scene.shelf, snapshots)
    for file, named in (("a.log", "a.log"), ("build/x.o", "")):
        (call,) = scene.calls(("bash", {"command": "make"}))
        held = keep.before(call)
        scene.put(file, "after")
        kept = keep.after(call, held, None)
        assert kept is not None and not kept.can_be_undone
        assert kept.lost == (Lost(named, Unkept.IGNORED),)
    (call,) = scene.calls(("write", {"path": "a.log", "content": "x"}))
    held = keep.before(call)
    scene.put("a.log", "again")
    keep.after(call, held, None)
    keep.rollbacks.undo()
    assert scene.text("a.log") == "after", "a file that the call names is kept all the same"


def test_without_snapshots_what_a_command_changed_is_on_record_as_lost(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.one("bash", command="python3 -c \"open('a.txt', 'w')\"")
    (kept,) = scene.shelf.open()
    assert kept.lost == (Lost("a.txt", Unkept.NO_SNAPSHOT),) and not kept.can_be_undone


def test_a_tool_that_nobody_knows_is_kept_too(tmp_path: Path) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.put("a.txt", "before")
    scene.tools.inside = lambda _call: scene.put("a.txt", "after")
    scene.one("somebody_elses_tool")
    undo(scene)
    assert scene.text("a.txt") == "before"


def test_a_call_that_was_cut_off_for_good_can_be_undone_when_a_person_says_so(
    tmp_path: Path, database_url: str
) -> None:
    """As after a kill: the call began, and nobody was there to see what it did."""
    database = open_database(database_url)
    shelf = LedgerShelf(Ledger(database), "session-0000000000000001")
    scene = Scene(tmp_path, shelf=shelf, snapshots=True)
    scene.put("a.txt", "before")
    scene.one("write", path="early.txt", content="early")
    assert scene.runner.keep is not None
    (call,) = scene.calls(("bash", {"command": "echo x > a.txt; rm b.txt; sleep 60"}))
    scene.put("b.txt", "B")
    scene.runner.keep.before(call)
    scene.put("a.txt", "half")
    (scene.root / "b.txt").unlink()
    later = Rollbacks(LedgerShelf(Ledger(database), "session-0000000000000001"), scene.root)
    assert later.mark() == 2
    again = Rollbacks(shelf, scene.root, scene.snapshots)
    steps = again.last(1).steps
    assert {(s.path, s.doing) for s in steps} == {
        ("a.txt", Restoring.UNSURE),
        ("b.txt", Restoring.UNSURE),
    }
    again.undo(force=True)
    assert scene.text("a.txt") == "before" and scene.text("b.txt") == "B"
    assert [one.number for one in shelf.open()] == [1]
    database.close()


def test_a_path_outside_is_neither_read_nor_kept(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    (tmp_path / "outside.txt").write_text("secret")
    scene.one("write", path="../outside.txt", content="x")
    (kept,) = scene.shelf.open()
    assert kept.files == () and not kept.can_be_undone and kept.lost
    with pytest.raises(KeyError):
        scene.shelf.get(digest_bytes(b"secret"))


def test_a_pipe_that_a_command_made_is_named_and_keeps_nothing_else_from_going_back(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.one("bash", command="mkfifo pipe; echo x > a.txt")
    done = undo(scene)
    assert [(one.lost.path, one.lost.why) for one in done.lost] == [("pipe", Unkept.OTHER)]
    assert [path.name for path in scene.root.iterdir()] == ["pipe"]


def test_names_that_are_no_text_can_be_undone(tmp_path: Path, database_url: str) -> None:
    database = open_database(database_url)
    shelf = LedgerShelf(Ledger(database), "session-0000000000000001")
    scene = Scene(tmp_path, shelf=shelf, snapshots=True)
    name = os.fsdecode(b"odd-\xff\n.txt")
    (scene.root / name).write_text("before")
    scene.one("bash", command='for f in odd*; do echo after > "$f"; done')
    later = LedgerShelf(Ledger(database), "session-0000000000000001")
    Rollbacks(later, scene.root, scene.snapshots).undo()
    assert (scene.root / name).read_text() == "before"
    database.close()


def test_a_link_is_kept_as_a_link(tmp_path: Path) -> None:
    scene = Scene(tmp_path, snapshots=True)
    scene.put("real.txt", "real")
    (scene.root / "link").symlink_to("real.txt")
    scene.one("bash", command="rm link")
    (kept,) = scene.shelf.open()
    assert [(f.path, f.before.kind, f.after.kind) for f in kept.files] == [
        ("link", ThingKind.LINK, ThingKind.NOTHING)
    ]
