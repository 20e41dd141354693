"""The loop under the gate: no answer passes while something is unproved; the harness signs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import signoff
from signoff.agents.loop.limits import Ended, LoopLimits
from signoff.domain.session import SessionStanding
from signoff.errors import Exit, Held, UsageError
from signoff.settings.policy import EvidenceRule, SelfSetRule, SessionPolicy
from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.model import scripted_model
from signoff.testing.script import Script, Turn, say, use
from signoff.usecases.agent import AgentReport
from tests.agents.loopkit import Told, bash, write
from tests.unconfined import UNCONFINED

ACCEPTING = SessionPolicy(self_set=SelfSetRule.ACCEPT)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    config = tmp_path / "config.toml"
    config.write_text(UNCONFINED)
    monkeypatch.setenv("SIGNOFF_CONFIG", str(config))
    monkeypatch.setenv("SIGNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "work"
    folder.mkdir()
    yield folder


def play(work: Path, turns: Script | list[Turn], **options: Any) -> AgentReport:
    """One sitting of a scripted model."""
    script = turns if isinstance(turns, Script) else Script(turns)
    options.setdefault("policy", ACCEPTING)
    return signoff.run_agent(
        options.pop("task", "write the reports"),
        model=scripted_model(script),
        workspace=work,
        **options,
    )


def plan(*steps: Any, postconditions: tuple[Any, ...] = ()) -> ScriptedCall:
    """The model plans."""
    arguments = {"objective": "reports", "steps": steps, "postconditions": postconditions}
    return ScriptedCall("plan_create", arguments)


def update(number: int, status: str, evidence: str = "", notes: str = "") -> ScriptedCall:
    """The model says where a step stands."""
    given = {"step_number": number, "status": status, "evidence": evidence, "notes": notes}
    return ScriptedCall("step_update", {name: value for name, value in given.items() if value})


def checked(path: str) -> dict[str, Any]:
    """A step that the harness decides."""
    return {"description": f"write {path}", "check": {"kind": "file_exists", "path": path}}


def cited(conversation: ScriptedRequest) -> str:
    """The evidence line of the latest result."""
    (line,) = [x for x in conversation.results[-1].text.split("\n") if x.startswith("[evidence")]
    return line.removeprefix("[evidence: ").removesuffix("]")


def test_a_careless_answer_is_refused_with_what_is_missing_and_then_the_work_is_done(
    work: Path,
) -> None:
    script = Script(
        [
            use(plan(checked("a.txt"), checked("b.txt"))),
            use(update(1, "in_progress"), write("a.txt", "a"), update(1, "done")),
            say("Both reports are written."),
            use(update(2, "in_progress"), write("b.txt", "b"), update(2, "done")),
            say("Now both are."),
        ]
    )
    report = play(work, script)
    assert report.done and report.exit_code is Exit.YES
    assert report.loop.refused == 1 and report.plan is not None
    refusal = script.received[3].last_user_text
    assert "not accepted yet" in refusal and "step 2: " in refusal
    assert "Both reports are written." in script.received[3].messages[-2].text, "it stays"
    assert report.plan.claimed == ("1", "2") and report.plan.refusals == 1
    assert report.plan.spent.tokens == report.loop.tokens == 600
    assert report.plan.per_verified_step is not None
    assert report.plan.per_verified_step.tokens == 300
    assert report.loop.answer == "Now both are."


def test_a_model_that_only_lies_ends_escalated_and_is_never_done(work: Path) -> None:
    script = Script([use(plan(checked("a.txt"))), say("All done.")], last_repeats=True)
    report = play(work, script)
    assert report.loop.ended is Ended.ESCALATED
    assert report.standing is SessionStanding.ESCALATED
    assert report.exit_code is Exit.WAITING and not report.done
    assert report.loop.refused == 6
    assert report.plan is not None and report.plan.questions


def test_evidence_is_cited_by_what_results_say(work: Path) -> None:
    seen: list[str] = []

    def respond(conversation: ScriptedRequest) -> Turn:
        match conversation.model_turns:
            case 0:
                return use(plan("write a.txt"), update(1, "in_progress"))
            case 1:
                return use(write("a.txt", "a"))
            case 2:
                seen.append(cited(conversation))
                return use(update(1, "done", f"wrote it, {cited(conversation)}"))
        return say("done")

    report = play(work, Script(respond=respond))
    assert report.done, report
    assert seen[0].startswith("tool:c") and "file:a.txt@" in seen[0]


def test_an_invented_call_is_no_evidence(work: Path) -> None:
    lie = update(1, "done", "see tool:c99")
    script = Script([use(plan("write a.txt"), update(1, "in_progress"), lie), say("done")])
    report = play(work, script, limits=LoopLimits(turns=2))
    assert report.loop.ended is Ended.LIMIT and not report.done
    assert "no call with this id" in script.received[1].results[2].text
    assert report.exit_code is Exit.NOT_DONE


def test_a_command_is_cited_for_the_files_it_made_until_they_change(work: Path) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        match conversation.model_turns:
            case 0:
                return use(plan("make a.txt", "make b.txt"), update(1, "in_progress"))
            case 1:
                return bash("echo a > a.txt")
            case 2:
                return use(update(1, "done", cited(conversation)), update(2, "in_progress"))
            case 3:
                return bash("echo b > b.txt; echo changed >> a.txt")
            case 4:
                return use(update(2, "done", cited(conversation)))
            case 5:
                return say("done")
        return say("still done")

    script = Script(respond=respond)
    report = play(work, script, limits=LoopLimits(turns=7))
    assert not report.done
    assert "older content" in script.received[6].last_user_text
    assert report.plan is not None and report.plan.strayed == ("a.txt",)
    assert "file:a.txt@" in script.received[2].results[0].text


def test_what_a_command_looked_at_is_stale_once_anything_changes(work: Path) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        match conversation.model_turns:
            case 0:
                return use(plan("count the files", "write a.txt"), update(1, "in_progress"))
            case 1:
                return bash("ls | wc -l")
            case 2:
                done = update(1, "done", cited(conversation))
                return use(done, update(2, "in_progress"), write("a.txt", "a"))
            case 3:
                return use(update(2, "done", cited(conversation)))
            case 4:
                return say("done")
            case 5:
                return bash("ls | wc -l")
            case 6:
                return use(update(1, "done", cited(conversation)))
        return say("done, proved again")

    report = play(work, Script(respond=respond))
    assert report.done, report.plan
    assert report.loop.refused == 1


def test_a_scratchpad_note_is_evidence_by_what_it_cites(work: Path) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        match conversation.model_turns:
            case 0:
                return use(plan("measure"), update(1, "in_progress"))
            case 1:
                return bash("echo 42")
            case 2:
                note = f"the size is 42, {cited(conversation)}"
                return use(ScriptedCall("scratchpad", {"key": "size", "text": note}))
            case 3:
                return use(update(1, "done", "scratchpad:size"))
        return say("42")

    assert play(work, Script(respond=respond)).done


def test_checks_that_the_agent_chose_do_not_yield_plain_done_by_default(work: Path) -> None:
    turns = [
        use(plan(checked("a.txt")), update(1, "in_progress"), write("a.txt", "a")),
        use(update(1, "done")),
        say("done"),
    ]
    report = play(work, turns, policy=SessionPolicy())
    assert report.standing is SessionStanding.KEPT_SELF_SET
    assert report.exit_code is Exit.WAITING


def test_what_is_removed_after_it_was_proved_is_missed_at_the_end(work: Path) -> None:
    turns = [
        use(plan(checked("a.txt")), update(1, "in_progress"), write("a.txt", "a")),
        use(update(1, "done")),
        bash("rm a.txt"),
        say("done"),
    ]
    report = play(work, Script(turns, last_repeats=True))
    assert not report.done and report.loop.ended is Ended.ESCALATED


def test_what_changes_while_the_answer_is_given_is_found(work: Path) -> None:
    class Meddler(Told):
        """Somebody beside the agent, at the worst moment."""

        def said(self, chunk: str) -> None:
            super().said(chunk)
            (work / "a.txt").unlink()

    wrote = use(plan(checked("a.txt")), update(1, "in_progress"), write("a.txt", "a"))
    turns = [wrote, use(update(1, "done")), say("done")]
    assert play(work, turns).done
    assert not play(work, turns, reporter=Meddler(), limits=LoopLimits(turns=3)).done


def test_without_a_plan_nothing_is_proved_and_nothing_is_done(work: Path) -> None:
    report = play(work, [use(write("a.txt", "a")), say("done")])
    assert report.standing is SessionStanding.UNPLANNED
    assert report.exit_code is Exit.CANNOT_JUDGE
    switched_off = play(work, [say("done")], plan=False)
    assert switched_off.plan is None and switched_off.exit_code is Exit.CANNOT_JUDGE
    assert switched_off.standing is SessionStanding.UNPLANNED


def test_whoever_changes_files_can_be_required_to_have_a_plan(work: Path) -> None:
    policy = SessionPolicy(require_plan=True)
    script = Script([use(write("a.txt", "a")), say("done"), bash("true")], last_repeats=True)
    report = play(work, script, policy=policy, limits=LoopLimits(turns=3))
    assert report.loop.refused == 1 and not report.done
    assert "plan_create" in script.received[2].last_user_text
    only_looking = play(work, [bash("ls"), say("done")], policy=policy)
    assert only_looking.loop.ended is Ended.ANSWERED


def test_the_chapters_own_behaviour_is_there_for_who_wants_it(work: Path) -> None:
    policy = SessionPolicy(evidence=EvidenceRule.PROSE, self_set=SelfSetRule.ACCEPT)
    turns = [
        use(plan("look around"), update(1, "in_progress"), update(1, "done", "I looked")),
        say("done"),
    ]
    assert play(work, turns, policy=policy).done


def test_after_a_compaction_the_plan_is_shown_again(work: Path) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        if not conversation.tools:
            return say("SUMMARY")
        if "<summary>" in conversation.messages[1].text:
            return use(update(1, "done")) if conversation.model_turns < 2 else say("done")
        if conversation.model_turns == 0:
            return use(plan(checked("a.txt")), update(1, "in_progress"), write("a.txt", "a"))
        full = bash("true")
        return Turn(calls=full.calls, input_tokens=2000)

    script = Script(respond=respond)
    report = play(work, script, limits=LoopLimits(context_tokens=2000))
    assert report.done and report.loop.compactions == 1
    shown = next(r.messages[1].text for r in script.received if "<summary>" in r.messages[1].text)
    assert "[.] write a.txt" in shown and "SUMMARY" in shown and "write the reports" in shown


def test_a_stopped_session_is_resumed_with_its_plan_and_its_evidence(work: Path) -> None:
    first = play(
        work,
        [use(plan(checked("a.txt"), checked("b.txt"))), use(write("a.txt", "a"))],
        limits=LoopLimits(turns=2),
    )
    assert first.loop.ended is Ended.LIMIT
    script = Script(
        [
            use(update(1, "done"), update(2, "in_progress"), write("b.txt", "b")),
            use(update(2, "done")),
            say("done"),
        ]
    )
    report = play(work, script, task="", resume=first.loop.session)
    assert report.done and report.loop.session == first.loop.session
    assert script.received[0].model_turns == 2


def test_a_session_is_resumed_only_where_it_works(work: Path, tmp_path: Path) -> None:
    first = play(work, [say("x")])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with pytest.raises(UsageError, match="works in"):
        play(elsewhere, [say("x")], resume=first.loop.session)


def test_callers_compose_tools_around_a_session_of_their_own(work: Path) -> None:
    @signoff.tool(effects={"read"})
    def answer_to_everything(context: signoff.ToolContext) -> str:
        """The answer."""
        return context.read("answer.txt").decode()

    (work / "answer.txt").write_text("42")
    session = signoff.start_session(work, policy=ACCEPTING)
    tools = [*signoff.STANDARD_TOOLS, *signoff.plan_tools(session), answer_to_everything]

    def respond(conversation: ScriptedRequest) -> Turn:
        match conversation.model_turns:
            case 0:
                return use(plan("find the answer"), update(1, "in_progress"))
            case 1:
                return use(ScriptedCall("answer_to_everything"))
            case 2:
                return use(update(1, "done", cited(conversation)))
        return say("42")

    report = play(work, Script(respond=respond), session=session, tools=tools)
    assert report.done and report.loop.session == session.id


def test_a_step_can_be_handed_to_a_sub_agent_whose_own_gate_decides(work: Path) -> None:
    def child(conversation: ScriptedRequest) -> Turn:
        match conversation.model_turns:
            case 0:
                return use(plan(checked("part.txt")), update(1, "in_progress"))
            case 1:
                return say("The part is written.")
            case 2:
                return use(write("part.txt", "p"), update(1, "done"))
        return say("Now it is.")

    def parent(conversation: ScriptedRequest) -> Turn:
        match conversation.model_turns:
            case 0:
                return use(plan({**checked("part.txt"), "description": "have the part written"}))
            case 1:
                handed = {"step_number": 1, "objective": "SUB: write part.txt", "tokens": 5000}
                return use(update(1, "in_progress"), ScriptedCall("delegate", handed))
            case 2:
                return use(update(1, "done"))
        return say("done")

    def respond(conversation: ScriptedRequest) -> Turn:
        sub = conversation.messages[1].text.startswith("SUB:")
        return child(conversation) if sub else parent(conversation)

    script = Script(respond=respond)
    report = play(work, script, limits=LoopLimits(tokens=50_000))
    assert report.done, (report, [r.results for r in script.received])
    results = [r for c in script.received for r in c.results if r.name == "delegate"]
    assert "its plan is proved" in results[0].text and "Now it is." in results[0].text
    assert report.plan is not None and len(report.plan.children) == 1
    assert report.loop.tokens == 8 * 120, "what the child used is paid for by the parent"
    assert report.loop.turns == 8, "and its turns count, so that nobody multiplies by delegating"


def test_a_sub_agent_that_lies_leaves_the_parents_step_shut(work: Path) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        if conversation.messages[1].text.startswith("SUB:"):
            return use(plan(checked("p"))) if conversation.model_turns == 0 else say("All done.")
        match conversation.model_turns:
            case 0:
                return use(plan("have p written"), update(1, "in_progress"))
            case 1:
                return use(
                    ScriptedCall("delegate", {"step_number": 1, "objective": "SUB: write p"})
                )
            case 2:
                return use(update(1, "done", "tool:c1"))
        return say("done")

    script = Script(respond=respond)
    report = play(work, script)
    assert not report.done
    results = [r for c in script.received for r in c.results if r.name == "delegate"]
    assert "NOT proved" in results[0].text


def test_turns_are_not_multiplied_by_delegating(work: Path) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        if conversation.messages[1].text.startswith("SUB"):
            return bash("true")
        if conversation.model_turns == 0:
            return use(plan("one", "two"), update(1, "in_progress"))
        objective = f"SUB {conversation.model_turns}"
        return use(ScriptedCall("delegate", {"step_number": 1, "objective": objective}))

    report = play(work, Script(respond=respond), limits=LoopLimits(turns=12))
    assert report.loop.ended is Ended.LIMIT and report.loop.turns == 12


def test_one_agent_at_a_time_works_in_a_workspace(work: Path) -> None:
    class Second(Told):
        """Starts another one in the middle of the first."""

        def called(self, name: str, arguments: str) -> None:
            super().called(name, arguments)
            with pytest.raises(Held):
                play(work, [say("me too")])

    second = Second()
    play(work, [bash("true"), say("done")], reporter=second)
    assert second.calls
