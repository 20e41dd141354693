"""A digest covers every source path completely, and nothing else."""

from __future__ import annotations

import hashlib
import os
import tempfile
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.domain.snapshot import FileKind
from signoff.errors import HomeUnsafe, WorkspaceMissing
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.workspace import Workspace
from tests.workspace.conftest import Desk

RULES = IgnoreRules((IgnoreFile("", "*.log\nbuild/\n"),))


def fill(desk: Desk) -> None:
    desk.write("src/a.py", "print(1)\n")
    desk.write("src/b.py", "print(2)\n")
    desk.write("run.sh", "true\n").chmod(0o755)
    (desk.root / "link").symlink_to("src/a.py")
    (desk.root / "empty").mkdir()


def swap_for_copy(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").write_bytes((root / "src/a.py").read_bytes())


def retarget(root: Path) -> None:
    (root / "link").unlink()
    (root / "link").symlink_to("src/b.py")


def file_into_folder(root: Path) -> None:
    (root / "src/a.py").unlink()
    (root / "src/a.py").mkdir()


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda root: (root / "src/a.py").write_text("print(3)\n"),
    "executable": lambda root: (root / "src/a.py").chmod(0o755),
    "not executable": lambda root: (root / "run.sh").chmod(0o644),
    "renamed": lambda root: (root / "src/a.py").rename(root / "src/c.py"),
    "moved": lambda root: (root / "src/a.py").rename(root / "a.py"),
    "case of a name": lambda root: (root / "src/a.py").rename(root / "src/A.py"),
    "link target": retarget,
    "link swapped for a copy": swap_for_copy,
    "empty file added": lambda root: (root / "src/new").touch(),
    "removed": lambda root: (root / "src/b.py").unlink(),
    "empty folder added": lambda root: (root / "src/new").mkdir(),
    "empty folder removed": lambda root: (root / "empty").rmdir(),
    "file became a folder": file_into_folder,
    "fifo added": lambda root: os.mkfifo(root / "pipe"),
    "nested repository": lambda root: (root / "src/.git").mkdir(),
    "gitignore": lambda root: (root / ".gitignore").write_text("*\n"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("settled", [True, False])
def test_any_single_change_changes_the_digest(
    desk: Desk, change: Callable[[Path], object], settled: bool
) -> None:
    fill(desk)
    if settled:
        desk.settle()
    workspace = desk.workspace(RULES)
    before = workspace.snapshot()
    assert workspace.snapshot() == before
    change(desk.root)
    after = workspace.snapshot()
    assert after.digest != before.digest
    assert desk.workspace(RULES).digest_now().digest == after.digest


def test_the_digest_can_be_recomputed_from_its_description(desk: Desk) -> None:
    desk.write("b", "B")
    desk.write("a/x", "X").chmod(0o700)
    (desk.root / "a-b").symlink_to("b")
    (desk.root / "e").mkdir()

    def line(path: bytes, kind: bytes, content: bytes) -> bytes:
        return path + b"\0" + kind + hashlib.sha256(content).digest()

    expected = hashlib.sha256(
        b"signoff snapshot 1\n"
        + line(b"a-b", b"l-", b"b")
        + line(b"a/x", b"fx", b"X")
        + line(b"b", b"f-", b"B")
        + line(b"e", b"d-", b"")
    ).hexdigest()
    assert desk.workspace().digest_now().digest == expected


def test_equal_content_in_two_places_has_one_digest(desk: Desk, tmp_path: Path) -> None:
    fill(desk)
    other = Desk(tmp_path / "other")
    fill(other)
    assert desk.workspace().digest_now().digest == other.workspace().digest_now().digest


def test_times_and_reading_do_not_change_the_digest(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace()
    before = workspace.snapshot()
    os.utime(desk.root / "src/a.py", ns=(1, 1))
    (desk.root / "src/b.py").read_bytes()
    assert workspace.snapshot() == before


def test_by_products_are_in_the_environment_and_not_in_the_digest(desk: Desk) -> None:
    fill(desk)
    built = desk.write("build/out.o", "one")
    workspace = desk.workspace(RULES)
    before = workspace.snapshot()
    assert not any(p.startswith("build") for p in workspace.manifest(before.digest))
    seen = built.stat()
    built.write_text("two")
    os.utime(built, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    changed = workspace.snapshot()
    assert changed.digest == before.digest
    assert changed.environment != before.environment
    desk.write("deep/er/trace.log")
    added = workspace.snapshot()
    assert added.environment != changed.environment


def test_a_folder_with_nothing_but_by_products_comes_and_goes_freely(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace(RULES)
    before = workspace.snapshot()
    desk.write("logs/run.log")
    assert workspace.snapshot().digest == before.digest


@pytest.mark.parametrize(
    "path", ["src/__pycache__/a.cpython-311.pyc", "src/stray.pyc", ".pytest_cache/v/x", "a/b.pyo"]
)
def test_compiled_caches_do_not_count_and_can_be_removed(desk: Desk, path: str) -> None:
    fill(desk)
    (desk.root / "a").mkdir()
    workspace = desk.workspace()
    before = workspace.snapshot()
    cache = desk.write(path)
    assert workspace.snapshot() == before
    assert workspace.remove_caches() == 1
    assert not cache.exists()
    assert workspace.remove_caches() == 0
    assert workspace.snapshot() == before


def test_caches_inside_by_products_are_left_alone(desk: Desk) -> None:
    kept = desk.write("build/__pycache__/x.pyc")
    assert desk.workspace(RULES).remove_caches() == 0
    assert kept.exists()


def test_what_is_apart_is_in_no_digest(desk: Desk) -> None:
    fill(desk)
    workspace = desk.workspace(apart=frozenset({".harness", "docs/PLAN.md"}))
    desk.write("docs/guide.md")
    before = workspace.snapshot()
    desk.write(".harness/PLAN.md")
    desk.write("docs/PLAN.md")
    desk.write(".git/config")
    assert workspace.snapshot() == before
    desk.write("docs/PLAN.md.py")
    assert workspace.snapshot().digest != before.digest


def test_the_gits_of_nested_repositories_are_content(desk: Desk) -> None:
    fill(desk)
    desk.write("tests/.git/HEAD", "ref: x\n")
    desk.write("tests/test_a.py", "assert False\n")
    workspace = desk.workspace()
    before = workspace.snapshot()
    assert "tests/.git/HEAD" in workspace.manifest(before.digest)
    desk.write("tests/test_a.py", "assert True\n")
    assert workspace.snapshot().digest != before.digest


def test_the_manifest_is_sorted_and_says_what_lies_where(desk: Desk) -> None:
    fill(desk)
    os.mkfifo(desk.root / "pipe")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    for seen in (workspace.manifest(digest), desk.workspace().manifest(digest)):
        assert list(seen) == ["empty", "link", "pipe", "run.sh", "src/a.py", "src/b.py"]
        kinds = [state.kind for state in seen.values()]
        assert kinds[:3] == [FileKind.DIRECTORY, FileKind.LINK, FileKind.OTHER]
        assert seen["run.sh"].executable
        assert not seen["src/a.py"].executable
        assert seen["src/a.py"].size == len("print(1)\n")
        assert seen["src/a.py"].sha256 == hashlib.sha256(b"print(1)\n").hexdigest()
        assert seen["link"].sha256 == hashlib.sha256(b"src/a.py").hexdigest()
    assert workspace.snapshot().files == 6


def test_names_in_different_unicode_forms_are_different_files(desk: Desk) -> None:
    composed, decomposed = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))
    desk.write(composed, "1")
    desk.write(decomposed, "2")
    workspace = desk.workspace()
    digest = workspace.snapshot().digest
    assert workspace.read(digest, composed) == b"1"
    assert workspace.read(digest, decomposed) == b"2"


def test_a_missing_workspace_is_an_error_not_an_empty_one(desk: Desk) -> None:
    workspace = desk.workspace()
    desk.root.rmdir()
    with pytest.raises(WorkspaceMissing) as missing:
        workspace.snapshot()
    assert str(desk.root) in missing.value.message
    desk.root.write_text("a file")
    with pytest.raises(WorkspaceMissing):
        workspace.digest_now()


def test_a_store_inside_the_workspace_is_refused(desk: Desk) -> None:
    with pytest.raises(HomeUnsafe):
        Workspace(desk.root, desk.root / ".store")


entry_names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=6
).filter(lambda name: name not in (".", "..", ".git") and len(name.encode()) < 100)
trees = st.recursive(
    st.tuples(st.binary(max_size=40), st.booleans()) | st.text("ab/.", min_size=1, max_size=5),
    lambda below: st.dictionaries(entry_names, below, max_size=4),
    max_leaves=12,
)


def build(root: Path, tree: object) -> None:
    """A dictionary is a folder, a pair a file with its executable bit, a text a symlink."""
    if isinstance(tree, dict):
        root.mkdir(exist_ok=True)
        for name, below in tree.items():
            build(root / name, below)
    elif isinstance(tree, tuple):
        root.write_bytes(tree[0])
        root.chmod(0o755 if tree[1] else 0o644)
    else:
        root.symlink_to(str(tree))


@settings(max_examples=40)
@given(st.dictionaries(entry_names, trees, max_size=5))
def test_what_was_restored_has_the_same_digest(tree: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder) / "desk")
        build(desk.root, tree)
        workspace = desk.workspace()
        taken = workspace.snapshot()
        again = Path(folder) / "again"
        workspace.restore(taken.digest, again)
        restored = Workspace(again, desk.store)
        assert restored.snapshot().digest == taken.digest
        assert desk.workspace().manifest(taken.digest) == workspace.manifest(taken.digest)


@settings(max_examples=40)
@given(st.dictionaries(entry_names, trees, max_size=3), st.dictionaries(entry_names, trees))
def test_different_trees_never_share_a_digest(
    one: dict[str, object], two: dict[str, object]
) -> None:
    digests = []
    kinds = []
    with tempfile.TemporaryDirectory() as folder:
        for name, tree in (("one", one), ("two", two)):
            desk = Desk(Path(folder) / name)
            build(desk.root, tree)
            workspace = desk.workspace()
            digests.append(workspace.digest_now().digest)
            kinds.append(workspace.manifest(digests[-1]))
    assert (digests[0] == digests[1]) == (kinds[0] == kinds[1])
