"""A final answer is judged by what the runtime can check, with a plan and without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import signoff
from signoff.agents.loop.limits import Ended
from signoff.domain.ledger import Kind
from signoff.domain.session import SessionStanding
from signoff.errors import Exit
from signoff.settings.policy import SelfSetRule, SessionPolicy
from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, Turn, say, use
from signoff.usecases.agent import AgentReport
from tests.agents.loopkit import Stage, bash, entries, write
from tests.unconfined import UNCONFINED

TEST = "from calc import add\n\n\ndef test_add() -> None:\n    assert add(1, 2) == 3\n"
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
PROJECT = '[project]\nname = "calc"\n[tool.pytest.ini_options]\npythonpath = ["."]\n'
TRUSTING = SessionPolicy(self_set=SelfSetRule.ACCEPT)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    config = tmp_path / "config.toml"
    config.write_text(UNCONFINED)
    monkeypatch.setenv("SIGNOFF_CONFIG", str(config))
    monkeypatch.setenv("SIGNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "work"
    (folder / "tests").mkdir(parents=True)
    (folder / "calc.py").write_text(WRONG)
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "tests/test_calc.py").write_text(TEST)
    yield folder


def run(work: Path, turns: Script | list[Turn], task: str, **options: Any) -> AgentReport:
    script = turns if isinstance(turns, Script) else Script(turns)
    options.setdefault("policy", TRUSTING)
    return signoff.run_agent(task, model=scripted_model(script), workspace=work, **options)


def test_a_repair_without_a_plan_is_proved_by_the_projects_own_tests(work: Path) -> None:
    turns = [use(write("calc.py", RIGHT)), say("The sum is right now.")]
    report = run(work, turns, "Fix the sum: it subtracts.")
    assert report.standing is SessionStanding.DONE, report.loop.reason
    assert report.plan is not None and len(report.plan.proved) >= 1


def test_a_repair_that_repairs_nothing_is_refused_with_what_the_tests_print(work: Path) -> None:
    script = Script([use(write("calc.py", WRONG + "# better\n")), *[say("It is fixed.")] * 12])
    report = run(work, script, "Fix the sum: it subtracts.")
    assert report.standing is not SessionStanding.DONE
    assert report.exit_code is Exit.WAITING
    told = script.received[2].last_user_text
    assert "test_calc.py" in told and "assert" in told


def test_saying_done_early_and_often_gets_rid_of_no_check(work: Path) -> None:
    early = [say("Done!")] * 4
    script = Script([*early, use(write("calc.py", WRONG + "# x\n")), *[say("Done!")] * 12])
    report = run(work, script, "Fix calc.py: it subtracts.")
    assert report.standing is not SessionStanding.DONE, report.loop.reason


def test_verification_that_failed_too_often_is_a_persons(work: Path) -> None:
    turns: list[Turn] = []
    for number in range(8):
        turns += [use(write("calc.py", f"{WRONG}# try {number}\n")), say("Fixed.")]
    report = run(work, turns, "Fix the sum: it subtracts.")
    assert report.loop.ended is Ended.ESCALATED
    assert report.exit_code is Exit.WAITING
    assert report.loop.turns <= 8


def test_an_agents_own_plan_does_not_outvote_the_projects_tests(work: Path) -> None:
    plan = ScriptedCall(
        "plan_create",
        {
            "objective": "fix it",
            "steps": [{"description": "edit", "check": {"kind": "file_exists", "path": "calc.py"}}],
            "postconditions": [],
        },
    )
    script = Script([use(plan), use(write("calc.py", WRONG + "# x\n")), *[say("Done.")] * 12])
    report = run(work, script, "Fix the sum: it subtracts.")
    assert report.standing is not SessionStanding.DONE, report.loop.reason


def test_a_question_that_was_answered_leaves_nothing_to_judge(work: Path) -> None:
    turns = [use(ScriptedCall("read", {"path": "calc.py"})), say("It subtracts.")]
    report = run(work, turns, "What does add do?")
    assert report.standing is SessionStanding.UNPLANNED
    assert report.loop.turns == 2


def test_a_call_that_the_person_declines_is_no_error_and_changes_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    asked: list[str] = []

    def never(name: str, arguments: str) -> bool:
        asked.append(f"{name} {arguments}")
        return False

    calls = [use(write(f"{n}.txt", "x")) for n in range(4)]
    script = Script([*calls, bash("touch y"), say("Then not.")])
    report = stage.play(script, confirm=never)
    assert report.ended is Ended.ANSWERED
    assert list(stage.work.iterdir()) == [] and len(asked) == 5
    assert "said no" in script.received[1].results[-1].text


def test_looks_are_made_without_asking(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    (stage.work / "a.txt").write_text("one\n")
    script = Script([use(ScriptedCall("read", {"path": "a.txt"})), say("one")])
    stage.play(script, confirm=lambda _name, _arguments: False)
    assert "one" in script.received[1].results[-1].text


PLAN = {
    "objective": "two files",
    "steps": [
        {"description": "first", "check": {"kind": "file_exists", "path": "a.txt"}},
        {"description": "second", "check": {"kind": "file_exists", "path": "b.txt"}},
    ],
    "postconditions": [],
}


def begin(number: int) -> Turn:
    return use(ScriptedCall("step_update", {"step_number": number, "status": "in_progress"}))


def test_an_agent_that_gives_up_leaves_its_unfinished_step_as_it_began(work: Path) -> None:
    turns = [
        use(ScriptedCall("plan_create", PLAN)),
        begin(1),
        use(write("a.txt", "a")),
        begin(2),
        use(write("half.txt", "half")),
        bash("echo more >> calc.py"),
        *[use(ScriptedCall("no_such_tool"))] * 9,
    ]
    report = run(work, turns, "make both", restore=True)
    assert report.loop.ended is Ended.STUCK
    assert report.restored is not None and report.restored.undone
    assert (work / "a.txt").read_text() == "a" and not (work / "half.txt").exists()
    assert (work / "calc.py").read_text() == WRONG


def test_without_being_asked_nothing_is_put_back(work: Path) -> None:
    turns = [use(write("half.txt", "half")), *[use(ScriptedCall("no_such_tool"))] * 9]
    report = run(work, turns, "make it")
    assert report.loop.ended is Ended.STUCK and report.restored is None
    assert (work / "half.txt").exists()


def test_what_a_person_adds_on_resuming_is_due_as_well(work: Path) -> None:
    first = run(work, [use(write("a.md", "# a\n")), say("done")], "Create a.md.")
    assert first.standing is SessionStanding.DONE, first.loop.reason
    lie = [say("All of it is done.")] * 12
    name = first.loop.session
    more = run(work, lie, "Now also create c.md and d.md.", resume=name)
    assert more.standing is not SessionStanding.DONE
    honest = [use(write("c.md", "# c\n")), use(write("d.md", "# d\n")), say("done")]
    last = run(work, honest, "go on", resume=name)
    assert last.standing is SessionStanding.DONE, last.loop.reason


def test_deleting_the_tests_gets_rid_of_no_check(work: Path) -> None:
    turns = [bash("rm -r tests"), use(write("calc.py", WRONG + "# x\n")), *[say("Done.")] * 12]
    report = run(work, turns, "Fix the sum: it subtracts.")
    assert report.standing is not SessionStanding.DONE


def test_a_task_that_changes_files_is_not_done_while_they_are_as_they_were(work: Path) -> None:
    (work / "calc.py").write_text(RIGHT)
    report = run(work, [say("Type hints are added.")] * 12, "Add type hints to calc.py.")
    assert report.standing is not SessionStanding.DONE


def test_what_was_asked_for_is_not_dropped_into_a_done(work: Path) -> None:
    drop = ScriptedCall("todo", {"items": [{"text": "b.md", "dropped": "not needed"}]})
    turns = [use(write("a.md", "# a\n")), use(drop), *[say("Done.")] * 12]
    report = run(work, turns, "Create a.md and b.md.")
    assert report.standing is SessionStanding.KEPT_SELF_SET, "people decide, whatever the policy"
    assert report.exit_code is Exit.WAITING
    assert report.plan is not None and report.plan.dropped == ("b.md: not needed",)


LATER = {
    "objective": "two files",
    "steps": [{"description": "note", "check": {"kind": "file_exists", "path": "later.txt"}}],
    "postconditions": [],
}
# What the task asks for is judged and holds; the plan, which the model wrote, does not yet.
HALF_DONE = [use(ScriptedCall("plan_create", LATER)), use(write("data.json", "{}")), say("Done.")]


def spoil(work: Path) -> None:
    """The plan is kept from now on, and what the task asked for is broken."""
    (work / "later.txt").write_text("late\n")
    (work / "data.json").write_text("{")


def test_what_a_left_behind_process_changes_after_a_kept_round_is_judged_anew(work: Path) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        turn = conversation.model_turns
        if turn < len(HALF_DONE):
            return HALF_DONE[turn]
        if turn == len(HALF_DONE):
            spoil(work)  # not by a call: as a process does that an earlier command left behind
        return say("Done.")

    script = Script(respond=respond)
    report = run(work, script, "Create data.json.")
    assert "verification" not in script.received[3].last_user_text
    assert report.loop.ended is not Ended.ANSWERED, report.loop.reason
    assert report.standing is not SessionStanding.DONE
    assert "data.json" in script.received[4].last_user_text


def test_a_tool_that_tells_of_no_change_leaves_no_kept_round_standing(work: Path) -> None:
    @signoff.tool(effects="read")
    def tidy() -> str:
        """Tidy up."""
        spoil(work)
        return "tidy"

    session = signoff.start_session(work, policy=TRUSTING)
    tools = [*signoff.STANDARD_TOOLS, *signoff.plan_tools(session), tidy]
    turns = [*HALF_DONE, use(ScriptedCall("tidy")), *[say("Done.")] * 12]
    report = run(work, turns, "Create data.json.", tools=tools, session=session)
    assert report.loop.ended is not Ended.ANSWERED, report.loop.reason
    assert report.standing is not SessionStanding.DONE


def test_an_answer_given_again_with_nothing_changed_is_not_judged_again(work: Path) -> None:
    turns = [*HALF_DONE, *[say("Done.")] * 12]
    report = run(work, turns, "Create data.json.")
    assert report.loop.ended is Ended.ESCALATED
    recorded = entries(work, report.loop.session)
    judged = [data for kind, data in recorded if kind is Kind.VERDICT]
    commands = [(data["subject"], data["snapshot"]) for data in judged]
    assert len(set(commands)) == len(commands), "each check once for each content"


def test_a_tool_that_tells_of_no_change_gets_rid_of_no_check(work: Path) -> None:
    @signoff.tool(effects="write")
    def save(path: str, text: str) -> str:
        """Save a text."""
        (work / path).write_text(text)
        return "saved"

    there = {"kind": "file_exists", "path": "calc.py"}
    plan = {**LATER, "steps": [{"description": "edit", "check": there}]}
    session = signoff.start_session(work, policy=TRUSTING)
    tools = [*signoff.STANDARD_TOOLS, *signoff.plan_tools(session), save]
    saved = use(ScriptedCall("save", {"path": "calc.py", "text": f"{WRONG}# x\n"}))
    turns = [use(ScriptedCall("plan_create", plan)), saved, *[say("Done.")] * 12]
    report = run(work, turns, "Fix the sum: it subtracts.", tools=tools, session=session)
    assert report.loop.ended is not Ended.ANSWERED, report.loop.reason
    assert report.standing is not SessionStanding.DONE
