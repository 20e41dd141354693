"""`audit`: in a copy of the workspace, after edits of the configuration, and with waivers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground")
ROOF = step("Put the roof on", "test -s roof", on_fail="escalate")
WORK = "echo firm > ground"


@pytest.fixture
def built(desk: Desk) -> Desk:
    """A plan outside any vault, signed off."""
    desk.agent(WORK).plan(GROUND)
    desk.run("--yes").exits(0)
    return desk


def _copied(desk: Desk) -> Path:
    copy = desk.folder / "copy"
    shutil.copytree(desk.workspace, copy)
    return copy


def _append(desk: Desk, text: str) -> None:
    desk.file("signoff.toml", desk.read("signoff.toml") + text)


def test_a_copy_of_the_workspace_is_audited_as_well(built: Desk) -> None:
    _copied(built)
    shown = built.about_plan("audit", "--workspace", "../copy").exits(0)
    shown.shows("kept       1  Lay the ground", "audit: kept").hides("drift")


def test_drift_of_a_copy_is_told_from_what_was_signed_off_elsewhere(built: Desk) -> None:
    copy = _copied(built)
    (copy / "ground").write_text("mud\n")
    (copy / "rose").write_text("red\n")
    report = built.about_plan("audit", "--workspace", "../copy", "--json").exits(1).json
    assert report["drift"] == [
        {"path": "ground", "kind": "modified"},
        {"path": "rose", "kind": "added"},
    ]
    assert [line["finding"] for line in report["lines"]] == ["broken"]
    built.about_plan("audit").exits(0).hides("drift")


def test_the_items_of_a_list_are_audited_in_a_copy(desk: Desk) -> None:
    """What steers their contracts is known only from the content that was approved."""
    desk.file("check.sh", "test -s $1\n").file("rooms", "bath\nhall\n")
    desk.agent('for room in bath hall; do echo tiled > "$room"; done')
    desk.plan(step("Tile {item}", "sh check.sh {item}", for_each="cat rooms"))
    desk.run("--yes").exits(0)
    copy = _copied(desk)
    desk.about_plan("audit", "--workspace", "../copy").exits(0)
    (copy / "check.sh").write_text("true\n")
    desk.about_plan("audit", "--workspace", "../copy").exits(1).shows("what steers the check")


@pytest.mark.parametrize(
    "edit",
    [
        "# a comment\n",
        '[roles.reviewer]\ncommand = "true"\n',
        "[policy]\nrequire_sandbox = false\njudgings = 1\n",
    ],
    ids=["comment", "unrelated role", "policy as it was"],
)
def test_a_configuration_that_means_the_same_is_at_most_a_note(built: Desk, edit: str) -> None:
    _append(built, edit)
    shown = built.about_plan("audit").exits(0)
    shown.shows("note: signoff.toml was edited since approval; nothing that this plan uses differs")
    shown.shows("audit: kept").hides("is not what was approved")
    report = built.about_plan("audit", "--json").exits(0).json
    assert report["edited"] == "" and len(report["notes"]) == 1


@pytest.mark.parametrize(
    "edit",
    [
        'env = ["EDITOR"]\n',
        "timeout_s = 5\n",
        "network = false\n",
        "[policy]\nrequire_red_first = true\n",
        "[policy]\nforbid_waivers = true\n",
        "[policy]\njudgings = 2\n",
        "[agent]\nrequire_plan = true\n",
    ],
)
def test_what_the_plan_goes_by_still_counts(built: Desk, edit: str) -> None:
    """The agent's role stands last in the file, so that a bare line is about it."""
    text = built.read("signoff.toml").rstrip("\n")
    built.file("signoff.toml", f"{text}\n{edit}")
    audit = built.about_plan("audit").exits(1)
    audit.shows("is not what was approved: signoff diff", "audit: broken")


def test_another_command_of_a_used_role_still_counts(built: Desk) -> None:
    built.file("signoff.toml", '[roles.coder]\ncommand = "true"\n')
    shown = built.about_plan("audit").exits(1)
    shown.shows("is not what was approved: signoff diff", "audit: broken")
    assert '+command = "true"' in built.about_plan("audit", "--json").json["edited"]


