"""A tree shows what is below its root, as it is or as it would be, and nothing else."""

from __future__ import annotations

from signoff.toolbatch.checkers.tree import FileTree
from tests.toolbatch.checkers.kit import Artifacts


def test_nothing_outside_the_root_exists(artifacts: Artifacts) -> None:
    artifacts.file("a.txt", "a")
    (artifacts.root / "up").symlink_to("..")
    tree = FileTree(artifacts.root)
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
    tree = FileTree(artifacts.root)
    assert tree.read("alias/a.txt") == b"a" and tree.list("alias") == ("a.txt",)
    assert tree.is_link("alias") and not tree.is_link("real")


def test_writes_are_seen_in_every_way_of_looking(artifacts: Artifacts) -> None:
    artifacts.file("d/old.txt", "old")
    tree = FileTree(artifacts.root, {"d/old.txt": b"new!", "e/f/g.txt": b"g"})
    assert tree.read("d/old.txt") == b"new!" and tree.size("./d/old.txt") == 4
    assert tree.is_folder("e") and tree.is_folder("e/f") and tree.list("e") == ("f",)
    assert tree.list("") == ("d", "e") and tree.list("d") == ("old.txt",)
    assert FileTree(artifacts.root).read("d/old.txt") == b"old"


def test_what_was_worked_out_is_remembered_for_one_view_only(artifacts: Artifacts) -> None:
    tree = FileTree(artifacts.root)
    assert tree.recall("x", "p", lambda: 1) == 1
    assert tree.recall("x", "p", lambda: 2) == 1
    assert FileTree(artifacts.root).recall("x", "p", lambda: 2) == 2
