"""Evidence in a played session: it rests on what a call did, and goes stale with that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import signoff
from signoff.domain.session import SessionStanding
from signoff.settings.policy import SelfSetRule, SessionPolicy
from signoff.testing.conversation import ScriptedCall
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, Turn, say, use
from signoff.usecases.agent import AgentReport
from tests.unconfined import UNCONFINED

ACCEPTING = SessionPolicy(self_set=SelfSetRule.ACCEPT)
WRITE_X = ScriptedCall("write", {"path": "x.txt", "content": "DONE\n"})


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    config = tmp_path / "config.toml"
    config.write_text(UNCONFINED)
    monkeypatch.setenv("SIGNOFF_CONFIG", str(config))
    monkeypatch.setenv("SIGNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "README.md").write_text("hello\n")
    yield folder


def _play(work: Path, turns: list[Turn], **options: Any) -> tuple[AgentReport, Script]:
    script = Script([*turns, say("done")], last_repeats=True)
    options.setdefault("policy", ACCEPTING)
    report = signoff.run_agent("do it", model=scripted_model(script), workspace=work, **options)
    return report, script


def _prove_by(*calls: ScriptedCall) -> list[Turn]:
    """One step, proved by the last of these calls, which are the third and following."""
    plan = {"objective": "aim", "steps": ["make x.txt"], "postconditions": []}
    begin = ScriptedCall("step_update", {"step_number": 1, "status": "in_progress"})
    cited = {"step_number": 1, "status": "done", "evidence": f"tool:c{2 + len(calls)}"}
    return [
        use(ScriptedCall("plan_create", plan)),
        use(begin, *calls),
        use(ScriptedCall("step_update", cited)),
    ]


def _bash(command: str) -> ScriptedCall:
    return ScriptedCall("bash", {"command": command})


@pytest.mark.parametrize(
    "call",
    [
        ScriptedCall("todo", {"items": [{"text": "make it", "done": True}]}),
        ScriptedCall("scratchpad", {"key": "k", "text": "did it"}),
    ],
)
def test_bookkeeping_is_no_evidence_and_is_not_offered_as_any(
    work: Path, call: ScriptedCall
) -> None:
    report, script = _play(work, _prove_by(call))
    assert not report.done and report.plan is not None and report.plan.proved == ()
    results = [r.text for m in script.received[-1].messages for r in m.results]
    assert not any("[evidence:" in text for text in results)
    assert any("proves nothing about the work" in text for text in results)


LOOKS = [
    ScriptedCall("grep", {"pattern": "DONE", "path": "x.txt"}),
    ScriptedCall("grep", {"pattern": "DONE"}),
    ScriptedCall("glob", {"pattern": "*.txt"}),
    _bash("grep DONE x.txt"),
    _bash("grep DONE x.txt && echo ok > junk.txt"),
]


@pytest.mark.parametrize("look", LOOKS)
def test_what_a_call_looked_at_proves_a_step_while_it_stands(
    work: Path, look: ScriptedCall
) -> None:
    report, _ = _play(work, _prove_by(WRITE_X, look))
    assert report.standing is SessionStanding.DONE


@pytest.mark.parametrize("look", LOOKS)
def test_what_a_call_looked_at_is_stale_once_it_is_gone(work: Path, look: ScriptedCall) -> None:
    broken = use(_bash("rm x.txt"))
    report, _ = _play(work, [*_prove_by(WRITE_X, look), broken])
    assert not report.done and report.plan is not None
    assert report.plan.gate.stale == ("1",)


def test_a_command_that_made_many_files_rests_on_all_of_them(work: Path) -> None:
    made = _bash("for i in $(seq -w 1500); do echo $i > f$i; done")
    report, _ = _play(work, [*_prove_by(made), use(_bash("rm f1[2345]*"))])
    assert not report.done and report.plan is not None
    assert report.plan.gate.stale == ("1",)


@pytest.mark.parametrize(
    "command",
    [
        "echo x > out/f",
        "ln -s README.md link",
        "mkdir empty",
        "chmod go-r README.md",
        "chmod +x README.md",
        "rm README.md",
    ],
)
def test_no_change_goes_unnoticed_where_changes_need_a_plan(work: Path, command: str) -> None:
    (work / ".gitignore").write_text("out/\n")
    (work / "out").mkdir()
    policy = SessionPolicy(require_plan=True)
    looked, _ = _play(work, [use(_bash("cat README.md"))], policy=policy)
    assert looked.standing is SessionStanding.UNPLANNED, "looking changes nothing"
    report, _ = _play(work, [use(_bash(command))], policy=policy)
    assert report.standing is SessionStanding.ESCALATED


def test_a_tool_name_that_nobody_could_write_down_comes_back_as_text(work: Path) -> None:
    odd = ScriptedCall("x\ud800y", {})
    report, script = _play(work, [use(odd), say("I cannot.")])
    assert report.loop.answer == "I cannot."
    (result,) = script.received[-1].results
    assert "there is no tool `x\\ud800y`" in result.text


def test_a_file_name_that_cannot_be_stored_ends_no_session(work: Path) -> None:
    report, _ = _play(work, [use(_bash("touch $'bad\\xff'")), say("Made.")])
    assert report.loop.answer == "Made."


def _verifier(work: Path) -> signoff.Tool:
    @signoff.tool(effects="read")
    def verify_file_exists(path: str, expected_content_contains: str) -> bool:
        """Whether a file exists and contains a text."""
        file = work / path
        return file.is_file() and expected_content_contains in file.read_text()

    return verify_file_exists


def _verified(work: Path, expected: str) -> tuple[AgentReport, str]:
    session = signoff.start_session(work, policy=ACCEPTING)
    tools = [*signoff.STANDARD_TOOLS, *signoff.plan_tools(session), _verifier(work)]
    asked = {"path": "x.txt", "expected_content_contains": expected}
    turns = _prove_by(WRITE_X, ScriptedCall("verify_file_exists", asked))
    report, script = _play(work, turns, tools=tools, session=session)
    return report, "\n".join(r.text for m in script.received[-1].messages for r in m.results)


def test_a_verifier_that_returns_true_is_evidence_without_a_tool_context(work: Path) -> None:
    report, told = _verified(work, "DONE")
    assert report.done, report.loop.reason
    assert "[evidence: tool:c4, file:x.txt@" in told


def test_a_verifier_that_returns_false_is_none_and_the_refusal_says_what_to_do(work: Path) -> None:
    report, told = _verified(work, "something else")
    assert not report.done
    assert "answered no" in told and "call it again and cite that" in told
    assert "[evidence: tool:c4" not in told


def test_what_a_verifier_read_goes_stale_when_it_changes(work: Path) -> None:
    session = signoff.start_session(work, policy=ACCEPTING)
    tools = [*signoff.STANDARD_TOOLS, *signoff.plan_tools(session), _verifier(work)]
    asked = {"path": "x.txt", "expected_content_contains": "DONE"}
    spoil = use(ScriptedCall("write", {"path": "x.txt", "content": "no\n"}))
    turns = [*_prove_by(WRITE_X, ScriptedCall("verify_file_exists", asked)), spoil]
    report, _ = _play(work, turns, tools=tools, session=session)
    assert not report.done


@pytest.mark.parametrize(
    "look",
    [
        ScriptedCall("grep", {"pattern": "NOWHERE", "path": "x.txt"}),
        ScriptedCall("glob", {"pattern": "*.nothing"}),
        _bash("grep NOWHERE x.txt"),
        _bash("test -f gone.txt"),
    ],
)
def test_a_search_that_found_nothing_is_no_evidence(work: Path, look: ScriptedCall) -> None:
    report, script = _play(work, _prove_by(WRITE_X, look))
    assert not report.done
    told = "\n".join(r.text for m in script.received[-1].messages for r in m.results)
    assert "answered no" in told or "that call failed" in told


@pytest.mark.parametrize(
    ("result", "counts"),
    [
        (True, True),
        (False, False),
        ("No matches found.", False),
        ("", False),
        ([], False),
        ({}, False),
        ({"exists": False}, False),
        ({"exists": True}, True),
        ({"exit_code": 1, "output": "x"}, False),
        ({"exit_code": 0, "output": "x"}, True),
        ("nobody is against it", True),
        (0, True),
        (None, True),
    ],
)
def test_an_answer_that_is_a_no_is_told_from_one_that_is_not(
    work: Path, result: Any, counts: bool
) -> None:
    @signoff.tool(effects="read", reads="of")
    def look(of: str) -> Any:
        """Look."""
        return result

    session = signoff.start_session(work, policy=ACCEPTING)
    tools = [*signoff.STANDARD_TOOLS, *signoff.plan_tools(session), look]
    turns = _prove_by(WRITE_X, ScriptedCall("look", {"of": "x.txt"}))
    report, _ = _play(work, turns, tools=tools, session=session)
    assert report.done is counts
