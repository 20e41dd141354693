"""Approval is a person's act on exactly what was shown; never an agent's."""

from __future__ import annotations

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="escalate")


def test_nobody_at_the_terminal_means_waiting_for_a_person(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    refused = desk.about_plan("approve").exits(6)
    refused.shows(
        "error: this is not a terminal, so nobody can be asked to approve", "next: signoff approve"
    )
    assert desk.kinds() == [] and "status: draft" in desk.read("PLAN.md")
    desk.run().fails(6, "plan `PLAN` was not approved", hint="signoff approve DESK/work/PLAN.md")


def test_a_yes_at_a_terminal_is_recorded_as_a_persons(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND, post=[("It is firm", "grep -q firm ground")])
    shown = desk.at_terminal("approve", "PLAN.md", typed="y\n").exits(0)
    for part in (
        "step 1: Lay the ground  [coder; escalate]",
        "    $ grep -qx firm ground",
        "    exit_code == 0",
        "postcondition 1: It is firm",
        "role coder: bash ",
        "isolation: none",
        "Approve exactly this?",
        "approved: PLAN, plan ",
    ):
        assert part in shown.stdout, shown.stdout
    (entry,) = desk.entries("plan.approved")
    assert entry["data"]["interactive"] is True and entry["data"]["policy"] is None
    assert "status: approved" in desk.read("PLAN.md")
    desk.run().exits(0)


def test_a_no_at_a_terminal_records_nothing(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    shown = desk.at_terminal("approve", "PLAN.md", typed="n\n").exits(6)
    assert "error: not approved; nothing was recorded" in shown.stdout
    assert desk.kinds() == []


def test_an_unasked_yes_is_recorded_as_not_interactive(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    report = desk.signoff("--json", "approve", "PLAN.md", "--yes").exits(0).json
    assert report["interactive"] is False and report["status"] == "approved"
    desk.about_plan("log").exits(0).shows("plan approved by", ", not interactively")


def test_the_persons_own_policy_can_approve_and_the_repository_cannot(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND)
    toml = desk.read("signoff.toml")
    desk.file("signoff.toml", "auto_approve = true\n" + toml)
    desk.run().fails(4, "has `auto_approve`, which belongs in the user's file")
    desk.file("signoff.toml", toml).person("auto_approve = true\n").run().exits(0)
    (entry,) = desk.entries("plan.approved")
    assert entry["data"]["policy"] == "auto_approve" and entry["data"]["interactive"] is False


def test_reject_takes_an_approval_back(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.about_plan("approve", "--yes").exits(0)
    desk.about_plan("reject", "--note", "too wet").exits(0).prints(
        "rejected: PLAN is a draft again"
    )
    assert "status: draft" in desk.read("PLAN.md")
    assert desk.entries("plan.rejected")[0]["data"]["note"] == "too wet"
    desk.run().fails(6, "was not approved")


def test_a_run_that_is_not_over_goes_by_its_own_pins(desk: Desk) -> None:
    desk.agent("true").plan(GROUND).run("--yes").exits(6)
    for verb in (("approve", "--yes"), ("reject",)):
        desk.about_plan(*verb).exits(5).shows("of this plan is not over")
    assert desk.kinds().count("plan.approved") == 1


@pytest.mark.parametrize(
    "disguise",
    [
        "{command}",
        "env -u SIGNOFF_ATTEMPT {command}",
        "env -i {kept} {command}",
        "setsid --wait env -u SIGNOFF_ATTEMPT {command}",
        ": > $seat/said; (setsid env -i {kept} {command} > $seat/said 2>&1 &) ; "
        "until grep -q next: $seat/said; do sleep 0.05; done; cat $seat/said",
        "script -qec 'env -u SIGNOFF_ATTEMPT {command}' /dev/null < /dev/null",
    ],
    ids=["plain", "unset", "empty", "session", "orphan", "terminal"],
)
def test_an_agent_can_neither_approve_nor_waive(desk: Desk, disguise: str) -> None:
    desk.agent(_cheat(desk, disguise))
    desk.plan(
        step("Sign", "test -s letter", target="human"),
        step("Lay the ground", "grep -qx firm ground", needs="none", on_fail="escalate"),
    )
    desk.file("OTHER.md", desk.read("PLAN.md").replace("Build a house", "Build a tower"))
    desk.run("--yes").exits(6)
    assert desk.dispatched() == ["2"]
    said = (desk.agents / "life" / "0" / "answers").read_text()
    assert (
        said.count("part of an attempt")
        + said.count("inside an attempt")
        + said.count("is driving a run")
        == 2
    ), said
    kinds = desk.kinds()
    assert kinds.count("plan.approved") == 1
    assert "step.waived" not in kinds and "escalation.answered" not in kinds
    desk.signoff("log", "OTHER.md").exits(0).prints("")


def _cheat(desk: Desk, disguise: str) -> str:
    """An agent that knows where our home is and answers the open question of step 1."""
    known = {n: v for n, v in desk.environment().items() if n != "TERM"}
    kept = " ".join(f"'{name}={value}'" for name, value in known.items())
    call = " ".join(desk.command([]))
    inbox = f"env {kept} {call} inbox --json"
    item = f'$({inbox} | sed \'s/.*"id": "\\([^"]*\\)".*/\\1/\')'
    acts = [f"env {kept} {call} answer $item waive", f"env {kept} {call} approve OTHER.md --yes"]
    tries = [disguise.format(command=act, kept=kept) for act in acts]
    return "\n".join([f"export item={item}", "{", *tries, '} > "$seat/answers" 2>&1'])


@pytest.mark.parametrize("policy", [False, True], ids=["--yes", "auto_approve"])
def test_who_approves_without_being_asked_is_told_once_what_verify_warns_of(
    desk: Desk, policy: bool
) -> None:
    desk.agent("true").plan(step("Write calc", "python3 calc.py | grep -qx 5", on_fail="escalate"))
    ran = desk.person("auto_approve = true\n").run() if policy else desk.run("--yes")
    first, second, *_ = ran.exits(6).stderr.splitlines()
    assert first.startswith("PLAN.md:") and ": warning: " in first, first
    assert "[script-missing]; hint: " in first and second.startswith("run ")
    assert "[script-missing]" not in ran.stdout and ran.stderr.count("[script-missing]") == 1
    desk.answer("retry")
    desk.run("--yes").exits(6).shows("goes on in process").hides("[script-missing]")


def test_what_verify_warns_of_does_not_disturb_machines_and_notes_are_left_out(desk: Desk) -> None:
    desk.agent("true").plan(step("Write calc", "python3 calc.py | grep -qx 5", on_fail="escalate"))
    noted = desk.about_plan("verify", "--json").exits(0).json["findings"]
    ran = desk.run("--yes", "--json").exits(6)
    assert ran.json_lines[0]["kind"] == "run.started"
    warned = [finding["code"] for finding in noted if finding["severity"] == "warning"]
    assert [line.partition("[")[2].partition("]")[0] for line in ran.stderr.splitlines()] == warned


def test_an_approval_with_yes_shows_what_verify_warns_of(desk: Desk) -> None:
    desk.agent("true").plan(step("Write calc", "python3 calc.py | grep -qx 5", on_fail="escalate"))
    desk.about_plan("approve", "--yes").exits(0).shows("warning: ", "[script-missing]", "hint: ")
    desk.run().exits(6).hides("[script-missing]")


def test_an_approval_shows_the_line_that_a_step_lacks_before_anybody_works(desk: Desk) -> None:
    desk.agent("true").file("app.config.json", "{}\n")
    desk.plan(step("Raise the max in app.config.json", "python3 -m unittest -q"))
    shown = desk.about_plan("approve", "--yes").exits(0)
    shown.shows("[propose-may-change]", "`**may_change:** app.config.json`")
