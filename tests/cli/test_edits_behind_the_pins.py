"""Plan and configuration are pinned: an edit during a run is noticed, never obeyed."""

from __future__ import annotations

from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="retry(1), then escalate")
WEAKEN = "sed -i 's/^grep .*/test -e PLAN.md/' PLAN.md"


def test_an_agent_that_weakens_its_contract_pauses_the_run_with_the_difference(desk: Desk) -> None:
    desk.agent(WEAKEN).plan(GROUND)
    desk.run("--yes").exits(6).shows("the plan file or signoff.toml was edited during the run")
    (item,) = desk.inbox()
    assert item["choices"] == ["retry", "revise", "abort"] and item["step"] is None
    difference = item["context"]["difference"]
    assert "-grep -qx firm ground\n" in difference and "+test -e PLAN.md\n" in difference
    desk.about_plan("status").exits(6).shows(
        "missing: plan: it waits for a person (RUN-1) (signoff inbox)",
        "the plan file differs from what this run was approved",
    )
    desk.answer("retry")
    desk.run().exits(6).shows("step 1 (Lay the ground) is broken after 2 attempts")
    assert "grep -qx firm ground" in desk.attempts()[1].prompt, "it goes by what was approved"
    kinds = desk.kinds()
    assert kinds.count("plan.edited") == 1 and "step.done" not in kinds


def test_a_run_that_goes_on_signs_off_what_was_approved_and_says_so(desk: Desk) -> None:
    desk.agent(f"{WEAKEN}; echo firm > ground").plan(GROUND)
    desk.run("--yes").exits(6)
    desk.answer("retry")
    desk.run().exits(0).shows("the plan file differs from what this run was approved for")
    verdicts = [e["data"]["result"] for e in desk.entries("verdict")]
    assert verdicts == ["broken", "kept"]
    status = desk.about_plan("status", "--json").exits(1).json
    assert status["edited"] is True and status["status"] == "draft"
    assert status["signed_off_at"] and status["since_sign_off"] == ["edited"]
    desk.about_plan("audit").exits(1).shows("is not what was approved: signoff diff")


def test_revise_takes_the_edited_plan_back_to_draft(desk: Desk) -> None:
    desk.agent(f"{WEAKEN}; echo firm > ground").plan(GROUND)
    desk.run("--yes").exits(6)
    desk.answer("revise")
    desk.about_plan("status").exits(1).shows("Build a house  [draft]")
    assert "status: draft" in desk.read("PLAN.md") and "test -e PLAN.md" in desk.read("PLAN.md")
    desk.run().fails(6, "plan `PLAN` was not approved", hint="signoff approve")


def test_an_edited_configuration_is_noticed_and_not_obeyed(desk: Desk) -> None:
    desk.file("evil.sh", "touch owned").agent(
        "echo firm > ground; printf '[roles.coder]\\ncommand = \"sh evil.sh\"\\n' > signoff.toml"
    )
    desk.plan(GROUND, step("Roof", "test -s roof", on_fail="abort"))
    desk.run("--yes").exits(6)
    difference = desk.inbox()[0]["context"]["difference"]
    assert '+command = "sh evil.sh"' in difference
    desk.answer("retry")
    desk.run().exits(1)
    assert desk.dispatched() == ["1", "2"] and not (desk.workspace / "owned").exists()


def test_an_edit_that_makes_the_configuration_unreadable_is_a_clear_error(desk: Desk) -> None:
    desk.agent("echo firm > ground; echo '[[[' > signoff.toml").plan(GROUND)
    desk.run("--yes").exits(6)
    desk.run().fails(4, "signoff.toml` is not valid TOML")
    desk.agent("true")
    assert desk.inbox()


def test_a_plan_edited_after_approval_must_be_approved_again(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND)
    desk.about_plan("approve", "--yes").exits(0)
    desk.edit_plan("Lay the ground", "Lay the floor")
    desk.run().fails(6, "plan `PLAN` changed since it was approved", hint="signoff approve")
    assert desk.attempts() == []
    desk.run("--yes").exits(0)


def test_a_configuration_edited_after_approval_must_be_approved_again(desk: Desk) -> None:
    desk.agent("echo straw > ground").plan(GROUND)
    desk.about_plan("approve", "--yes").exits(0)
    desk.agent("echo firm > ground", role="mason")
    new = desk.roles["mason"].replace("[roles.mason]", "[roles.coder]")
    desk.file("signoff.toml", new)
    desk.run().fails(
        6, "plan `PLAN` was approved with another `signoff.toml`", hint="signoff approve"
    )
    assert desk.attempts() == [] and "run.started" not in desk.kinds()
    desk.run("--yes").exits(0)
    assert desk.read("ground") == "firm\n", "the run obeys the command that was approved last"
    assert len(desk.entries("plan.approved")) == 2 and not desk.entries("plan.edited")


def test_a_run_that_failed_is_tried_again_with_the_mended_configuration(desk: Desk) -> None:
    desk.agent("true").plan(step("Lay the ground", "grep -qx firm ground", on_fail="abort"))
    desk.run("--yes").exits(1)
    desk.agent("echo firm > ground", words="mended")
    desk.run().fails(6, "was approved with another `signoff.toml`")
    desk.run("--yes").exits(0)


def test_a_sign_off_outlives_an_edit_of_the_configuration(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND).run("--yes").exits(0)
    desk.agent("true", words="later").run().exits(0).shows("already signed off")


def test_marks_and_status_are_no_edit(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND)
    desk.about_plan("approve", "--yes").exits(0)
    desk.edit_plan("### 1. Lay", "### 1. ✅ Lay").edit_plan("status: approved", "status: done")
    desk.run().exits(0)
    assert len(desk.attempts()) == 1


def test_a_protected_file_that_a_person_edited_after_approving_is_not_blamed_on_the_agent(
    desk: Desk,
) -> None:
    desk.file("tests/check", "firm\n").agent("echo firm > ground")
    desk.plan(step("Lay the ground", "diff ground tests/check", protects=["tests/**"]))
    desk.about_plan("approve", "--yes").exits(0)
    desk.file("tests/check", "firmer\n")
    desk.run().fails(6, "protected files changed since the approval: `tests/check`")
    assert desk.attempts() == []


def test_after_a_revision_unchanged_steps_are_judged_again_and_not_dispatched(desk: Desk) -> None:
    desk.agent('echo firm > ground; [ "$SIGNOFF_STEP" = 2 ] && echo straw > roof')
    desk.plan(GROUND, step("Roof", "grep -q tiles roof", on_fail="escalate"))
    desk.run("--yes").exits(6)
    desk.answer("revise")
    desk.edit_plan("grep -q tiles roof", "grep -q straw roof")
    desk.run("--yes").exits(0).shows("step 1 · done, kept from an earlier run")
    assert desk.dispatched() == ["1", "2", "2"]
    status = desk.about_plan("status").exits(0)
    status.shows("[x] 1  Lay the ground  (kept, kept from an earlier run)")
