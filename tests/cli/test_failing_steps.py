"""`on_fail`: how often a step is tried, and what follows when no try is left."""

from __future__ import annotations

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step


@pytest.mark.parametrize(
    ("policy", "tries", "code"),
    [
        ("retry(2)", 3, 6),
        ("escalate", 1, 6),
        ("abort", 1, 1),
        ("retry(1), then abort", 2, 1),
        ("retry(1), then escalate", 2, 6),
        (None, 3, 6),
    ],
)
def test_a_step_is_tried_exactly_as_often_as_its_policy_says(
    desk: Desk, policy: str | None, tries: int, code: int
) -> None:
    fields = {"on_fail": policy} if policy else {}
    dig = step("Dig", "test -e hole", **fields)
    desk.agent("echo 'I did it, honestly.'; echo $attempt > diary").plan(dig)
    desk.run("--yes").exits(code)
    assert len(desk.attempts()) == tries
    kinds = desk.kinds()
    assert kinds.count("attempt.started") == tries
    assert kinds.count("escalation.opened") == (code == 6)
    assert kinds.count("step.failed") == (code == 1)
    assert "step.done" not in kinds


@pytest.mark.parametrize(("policy", "code"), [("retry(5)", 6), ("retry(5), then abort", 1)])
def test_an_agent_that_changes_nothing_is_asked_twice_whatever_its_policy_says(
    desk: Desk, policy: str, code: int
) -> None:
    desk.agent("echo 'I did it, honestly.'").plan(step("Dig", "test -e hole", on_fail=policy))
    desk.run("--yes").exits(code)
    assert len(desk.attempts()) == 2
    causes = [e["data"]["cause"] for e in desk.entries("escalation.opened")]
    assert causes == (["repeated"] if code == 6 else [])


def test_a_failed_plan_says_what_is_missing_and_the_same_command_resumes_it(desk: Desk) -> None:
    desk.agent('[ "$SIGNOFF_STEP" = 1 ] && echo firm > ground')
    desk.plan(
        step("Lay the ground", "grep -qx firm ground"),
        step("Put the roof on", "test -s roof", on_fail="abort"),
    )
    desk.run("--yes").exits(1).prints(
        """
        Build a house  [failed]
        run RUN, gate shut, as of content DIGEST, isolation none
          [x] 1  Lay the ground  (1 attempt, kept)
          [!] 2  Put the roof on  (1 attempt, broken)
        missing: 2: it failed: exit code 1, expected 0 (signoff run)
        spent: tokens and dollars unknown (no usage reported), SECONDS of work
        """
    )
    assert "status: failed" in desk.read("PLAN.md")
    assert "### 2. ❌ Put the roof on" in desk.read("PLAN.md")
    desk.about_plan("status").exits(1)
    desk.agents.joinpath("coder.sh").write_text(
        desk.agents.joinpath("coder.sh").read_text() + "echo tiles > roof\n"
    )
    desk.run().exits(0).shows("step 1 · done, kept from an earlier run")
    assert desk.dispatched() == ["1", "2", "2"]
    assert desk.status()["steps"][0]["carried"] is True


def test_a_step_that_was_done_but_broke_meanwhile_is_not_carried_over(desk: Desk) -> None:
    desk.agent('[ "$SIGNOFF_STEP" = 1 ] && echo firm > ground; [ -e ready ] && echo tiles > roof')
    desk.plan(
        step("Lay the ground", "grep -qx firm ground"),
        step("Put the roof on", "test -s roof", on_fail="abort"),
    )
    desk.run("--yes").exits(1)
    desk.file("ground", "mud\n").file("ready")
    desk.run().exits(0)
    assert desk.dispatched() == ["1", "2", "1", "2"]


def test_the_question_of_a_failed_step_carries_its_whole_context(desk: Desk) -> None:
    desk.agent("echo later > note.txt")
    desk.plan(step("Dig", "echo 'no hole here'; test -e hole", on_fail="escalate"))
    ran = desk.run("--yes").exits(6)
    (item,) = desk.inbox()
    assert set(item) >= {"id", "plan", "step", "question", "context", "choices"}
    assert item["step"] == "1" and item["choices"] == ["retry", "revise", "abort", "waive"]
    assert item["context"]["contract"] == "echo 'no hole here'; test -e hole"
    assert item["context"]["output_tail"] == "no hole here"
    shown = (
        desk.signoff("inbox")
        .exits(0)
        .prints(
            """
        RUN-1  PLAN.md  TIME
          step 1 (Dig) is broken after 1 attempt: exit code 1, expected 0
          contract:
            | echo 'no hole here'; test -e hole
          the contract's last output:
            | no hole here
          next: signoff answer RUN-1 retry|revise|abort|waive
        """
        )
    )
    assert ran.stdout.endswith(shown.stdout.replace("PLAN.md", "PLAN")), (
        "whose plan it is, is known"
    )
    assert desk.signoff("--json", "inbox").json["items"] == [item]
    desk.about_plan("status").exits(6).shows("[?] 1  Dig", "it waits for a person (RUN-1)")
    desk.run().exits(6)
    assert len(desk.attempts()) == 1, "a run that waits must not dispatch anything"


