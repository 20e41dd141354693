"""What is judged, on what content, and what never counts as kept."""

from __future__ import annotations

import os

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

FIRM = "grep -qx firm ground"


def test_a_protected_file_that_was_edited_is_named_refused_and_put_back(desk: Desk) -> None:
    desk.file("tests/check", "firm\n")
    desk.agent(
        'cp tests/check "$seat/check"; '
        'if [ "$attempt" = 1 ]; then echo mud | tee ground > tests/check; rm -f tests/other; '
        "touch tests/extra; else echo firm > ground; fi"
    )
    desk.plan(step("Lay the ground", "diff ground tests/check", protects=["tests/**"]))
    desk.run("--yes").exits(0).shows(
        "attempt 1 · tampered: `tests/check`: protected file was changed; "
        "`tests/extra`: protected file was added"
    )
    second = desk.agents / "life" / "1" / "check"
    assert second.read_text() == "firm\n", "the retry must start from what was approved"
    assert not (desk.workspace / "tests" / "extra").exists()
    prompt = desk.attempts()[1].prompt
    assert "Changed although protected: tests/check, tests/extra" in prompt
    assert "Put back by the harness: tests/check\n" in prompt
    assert "Added, and removed again by the harness: tests/extra\n" in prompt
    assert "If that cannot be done, answer `blocked: why`" in prompt


def test_what_a_done_step_produced_may_not_be_changed_by_a_later_one(desk: Desk) -> None:
    desk.agent('if [ "$SIGNOFF_STEP" = 1 ]; then echo firm > ground; else echo mud >> ground; fi')
    desk.plan(
        step("Lay the ground", "test -s ground", produces=["ground"]),
        step(
            "Roof", "test -s ground", on_fail="escalate", red_first="off (it is about the ground)"
        ),
    )
    desk.run("--yes").exits(6).shows(
        "step 2 · attempt 1 · tampered: `ground`: output of an accepted step was changed"
    )


def test_a_later_step_may_change_it_when_the_plan_says_so(desk: Desk) -> None:
    desk.agent('if [ "$SIGNOFF_STEP" = 1 ]; then echo firm > ground; else echo wet >> ground; fi')
    desk.plan(
        step("Lay the ground", "test -s ground", produces=["ground"]),
        step("Water it", "grep -q wet ground", may_change="ground"),
    )
    desk.run("--yes").exits(0)


def test_a_later_step_may_add_to_what_an_earlier_one_protects_when_the_plan_says_so(
    desk: Desk,
) -> None:
    desk.file("tests/check", FIRM)
    agent = 'if [ "$SIGNOFF_STEP" = 1 ]; then echo firm > ground; else echo true > tests/more; fi'
    first = step("Lay the ground", "bash tests/check", protects=["tests/**"])
    second = step("Test it", "test -s tests/more", may_change="tests/more", on_fail="abort")
    desk.agent(agent).plan(first, second).run("--yes").exits(0)
    desk.about_plan("audit").exits(0)


def test_what_it_added_there_counts_as_it_was_accepted(desk: Desk) -> None:
    desk.file("tests/check", FIRM)
    script = """case $SIGNOFF_STEP in
        1) echo firm > ground;;
        2) echo true > tests/more;;
        3) echo false > tests/more; echo roof > roof;;
    esac"""
    desk.agent(script).plan(
        step("Lay the ground", "bash tests/check", protects=["tests/**"]),
        step("Test it", "test -s tests/more", may_change="tests/more"),
        step("Roof", "test -s roof", on_fail="abort"),
    )
    desk.run("--yes").exits(1).shows("`tests/more`: output of an accepted step was changed")


def test_no_step_answers_for_what_the_agent_of_a_waiting_one_tampered_with(desk: Desk) -> None:
    desk.file("tests/check", FIRM)
    desk.agent("echo true > tests/check; echo x > tests/extra", role="liar")
    desk.agent("echo 'a tool' > README")
    desk.plan(
        step(
            "Lay the ground",
            "bash tests/check",
            target="liar",
            protects=["tests/**"],
            on_fail="escalate",
        ),
        step("Tell", "grep -q tool README", protects=["tests/**"], needs="none", on_fail="abort"),
    )
    desk.run("--yes").exits(6).shows(
        "step 1 · put back for the other steps: tests/check, tests/extra",
        "step 2 · attempt 1 · kept: ",
    )
    assert desk.read("tests/check") == FIRM
    assert not (desk.workspace / "tests/extra").exists()
    (item,) = desk.inbox()
    assert item["step"] == "1"
    desk.agent("echo firm > ground", role="liar")
    desk.answer("retry")
    desk.run().exits(0)


