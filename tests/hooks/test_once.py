"""Nothing is read twice in one command: each text is parsed once, each chain folded once.

The commands are the real ones; the interpreter's profile hook counts their calls (`tests/traced`).
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter

import pytest

from signoff.testing.script import Script, say, use
from tests.agents.loopkit import write
from tests.cli.ended import LIMIT_S
from tests.cli.plans import step
from tests.cli.project import Project
from tests.hooks.kit import FakeClient
from tests.mcp_server.kit import Agent, over_stdio
from tests.scripted.server import ScriptedServer
from tests.traced import FOLD, PARSE, SUMMARY, Traced, calls, command


def traced(project: Project, *arguments: str) -> list[Traced]:
    """The calls of a command that a person gives."""
    out = project.folder / f"calls-of-{arguments[0]}"
    subprocess.run(
        command(out, *arguments),
        cwd=project.workspace,
        env=project.environment(),
        capture_output=True,
        timeout=LIMIT_S,
        check=True,
    )
    return calls(out)


def stop_traced(client: FakeClient) -> list[Traced]:
    """The calls of a client's stop hook."""
    out = client.project.folder / "calls-of-stop"
    out.unlink(missing_ok=True)
    told = {"session_id": client.session, "cwd": str(client.project.workspace)}
    told |= {"hook_event_name": "Stop", "last_assistant_message": "All done."}
    client.run(*command(out, "hook", "claude", "stop"), stdin=json.dumps(told).encode()).exits(0)
    return calls(out)


def assert_once(found: list[Traced], *, persons: bool = True) -> None:
    """Every text parsed once; no entry of a plan's chain taken into the same account twice."""
    parsed = Counter(call.detail for call in found if call.function == PARSE)
    assert parsed and set(parsed.values()) == {1}
    taken = Counter(call.detail for call in found if call.function == SUMMARY)
    assert set(taken.values()) == ({1} if persons else set()), "only a person's plan has a history"
    # A fold is known by the run and the state that it goes into. A session is folded twice by
    # `sign`: to find it, and once more by the judge that opens it with the agent gone.
    states = {call.detail for call in found if call.function == FOLD}
    runs = Counter(detail.rpartition(" ")[0] for detail in states)
    assert runs and {run: count for run, count in runs.items() if count > 1} in ({}, {" False": 2})


@pytest.mark.parametrize("verb", ["verify", "approve", "run"])
def test_each_text_is_parsed_once_and_the_chain_folded_once(project: Project, verb: str) -> None:
    project.agent("echo in > login.txt").named("auth", step("Log in", "test -s login.txt"))

    assert_once(traced(project, verb, "auth", *(["--yes"] if verb != "verify" else [])))


def test_audit_parses_each_text_once_and_folds_the_chain_once(project: Project) -> None:
    project.agent("echo in > login.txt").named("auth", step("Log in", "test -s login.txt"))
    project.signoff("run", "auth", "--yes").exits(0)

    assert_once(traced(project, "audit", "auth"))


def test_sign_parses_each_text_once_and_folds_the_chain_once(bound: Project) -> None:
    bound.file("login.txt", "in\n").file("logout.txt", "out\n")
    with FakeClient(bound) as client:
        assert "awaits sign-off" in client.may_stop()

    assert_once(traced(bound, "sign", "auth"))
    assert bound.signoff("status", "auth", "--json").json["status"] == "done"


def test_a_stop_parses_each_text_once_and_folds_each_chain_once(bound: Project) -> None:
    bound.file("login.txt", "in\n")
    with FakeClient(bound) as client:
        for _ in range(2):
            assert_once(stop_traced(client))


def test_merge_parses_each_text_once_and_folds_the_chain_once(project: Project) -> None:
    project.agent("echo in > login.txt").named("auth", step("Log in", "test -s login.txt"))
    project.file("a.txt", "a\n").commit("start")
    project.signoff("worktree", "add", "auth").exits(0)
    project.signoff("run", "auth", "--yes").exits(0)

    assert_once(traced(project, "merge", "auth"))
    assert project.read("login.txt") == "in\n"


def test_a_plan_over_mcp_is_parsed_once_and_its_chain_folded_once(bound: Project) -> None:
    bound.file("login.txt", "in\n").file("logout.txt", "out\n")
    out = bound.folder / "calls-of-mcp"

    async def talk(agent: Agent) -> None:
        assert "step 1" in await agent.call("step_update", step_number=1, status="done")
        assert "Log out" in await agent.call("plan_show")

    over_stdio(bound, talk, argv=command(out, "mcp"))
    assert_once(calls(out))


def test_an_agents_own_plan_is_parsed_once_and_its_chain_folded_once(project: Project) -> None:
    project.person('[agent]\nself_set = "accept"\n')
    project.variable(no_proxy="127.0.0.1", NO_PROXY="127.0.0.1")
    script = Script([use(write("a.md", "# a")), say("done")])
    with ScriptedServer(script) as server:
        model = ("--model", "openai:some-model", "--base-url", server.openai_url)
        assert_once(traced(project, "agent", *model, "Create `a.md`."), persons=False)
    assert project.read("a.md") == "# a"


def test_a_stop_whose_verdicts_still_hold_opens_no_judge_and_tries_no_sandbox(
    bound: Project,
) -> None:
    bound.file("login.txt", "in\n").file("logout.txt", "out\n")
    with FakeClient(bound) as client:
        judging = {call.function.partition(":")[0] for call in stop_traced(client)}
        assert {"verification/judge.py", "process/runner.py"} <= judging
        found = stop_traced(client)
        assert_once(found)
        kept = {call.function for call in found}
        assert "gate/gate.py:evaluate" in kept
        assert not {name for name in kept if name.startswith(("verification/judge", "process/run"))}
        assert not {name for name in kept if name.startswith("process/sandboxes.py:probe")}
        bound.file("logout.txt", "")
        assert "is not done" in client.is_blocked(), "what changed is judged again"
