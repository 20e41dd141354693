"""Duplicates: content decides whether a call was made before, and a look-up stays cheap."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.toolbatch.calls import ResultKind
from signoff.toolbatch.duplicates import MOST_REMEMBERED
from signoff.toolbatch.shellwork import only_looks, rewritten
from tests.toolbatch.batch_kit import Scene

DUPLICATE, EXECUTED = ResultKind.DUPLICATE, ResultKind.EXECUTED


def test_reading_an_unchanged_file_again_is_a_duplicate_and_no_error(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "A")
    assert scene.one("read", path="a.txt").text == "A"
    again = scene.one("read", path="a.txt")
    assert (again.kind, again.ok) == (DUPLICATE, True)
    assert scene.state.counts.errors == 0


def test_reading_a_file_that_somebody_changed_is_no_duplicate(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "A")
    scene.one("read", path="a.txt")
    scene.put("a.txt", "B")
    assert scene.one("read", path="a.txt").text == "B"


def test_a_file_changed_back_is_a_duplicate_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "A")
    scene.one("read", path="a.txt")
    scene.put("a.txt", "B")
    scene.put("a.txt", "A")
    assert scene.one("read", path="a.txt").kind is DUPLICATE


def test_other_lines_of_the_same_file_are_another_look(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "A")
    scene.one("read", path="a.txt", first_line=1)
    assert scene.one("read", path="a.txt", first_line=2).kind is EXECUTED


def test_what_failed_before_is_tried_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.one("read", path="a.txt")
    scene.put("a.txt", "A")
    assert scene.one("read", path="a.txt").text == "A"


def test_a_listing_is_never_a_duplicate(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert [scene.one("glob", pattern="*").kind for _ in range(2)] == [EXECUTED, EXECUTED]


def test_writing_what_is_there_is_a_duplicate_whoever_wrote_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "A")
    outcome = scene.one("write", path="a.txt", content="A")
    assert outcome.kind is DUPLICATE
    assert scene.tools.made == []
    assert scene.one("write", path="a.txt", content="B").kind is EXECUTED


def test_writing_again_what_somebody_else_overwrote_is_no_duplicate(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.one("write", path="a.txt", content="A")
    scene.put("a.txt", "B")
    assert scene.one("write", path="a.txt", content="A").kind is EXECUTED
    assert scene.text("a.txt") == "A"


def test_an_edit_that_replaces_a_text_by_itself_is_a_duplicate(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "one")
    assert scene.one("edit", path="a.txt", old="one", new="one").kind is DUPLICATE


def test_an_edit_that_was_made_already_is_a_duplicate_and_no_mismatch(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "one two")
    scene.one("edit", path="a.txt", old="one", new="1")
    again = scene.one("edit", path="a.txt", old="one", new="1")
    assert (again.kind, again.ok) == (DUPLICATE, True)


def test_the_same_edit_that_still_has_a_place_is_made_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "-")
    scene.one("edit", path="a.txt", old="-", new="--")
    assert scene.one("edit", path="a.txt", old="-", new="--").kind is EXECUTED
    assert scene.text("a.txt") == "---"


def test_a_command_that_only_looks_is_made_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "A")
    scene.one("bash", command="cat a.txt | wc -l")
    assert scene.one("bash", command="cat a.txt | wc -l").kind is EXECUTED


def test_a_command_that_may_do_something_is_never_a_duplicate(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for command in ("true; date", "python3 -c 'print(1)'", "make x || true"):
        kinds = [scene.one("bash", command=command).kind for _ in range(2)]
        assert kinds == [EXECUTED, EXECUTED]


def test_once_the_conversation_was_cut_looking_again_is_no_repetition(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "A")
    scene.one("read", path="a.txt")
    scene.state.forget()
    assert scene.one("read", path="a.txt").text == "A"


def test_only_so_many_calls_are_remembered(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "A")
    for line in range(MOST_REMEMBERED + 50):
        scene.one("read", path="a.txt", first_line=line)
    assert len(scene.state.duplicates) == MOST_REMEMBERED
    assert scene.one("read", path="a.txt", first_line=0).kind is EXECUTED
    assert scene.one("read", path="a.txt", first_line=MOST_REMEMBERED + 49).kind is DUPLICATE


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cat a.txt | grep x | wc -l",
        "git status && git diff",
        "find . -name '*.py'",
        "cd src && cat x.py",
        "head -n 3 a.txt",
        "grep -n '<b>' a.html",
        "git log -3 --format='%h %s'",
    ],
)
def test_commands_that_only_look(command: str) -> None:
    assert only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "ls > out.txt",
        "find . -delete",
        "find . -exec rm {} +",
        "sort -o a b",
        "cat $HOME/x",
        "echo $(rm -rf x)",
        "git commit -m x",
        "git diff --output=x",
        "sort -oout in",
        "bash script.sh",
        "x=1; $x",
        "rg --pre ./evil x",
        "awk 'BEGIN{system(\"rm x\")}'",
        "sed -n 'w out' a",
        "cat <(touch x)",
        "ls `touch x`",
        "ls & disown",
        "function ls { rm -rf .; }; ls",
        "alias ls=rm; ls x",
        "test -f x && curl http://localhost",
    ],
)
def test_commands_that_are_not_taken_for_mere_looks(command: str) -> None:
    assert not only_looks(command)


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("sed -i s/a/b/ a.html", ("a.html",)),
        ("perl -pi -e 's/a/b/' x.txt", ("x.txt",)),
        ("cat > a.html <<'X'\nhi\nX", ("a.html",)),
        ("echo hi > notes.md && ls", ("notes.md",)),
        ("pytest -q > log.txt", ()),
        ("echo hi > data.bin", ()),
        ("cp a.txt b.txt", ()),
        ("mkdir -p a/b", ()),
        ("sed -n 1p a.html", ()),
    ],
)
def test_which_text_files_a_command_rewrites(command: str, paths: tuple[str, ...]) -> None:
    assert rewritten(command) == paths
