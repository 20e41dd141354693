"""Progress files grow by whole lines, and nobody replaces one."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.errors import PlanUnreadable, UsageError
from signoff.storage.vault import Vault, progress_line, read_progress
from tests.architecture.source import modules


def test_a_line_says_when_who_and_about_what() -> None:
    line = progress_line("2026-11-16T03:00:00.000000+00:00", "ada", "r1", "2", "step done")
    assert line == "- 2026-11-16T03:00:00.000000+00:00 ada run=r1 step=2 step done"
    bare = progress_line("2026-11-16T03:00:00.000000+00:00", "", None, None, "x")
    assert bare == "- 2026-11-16T03:00:00.000000+00:00 - run=- step=- x"


@given(author=st.text(), run=st.text(), step=st.text(), text=st.text())
def test_no_text_can_pretend_to_be_another_line_or_field(
    author: str, run: str, step: str, text: str
) -> None:
    line = progress_line("2026-11-16T03:00:00.000000+00:00", author, run, step, text)
    assert "\n" not in line and "\r" not in line and len(line) <= 2_000
    assert re.match(r"- \S+ \S+ run=\S+ step=\S+ ", line)


def test_a_text_without_end_is_cut() -> None:
    line = progress_line("2026-11-16T03:00:00.000000+00:00", "a" * 9_999, "r", "1", "x" * 9_999)
    assert len(line) == 2_000 and line.endswith("…")


def test_several_lines_are_appended_together(tmp_path: Path) -> None:
    vault = Vault(str(tmp_path / ".harness"))
    vault.append_progress("a", "one", "two")
    vault.append_progress("a")
    vault.append_progress("a", "three")
    assert vault.progress_path("a").read_text() == "one\ntwo\nthree\n"
    with pytest.raises(UsageError):
        vault.append_progress("a", "good", "bad\nline")
    assert vault.progress_path("a").read_text() == "one\ntwo\nthree\n", "none or all"


def test_progress_that_is_a_link_or_a_pipe_is_not_written(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "progress-a.md").symlink_to("victim")
    os.mkfifo(tmp_path / "progress-b.md")
    for name in ("a", "b"):
        with pytest.raises(PlanUnreadable):
            vault.append_progress(name, "x")
    assert (tmp_path / "victim").read_text() == "precious"


def test_reading_shows_every_line_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "progress.md"
    path.write_bytes(b"- late\nnote\n- early \xff\ntorn")
    assert read_progress(path) == ("- late", "note", "- early \ufffd", "torn")
    assert read_progress(tmp_path / "none.md") == ()


_REPLACERS = re.compile(
    r"\b(?:durable_replace|swap_file|os\.(?:rename|replace)|write_(?:text|bytes)|truncate)\("
)
_PROGRESS = re.compile(r"\bprogress_(?:path|file|at)\b|UNNAMED_PROGRESS")


def test_no_writer_anywhere_replaces_a_progress_file() -> None:
    assert _replacing(modules()) == []
    planted = {"cli/x.py": "def f(v, n):\n    durable_replace(v.progress_path(n), b'')\n"}
    assert _replacing(planted) == ["cli/x.py f"]


def _replacing(sources: dict[str, str]) -> list[str]:
    """Functions that know where progress lies and call what replaces files."""
    return [
        f"{name} {node.name}"
        for name, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        and _PROGRESS.search(ast.unparse(node))
        and _REPLACERS.search(ast.unparse(node))
    ]