def test_a_used_role_that_is_gone_still_counts(built: Desk) -> None:
    built.file("signoff.toml", "")
    built.about_plan("audit").exits(1).shows("is not what was approved")


def test_a_comment_hides_no_edit_of_the_plan(built: Desk) -> None:
    _append(built, "# a comment\n")
    built.edit_plan("grep -qx firm ground", "true # grep -qx firm ground")
    shown = built.about_plan("audit").exits(1)
    shown.shows("note: signoff.toml", "is not what was approved", "audit: broken")
    assert "a comment" not in built.about_plan("audit", "--json").json["edited"]


CHANGES_CONFIG = "echo firm > ground; printf '[roles.coder]\\ncommand = \"true\"\\n' > signoff.toml"


def test_an_edit_that_a_person_answered_with_retry_is_told_and_breaks_nothing(desk: Desk) -> None:
    desk.agent(CHANGES_CONFIG).plan(GROUND)
    desk.run("--yes").exits(6)
    desk.answer("retry")
    desk.run().exits(0)
    shown = desk.about_plan("audit").exits(0).shows("audit: kept")
    shown.shows(
        "note: signoff.toml is not what was approved, and ", " answered retry to that (RUN-1)"
    )


def test_an_edit_after_the_answer_was_answered_by_nobody(desk: Desk) -> None:
    desk.agent(CHANGES_CONFIG).plan(GROUND)
    desk.run("--yes").exits(6)
    desk.answer("retry")
    desk.run().exits(0)
    desk.file("signoff.toml", '[roles.coder]\ncommand = "false"\n')
    desk.about_plan("audit").exits(1).shows("is not what was approved: signoff diff")


def _waived(desk: Desk) -> Desk:
    desk.agent('[ "$SIGNOFF_STEP" = 1 ] && echo firm > ground').plan(GROUND, ROOF)
    desk.run("--yes").exits(6)
    desk.answer("waive", "--note", "summer \x1b[31mhouse")
    desk.run().exits(0)
    return desk


def test_an_audit_says_who_waived_what_and_why(desk: Desk) -> None:
    shown = _waived(desk).about_plan("audit").exits(0).is_plain()
    (waiver,) = desk.about_plan("audit", "--json").exits(0).json["waivers"]
    assert waiver["subject"] == "2" and waiver["note"] == "summer \x1b[31mhouse"
    by = desk.entries("step.waived")[0]["data"]["by"]
    assert by and waiver["by"] == by
    shown.shows(f"waived     2  Put the roof on: {by} went on without it: summer ")
    shown.shows("audit: kept, except what was waived: 2")


def test_a_strict_audit_takes_no_waiver_for_a_yes(desk: Desk) -> None:
    _waived(desk).about_plan("audit", "--strict").exits(1)
    desk.about_plan("audit", "--strict", "--json").exits(1)
    desk.file("roof", "straw\n").about_plan("audit", "--strict").exits(1)


def test_a_strict_audit_of_work_without_waivers_is_an_audit(built: Desk) -> None:
    assert built.about_plan("audit", "--strict", "--json").exits(0).json["waivers"] == []


def test_a_bundle_names_its_waivers_and_a_strict_audit_refuses_them(desk: Desk) -> None:
    _waived(desk).signoff("receipt", "bundle", "PLAN.md", "--output", "../b.zip").exits(0)
    shown = desk.signoff("audit", "--bundle", "../b.zip").exits(0).is_plain()
    shown.shows("waived 2: ", " went on without it: summer ", "except what was waived: 2")
    desk.signoff("audit", "--bundle", "../b.zip", "--strict").exits(1)
    statement = desk.signoff("audit", "--bundle", "../b.zip", "--json").exits(0).json["statement"]
    assert [waiver["subject"] for waiver in statement["predicate"]["waivers"]] == ["2"]
