"""Progress files grow by whole lines; copies of them become one again without losing any."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.errors import PlanUnreadable, UsageError
from signoff.storage.progress import KEPT_FOLDER, merge_copies, progress_line, read_progress
from signoff.storage.vault import Vault
from signoff.testing.crash import VARIABLE, VaultPoint
from tests.architecture.source import modules
from tests.storage.kit import WAIT_S, outputs, worker, workers

MERGE = """
import sys
from pathlib import Path
from signoff.storage.progress import merge_copies
merge_copies(Path(sys.argv[1]), (Path(sys.argv[2]),))
"""
APPEND_THIRTY = """
import sys
from signoff.storage.vault import Vault
for i in range(30):
    Vault(sys.argv[1]).append_progress("a", f"- 2026-01-02T00:00:00+00:00 {sys.argv[2]}-{i}")
"""


def at(hour: int, text: str) -> str:
    return f"- 2026-01-01T{hour:02}:00:00.000000+00:00 ada run=- step=- {text}"


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


def test_what_only_a_copy_holds_is_appended_where_that_keeps_the_order(tmp_path: Path) -> None:
    path, copy = tmp_path / "progress-a.md", tmp_path / "progress-a (1).md"
    path.write_text(f"{at(1, 'one')}\n{at(2, 'two')}\n")
    copy.write_text(f"{at(1, 'one')}\n{at(3, 'three')}\n")
    before = path.stat().st_ino
    kept = merge_copies(path, (copy,))
    assert path.read_text() == f"{at(1, 'one')}\n{at(2, 'two')}\n{at(3, 'three')}\n"
    assert path.stat().st_ino == before, "the same file, only longer"
    assert [p.name for p in kept] == ["progress-a (1).md.1"] and not copy.exists()
    assert kept[0].read_text() == f"{at(1, 'one')}\n{at(3, 'three')}\n"


def test_a_merge_in_between_keeps_every_original(tmp_path: Path) -> None:
    path, copy = tmp_path / "progress.md", tmp_path / "progress (conflicted copy 2026-01-01).md"
    path.write_text(f"{at(1, 'one')}\n{at(3, 'three')}\n")
    copy.write_text(f"{at(2, 'two')}\n")
    original = path.stat().st_ino
    kept = merge_copies(path, (copy,))
    assert path.read_text() == f"{at(1, 'one')}\n{at(2, 'two')}\n{at(3, 'three')}\n"
    assert {p.parent.name for p in kept} == {KEPT_FOLDER} and len(kept) == 2
    assert kept[0].stat().st_ino == original, "the old file itself was given another name"
    assert kept[0].read_text() == f"{at(1, 'one')}\n{at(3, 'three')}\n"


def test_originals_never_take_each_others_names(tmp_path: Path) -> None:
    path, copy = tmp_path / "progress.md", tmp_path / "progress (1).md"
    path.write_text(f"{at(9, 'nine')}\n")
    for hour in (1, 2, 3):
        copy.write_text(f"{at(hour, 'early')}\n")
        merge_copies(path, (copy,))
    names = sorted(p.name for p in (tmp_path / KEPT_FOLDER).iterdir())
    assert names == sorted(f"progress{c}.md.{n}" for c in ("", " (1)") for n in (1, 2, 3))
    assert read_progress(path).count("\n") == 4


def test_a_copy_without_its_original_becomes_the_progress_file(tmp_path: Path) -> None:
    copy = tmp_path / "progress-a (1).md"
    copy.write_text(f"{at(1, 'one')}\n")
    merge_copies(tmp_path / "progress-a.md", (copy,))
    assert (tmp_path / "progress-a.md").read_text() == f"{at(1, 'one')}\n"


@pytest.mark.parametrize(
    "point", [VaultPoint.PROGRESS_KEPT, VaultPoint.PROGRESS_MERGED, VaultPoint.COPY_KEPT]
)
def test_a_merge_that_is_killed_loses_nothing_and_is_finished_by_the_next(
    tmp_path: Path, point: VaultPoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, copy = tmp_path / "progress.md", tmp_path / "progress (1).md"
    path.write_text(f"{at(1, 'one')}\n{at(3, 'three')}\n")
    copy.write_text(f"{at(2, 'two')}\n")
    with monkeypatch.context() as changed:
        changed.setenv(VARIABLE, point)
        killed = worker(MERGE, path, copy)
        killed.communicate(timeout=WAIT_S)
    assert killed.returncode == -9
    everything = "".join(p.read_text() for p in tmp_path.rglob("*") if p.is_file())
    assert all(at(hour, text) in everything for hour, text in ((1, "one"), (2, "two")))
    if copy.exists():
        merge_copies(path, (copy,))
    assert path.read_text() == f"{at(1, 'one')}\n{at(2, 'two')}\n{at(3, 'three')}\n"


def test_lines_appended_while_files_are_merged_are_not_lost(tmp_path: Path) -> None:
    vault = Vault(tmp_path)
    path, copy = vault.progress_path("a"), tmp_path / "progress-a (1).md"
    with workers(APPEND_THIRTY, 4, tmp_path) as processes:
        for number in range(40):
            copy.write_text(f"- 2026-01-01T00:00:00.{number:06}+00:00 copied-{number}\n")
            merge_copies(path, (copy,))
        outputs(processes)
    lines = path.read_text().splitlines()
    expected = {f"{w}-{i}" for w in range(4) for i in range(30)}
    expected |= {f"copied-{n}" for n in range(40)}
    assert sorted(line.rsplit(" ", 1)[1] for line in lines) == sorted(expected)


def test_reading_shows_the_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "progress.md"
    path.write_text(f"{at(2, 'late')}\nnote\n{at(1, 'early')}\n")
    assert read_progress(path) == f"{at(1, 'early')}\n{at(2, 'late')}\nnote\n"
    assert read_progress(tmp_path / "none.md") == ""


_REPLACERS = re.compile(
    r"\b(?:durable_replace|swap_file|os\.(?:rename|replace)|write_(?:text|bytes)|truncate)\("
)
_PROGRESS = re.compile(r"\bprogress_(?:path|file|at)\b|UNNAMED_PROGRESS|merge_progress")


def test_no_writer_anywhere_replaces_a_progress_file() -> None:
    """But for the merge, and that one after it has given the old file a second name."""
    (only,) = _replacing(modules())
    assert only == "storage/progress.py _merge_into"
    body = modules()["storage/progress.py"].partition("def _merge_into")[2]
    assert body.index("_second_name(path)") < body.index("durable_replace(path")
    planted = {"cli/x.py": "def f(v, n):\n    durable_replace(v.progress_path(n), b'')\n"}
    assert _replacing(planted) == ["cli/x.py f"]


def _replacing(sources: dict[str, str]) -> list[str]:
    """Functions that know where progress lies and call what replaces files."""
    return [
        f"{name} {node.name}"
        for name, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef)
        and (name == "storage/progress.py" or _PROGRESS.search(ast.unparse(node)))
        and _REPLACERS.search(ast.unparse(node))
    ]
