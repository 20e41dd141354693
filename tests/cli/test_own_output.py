"""signoff's own output in the workspace is refused before anything runs, and named as our own."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from tests.cli.ended import LIMIT_S
from tests.cli.kit import Desk
from tests.cli.plans import step

WORK = "echo firm > ground"
GROUND = step("Lay the ground", "grep -qx firm ground")


def _in_shell(desk: Desk, redirection: str) -> int:
    """As a person types it, with the exit code of signoff itself."""
    command = shlex.join(desk.command(["run", "PLAN.md", "--yes"]))
    script = f"{command} {redirection}\nexit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=desk.workspace,
        env=desk.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    return done.returncode


@pytest.mark.parametrize(
    "redirection",
    [
        "> run.log 2>&1",
        "2> run.log",
        "2>&1 | tee run.log",
        "2>&1 | cat | tee run.log > /dev/null",
    ],
)
def test_output_into_the_workspace_is_refused_and_called_our_own(
    desk: Desk, redirection: str
) -> None:
    desk.agent(WORK).plan(GROUND)
    assert _in_shell(desk, redirection) == 2
    said = desk.read("run.log")
    assert "error: signoff's own output goes to `run.log` in the workspace" in said
    assert "next: write it outside the workspace, as in > ../run.log" in said
    assert desk.log() == [] and desk.attempts() == []


@pytest.mark.parametrize("redirection", ["> ../run.log 2>&1", "2>&1 | tee ../run.log"])
def test_output_outside_the_workspace_is_nobodys_business(desk: Desk, redirection: str) -> None:
    desk.agent(WORK).plan(GROUND)
    assert _in_shell(desk, redirection) == 0
    assert "Build a house  [done]" in (desk.folder / "run.log").read_text()


def test_output_into_an_ignored_file_is_no_content(desk: Desk) -> None:
    desk.git().file(".gitignore", "*.log\n").agent(WORK).plan(GROUND)
    assert _in_shell(desk, "> run.log 2>&1") == 0


def test_a_log_ignored_after_the_approval_counts_until_it_is_approved_again(desk: Desk) -> None:
    desk.git().agent(WORK).plan(GROUND)
    desk.about_plan("approve", "--yes").exits(0)
    desk.file(".gitignore", "*.log\n")
    assert _in_shell(desk, "> run.log 2>&1") == 2
    assert "counts until it is approved again" in desk.read("run.log")
    desk.about_plan("approve", "--yes").exits(0)
    assert _in_shell(desk, "> run.log 2>&1") == 0
