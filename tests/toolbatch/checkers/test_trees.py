"""A tree shows what is below its root, as it is or as it would be, and nothing else."""

from __future__ import annotations

from signoff.toolbatch.checkers import DiskTree, WrittenTree
from tests.toolbatch.checkers.kit import Artifacts


def test_nothing_outside_the_root_exists(artifacts: Artifacts) -> None:
    artifacts.file("a.txt", "a")
    (artifacts.root / "up").symlink_to("..")
    tree = DiskTree(artifacts.root)
    assert tree.read("a.txt") == b"a" and tree.exists("")
    for path in (
        "../outside.html",
        "up/outside.html",
        "up",
        "/etc/passwd",
        "a.txt/x",
        "\0",
        "a" * 9000,
    ):
        assert not tree.exists(path), path
        assert tree.read(path) is None and tree.list(path) == ()


def test_a_link_inside_the_root_is_followed(artifacts: Artifacts) -> None:
    artifacts.file("real/a.txt", "a")
    (artifacts.root / "alias").symlink_to("real")
    tree = DiskTree(artifacts.root)
    assert tree.read("alias/a.txt") == b"a" and tree.list("alias") == ("a.txt",)
    assert tree.is_link("alias") and not tree.is_link("real")


def test_writes_are_seen_in_every_way_of_looking(artifacts: Artifacts) -> None:
    artifacts.file("d/old.txt", "old").file("d/gone.txt", "x").file("was/folder.txt", "x")
    writes = {"d/old.txt": b"new!", "d/gone.txt": None, "e/f/g.txt": b"g", "was": b"now a file"}
    tree = WrittenTree(DiskTree(artifacts.root), writes)
    assert tree.read("d/old.txt") == b"new!" and tree.size("./d/old.txt") == 4
    assert not tree.exists("d/gone.txt") and tree.list("d") == ("old.txt",)
    assert tree.is_folder("e") and tree.is_folder("e/f") and tree.list("e") == ("f",)
    assert tree.list("") == ("d", "e", "was")
    assert not tree.is_folder("was") and tree.read("was/folder.txt") is None
    assert DiskTree(artifacts.root).read("d/old.txt") == b"old"


def test_what_was_worked_out_is_remembered_for_one_view_only(artifacts: Artifacts) -> None:
    tree = DiskTree(artifacts.root)
    assert tree.recall("x", "p", lambda: 1) == 1
    assert tree.recall("x", "p", lambda: 2) == 1
    assert WrittenTree(tree, {}).recall("x", "p", lambda: 2) == 2
