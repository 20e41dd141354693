"""A program of its own, as the chapter on structured plans writes it: a holder, tools, `arun`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import signoff
from signoff.domain.session import SessionStanding
from signoff.errors import UsageError
from signoff.settings.policy import SelfSetRule, SessionPolicy
from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.model import scripted_model
from signoff.testing.script import Failure, FailureKind, Script, Turn, say, use
from signoff.usecases.agent import AgentReport
from tests.agents.test_loop_gate import checked, plan, update, work  # noqa: F401 - a fixture

SIZES = {"hostname": 5, "os-release": 40, "machine-id": 32}
ACCEPTING = SessionPolicy(self_set=SelfSetRule.ACCEPT)
REPOSITORY = Path(__file__).resolve().parents[2]


@signoff.tool(effects={"read"})
def measure(context: signoff.ToolContext, path: str) -> int:
    """The size of a file in bytes.

    path: which file.
    """
    return len(context.read(path))


def surveys(conversation: ScriptedRequest) -> Turn:
    """Plans three files, looks at two, says it is done; does the third when it is refused."""
    turn = conversation.model_turns
    names = list(SIZES)
    if turn == 0:
        steps = [f"measure {name}" for name in names]
        return use(plan(*steps, postconditions=("the largest file is known",)))
    if turn in (1, 3, 6):
        number = (1, 3, 6).index(turn)
        name = ScriptedCall("measure", {"path": names[number]})
        return use(update(number + 1, "in_progress"), name)
    if turn in (2, 4, 7):
        return use(update((2, 4, 7).index(turn) + 1, "done", _evidence(conversation)))
    if turn == 8:
        evidence = {"postcondition_number": 1, "evidence": _evidence(conversation)}
        return use(ScriptedCall("postcondition_verify", evidence))
    return say("os-release is the largest, with 40 bytes.")


def _evidence(conversation: ScriptedRequest) -> str:
    said = [r.text for m in conversation.messages for r in m.results if "[evidence" in r.text]
    return said[-1].split("[evidence: ")[1].rstrip("]")


@pytest.fixture
def files(work: Path) -> Path:  # noqa: F811 - the fixture
    for name, size in SIZES.items():
        (work / name).write_text("x" * size)
    return work


async def survey(holder: signoff.PlanHolder, script: Script, **more: Any) -> AgentReport:
    return await signoff.arun(
        "Measure each of the three files and name the largest.",
        model=scripted_model(script),
        tools=[*signoff.STANDARD_TOOLS, *signoff.plan_tools(holder), measure],
        plan_holder=holder,
        **more,
    )


def test_two_of_three_files_are_no_answer_and_the_plan_then_matches_it(files: Path) -> None:
    holder = signoff.PlanHolder(files, ACCEPTING)
    assert holder.plan is None
    with pytest.raises(UsageError, match="no plan yet"):
        holder.require()
    script = Script(respond=surveys)
    report = asyncio.run(survey(holder, script))
    assert report.done and report.loop.refused == 1
    assert "step 3" in script.received[6].last_user_text, "what is missing was named"
    assert holder.plan is not None and holder.plan.is_ready_to_finalize()
    shown = holder.require().to_render()
    assert shown.count("[x]") == 4 and "evidence: tool:" in shown and "# Plan: " in shown
    assert [step.proved for step in holder.plan.steps] == [True] * 3
    assert [post.proved for post in holder.plan.postconditions] == [True]
    assert holder.plan.objective == "reports"
    assert holder.session.id == report.loop.session


def test_a_plan_with_an_open_step_is_not_ready_and_one_whose_check_holds_is(work: Path) -> None:  # noqa: F811
    holder = signoff.PlanHolder(work, ACCEPTING)
    tools = {tool.name: tool.function for tool in signoff.plan_tools(holder)}
    tools["plan_create"](objective="reports", steps=[checked("a.txt")], postconditions=[])
    assert not holder.require().is_ready_to_finalize()
    (work / "a.txt").write_text("a")
    assert holder.require().is_ready_to_finalize(), "its check was run on the content as it is"
    (work / "a.txt").unlink()
    assert not holder.require().is_ready_to_finalize()


def test_the_plain_form_works_inside_an_event_loop_too(files: Path) -> None:
    async def cell() -> AgentReport:
        holder = signoff.PlanHolder(files, ACCEPTING)
        model = scripted_model(Script(respond=surveys))
        tools = [*signoff.plan_tools(holder), measure]
        return signoff.run_agent("Measure.", model=model, tools=tools, plan_holder=holder)

    assert asyncio.run(cell()).done


def test_several_agents_are_awaited_at_once(files: Path, tmp_path: Path) -> None:
    async def both() -> list[AgentReport]:
        other = tmp_path / "other"
        other.mkdir()
        for name, size in SIZES.items():
            (other / name).write_text("y" * size)
        holders = [signoff.PlanHolder(folder, ACCEPTING) for folder in (files, other)]
        return await asyncio.gather(*(survey(h, Script(respond=surveys)) for h in holders))

    assert [report.done for report in asyncio.run(both())] == [True, True]


def test_the_plan_can_be_watched_while_the_agent_works_on_it(files: Path) -> None:
    async def watched() -> tuple[AgentReport, set[int]]:
        holder = signoff.PlanHolder(files, ACCEPTING)
        task = asyncio.create_task(survey(holder, Script(respond=surveys)))
        seen = set()
        while not task.done():
            if holder.plan is not None:
                seen.add(holder.plan.to_render().count("[x]"))
            await asyncio.sleep(0)
        return await task, seen

    report, seen = asyncio.run(watched())
    assert report.done and report.plan is not None and report.plan.refusals == 1
    assert len(seen) > 1, "it was seen growing"


def test_a_holder_stands_for_its_session_alone(files: Path) -> None:
    holder = signoff.PlanHolder(files)
    with pytest.raises(UsageError, match="plan_holder"):
        signoff.run_agent("x", model="test", plan_holder=holder, session=holder.session)


BUSY = "[ -e ../begun ] || { touch ../begun; sleep 50; }"
LATE = [Turn(("late",), first_byte_s=50.0)]
FULL = [Turn(failure=Failure(FailureKind.STATUS, 429, retry_after_s=50.0))]
SLOW = [
    pytest.param(LATE, id="the-model-answers"),
    pytest.param(FULL, id="it-waits-to-try-again"),
    pytest.param([use(ScriptedCall("bash", {"command": BUSY}))], id="a-command-runs"),
    pytest.param(
        [use(plan({"description": "wait", "contract": f"{BUSY}; test -e a.txt"})), say("done")],
        id="a-check-runs",
    ),
]


@pytest.mark.parametrize("turns", SLOW)
def test_cancelling_stops_the_agent_at_once_and_it_can_be_resumed(
    work: Path,  # noqa: F811
    turns: list[Turn],
) -> None:
    holder = signoff.PlanHolder(work, ACCEPTING)
    script = Script(turns, last_repeats=True)

    def is_busy() -> bool:
        waits = turns in (LATE, FULL) and script.requests > 0
        return waits or (work.parent / "begun").exists()

    async def play() -> AgentReport:
        task = asyncio.create_task(survey(holder, script))
        while not is_busy():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        answer = Script([say("I stopped.")], last_repeats=True)
        return await survey(holder, answer, resume=holder.session.id)

    async def bounded() -> AgentReport:
        async with asyncio.timeout(25):
            return await play()

    report = asyncio.run(bounded())
    assert report.loop.answer == "I stopped."
    assert report.loop.transcript is not None
    assert '"interrupted"' in report.loop.transcript.read_text()


PROGRAM = """
import asyncio, signal, sys
import signoff
from signoff.testing.conversation import ScriptedCall
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, use

