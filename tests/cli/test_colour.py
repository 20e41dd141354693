"""Colours and symbols are for terminals: what they mean, who turns them off, what is cut."""

from __future__ import annotations

import re
import unicodedata

import pytest

from signoff.cli.show import cut
from tests.cli.kit import Desk
from tests.cli.plans import step

GREEN, RED, YELLOW, MAGENTA = "32", "31", "33", "35"
COLUMNS = 160
TITLE = "Build " + "a very long hut " * 30
# Keeps step 1, lies about step 2; what it prints would paint and move the cursor.
AGENT = r"""printf '\033[35mowned\033[2J\r\n'; [ "$SIGNOFF_STEP" = 2 ] || echo x > hut"""


@pytest.fixture
def waiting(desk: Desk) -> Desk:
    """A desk with a step that is kept, and one that waits for a person."""
    desk.agent(AGENT).plan(
        step("Build", "test -s hut"), step(TITLE, "test -s roof", on_fail="escalate")
    )
    desk.run("--yes").exits(6)
    return desk


def _painted(shown: str, colour: str) -> list[str]:
    return re.findall(rf"\x1b\[{colour}m(.*?)\x1b\[", shown)


def _bare(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.replace("\r", ""))


def test_a_terminal_shows_kept_green_broken_red_and_waiting_yellow(waiting: Desk) -> None:
    shown = waiting.at_terminal("log", "PLAN.md").exits(0).stdout
    assert "\x1b[32m✓\x1b[0m step 1 · attempt 1 · kept: exit code 0" in shown
    assert "\x1b[31m✗\x1b[0m step 2 · attempt 1 · broken: exit code 1, expected 0" in shown
    assert "\x1b[33m?\x1b[0m step 2 · question" in shown
    assert "· step 2 · before any work · broken" in shown, "as it should be, so no alarm"
    status = waiting.at_terminal("status", "PLAN.md").exits(6).stdout
    assert "  \x1b[32m✓\x1b[0m 1  Build" in status and "  \x1b[33m?\x1b[0m 2  Build" in status
    assert _painted(status, YELLOW)[0] == "Build a house  [in-progress]"
    assert "owned" not in status and "\x1b[2J" not in waiting.at_terminal("inbox").stdout


def test_tampering_is_magenta(desk: Desk) -> None:
    desk.file("tests/check", "test -s hut\n")
    desk.agent("echo true > tests/check").plan(
        step("Build", "sh tests/check", protects="tests/**", on_fail="escalate")
    )
    shown = desk.at_terminal("run", "PLAN.md", "--yes").exits(6).stdout
    assert _painted(shown, MAGENTA) == ["‼"]
    assert "‼ step 1 · attempt 1 · tampered: `tests/check`" in _bare(shown)


def test_a_run_at_a_terminal_uses_the_same_colours(desk: Desk) -> None:
    desk.agent(AGENT).plan(step("Build", "test -s hut"))
    shown = desk.at_terminal("run", "PLAN.md", "--yes").exits(0).stdout
    assert {"✓", "Build a house  [done]"} <= set(_painted(shown, GREEN))
    assert not _painted(shown, MAGENTA)


@pytest.mark.parametrize("verb", ["log", "status", "inbox"])
def test_pipes_no_color_and_dumb_terminals_get_no_colour(waiting: Desk, verb: str) -> None:
    words = [verb, "PLAN.md"]
    waiting.signoff(*words).is_plain()
    assert "\x1b" not in waiting.at_terminal(*words, "--color", "never").stdout
    assert "\x1b" in waiting.at_terminal(*words).stdout
    assert "\x1b" not in waiting.variable(NO_COLOR="1").at_terminal(*words).stdout
    assert "\x1b" in waiting.at_terminal("--color", "always", *words).stdout
    del waiting.variables["NO_COLOR"]
    assert "\x1b" not in waiting.variable(TERM="dumb").at_terminal(*words).stdout


@pytest.mark.parametrize("where", ["before", "behind"])
def test_always_paints_pipes_too_and_never_the_json(waiting: Desk, where: str) -> None:
    colour = ("--color", "always")
    words = (*colour, "log", "PLAN.md") if where == "before" else ("log", "PLAN.md", *colour)
    assert _painted(waiting.signoff(*words).exits(0).stdout, RED)
    assert "\x1b" not in waiting.signoff(*words, "--json").exits(0).stdout
    waiting.signoff("log", "--color", "mauve").fails(2, "`--color`", "mauve")


def test_a_terminal_gets_log_lines_of_its_width_and_a_pipe_gets_all(waiting: Desk) -> None:
    lines = _bare(waiting.at_terminal("log", "PLAN.md").exits(0).stdout).splitlines()
    assert all(len(line) <= COLUMNS for line in lines)
    (asked,) = [line for line in lines if "question" in line]
    assert len(asked) == COLUMNS and asked.endswith("…")
    assert TITLE.rstrip() in waiting.about_plan("log").exits(0).stdout


def test_a_terminal_of_another_encoding_sees_escapes(waiting: Desk) -> None:
    waiting.variable(PYTHONIOENCODING="ascii")
    waiting.about_plan("log").exits(0).shows(r"step 1 \xb7 attempt 1 \xb7 kept")


@pytest.mark.parametrize(
    "text", ["plain text", "中文字符混合 text", "e\u0301te\u0301 à la e\u0301", ""]
)
def test_what_is_cut_fits_whatever_it_is_written_in(text: str) -> None:
    def width(shown: str) -> int:
        wide = sum(unicodedata.east_asian_width(c) in "WF" for c in shown)
        return len(shown) + wide - sum(map(bool, map(unicodedata.combining, shown)))

    assert cut(text, width(text)) == text
    for room in range(1, width(text)):
        shown = cut(text, room)
        assert width(shown) <= room and shown.endswith("…") and text.startswith(shown[:-1])
