"""Whatever a client sends and whatever is broken: exit code 0, output a client can read."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.cli.ended import LIMIT_S
from tests.cli.project import Project
from tests.cli.test_fast_paths import SLOW
from tests.cli.test_start_up import LOADED
from tests.hooks.kit import FakeClient

ODD = {
    "empty": b"",
    "no JSON": b"{",
    "no object": b"[1]",
    "half a character": b'{"session_id": "\\ud800", "cwd": "\\ud800"}',
    "no UTF-8": b'{"session_id": "\xff"}',
    "deep": b"[" * 200_000,
    "wrong types": b'{"session_id": 1, "cwd": [], "hook_event_name": {}, "tool_input": 3}',
    "another event": b'{"hook_event_name": "PreCompact"}',
    "a folder that is not there": b'{"cwd": "/nowhere/at/all", "hook_event_name": "Stop"}',
}


@pytest.mark.parametrize("what", ODD)
def test_odd_input_is_no_accident(bound: Project, client: FakeClient, what: str) -> None:
    for event in ("stop", "before-tool"):
        ended = client.call("hook", "claude", event, stdin=ODD[what]).exits(0).is_plain()
        ended.hides("Traceback")
        if ended.stdout and event == "stop":
            assert ended.json["decision"] == "block", "understood well enough to ask the gate"
        elif ended.stdout:
            assert what == "deep", "what is hidden in there counts as hidden"


@pytest.mark.parametrize(
    "arguments", [(), ("claude",), ("emacs", "stop"), ("claude", "lunch"), ("claude", "stop", "x")]
)
def test_a_wrong_command_line_blocks_nobody(
    bound: Project, client: FakeClient, arguments: tuple[str, ...]
) -> None:
    ended = client.call("hook", *arguments, stdin=b"{}").exits(0)
    assert ended.stdout == "" and "nothing was checked" in ended.stderr


@pytest.mark.parametrize("broken", ["ledger", "config", "home", "repository-config"])
def test_a_broken_installation_lets_the_agent_go_and_says_so(
    bound: Project, client: FakeClient, broken: str
) -> None:
    if broken == "ledger":
        bound.ledger_file.write_bytes(b"no database at all " * 60)
    elif broken == "config":
        bound.person('vault = [\n"')
    elif broken == "home":
        bound.variable(SIGNOFF_HOME="relative")
    else:
        bound.file("signoff.toml", "[[[")
    ended = client.stop()
    assert ended.stdout == "" and "the agent may go on; next: " in ended.stderr
    client.denied("Write", file_path="x.txt")


def test_the_session_block_reaches_the_agent(bound: Project, client: FakeClient) -> None:
    answer = client.hook("session-start", source="startup").json["hookSpecificOutput"]
    assert answer["hookEventName"] == "SessionStart"
    assert "this worktree works on plan auth" in answer["additionalContext"]
    assert answer["additionalContext"] == bound.signoff("session-start").stdout


def test_help_is_there_and_lists_the_events(project: Project) -> None:
    project.signoff("hook", "--help").exits(0).shows("before-tool", "always 0")


def test_nothing_is_printed_where_signoff_is_not_used(project: Project, client: FakeClient) -> None:
    project.vault.rmdir()
    told = json.dumps({"cwd": str(project.workspace), "session_id": "s"}).encode()
    for event in ("session-start", "before-tool", "stop", "session-end"):
        ended = client.call("hook", "claude", event, stdin=told).exits(0)
        assert (ended.stdout, ended.stderr) == ("", "")
    assert not project.home.exists(), "looking makes nothing"


@pytest.mark.parametrize("event", ["session-start", "before-tool", "stop", "session-end"])
def test_a_hook_with_nothing_to_do_loads_nothing_slow(project: Project, event: str) -> None:
    project.vault.rmdir()
    told = json.dumps({"cwd": str(project.workspace), "session_id": "s"}).encode()
    bare = _modules(project, LOADED.partition("sys.argv")[0], b"")
    loaded = _modules(project, LOADED, told, "hook", "claude", event)
    assert "signoff" in loaded and not (loaded - bare) & SLOW, (loaded - bare) & SLOW


def _modules(project: Project, code: str, stdin: bytes, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        input=stdin,
        cwd=project.workspace,
        env=project.environment(),
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    return set(done.stdout.decode().splitlines()[-1].partition("modules:")[2].split())