def test_answers_decide_what_happens_next(desk: Desk) -> None:
    desk.agent("[ -e spade ] && echo deep > hole")
    desk.plan(step("Dig", "test -s hole", on_fail="retry(1), then escalate"))
    desk.run("--yes").exits(6)
    answered = desk.answer("retry", "--note", "look again")
    answered.prints("answered RUN-1: retry").notes("next: signoff run DESK/work/PLAN.md")
    desk.run().exits(6)
    assert len(desk.attempts()) == 4, "retry gives the step all its tries again"
    desk.file("spade")
    desk.answer("retry")
    desk.run().exits(0)
    assert len(desk.attempts()) == 5
    desk.signoff("inbox").exits(0).prints("nothing waits for you")
    assert [e["data"]["note"] for e in desk.entries("escalation.answered")] == ["look again", ""]


def test_abort_ends_the_run_as_failed(desk: Desk) -> None:
    desk.agent("true").plan(step("Dig", "test -s hole", on_fail="escalate"))
    desk.run("--yes").exits(6)
    desk.answer("abort")
    desk.about_plan("status").exits(1).shows("Build a house  [failed]")
    assert desk.inbox() == []


def test_wrong_answers_are_told_apart(desk: Desk) -> None:
    desk.agent("true").plan(step("Dig", "test -s hole", on_fail="escalate"))
    desk.run("--yes").exits(6)
    item = desk.inbox()[0]["id"]
    desk.signoff("answer", "ffffffff-1", "retry").fails(2, "no open question", hint="signoff inbox")
    desk.signoff("answer", item, "please").fails(2, "`please` is not one of")
    failure = desk.signoff("--json", "answer", "nobody-1", "retry").exits(2).failure
    assert failure["code"] == "nothing-to-answer" and failure["exit_code"] == 2
    desk.answer("abort")
    desk.signoff("answer", item, "retry").fails(2, "answered: abort")


@pytest.mark.parametrize(
    ("script", "ended", "said"),
    [
        ("echo API key missing >&2; exit 3", "exit code 3", "API key missing"),
        ("echo going down; kill -SEGV $$", "killed by a signal", "going down"),
        ("exec no-such-model", "a program was not found (exit code 127)", "no-such-model"),
        ("echo still thinking; exec sleep 300", "out of time", "still thinking"),
    ],
)
def test_why_an_agent_failed_by_itself_is_told_wherever_the_step_is_told(
    desk: Desk, script: str, ended: str, said: str
) -> None:
    desk.agent(script, timeout_s=2).plan(step("Dig", "test -e hole", on_fail="escalate"))
    told = desk.run("--yes").exits(6)
    told.shows(f"the agent failed: {ended}", said, f"the agent ended: {ended}")
    (item,) = desk.inbox()
    assert f"; the agent ended: {ended}" in item["question"]
    assert item["context"]["the agent ended"] == ended
    assert said in item["context"]["the agent's last output"]
    desk.signoff("inbox").exits(0).shows("the agent's last output:", said)


def test_an_agent_that_ended_well_is_not_said_to_have_failed(desk: Desk) -> None:
    desk.agent("echo all done").plan(step("Dig", "test -e hole", on_fail="escalate"))
    assert "the agent failed" not in desk.run("--yes").exits(6).stderr
    (item,) = desk.inbox()
    assert item["context"]["the agent ended"] == ""
    assert item["context"]["the agent's last output"] == "all done"


@pytest.mark.parametrize(
    ("printed", "quoted"),
    [
        ("adds: no\n  at: sum.js\n}\n# duration_ms 840.9", "adds: no"),
        ("  1) adds:\n     wrong sum\n  }", "wrong sum"),
        ("Traceback:\n  File x\nValueError: no sum", "ValueError: no sum"),
        ("# nothing to see", "# nothing to see"),
    ],
)
def test_the_line_that_says_something_is_quoted(desk: Desk, printed: str, quoted: str) -> None:
    desk.tool("check-it", f"cat <<'END'\n{printed}\nEND\nexit 1")
    desk.agent("true").plan(step("Add", "check-it", on_fail="escalate"))
    shown = desk.run("--yes").exits(6).stdout + desk.about_plan("log").stdout
    assert f"broken: exit code 1, expected 0: {quoted}\n" in shown, shown


def test_where_the_reason_says_all_nothing_is_quoted(desk: Desk) -> None:
    desk.tool("check-it", "printf 'ok 1 - adds\\n1..1\\n# duration_ms 840.9\\n'; test -e sum")
    desk.agent("echo 3 > sum").plan(step("Add", "check-it", on_fail="escalate"))
    desk.run("--yes").exits(6)
    log = desk.about_plan("log").exits(0)
    log.shows("attempt 1 · broken: influenced: ", "**may_change:** sum`\n").hides("duration_ms")
