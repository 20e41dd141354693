"""A unified diff is applied exactly and as a whole, or not at all."""

from __future__ import annotations

import difflib
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agents.toolkit import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _diff(path: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    text = ""
    for line in lines:
        text += line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    return text


LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "-d", "+e", "@@", "\\ x"]), max_size=12)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, LINES, st.booleans(), st.booleans())
def test_the_diff_of_any_two_texts_turns_one_into_the_other(
    bench: Bench, old: list[str], new: list[str], old_ends: bool, new_ends: bool
) -> None:
    before = "\n".join(old) + ("\n" if old and old_ends else "")
    after = "\n".join(new) + ("\n" if new and new_ends else "")
    diff = _diff("t.txt", before, after)
    bench.file("t.txt", before)
    if diff:
        bench.does("patch", diff=diff)
        assert (bench.work / "t.txt").read_text() == after


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_git_prints_is_understood(bench: Bench) -> None:
    bench.file("x/a.txt", "one\ntwo\n")
    bench.file("y/a.txt", "one\n2\nthree\n")
    bench.file("y/new file.txt", "new\n")
    bench.file("x/old.txt", "old\n")
    printed = subprocess.run(
        ["git", "diff", "--no-index", "--no-prefix", "x", "y"],
        cwd=bench.work,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    bench.does("patch", diff=printed.replace("y/", "x/"))
    assert (bench.work / "x/a.txt").read_text() == "one\n2\nthree\n"
    assert (bench.work / "x/new file.txt").read_text() == "new\n"
    assert not (bench.work / "x/old.txt").exists()


def test_a_hunk_that_moved_is_found_and_one_that_does_not_fit_changes_nothing(
    bench: Bench,
) -> None:
    bench.file("a.txt", "new top\n" * 5 + "one\ntwo\nthree\n")
    bench.file("b.txt", "b\n")
    diff = _diff("a.txt", "one\ntwo\nthree\n", "one\n2\nthree\n")
    wrong = _diff("b.txt", "not b\n", "c\n")
    assert "hunk 1 of `b.txt` does not fit" in bench.refuses("patch", diff=diff + wrong)
    assert "two" in (bench.work / "a.txt").read_text()
    bench.does("patch", diff=diff)
    assert (bench.work / "a.txt").read_text() == "new top\n" * 5 + "one\n2\nthree\n"


def test_a_file_with_other_line_endings_keeps_them(bench: Bench) -> None:
    bench.file("a.txt", "one\r\ntwo\r\n")
    bench.does("patch", diff=_diff("a.txt", "one\ntwo\n", "one\n2\n"))
    assert (bench.work / "a.txt").read_bytes() == b"one\r\n2\r\n"


@pytest.mark.parametrize("path", ["../outside/secret", "PLAN.md", ".git/config"])
def test_a_diff_reaches_no_further_than_write(bench: Bench, path: str) -> None:
    bench.refuses("patch", diff=_diff(path, "untouched\n", "touched\n"))
    bench.refuses("patch", diff=f"--- a/{path}\n+++ /dev/null\n@@ -1 +0,0 @@\n-untouched\n")
    new = f"--- /dev/null\n+++ b/{path}.new\n@@ -0,0 +1 @@\n+x\n"
    if path.startswith("."):
        bench.refuses("patch", diff=new)
    assert (bench.folder / "outside/secret").read_text() == "untouched\n"
    assert (bench.work / "PLAN.md").read_text() == "untouched\n"


@pytest.mark.parametrize(
    ("diff", "says"),
    [
        ("hello", "this is no unified diff"),
        ("--- a\nhello\n", "should start with `+++ `"),
        ("--- a\n+++ b\nhello\n", "should be a `@@ -1,2 +1,2 @@` line"),
        ("--- a\n+++ b\n@@ -1,3 +1,3 @@\n x\n", "has fewer lines than it says"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n", "changes nothing into nothing"),
        ("--- /dev/null\n+++ b/signoff2.toml\n@@ -0,0 +1 @@\n+x\n", "exists already"),
    ],
)
def test_what_is_no_diff_is_told_with_its_line(bench: Bench, diff: str, says: str) -> None:
    bench.file("signoff2.toml", "")
    assert says in bench.refuses("patch", diff=diff)
