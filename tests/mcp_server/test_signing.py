"""Sessions over MCP: signed without hooks once the client is gone, and never while it is there."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.cli.ended import LIMIT_S
from tests.cli.project import Project
from tests.mcp_server.kit import Agent, over_stdio

ACCEPT = '[agent]\nself_set = "accept"\n'
CHECK = {"kind": "file_exists", "path": "hello.txt"}
STEPS = [
    {"description": "Write it", "check": CHECK},
    {"description": "Write more", "check": {"kind": "file_exists", "path": "more.txt"}},
]

# A client without hooks: it makes the calls it is told, and is gone.
SHORT_LIVED_CLIENT = """
import json, subprocess, sys
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def ask(method, params, number=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    message |= {"id": number} if number else {}
    server.stdin.write(json.dumps(message).encode() + b"\\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline()) if number else None
info = {"name": "c", "version": "1"}
ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}, 1)
ask("notifications/initialized", {})
for number, (name, given) in enumerate(json.loads(sys.argv[1]), 2):
    print(json.dumps(ask("tools/call", {"name": name, "arguments": given}, number)))
server.stdin.close()
server.wait()
"""


def client(project: Project, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """What each call of a client that then ends was answered."""
    done = subprocess.run(
        [sys.executable, "-c", SHORT_LIVED_CLIENT, json.dumps(calls), *project.command(["mcp"])],
        cwd=project.workspace,
        env=project.environment(),
        timeout=LIMIT_S,
        check=True,
        capture_output=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [answer["result"]["content"][0]["text"] for answer in answers]


def plan(steps: list[dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    return "plan_create", {"objective": "Say hello", "steps": steps, "postconditions": []}


def check(number: int) -> tuple[str, dict[str, Any]]:
    return "step_check", {"step_number": number}


def test_without_hooks_an_open_gate_is_enough_to_be_signed(project: Project) -> None:
    project.person(ACCEPT).file("hello.txt", "hello\n").file("more.txt", "more\n")
    client(project, plan(STEPS), check(1), check(2))
    project.signoff("sign").exits(0).shows("done (Say hello)")
    project.signoff("sign").fails(2, "no session awaits sign-off here", hint="signoff sessions")


def test_without_hooks_a_shut_gate_is_signed_by_nobody(project: Project) -> None:
    project.person(ACCEPT).file("hello.txt", "hello\n")
    client(project, plan(STEPS), check(1))
    project.signoff("sign").fails(2, "no session awaits sign-off here", hint="signoff sessions")
    (line,) = project.signoff("sessions", "--json").exits(0).json["sessions"]
    assert (line["standing"], line["objective"]) == ("interrupted", "Say hello")
    project.signoff("sign", line["id"]).exits(1).shows("not done", "missing: 2")


def test_what_changed_since_the_check_is_not_taken_for_open(project: Project) -> None:
    project.person(ACCEPT).file("hello.txt", "hello\n")
    client(project, plan(STEPS[:1]), check(1))
    (project.workspace / "hello.txt").unlink()
    project.signoff("sign").fails(2, "no session awaits sign-off here")


def test_what_was_waived_is_shown_when_the_rest_is_signed(project: Project) -> None:
    project.person(ACCEPT).file("hello.txt", "hello\n")
    blocked = ("step_update", {"step_number": 2, "status": "blocked", "notes": "too hard"})
    client(project, plan(STEPS), check(1), blocked)
    (item,) = project.inbox()
    session = item["plan"]
    answered = project.signoff("answer", item["id"], "waive").exits(0)
    assert f"next: signoff sign {session}" in answered.stderr
    found = project.signoff("sign", session, "--json").exits(0).json["sessions"][0]
    assert found["waived"] == ["2"] and found["dropped"] == [] and found["weakened"] == []
    project.signoff("status", session).exits(0).shows("went on without: 2")
    project.signoff("sign", session).exits(0).shows("done", "went on without: 2")


def test_a_session_of_another_workspace_is_not_taken_up(project: Project) -> None:
    client(project, plan(STEPS))
    (line,) = project.signoff("sessions", "--json").json["sessions"]
    other = project.folder / "other"
    project.call("init", "-q", str(other))

    async def talk(agent: Agent) -> None:
        refused = await agent.call("plan_show")
        assert "works in" in refused and f"next: cd {project.workspace}" in refused

    over_stdio(project, talk, "--session", line["id"], "--workspace", str(other))


def test_a_session_that_is_gone_on_with_is_not_signed_meanwhile(project: Project) -> None:
    project.file("hello.txt", "hello\n")
    client(project, plan(STEPS[:1]), check(1))
    (line,) = project.signoff("sessions", "--json").json["sessions"]

    async def talk(agent: Agent) -> None:
        assert "Gate: open" in await agent.call("plan_show")
        project.signoff("sign", line["id"]).fails(2, "is a client at work")

    over_stdio(project, talk, "--session", line["id"])


def test_nothing_is_signed_while_a_server_on_http_serves_it(project: Project) -> None:
    project.person(ACCEPT).file("hello.txt", "hello\n")
    running = project.start("mcp", "--http", "127.0.0.1:0", "--json")
    running.until(lambda: running.out.read_text().endswith("\n"))
    told = json.loads(running.out.read_text())

    async def talk() -> None:
        headers = {"Authorization": f"Bearer {told['token']}"}
        async with (
            asyncio.timeout(LIMIT_S),
            httpx2.AsyncClient(headers=headers, timeout=LIMIT_S) as web,
            Client(streamable_http_client(told["url"], http_client=web)) as mcp,
        ):
            agent = Agent(mcp)
            await agent.call(*plan(STEPS[:1])[:1], **plan(STEPS[:1])[1])
            await agent.call("step_check", step_number=1)

    asyncio.run(talk())
    (line,) = project.signoff("sessions", "--json").json["sessions"]
    project.signoff("sign", line["id"]).fails(5, "still runs", hint="end the client")
    running.process.terminate()
    running.process.wait(timeout=LIMIT_S)
    project.signoff("sign").exits(0).shows("done (Say hello)")


def test_half_a_character_does_not_leave_a_call_without_an_answer(project: Project) -> None:
    odd = (
        "plan_create",
        {"objective": "\ud800 odd \ud83d\ude00", "steps": ["x"], "postconditions": []},
    )
    made, shown = client(project, odd, ("plan_show", {}))
    assert "\ufffd odd \U0001f600" in shown, (made, shown)
