"""`signoff check-artifact`: what it prints, how it ends, and that it works as a contract."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import signoff
from tests.cli.kit import Desk
from tests.cli.plans import step

GOOD = "<!doctype html><title>T</title><p>Hello, reader.</p>"
BAD = '<!doctype html>\n<p>Hello.</p>\n<a href="abuot.html">About</a>\n'


def test_files_that_are_fine_exit_0_and_are_counted_by_checker(desk: Desk) -> None:
    desk.file("site/index.html", GOOD).file("data/a.json", "{}").file("data/b.json", "[]")
    desk.file("data/notes.txt", "x").file("data/node_modules/x.json", "{")
    desk.signoff("check-artifact", "site", "data").exits(0).prints(
        """
        3 files checked (html 1, json 2)
        not checked: 1 file without a checker, `data/node_modules`
        nothing wrong
        """
    )


def test_errors_exit_1_with_file_line_code_and_what_to_do(desk: Desk) -> None:
    desk.file("site/index.html", BAD).file("site/about.html", GOOD).file("a.json", "{\n")
    desk.signoff("check-artifact", "site", "a.json", "report.pdf").exits(1).prints(
        """
        report.pdf:1: error: it is not there [missing-file]
            hint: make it first
        site/index.html:3: error: `abuot.html` is not there [broken-link]
            hint: write `site/abuot.html` first, or link to `site/about.html`
        a.json:2: error: Expecting property name enclosed in double quotes, column 1 [bad-json]
            hint: correct the line
        3 files checked (html 2, json 1)
        3 errors
        """
    )


@pytest.mark.parametrize("arguments", [["empty"], ["notes.txt"], ["huge.json"]])
def test_what_cannot_be_told_exits_3_and_is_never_a_pass(desk: Desk, arguments: list[str]) -> None:
    (desk.workspace / "empty").mkdir()
    desk.file("notes.txt", "x").file("huge.json")
    with (desk.workspace / "huge.json").open("r+b") as file:
        file.truncate(100_000_000)
    desk.signoff("check-artifact", *arguments).exits(3).shows("unknown")


def test_one_folder_with_nothing_to_check_is_not_hidden_by_another(desk: Desk) -> None:
    desk.file("a.json", "{}").file("site/notes.txt", "x")
    desk.signoff("check-artifact", "a.json", "site").exits(3).shows("nothing-checked")


def test_warnings_exit_0_and_with_strict_1(desk: Desk) -> None:
    desk.file("a.html", f'{GOOD}<a href="#">x</a>')
    desk.signoff("check-artifact", "a.html").exits(0).shows("placeholder-link", "1 warning")
    desk.signoff("check-artifact", "a.html", "--strict").exits(1)


def test_thin_pages_are_refused_by_the_thresholds_that_are_given(desk: Desk) -> None:
    desk.file("index.html", GOOD)
    desk.signoff("check-artifact", ".", "--thin-words", "2").exits(0)
    desk.signoff("check-artifact", ".", "--thin-words", "3").exits(1).shows(
        "2 words, 3 are asked for [thin-page]"
    )
    desk.signoff("check-artifact", ".", "--thin-sections", "1").exits(1)


@pytest.mark.parametrize(
    "arguments",
    [[], ["../elsewhere.json"], ["a.json", "--thin-words", "-1"], ["a.json", "--root", "nowhere"]],
)
def test_wrong_usage_exits_2(desk: Desk, arguments: list[str]) -> None:
    desk.file("a.json", "{}")
    desk.signoff("check-artifact", *arguments).exits(2).shows("error: ", "next: ")


def test_the_root_decides_what_absolute_links_mean(desk: Desk) -> None:
    desk.file("site/a.css", "p{}")
    desk.file("site/index.html", f'{GOOD}<link rel="stylesheet" href="/a.css">')
    desk.signoff("check-artifact", "site").exits(1).shows("broken-asset")
    desk.signoff("check-artifact", "site", "--root", "site").exits(0)


def test_json_carries_the_same(desk: Desk) -> None:
    desk.file("index.html", BAD)
    for arguments in (["check-artifact", ".", "--json"], ["--json", "check-artifact", "."]):
        said = desk.signoff(*arguments).exits(1).json
        assert said["schema_version"] == 1 and said["kept"] is False
        assert said["files"] == 1 and said["checkers"] == [{"name": "html", "files": 1}]
        (finding,) = said["findings"]
        assert (finding["path"], finding["line"], finding["code"]) == (
            "index.html",
            3,
            "broken-link",
        )
        assert finding["severity"] == "error" and finding["hint"]


def test_names_and_contents_cannot_command_the_terminal(desk: Desk) -> None:
    desk.file("a\x1b[31m\n.html", GOOD + '<a href="\x1b]0;owned\x07.html">x</a>')
    done = desk.signoff("check-artifact", ".").exits(1)
    assert b"\x1b" not in done.raw_stdout and b"\x07" not in done.raw_stdout
    assert done.stdout.splitlines()[0].startswith("a\\x1b[31m")


def test_it_needs_no_vault_no_home_and_writes_nothing(desk: Desk) -> None:
    desk.file("a.json", "{}")
    before = sorted(desk.folder.rglob("*"))
    desk.signoff("check-artifact", "a.json").exits(0)
    ours = {desk.folder / "config.toml"}  # the desk's own
    assert [path for path in sorted(desk.folder.rglob("*")) if path not in ours] == [
        path for path in before if path not in ours
    ]


def test_as_a_contract_it_sends_the_agent_back_until_the_links_hold(desk: Desk) -> None:
    source = Path(signoff.__file__).parents[1]
    desk.tool("signoff", f'PYTHONPATH={source} exec {sys.executable} -m signoff "$@"')
    desk.agent(
        'mkdir -p site; case "$attempt" in\n'
        "  1) printf '<p>Hello.</p><a href=\"about.html\">About</a>' > site/index.html ;;\n"
        "  *) printf '<p>About us, at some length.</p>' > site/about.html ;;\n"
        "esac"
    )
    desk.plan(step("Build the site", "signoff check-artifact site"))
    desk.run("--yes").exits(0)
    assert desk.dispatched() == ["1", "1"]
    verdicts = [entry["data"]["result"] for entry in desk.entries("verdict")]
    assert verdicts == ["broken", "broken", "kept"]
    (_, second) = desk.attempts()
    assert "`about.html` is not there [broken-link]" in second.prompt