def test_while_nobody_else_goes_on_it_stays_as_it_is_for_the_person_to_see(desk: Desk) -> None:
    desk.file("tests/check", FIRM)
    desk.agent("echo true > tests/check")
    desk.plan(step("Lay the ground", "bash tests/check", protects=["tests/**"], on_fail="escalate"))
    desk.run("--yes").exits(6).hides("step.cleared")
    assert desk.read("tests/check") == "true\n"


def test_a_contract_that_changes_the_work_is_told_its_line_before_anybody_is_paid(
    desk: Desk,
) -> None:
    desk.agent("echo firm > ground")
    check = f"date +%N > report; {FIRM}"
    desk.plan(step("Lay the ground", check)).run("--yes").exits(6).shows(
        "step 1 (Lay the ground) is unknown after 0 attempts: could not judge: "
        "content moved while it was judged: `report` added",
        "declare `**writes:** report`",
        "retry judges it again when mended, revise a new plan",
    )
    assert desk.attempts() == []
    desk.answer("revise")
    desk.plan(step("Lay the ground", check, writes="report")).run("--yes").exits(0)


def test_what_only_the_work_has_a_contract_write_is_unknown_and_never_kept(desk: Desk) -> None:
    desk.agent("echo firm > ground")
    check = f"{FIRM} && date +%N > report"
    desk.plan(step("Lay the ground", check, on_fail="escalate")).run("--yes").exits(6).shows(
        "step 1 (Lay the ground) is unknown after 1 attempt: content moved while it was judged: "
        "`report` added",
        "declare `**writes:** report`",
    )


@pytest.mark.parametrize(
    ("contract", "fields", "why"),
    [
        ("sleep 300; test -s ground", {"contract_timeout": "1 s"}, "timed out"),
        ("PATH=$PWD/bin no-such-tool --check", {}, "127"),  # of the work: no obstacle
        ("kill -9 $$", {}, "signal"),
        ("chmod -x ground 2> /dev/null; ./ground", {"writes": "ground"}, "126"),
    ],
)
def test_a_contract_that_could_not_be_judged_is_never_kept(
    desk: Desk, contract: str, fields: dict[str, str], why: str
) -> None:
    desk.agent("echo firm > ground")
    desk.plan(step("Lay the ground", contract, on_fail="escalate", **fields))
    desk.run("--yes").exits(6).shows("is unknown after 1 attempt", why)
    assert [s["verdict"] for s in desk.status()["steps"]] == ["unknown"]


def test_an_expectation_of_127_is_not_met_by_a_missing_tool(desk: Desk) -> None:
    desk.agent("echo firm > ground")
    desk.plan(step("Break", "no-such-tool-at-all", expect="exit_code == 127", on_fail="escalate"))
    ran = desk.run("--yes")
    assert ran.code in (4, 6), "either refused as a plan, or never kept"
    assert "step.done" not in desk.kinds()


def test_a_regression_is_found_in_the_final_sweep_and_goes_to_the_step_that_owns_it(
    desk: Desk,
) -> None:
    desk.agent(
        'case "$SIGNOFF_STEP-$attempt" in 1-*) echo firm > ground ;; '
        "2-*) echo tiles > roof; echo mud > ground ;; esac"
    )
    desk.plan(step("Lay the ground", FIRM), step("Roof", "test -s roof"))
    desk.run("--yes").exits(0).shows(
        "step 1 · final sweep · broken: exit code 1, expected 0",
        "step 1 · broken again by step 2, attempt 1",
        "step 1 · done again",
    )
    assert desk.dispatched() == ["1", "2", "1"]
    prompt = desk.attempts()[2].prompt
    assert "a later change broke it again" in prompt
    assert "It broke with: step 2, attempt 1" in prompt


def test_a_broken_postcondition_waits_for_a_person_and_is_judged_again(desk: Desk) -> None:
    desk.agent("echo firm > ground")
    desk.plan(step("Lay the ground", FIRM), post=[("Somebody lives there", "test -s people")])
    desk.run("--yes").exits(6).shows(
        "postcondition 1 does not hold: Somebody lives there: exit code 1, expected 0",
        "[?] postcondition:1  Somebody lives there",
    )
    assert desk.inbox()[0]["step"] == "postcondition:1"
    desk.answer("retry")
    desk.run().exits(6)
    desk.file("people", "Ada\n")
    desk.answer("retry")
    desk.run().exits(0).shows("[x] postcondition:1  Somebody lives there  (kept)")
    assert len(desk.attempts()) == 1