def respond(conversation):
    print("asked", flush=True)
    return use(ScriptedCall("bash", {"command": "sleep 50"}))

async def main():
    model = scripted_model(Script(respond=respond))
    if sys.argv[2] == "awaited":
        return await signoff.arun("wait", model=model, workspace=sys.argv[1])
    return signoff.run_agent("wait", model=model, workspace=sys.argv[1])

signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    report = asyncio.run(main())
    print(report.loop.ended)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("how", ["awaited", "plain"])
def test_ctrl_c_ends_an_awaited_agent_and_leaves_nothing_running(
    work: Path,  # noqa: F811
    how: str,
) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(work), how],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "asked\n"
        program.send_signal(signal.SIGINT)
        assert program.communicate(timeout=25)[0].split() == ["interrupted"]
    finally:
        program.kill()
    (kept,) = (work.parent / "home" / "logs" / "sessions").glob("*.jsonl")
    assert '"interrupted"' in kept.read_text()


def delegating(conversation: ScriptedRequest) -> Turn:
    """A parent that hands its step on, and a child that uses the caller's tool for it."""
    is_child = conversation.messages[1].text.startswith("SUB:")
    match conversation.model_turns, is_child:
        case 0, False:
            return use(plan("know the size of hostname"), update(1, "in_progress"))
        case 1, False:
            return use(
                ScriptedCall("delegate", {"step_number": 1, "objective": "SUB: measure hostname"})
            )
        case 0, True:
            return use(plan("measure hostname"), update(1, "in_progress"))
        case 1, True:
            return use(ScriptedCall("measure", {"path": "hostname"}))
        case 2, _:
            return use(update(1, "done", _evidence(conversation)))
    return say("5 bytes")


