"""A report says what was checked and what was not; nothing checked is never a pass."""

from __future__ import annotations

import os

from signoff.toolbatch.checkers import FileSeverity, check
from tests.toolbatch.checkers.kit import Artifacts, page


def test_a_report_counts_files_by_checker_and_names_what_it_left_out(artifacts: Artifacts) -> None:
    artifacts.file("a.json", "{}").file("b/c.md", "text").file("b/notes.txt", "x")
    for folder in (".git", "node_modules", ".harness", "b/.venv", "__pycache__"):
        artifacts.file(f"{folder}/bad.json", "{")
    artifacts.file("myenv/pyvenv.cfg", "home = /usr").file("myenv/lib/bad.json", "{")
    report = artifacts.report()
    assert report.kept and report.files == 2
    assert report.by_checker == {"json": 1, "markdown": 1}
    assert report.skipped_files == ("b/notes.txt",)
    assert set(report.skipped_folders) == {
        ".git",
        ".harness",
        "__pycache__",
        "b/.venv",
        "myenv",
        "node_modules",
    }


def test_one_planted_file_does_not_make_a_folder_a_virtual_environment(
    artifacts: Artifacts,
) -> None:
    artifacts.file("site/pyvenv.cfg", "home = /usr").file("site/bad.json", "{")
    assert artifacts.found() == ["site/bad.json:1 bad-json"]


def test_a_folder_that_is_named_itself_is_checked_whatever_its_name(artifacts: Artifacts) -> None:
    artifacts.file("venv/bad.json", "{")
    assert artifacts.found("venv") == ["venv/bad.json:1 bad-json"]


def test_what_is_named_and_not_there_is_an_error(artifacts: Artifacts) -> None:
    artifacts.file("a.json", "{}")
    assert artifacts.found("a.json", "b.json") == ["b.json:1 missing-file"]


def test_nothing_to_check_is_unknown(artifacts: Artifacts) -> None:
    assert artifacts.found(".") == [".:1 ~nothing-checked"]
    artifacts.file("a.json", "{}").file("out/notes.txt", "x")
    assert artifacts.found("a.json", "out") == ["out:1 ~nothing-checked"]
    assert artifacts.found("a.json", "out/notes.txt") == ["out/notes.txt:1 ~no-checker"]
    assert not check((), artifacts.root).kept


def test_a_file_is_checked_once_however_often_it_is_named(artifacts: Artifacts) -> None:
    artifacts.file("d/a.json", "{")
    assert artifacts.found("d", "d/a.json", "./d/../d") == ["d/a.json:1 bad-json"]


def test_what_cannot_be_read_or_is_too_large_is_unknown(artifacts: Artifacts) -> None:
    os.mkfifo(artifacts.root / "pipe.json")
    (artifacts.root / "gone.json").symlink_to("nowhere.json")
    (artifacts.root / "out.json").symlink_to(artifacts.root.parent / "outside.html")
    artifacts.file("huge.json")
    os.truncate(artifacts.root / "huge.json", 3_000_000_000)
    assert artifacts.found() == [
        "gone.json:1 ~unreadable",
        "huge.json:1 ~too-large",
        "out.json:1 ~unreadable",
        "pipe.json:1 ~unreadable",
        ".:1 ~nothing-checked",
    ]
    assert artifacts.report().files == 0


def test_folders_that_are_links_are_not_walked(artifacts: Artifacts) -> None:
    artifacts.file("real/a.json", "{}")
    (artifacts.root / "real" / "loop").symlink_to(artifacts.root)
    (artifacts.root / "away").symlink_to(artifacts.root.parent)
    report = artifacts.report()
    assert report.files == 1 and report.kept
    assert "real/loop" in report.skipped_folders


def test_suffixes_are_known_in_any_case(artifacts: Artifacts) -> None:
    assert artifacts.of("A.JSON", "{") == ["1 bad-json"]


def test_a_file_with_endless_findings_is_told_up_to_a_limit(artifacts: Artifacts) -> None:
    found = artifacts.of("a.html", "".join(f"<a href='m{n}.html'>x</a>" for n in range(5000)))
    assert len(found) == 101 and found[-1] == "1 -too-many-findings"


def test_names_that_are_strange_are_only_names(artifacts: Artifacts) -> None:
    artifacts.file("a\nb.json", "{").file("-rf.json", "{").file("ü?.json", "{")
    findings = artifacts.report().findings
    assert {finding.path for finding in findings} == {"a\nb.json", "-rf.json", "ü?.json"}
    assert all(finding.severity is FileSeverity.ERROR for finding in findings)


def test_a_write_that_introduces_a_broken_link_is_told_before_it_happens(
    artifacts: Artifacts,
) -> None:
    artifacts.file("about.html", page("<p id=team>x"))
    text = page('<a href="about.html#team">a</a><a href="invented.html">b</a><a href="#x">c</a>')
    assert artifacts.introduced("index.html", text) == [
        "index.html:1 broken-link",
        "index.html:1 broken-anchor",
    ]
    assert not (artifacts.root / "index.html").exists()


def test_what_was_broken_before_is_not_introduced(artifacts: Artifacts) -> None:
    artifacts.file("index.html", page('<a href="old.html">a</a>'))
    moved = page('\n\n<a href="old.html">a</a>')
    assert artifacts.introduced("index.html", moved) == []
    more = page('<a href="old.html">a</a>\n<a href="old.html">b</a>\n<a href="new.html">c</a>')
    assert artifacts.introduced("index.html", more) == [
        "index.html:2 broken-link",
        "index.html:3 broken-link",
    ]


def test_a_write_is_judged_with_itself_in_place(artifacts: Artifacts) -> None:
    text = page('<a href="index.html#here">a</a><a href="./">b</a><p id=here>x')
    assert artifacts.introduced("new/index.html", text) == []
    assert artifacts.introduced("new/data.json", '{"a": 1,}') == ["new/data.json:1 bad-json"]
    assert artifacts.introduced("notes.txt", "whatever") == []


def test_a_write_of_what_was_broken_already_and_stays_so_introduces_nothing(
    artifacts: Artifacts,
) -> None:
    artifacts.file("a.py", "def f(:\n")
    assert artifacts.introduced("a.py", "x = 1\ndef f(:\n") == []
    assert artifacts.introduced("b.py", "def f(:\n") == ["b.py:1 syntax"]