def test_a_postcondition_without_a_contract_asks_a_person_and_is_never_kept(desk: Desk) -> None:
    desk.agent("echo firm > ground")
    desk.plan(step("Lay the ground", FIRM), post=[("It looks nice", None)])
    desk.run("--yes").exits(6).shows("accept says that it holds")
    desk.answer("waive", "--note", "it does")
    ran = desk.run().exits(0).shows("gate open with waivers")
    ran.shows("[-] postcondition:1  It looks nice  (waived)")
    assert desk.status()["waived"] == ["postcondition:1"]
    desk.run("--strict").exits(1)


def test_whether_a_contract_held_before_is_recorded_and_shown(desk: Desk) -> None:
    desk.person('[policy]\nheld_before = "ask"\n')
    desk.file("ground", "firm\n").agent("true").plan(step("Lay the ground", FIRM))
    asked = "every contract held before the work, so none shows that anything was done"
    desk.run("--yes").exits(6).shows("held before: proves nothing about this step", asked)
    assert desk.status()["steps"][0]["held_before"] is True
    desk.about_plan("audit").exits(1).shows("kept       1", "not signed off")
    desk.answer("accept", "--note", "I looked")
    desk.run().exits(0).shows("called it done all the same", "held before: proves nothing")
    assert desk.status()["held_before_accepted_by"]
    desk.signoff("log", "PLAN.md").exits(0).shows("accept")


def test_a_user_may_allow_plans_that_held_before(desk: Desk) -> None:
    desk.person('[policy]\nheld_before = "allow"\n')
    desk.file("ground", "firm\n").agent("true").plan(step("Lay the ground", FIRM))
    desk.run("--yes").exits(0).shows("held before: proves nothing about this step")


def test_nobodys_word_counts_where_waivers_are_forbidden(desk: Desk) -> None:
    desk.person('[policy]\nheld_before = "ask"\n')
    desk.file("ground", "firm\n").agent("true").plan(step("Lay the ground", FIRM))
    desk.file("signoff.toml", desk.read("signoff.toml") + "[policy]\nforbid_waivers = true\n")
    desk.run("--yes").exits(6)
    assert desk.inbox()[0]["choices"] == ["revise", "abort"]


def test_red_first_can_be_required_by_the_step_or_by_the_policy(desk: Desk) -> None:
    desk.file("ground", "firm\n").agent("true")
    desk.plan(step("Lay the ground", FIRM, red_first="required"))
    asked = "the contract of step 1 (Lay the ground) already holds"
    desk.run("--yes").exits(6).shows(asked)
    assert desk.attempts() == [] and desk.status()["steps"][0]["state"] == "blocked"
    desk.answer("abort")
    desk.plan(step("Lay the ground", FIRM))
    desk.file("signoff.toml", desk.read("signoff.toml") + "[policy]\nrequire_red_first = true\n")
    desk.run("--yes").exits(6).shows(asked)
    desk.answer("retry")
    desk.run().exits(0)
    assert len(desk.attempts()) == 1


def test_red_first_can_be_switched_off_with_a_reason(desk: Desk) -> None:
    desk.file("ground", "firm\n").agent("true")
    desk.plan(step("Lay the ground", FIRM, red_first="off (the ground was there)"))
    desk.run("--yes").exits(0).hides("held before", "[before]")


def test_an_agent_cannot_put_its_own_tool_in_front_of_the_check(desk: Desk) -> None:
    desk.agent("mkdir -p bin; printf '#!/bin/sh\\nexit 0\\n' > bin/grep; chmod +x bin/grep")
    desk.plan(step("Lay the ground", FIRM, on_fail="escalate"))
    desk.variable(PATH=f"{desk.workspace / 'bin'}:{os.environ['PATH']}").run("--yes").exits(
        6
    ).shows("is broken after 1 attempt")


def test_a_writer_that_outlives_its_agent_cannot_reach_the_verdict(desk: Desk) -> None:
    late = "(setsid bash -c 'while :; do echo firm > ground; rm ground; done' &) ; sleep 0.2"
    desk.agent(f"{late}; rm -f ground").plan(step("Lay the ground", FIRM, on_fail="escalate"))
    desk.run("--yes")
    (ended,) = desk.entries("attempt.finished")
    assert ended["data"]["leftovers_killed"] >= 1
    (verdict,) = [e for e in desk.entries("verdict") if e["data"]["phase"] == "attempt"]
    assert verdict["data"]["reason"] != "moved"
