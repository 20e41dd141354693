"""Whoever reads our output may leave when they have seen enough."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cli.ended import LIMIT_S
from tests.cli.kit import Desk
from tests.cli.plans import step


def _to_nobody(desk: Desk, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            desk.command(arguments),
            cwd=desk.workspace,
            env=desk.environment(),
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=LIMIT_S,
            check=False,
        )
    finally:
        os.close(writer)


@pytest.mark.parametrize("words", [("status",), ("log", "--json"), ("show",)])
def test_a_reader_who_leaves_does_not_change_the_exit_code_of_a_done_plan(
    desk: Desk, words: tuple[str, ...]
) -> None:
    desk.agent("echo x > a.txt").plan(step("Do it", "test -s a.txt"))
    desk.run("--yes").exits(0)

    ended = _to_nobody(desk, words[0], "PLAN.md", *words[1:])

    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_reader_who_leaves_does_not_make_a_plan_that_is_not_done_look_done(desk: Desk) -> None:
    desk.agent("true").plan(step("Do it", "test -s a.txt"))

    assert _to_nobody(desk, "status", "PLAN.md").returncode == 1
    assert _to_nobody(desk, "status", "elsewhere.md").returncode == 4


def test_more_output_than_a_pipe_holds_is_no_failure_either(desk: Desk) -> None:
    desk.file("PLAN.md", "# Long\n\n" + "words and more words\n" * 20_000)

    ended = _to_nobody(desk, "show", "PLAN.md")

    assert (ended.returncode, ended.stderr) == (0, b"")


def test_the_list_of_verbs_may_be_read_half(desk: Desk) -> None:
    assert _to_nobody(desk, "--help").returncode == 0
