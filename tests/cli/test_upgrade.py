"""Approvals and runs of an older version: shown with what is new, approved once more, never lost.

The homes were left by signoff as it was before approvals pinned ignored files (tests/fixtures).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project
from tests.fixtures.old import restore
from tests.hooks.kit import FakeClient

OLDER = "was approved by an older version of signoff"
GOODBYE = "--role=coder=bash -c 'echo bye > goodbye.txt'"
Old = Callable[[str], Desk]


@pytest.fixture
def old(desk: Desk, database_url: str) -> Old:
    """A desk as an older version left it, on either database."""

    def left(case: str) -> Desk:
        restore("0.1.0", case, desk.folder, database_url)
        return desk.variable(SIGNOFF_DATABASE=database_url)

    return left


def test_an_older_approval_is_shown_with_what_is_new_and_runs_once_approved_again(old: Old) -> None:
    desk = old("approved")
    desk.about_plan("status").exits(1).shows("approved by an older version: approve again")
    failure = desk.run("--json").exits(6).failure
    assert failure["code"] == "not-approved" and OLDER in failure["message"]
    assert "ignored files (`local/settings.ini`)" in failure["facts"]["newly_pinned"]
    assert any(".git/info/exclude" in said for said in failure["facts"]["newly_pinned"])
    assert any("protected files" in said for said in failure["facts"]["newly_refused"])
    assert not any("touches" in said for said in failure["facts"]["newly_refused"])
    assert desk.kinds() == ["plan.approved"], "nothing ran"

    desk.about_plan("approve", "--yes").exits(0).shows(
        f"it {OLDER}; approving it again:", "newly pinned: ignored files (`local/settings.ini`)"
    )
    assert not desk.status()["older"]
    desk.run().exits(0)
    desk.about_plan("approve", "--yes").exits(0).hides(OLDER)


def test_what_was_not_asked_is_told(old: Old) -> None:
    old("approved").run("--yes").exits(0).shows(f"{OLDER}, and is approved again; newly pinned:")


def test_an_open_run_goes_on_where_it_was_by_the_pins_that_a_person_approved(old: Old) -> None:
    desk = old("open-run")
    before = desk.log()
    desk.run().fails(6, OLDER, hint="signoff approve")
    desk.answer("retry").exits(0)
    desk.run().fails(6, OLDER)
    assert desk.log()[: len(before)] == before and len(desk.log()) == len(before) + 1

    desk.about_plan("approve", "--yes").exits(0).shows("newly pinned: ignored files")
    (amended,) = desk.entries("plan.amended")
    assert amended["data"]["by"] and not amended["data"]["interactive"]
    assert amended["data"]["upgraded"] and amended["run"] == desk.status()["run"]
    states = {s["id"]: (s["state"], s["stale"]) for s in desk.status()["steps"]}
    assert states["1"] == ("done", True), "accepted, and to be judged again"
    desk.run(GOODBYE).exits(0)

    after = desk.log()[len(before) :]
    attempts = [e["step"] for e in after if e["kind"] == "attempt.started"]
    assert attempts == ["2"], "the accepted step is nobody's work any more"
    assert {e["run"] for e in after if e["run"]} == {amended["run"]}
    assert desk.status()["status"] == "done"
    desk.about_plan("audit").exits(0).hides(OLDER)
    desk.signoff("receipt", "export", "PLAN.md").exits(0)


def test_an_accepted_step_is_judged_again_by_the_new_pins_on_unchanged_content(old: Old) -> None:
    desk = old("open-run")
    desk.answer("waive", "--note", "not needed").exits(0)
    desk.about_plan("approve", "--yes").exits(0)
    (amended,) = desk.entries("plan.amended")
    desk.run().exits(0).shows("waived")
    judged = [e for e in desk.entries("verdict") if e["seq"] > amended["seq"]]
    assert [(e["step"], e["data"]["phase"], e["data"]["reused_from"]) for e in judged] == [
        ("1", "sweep", None)
    ]


def test_what_an_agent_changed_before_the_upgrade_is_not_approved_by_it(old: Old) -> None:
    desk = old("open-run")
    desk.file("check/look.sh", "true\n").file("local/settings.ini", "greeting = none\n")
    desk.about_plan("approve", "--yes").exits(0)
    desk.answer("retry").exits(0)
    desk.run("--role=coder=true").exits(6).shows("check/look.sh")
    assert desk.read("check/look.sh") == 'test -s "$1"\n'
    assert desk.status()["status"] == "in-progress"


def test_an_edited_plan_file_is_not_approved_by_the_way(old: Old) -> None:
    desk = old("open-run")
    desk.edit_plan(". check/look.sh goodbye.txt", "true")
    desk.about_plan("approve", "--yes").exits(0).shows("$ . check/look.sh goodbye.txt")
    desk.answer("retry").exits(0)
    desk.run("--role=coder=true").exits(6)
    assert desk.status()["edited"] and desk.status()["status"] == "in-progress"


def test_an_open_run_of_today_is_not_approved_again(desk: Desk) -> None:
    desk.agent("true").plan(step("Do it", "test -f a.txt", on_fail="escalate"))
    desk.run("--yes").exits(6)
    desk.about_plan("approve", "--yes").fails(5, "is not over")


def test_what_was_signed_off_long_ago_stays_signed_off_and_can_be_audited(old: Old) -> None:
    desk = old("signed-off")
    desk.about_plan("status").exits(0).hides("older version")
    desk.run().exits(0)
    desk.about_plan("audit").exits(0).shows(
        "audit: kept", f"note: it {OLDER}, which did not pin ignored files"
    )
    desk.signoff("receipt", "export", "PLAN.md").exits(0)
    bundle = desk.folder / "proof.zip"
    desk.signoff("receipt", "bundle", "PLAN.md", "--output", str(bundle)).exits(0)
    desk.signoff("audit", "--bundle", str(bundle)).exits(0)
    (desk.workspace / "hello.txt").unlink()
    desk.about_plan("audit").exits(1)


def test_an_agents_session_is_signed_and_says_under_what_it_began(old: Old) -> None:
    desk = old("session")
    desk.signoff("sessions").exits(0).shows("awaiting sign-off")
    desk.signoff("sign").exits(6).shows("kept, self-set", "began under an older version")


def test_work_in_a_session_on_an_older_approval_is_signed_once_approved_again(old: Old) -> None:
    desk = old("session-on-plan")
    (before,) = desk.entries("plan.approved")
    (session,) = desk.signoff("sessions", "--json").exits(0).json["sessions"]
    desk.signoff("sign", "PLAN.md").fails(6, OLDER, hint="signoff approve")
    desk.signoff("sign", session["id"]).fails(6, OLDER)
    desk.about_plan("approve", "--yes").exits(0)
    (_, after) = desk.entries("plan.approved")
    assert after["data"]["snapshot"] == before["data"]["snapshot"], "not what the agent left"
    desk.signoff("sign", "PLAN.md").exits(0)
    assert desk.status()["status"] == "done" and not desk.attempts()


def test_a_stop_hook_says_that_the_plan_has_to_be_approved_again(
    project: Project, database_url: str
) -> None:
    restore("0.1.0", "vault", project.folder, database_url)
    project.variable(SIGNOFF_DATABASE=database_url)
    with FakeClient(project) as client:
        assert "is not done" in client.is_blocked()
        project.file("hello.txt", "hello\n").file("goodbye.txt", "bye\n")
        assert "approved by an older version: first signoff approve" in client.may_stop()
    project.signoff("sign").fails(6, OLDER)
    project.signoff("approve", "--yes").exits(0)
    project.signoff("sign").exits(0)
