"""The shell and the notebook of a model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.agents.tools.context import Shell
from signoff.domain.verdict import Isolation
from signoff.process.environment import STANDARD_PATH
from signoff.process.sandboxes import probe_sandboxes
from signoff.settings.roles import Role
from signoff.verification.enclosure import Enclosure
from tests.agents.toolkit import Bench

BOXED = [s.isolation for s in probe_sandboxes() if s.available]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_command_shows_its_output_and_its_exit_code(bench: Bench) -> None:
    assert bench.does("bash", command="echo out; echo err >&2") == (
        "exit code 0\n--- stdout\nout\n--- stderr\nerr"
    )
    assert bench.refuses("bash", command="echo so; exit 3") == (
        "error: exit code 3\n--- stdout\nso"
    )


def test_a_command_that_hangs_is_stopped_with_everything_it_started(bench: Bench) -> None:
    told = bench.refuses("bash", command="(sleep 600 & echo $! > pid); sleep 600", timeout_s=1)
    assert "timed out" in told
    assert not Path(f"/proc/{(bench.work / 'pid').read_text().strip()}").exists()


def test_nothing_goes_on_in_the_background(bench: Bench) -> None:
    told = bench.does("bash", command="setsid sleep 600 > /dev/null 2>&1 & echo $! > pid")
    assert "left running and were ended" in told
    assert not Path(f"/proc/{(bench.work / 'pid').read_text().strip()}").exists()


def test_endless_output_is_capped_and_both_ends_are_shown(bench: Bench) -> None:
    told = bench.does("bash", command="echo first; yes | head -n 1000000; echo last")
    assert "first" in told and "last" in told and "bytes not kept" in told
    assert len(told) < 30_000


def test_a_command_does_not_see_the_callers_secrets(bench: Bench) -> None:
    shell = replace(bench.context.shell, environ={"OPENAI_API_KEY": "sk-1234567890", "LANG": "C"})
    bench.change(shell=shell)
    assert "sk-1234567890" not in bench.does("bash", command="env")
    passed = replace(shell, role=Role("agent", "", env=("OPENAI_API_KEY",)))
    bench.change(shell=passed)
    assert "sk-1234567890" in bench.does("bash", command="env"), "the test would see it"


@pytest.mark.parametrize(
    "command",
    ["echo x > signoff.toml", "rm -r .harness", "rm signoff.toml", "mv .git g; echo x > .git"],
)
def test_without_a_sandbox_meddling_is_noticed_and_fails(bench: Bench, command: str) -> None:
    told = bench.outcome("bash", {"command": command})
    assert not told.ok and "belongs to the harness or the user" in told.text
    assert bench.outcome("bash", {"command": "echo x > own.txt"}).ok


@pytest.mark.parametrize("arguments", [{"timeout_s": 0}, {"timeout_s": 10_000}, {"command": " "}])
def test_limits_of_a_command_are_checked(bench: Bench, arguments: dict[str, object]) -> None:
    bench.refuses("bash", **{"command": "true", **arguments})


@pytest.mark.skipif(not BOXED, reason="no sandbox works here")
def test_a_confined_command_changes_the_workspace_and_nothing_else(bench: Bench) -> None:
    workspace = bench.context.workspace
    enclosure = Enclosure(
        isolation=BOXED[0],
        hidden=(bench.folder / "home",),
        untouchable=(workspace / ".git", workspace / "PLAN.md"),
        search_path=STANDARD_PATH,
    )
    bench.change(shell=Shell(enclosure=enclosure, environ=dict(os.environ)))
    bench.does("bash", command="echo made > made.txt")
    bench.refuses("bash", command=f"echo touched > {bench.folder}/outside/secret")
    if BOXED[0] is Isolation.BUBBLEWRAP:
        bench.refuses("bash", command="echo touched > PLAN.md")
        bench.refuses("bash", command=f"cat {bench.folder}/home/ledger")
    assert (workspace / "made.txt").read_text() == "made\n"
    assert (bench.folder / "outside/secret").read_text() == "untouched\n"
    assert (workspace / "PLAN.md").exists()


def test_a_list_and_notes_are_kept_and_shown(bench: Bench) -> None:
    items = [{"text": "one", "done": True}, {"text": "two"}]
    assert bench.does("todo", items=items) == "[x] one\n[ ] two"
    assert bench.does("scratchpad", key="sizes", text="a=1") == "noted; cite it as scratchpad:sizes"
    assert bench.does("scratchpad", key="sizes") == "a=1"
    assert "no note `other`; there are: `sizes`" in bench.refuses("scratchpad", key="other")
    assert "cannot be a key" in bench.refuses("scratchpad", key="a b", text="x")
    kept = bench.context.notebook.to_data()
    assert kept == {"todo": [["one", True], ["two", False]], "scratchpad": {"sizes": "a=1"}}


def test_a_question_reaches_the_person_or_says_that_nobody_is_there(bench: Bench) -> None:
    assert "nobody is there" in bench.refuses("ask_user", question="Which colour?")
    bench.change(ask=lambda question: f"red, to `{question}`")
    assert bench.does("ask_user", question="Which colour?") == "red, to `Which colour?`"
