"""Only people decide: from a client's own shell nothing of theirs goes through."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest

from tests.cli.ended import LIMIT_S
from tests.cli.plans import plan_text, step
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
        # A repository that the client does not work in, with the same home.
        other = bound.folder / "other"
        subprocess.run(["git", "init", "-q", str(other)], check=True, timeout=LIMIT_S)
        (other / ".harness").mkdir()
        plan = plan_text([step("Log in", "test -s login.txt")])
        (other / ".harness" / "PLAN-auth.md").write_text(plan)
        (other / "signoff.toml").write_text('[roles.coder]\ncommand = "true"\n')
        bound.signoff("approve", "auth", "--yes", cwd=other).exits(0)


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


# A pane of a terminal multiplexer: one process that outlives every shell it shows.
MULTIPLEXER = """
import os, pty, sys
for script in sys.argv[1:]:
    pid, pane = pty.fork()
    if pid == 0:
        os.execv("/bin/bash", ["bash", "-c", script])
    shown = b""
    try:
        while part := os.read(pane, 65536):
            shown += part
    except OSError:
        pass
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    sys.stdout.write(f"{shown.decode()}\\n[pane exits {code}]\\n")
"""


def panes(project: Project, *scripts: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", MULTIPLEXER, *scripts],
        cwd=project.workspace,
        env=project.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return done.stdout


def told(project: Project, event: str, named: str, **more: str) -> str:
    """A hook typed by hand, with everything that a client would send."""
    data = {"hook_event_name": named, "cwd": str(project.workspace), **more}
    signoff = shlex.join(project.command(["hook", "claude", event]))
    return f"echo {shlex.quote(json.dumps(data))} | {signoff}"


def test_a_hook_tried_by_hand_at_a_terminal_locks_nobody_out(bound: Project) -> None:
    by_hand = told(bound, "stop", "Stop", session_id="tried")
    approve = shlex.join(bound.command(["approve", "auth", "--yes"]))
    shown = panes(bound, f"{by_hand}; {approve}", approve)
    assert "is not done" in shown, "the hook judged"
    assert shown.count("[pane exits 0]") == 2 and "client at work" not in shown, shown
    assert list((bound.home / "seats").glob("*.seat")) == []


def test_a_hook_without_a_conversation_is_no_client(bound: Project, client: FakeClient) -> None:
    stdin = json.dumps({"hook_event_name": "SessionStart", "cwd": str(bound.workspace)}).encode()
    client.call("hook", "claude", "session-start", stdin=stdin).exits(0)
    stdin = stdin.replace(b"SessionStart", b"Stop")
    client.call("hook", "claude", "stop", stdin=stdin).exits(0).shows("is not done")
    client.call("approve", "auth", "--yes").exits(0)


def test_a_person_ends_a_client_that_hangs_and_signs(bound: Project, client: FakeClient) -> None:
    bound.file("login.txt", "in\n").file("logout.txt", "out\n")
    client.may_stop()
    (session,) = [s["id"] for s in bound.signoff("sessions", "--json").json["sessions"]]
    bound.signoff("sign", session).fails(5, "still runs", hint="signoff sessions end")
    client.call("sessions", "end").fails(2, "is a client at work")
    bound.variable(CLAUDECODE="1").signoff("sessions", "end").fails(2, "inside a client's session")
    del bound.variables["CLAUDECODE"]
    elsewhere = bound.folder / "elsewhere"
    elsewhere.mkdir()
    bound.signoff("sessions", "end", cwd=elsewhere).fails(2, "no client is at work here")
    bound.signoff("sessions", "end", session).exits(0).shows("no longer counts as a client at work")
    bound.signoff("sign", session).exits(0)


def test_a_hook_tried_by_hand_in_a_shell_below_another_program_locks_nobody_out(
    bound: Project,
) -> None:
    """As after `su`, or in an editor: a program that outlives what is typed in its shell."""
    by_hand = told(bound, "session-start", "SessionStart", session_id="tried")
    approve = shlex.join(bound.command(["approve", "auth", "--yes"]))
    typed = f"set -m; {by_hand}; {approve}"
    below = shlex.join(
        [
            sys.executable,
            "-c",
            "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))",
            *("bash", "-c", typed),
        ]
    )
    shown = panes(bound, f"{below}; exit $?")
    assert "[pane exits 0]" in shown and "client at work" not in shown, shown
    assert list((bound.home / "seats").glob("*.seat")) == []


ADOPTER = """
import subprocess, sys
open("/proc/self/comm", "w").write("systemd")
sys.exit(subprocess.call(["/bin/sh", "-c", sys.argv[1]]))
"""


def test_a_hook_that_outlived_its_client_makes_the_users_own_manager_no_client(
    bound: Project, client: FakeClient
) -> None:
    """What adopts a hook is above every terminal of the person's."""
    orphan = told(bound, "stop", "Stop", session_id="orphan")
    approve = shlex.join(bound.command(["approve", "auth", "--yes"]))
    client.run(sys.executable, "-c", ADOPTER, f"{orphan}; {approve}").exits(0)


@pytest.mark.parametrize("finished", [True, False], ids=["finished", "at work"])
def test_an_agent_does_not_become_a_person_by_ending_its_session(
    bound: Project, client: FakeClient, finished: bool
) -> None:
    """It calls the client's hook itself, then decides; also in a terminal that it opens."""
    if finished:
        bound.file("login.txt", "in\n").file("logout.txt", "out\n")
    client.hook("session-start")
    client.stop()
    client.hook("session-end", reason="logout")
    before = bound.log_of("auth")
    for words in (["sessions", "end"], ["approve", "auth", "--yes"], ["sign", "auth"]):
        client.call(*words).fails(2, "is a client at work", hint="terminal")
        pane = shlex.join(bound.command(words))
        shown = client.run(sys.executable, "-c", MULTIPLEXER, f"{pane}; exit $?")
        shown.shows("is a client at work", "[pane exits 2]")
    assert bound.log_of("auth") == before
    client.close()
    bound.signoff("approve", "auth", "--yes").exits(0)


def test_a_client_below_a_terminal_still_cannot_decide(bound: Project) -> None:
    """A pane between the agent and its client frees nobody: the client sits above it."""
    with FakeClient(bound) as client:
        client.hook("session-start")
        approve = shlex.join(bound.command(["approve", "auth", "--yes"]))
        client.run(sys.executable, "-c", MULTIPLEXER, approve).shows("is a client at work")
