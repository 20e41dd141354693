"""The MCP server and the hooks of one client share a session; the process above both is why."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.cli.ended import LIMIT_S
from tests.cli.project import Project
from tests.hooks.kit import FakeClient
from tests.mcp_server.kit import Agent, over_stdio

# A client that makes a plan over MCP, asks the stop hook, and is gone.
SHORT_LIVED_CLIENT = """
import json, subprocess, sys
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def ask(method, params, number=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    message |= {"id": number} if number else {}
    server.stdin.write(json.dumps(message).encode() + b"\\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline()) if number else None
info = {"name": "c", "version": "1"}
ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}, 1)
ask("notifications/initialized", {})
step = {"description": "Write it", "check": {"kind": "file_exists", "path": "hello.txt"}}
plan = {"objective": "Say hello", "steps": [step], "postconditions": []}
ask("tools/call", {"name": "plan_create", "arguments": plan}, 2)
subprocess.run([*sys.argv[1:-1], "hook", "claude", "stop"], input=b"{}", check=True)
server.stdin.close()
server.wait()
"""


def hook(project: Project, event: str = "stop") -> dict[str, Any]:
    """A hook below the test, as the MCP server is: the test is the client."""
    told = {"session_id": "s", "cwd": str(project.workspace), "last_assistant_message": "Done."}
    done = subprocess.run(
        project.command(["hook", "claude", event]),
        input=json.dumps(told).encode(),
        cwd=project.workspace,
        env=project.environment(),
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
    return {**answer, "told": done.stderr.decode()}


async def make_a_plan(agent: Agent) -> None:
    check = {"kind": "file_exists", "path": "hello.txt"}
    steps = [{"description": "Write it", "check": check}]
    await agent.call("plan_create", objective="Say hello", steps=steps, postconditions=[])


def test_a_plan_made_over_mcp_holds_the_agent_at_its_clients_stop_hook(project: Project) -> None:
    async def talk(agent: Agent) -> None:
        assert hook(project)["told"] == "", "no plan, nothing to hold"
        await make_a_plan(agent)
        blocked = hook(project)
        assert blocked["decision"] == "block"
        assert "(self-set checks)" in blocked["reason"] and "step 1" in blocked["reason"]
        with FakeClient(project, name="codex") as other:
            assert other.may_stop() == "", "another client is not held by it"
        project.file("hello.txt", "hello\n")
        assert "awaits sign-off (self-set checks)" in hook(project)["told"]
        project.signoff("sign").fails(2, "is a client at work")

    over_stdio(project, talk)


def test_a_new_conversation_has_a_plan_of_its_own(project: Project) -> None:
    async def talk(agent: Agent) -> None:
        await make_a_plan(agent)
        project.file("hello.txt", "hello\n")
        assert "awaits sign-off" in hook(project)["told"]
        assert "awaits sign-off" in hook(project, "session-end")["told"]
        assert "there is no plan yet" in await agent.call("plan_show")
        assert "decision" not in hook(project)

    over_stdio(project, talk)


def test_an_agent_cannot_end_its_own_conversation_to_leave_a_plan_behind(project: Project) -> None:
    async def talk(agent: Agent) -> None:
        await make_a_plan(agent)
        assert "stays with this client" in hook(project, "session-end")["told"]
        assert "Say hello" in await agent.call("plan_show")
        assert hook(project)["decision"] == "block"

    over_stdio(project, talk)


def test_a_server_that_nobody_calls_writes_nothing(project: Project) -> None:
    async def talk(agent: Agent) -> None:
        await agent.client.list_tools()

    over_stdio(project, talk)
    assert not project.home.exists()


def test_self_set_checks_are_signed_as_such_unless_the_user_takes_them(project: Project) -> None:
    project.file("hello.txt", "hello\n")
    subprocess.run(
        [sys.executable, "-c", SHORT_LIVED_CLIENT, *project.command(["mcp"])],
        cwd=project.workspace,
        env=project.environment(),
        timeout=LIMIT_S,
        check=True,
    )
    project.signoff("sign").exits(6).shows("kept, self-set (Say hello)", 'self_set = "accept"')
    project.signoff("sign").fails(2, "no session awaits sign-off here", hint="signoff sessions")