def test_a_step_is_delegated_to_an_agent_with_the_callers_own_tools(files: Path) -> None:
    holder = signoff.PlanHolder(files, ACCEPTING)
    report = asyncio.run(survey(holder, Script(respond=delegating)))
    assert report.done and report.plan is not None and len(report.plan.children) == 1


def test_delegating_needs_plan_tools_and_the_callers_leave(files: Path) -> None:
    def told(**options: Any) -> str:
        script = Script([use(ScriptedCall("delegate", {})), say("no")], last_repeats=True)
        signoff.run_agent("x", model=scripted_model(script), workspace=files, **options)
        return script.received[1].results[-1].text

    holder = signoff.PlanHolder(files, ACCEPTING)
    tools = [*signoff.plan_tools(holder), measure]
    assert "no tool `delegate`" not in told(tools=tools, plan_holder=holder)
    assert "no tool `delegate`" in told(tools=tools, plan_holder=holder, delegate=False)
    assert "no tool `delegate`" in told(tools=[measure], plan=False)


def test_an_unproved_delegated_step_stays_unproved_with_own_tools(files: Path) -> None:
    def idle(conversation: ScriptedRequest) -> Turn:
        if conversation.messages[1].text.startswith("SUB:"):
            return use(plan("measure hostname")) if not conversation.model_turns else say("5 bytes")
        return delegating(conversation)

    holder = signoff.PlanHolder(files, ACCEPTING)
    report = asyncio.run(survey(holder, Script(respond=idle)))
    assert not report.done and report.standing is not SessionStanding.DONE


def test_a_callers_own_tool_called_delegate_proves_nothing_by_its_name(files: Path) -> None:
    @signoff.tool(effects={"network"}, name="delegate")
    def own(objective: str) -> str:
        """Ask somebody else.

        objective: what for.
        """
        return f"{objective}: all done"

    def trusts(conversation: ScriptedRequest) -> Turn:
        match conversation.model_turns:
            case 0:
                return use(plan("measure hostname"), update(1, "in_progress"))
            case 1:
                return use(ScriptedCall("delegate", {"objective": "measure"}, id="mine"))
            case 2:
                return use(update(1, "done", "tool:c3"))
        return say("done")

    holder, script = signoff.PlanHolder(files, ACCEPTING), Script(respond=trusts)
    tools = [*signoff.plan_tools(holder), own]
    model = scripted_model(script)
    report = signoff.run_agent("x", model=model, workspace=files, tools=tools, plan_holder=holder)
    results = [r for c in script.received for r in c.results]
    assert next(r.text for r in results if r.name == "delegate") == "measure: all done"
    refused = [r.text for r in results if r.name == "step_update"]
    assert any("a call of `delegate` proves nothing" in text for text in refused)
    assert not report.done
