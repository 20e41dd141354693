"""Which files were opened while a command ran: what is seen, and what cannot be told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from signoff.workspace import opened
from signoff.workspace.opened import OpenedFiles, OpenWatch

FOLDERS = ("", "a", "a/b")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a" / "b").mkdir(parents=True)
    for name in ("top", "a/inner", "a/b/deep"):
        (tmp_path / name).write_text("text\n")
    return tmp_path


def seen_while(tree: Path, command: str, fixed: tuple[str, ...] = ()) -> OpenedFiles:
    with OpenWatch(tree, FOLDERS, fixed) as watch:
        subprocess.run(["bash", "-c", command], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    return watch.seen


def test_a_file_that_is_read_was_opened_and_the_others_were_not(tree: Path) -> None:
    seen = seen_while(tree, "cat a/inner")
    assert seen.files == {"a/inner"} and seen.complete and not seen.written


def test_a_file_is_seen_through_a_link(tree: Path) -> None:
    (tree / "link").symlink_to("a/b/deep")
    assert "a/b/deep" in seen_while(tree, "cat link").files


def test_a_folder_that_is_listed_is_told_apart_from_files(tree: Path) -> None:
    seen = seen_while(tree, "ls a/b")
    assert "a/b" in seen.folders and not seen.files


def test_a_question_whether_a_file_is_there_is_not_seen(tree: Path) -> None:
    assert not seen_while(tree, "test -f top; test -f nothing || true").files


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("cp a/inner kept; echo other > a/inner; cat kept > a/inner; rm kept", "a/inner"),
        ("mv a/b a/away; mv a/away a/b", "a/b"),
        ("mv top other; mv other top", "top"),
        ("rm a/b/deep; echo text > a/b/deep", "a/b/deep"),
    ],
)
def test_what_was_written_and_put_back_is_seen(tree: Path, command: str, path: str) -> None:
    assert path in seen_while(tree, command).written


def test_too_many_folders_cannot_be_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "MOST_FOLDERS", 2)
    seen = seen_while(tree, "cat top")
    assert not seen.complete and "2 folders" in seen.why_not


def test_two_looks_together_know_what_either_saw() -> None:
    both = OpenedFiles(frozenset({"a"})).joined(OpenedFiles(frozenset({"b"}), why_not="overflow"))
    assert both.files == {"a", "b"} and both.why_not == "overflow"


@pytest.mark.parametrize(
    "command",
    [
        "chmod 600 top; chmod 644 top",
        "touch -r a/inner top",
        "ln top a/other; rm a/other",
        "mkdir new; ln top new/link; echo other > new/link; echo text > new/link; rm -r new",
        f'{sys.executable} -c \'import mmap; f = open("top", "r+b"); '
        'm = mmap.mmap(f.fileno(), 0); m[:] = b"TEXT\\n"; m[:] = b"text\\n"\'',
    ],
)
def test_any_change_of_a_file_that_must_stay_is_told(tree: Path, command: str) -> None:
    assert "top" in seen_while(tree, command, fixed=("top",)).written
    assert "top" not in seen_while(tree, command).written


def test_attributes_are_told_of_folders_above_what_must_stay_and_of_no_others(tree: Path) -> None:
    command = "chmod 700 a a/b; touch a a/inner; chmod 755 a a/b"
    assert seen_while(tree, command, fixed=("a/b/deep",)).written == {"a", "a/b"}
    assert not seen_while(tree, command).written


def test_what_must_stay_may_be_read_and_have_new_files_beside_it(tree: Path) -> None:
    command = "cat top a/b/deep; touch new a/b/new; rm a/b/new"
    written = seen_while(tree, command, fixed=("top", "a/b/deep", "a/b", "gone")).written
    assert written == {"a/b/new"}


def test_a_read_set_is_kept_and_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    written = frozenset({"a", "not ours"})
    seen = OpenedFiles(frozenset({"a", "b\udce9", "not ours"}), frozenset({""}), written)
    known = ("a", "b\udce9", "c")
    kept = OpenedFiles.from_bytes(seen.to_bytes(known))
    assert kept == OpenedFiles(frozenset({"a", "b\udce9"}), frozenset({""}), frozenset({"a"}))
    monkeypatch.setattr(opened, "MOST_KEPT", 1)
    assert not OpenedFiles.from_bytes(seen.to_bytes(known)).complete


def test_more_opens_than_the_kernel_keeps_cannot_be_told_and_that_is_said(tree: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    with OpenWatch(tree, FOLDERS) as watch:  # nobody takes anything in meanwhile
        for number in range(most + 2):
            (tree / ("top", "a/inner")[number % 2]).read_bytes()
    assert watch.seen.overflowed and not watch.seen.complete
    assert seen_while(tree, "cat a/inner").complete
