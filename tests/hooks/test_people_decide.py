"""Only people decide: from a client's own shell nothing of theirs goes through."""

from __future__ import annotations

import json

import pytest

from tests.cli.plans import step
from tests.cli.project import Project
from tests.hooks.kit import FakeClient

DECISIONS = [
    ("approve", "auth", "--yes"),
    ("reject", "auth"),
    ("answer", "0123-1", "waive"),
    ("bind", "auth"),
    ("unbind",),
    ("install", "claude"),
    ("uninstall", "claude"),
    ("sign", "auth"),
    ("undo",),
    ("run", "auth", "--yes"),
]
ALLOWED = [("status", "auth"), ("verify", "auth"), ("log", "auth"), ("inbox",), ("sessions",)]


@pytest.mark.parametrize("words", DECISIONS, ids=lambda words: words[0])
def test_what_a_clients_shell_runs_decides_nothing(bound: Project, words: tuple[str, ...]) -> None:
    """The variable is set; taken away by `env -u`; and the client is known by its seat."""
    if words[0] == "run":
        bound.named("auth", step("Log in", "test -s login.txt"))
    before = bound.log_of("auth")
    bound.variable(CLAUDECODE="1")
    bound.signoff(*words).fails(2, "inside a client's session", hint="terminal of your own")
    with FakeClient(bound) as client:
        shell = f"env -u CLAUDECODE {' '.join(client.project.command(list(words)))}; exit $?"
        hidden = client.run("/bin/sh", "-c", shell)
        hidden.fails(2, "inside a client's session", hint="terminal of your own")
        del bound.variables["CLAUDECODE"]
        client.hook("session-start")
        client.call(*words).fails(2, "is a client at work", hint="terminal of your own")
    assert bound.log_of("auth") == before


@pytest.mark.parametrize("words", ALLOWED, ids=lambda words: words[0])
def test_a_client_may_look(bound: Project, words: tuple[str, ...]) -> None:
    bound.variable(CLAUDECODE="1")
    assert bound.signoff(*words).code in (0, 1)


def test_a_person_at_another_terminal_decides_while_a_client_works(bound: Project) -> None:
    with FakeClient(bound) as client:
        client.hook("session-start")
        bound.signoff("reject", "auth").exits(0)
        bound.signoff("approve", "auth", "--yes").exits(0)


def test_a_policy_of_the_user_approves_in_a_client_too(project: Project) -> None:
    project.person("auto_approve = true\n").agent("echo in > login.txt")
    project.named("auth", step("Log in", "test -s login.txt")).commit("first")
    project.variable(CLAUDECODE="1")
    project.signoff("run", "auth").exits(0)


def test_a_nested_repository_hides_no_plan(bound: Project, client: FakeClient) -> None:
    client.hook("session-start")
    nested = bound.workspace / "sub"
    bound.call("init", "-q", str(nested))
    told = json.dumps({"session_id": "s", "cwd": str(nested), "hook_event_name": "Stop"}).encode()
    inside = client.call("hook", "claude", "stop", stdin=told, cwd=nested)
    assert inside.json["decision"] == "block" and "auth" in inside.json["reason"]
    outside = client.call("hook", "claude", "stop", stdin=told)
    assert outside.json["decision"] == "block"
    given = {"tool_name": "Write", "tool_input": {"file_path": f"{bound.workspace}/signoff.toml"}}
    told = json.dumps({"cwd": str(nested), "hook_event_name": "PreToolUse", **given}).encode()
    assert "deny" in client.call("hook", "claude", "before-tool", stdin=told, cwd=nested).stdout


def test_a_plan_is_not_left_behind_by_saying_that_the_conversation_ended(bound: Project) -> None:
    with FakeClient(bound) as client:
        first = client.is_blocked()
        ended = client.hook("session-end")
        assert "stays with this client until the client is gone" in ended.stderr
        assert client.is_blocked() == first
        sessions = bound.signoff("sessions", "--json").json["sessions"]
        assert len(sessions) == 1, "no new session, so no new count"


@pytest.mark.parametrize("limit", ["-5", "nan", "inf", "abc", "0"])
def test_a_slip_of_the_pen_in_the_limit_does_not_switch_the_hook_off(
    bound: Project, client: FakeClient, limit: str
) -> None:
    ended = client.hook("stop", "--limit", limit)
    assert ended.json["decision"] == "block"
    assert "is not a number of seconds, so the usual limit holds" in ended.stderr


DEEP = "[" * 3_000 + "]" * 3_000


@pytest.mark.parametrize("hidden", ["9" * 5_000, DEEP], ids=["digits", "nesting"])
def test_odd_arguments_of_a_tool_hide_nothing(
    bound: Project, client: FakeClient, hidden: str
) -> None:
    given = f'{{"file_path": "{bound.workspace}/signoff.toml", "x": {hidden}}}'
    told = f'{{"cwd": "{bound.workspace}", "tool_name": "Write", "tool_input": {given}}}'
    denied = client.call("hook", "claude", "before-tool", stdin=told.encode()).exits(0)
    assert denied.json["hookSpecificOutput"]["permissionDecision"] == "deny"
    blocked = client.call("hook", "claude", "stop", stdin=told.encode()).exits(0)
    assert blocked.json["decision"] == "block"
