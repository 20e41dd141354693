"""A real client over stdio: plans are made, claimed, proved; and nothing more is possible."""

from __future__ import annotations

import json

import pytest

from tests.cli.plans import step
from tests.cli.project import Project
from tests.mcp_server.kit import Agent, over_stdio

# No tokenizer is at hand offline. English and JSON take 3.5 to 4.5 characters a token with the
# tokenizers of the large providers; 3.5 errs on the safe side.
CHARACTERS_PER_TOKEN = 3.5
MOST_TOKENS = 2_500
TOOLS = {
    "plan_create", "plan_show", "step_update", "step_check", "postcondition_verify", "plan_list",
    "plan_next", "evidence_add",
}  # fmt: skip


def test_an_agent_makes_a_plan_is_refused_a_lie_and_proves_its_work(project: Project) -> None:
    async def talk(agent: Agent) -> None:
        assert "there is no plan yet" in await agent.call("plan_show")
        check = {"kind": "file_contains", "path": "hello.txt", "text": "hello"}
        await agent.call(
            "plan_create",
            objective="Say hello",
            steps=[{"description": "Write it", "check": check}, "Tell somebody"],
            postconditions=[{"description": "It is there", "contract": "test -s hello.txt"}],
        )
        lie = await agent.call("step_update", step_number=1, status="done")
        assert "broken" in lie
        project.file("hello.txt", "hello\n")
        assert "holds now" in await agent.call("step_check", step_number=1)
        await agent.call("step_update", step_number=1, status="done")
        await agent.call("step_update", step_number=2, status="in_progress")
        prose = await agent.call("step_update", step_number=2, status="done", evidence="I did it")
        assert "prose only" in prose
        project.file("told.txt", "told ada\n")
        added = await agent.call("evidence_add", path="told.txt", note="ada was told")
        assert added.startswith("recorded; cite it as `file:told.txt@")
        cited = added.split("`")[1]
        await agent.call("step_update", step_number=2, status="done", evidence=cited)
        await agent.call("postcondition_verify", postcondition_number=1)
        assert "step 1: its check held on older content" in await agent.call("plan_show")
        await agent.call("step_check", step_number=1)
        shown = await agent.call("plan_show")
        assert "Gate: open" in shown and "self-set" in shown
        assert await agent.read("signoff://plan") == shown
        kinds = [
            json.loads(line)["kind"] for line in (await agent.read("signoff://ledger")).split("\n")
        ]
        assert kinds[:2] == ["session.started", "plan.written"] and "verdict" in kinds

    over_stdio(project, talk)


def test_a_bound_plan_is_worked_on_and_cannot_be_replaced(project: Project) -> None:
    project.agent("true").named("auth", step("Log in", "test -s login.txt")).commit("first")
    project.signoff("bind", "auth").exits(0)

    async def before(agent: Agent) -> None:
        assert "not approved" in await agent.call("plan_show")

    over_stdio(project, before)
    project.signoff("approve", "auth", "--yes").exits(0)

    async def talk(agent: Agent) -> None:
        assert "Log in" in await agent.call("plan_show")
        refused = await agent.call("plan_create", objective="x", steps=["y"], postconditions=[])
        assert "person" in refused
        assert "broken" in await agent.call("step_check", step_number=1)
        assert "### 1. Log in" in await agent.read("signoff://plan")
        listed = await agent.call("plan_list")
        assert "auth: approved" in listed and "this workspace works on: auth" in listed
        assert await agent.call("plan_next") == "auth: auth"

    over_stdio(project, talk)


def test_the_marker_counts_and_a_dangling_one_is_an_error(project: Project) -> None:
    (project.vault / "active-plan").write_text("gone\n")

    async def talk(agent: Agent) -> None:
        for tool in ("plan_show", "plan_list"):
            answer = await agent.call(tool)
            assert answer.startswith("error: ") and "names plan `gone`" in answer
            assert "\nnext: " in answer

    over_stdio(project, talk)


def test_another_process_goes_on_with_a_session_by_its_id(project: Project) -> None:
    ids: list[str] = []

    async def first(agent: Agent) -> None:
        await agent.call("plan_create", objective="Go", steps=["Walk"], postconditions=[])
        ids.append(json.loads((await agent.read("signoff://ledger")).split("\n")[0])["kind"])

    over_stdio(project, first, "--session", "my-session")

    async def second(agent: Agent) -> None:
        assert "Walk" in await agent.call("plan_show")

    over_stdio(project, second, "--session", "my-session")
    assert ids == ["session.started"]


def test_the_whole_server_costs_few_tokens_and_offers_no_decision(project: Project) -> None:
    async def talk(agent: Agent) -> None:
        tools = (await agent.client.list_tools()).tools
        assert {tool.name for tool in tools} == TOOLS
        prompts = (await agent.client.list_prompts()).prompts
        resources = (await agent.client.list_resources()).resources
        everything = [*tools, *prompts, *resources]
        text = "".join(
            part.model_dump_json(exclude_none=True, by_alias=True) for part in everything
        )
        text += agent.client.instructions or ""
        assert len(text) / CHARACTERS_PER_TOKEN < MOST_TOKENS, len(text) / CHARACTERS_PER_TOKEN
        for prompt in prompts:
            got = await agent.client.get_prompt(prompt.name)
            assert "plan_show" in got.model_dump_json()
        for forbidden in ("approve", "answer", "waive", "sign", "edit", "bind"):
            assert "there is no tool" in await agent.call(forbidden)

    over_stdio(project, talk)


def test_what_an_agent_sends_breaks_nothing(project: Project) -> None:
    project.file("big", "x")
    (project.workspace / "out").symlink_to("/etc/passwd")

    async def talk(agent: Agent) -> None:
        await agent.call("plan_create", objective="Go", steps=["Walk"], postconditions=[])
        for arguments in ({"path": "/etc/passwd"}, {"path": "out"}, {"path": "../x"}):
            assert "is not a file in the workspace" in await agent.call("evidence_add", **arguments)
        for odd in ({}, {"path": 3}, {"path": ""}):
            assert "needs `path`" in await agent.call("evidence_add", **odd)
        assert "cannot be read" in await agent.call("evidence_add", path="gone")
        assert "not a regular file" in await agent.call("evidence_add", path=".harness")
        assert "error" in await agent.call("step_update", step_number="one", status="done")
        hostile = "\x1b[2J\u202e" + "x" * 50_000
        answer = await agent.call("plan_create", objective=hostile, steps=[], postconditions=[])
        shown = await agent.call("plan_show")
        assert "\x1b" not in answer + shown and len(shown) <= 20_000

    over_stdio(project, talk)


@pytest.mark.parametrize("broken", ["ledger", "config"])
def test_a_broken_installation_is_told_to_the_agent(project: Project, broken: str) -> None:
    if broken == "ledger":
        project.home.mkdir(mode=0o700)
        (project.home / "ledger.sqlite3").write_bytes(b"no database at all " * 60)
    else:
        project.file("signoff.toml", "[[[")

    async def talk(agent: Agent) -> None:
        answer = await agent.call("plan_show")
        assert answer.startswith("error: ") and "\nnext: " in answer

    over_stdio(project, talk)
