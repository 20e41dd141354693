"""`verify`: findings with line numbers, and a clean draft becomes verified."""

from __future__ import annotations

from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground")


def test_a_clean_draft_becomes_verified_and_only_its_status_line_changes(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    before = desk.read("PLAN.md")
    done = desk.about_plan("verify").exits(0)
    done.prints("PLAN.md: 1 step, no findings; verified").notes("")
    assert desk.read("PLAN.md") == before.replace("status: draft", "status: verified")
    assert desk.kinds() == ["plan.verified"]
    desk.about_plan("verify").exits(0)
    assert desk.kinds() == ["plan.verified"], "nothing new is nothing to record"
    assert desk.attempts() == []


def test_errors_name_the_line_and_stop_the_plan(desk: Desk) -> None:
    desk.agent("true").plan(
        step("Lay the ground", "if true; then", on_fail="retry(2), than escalate"), GROUND
    )
    shown = desk.about_plan("verify").exits(4)
    lines = desk.read("PLAN.md").splitlines()
    assert f"PLAN.md:{lines.index('if true; then') + 1}: error: " in shown.stdout
    policy = next(i for i, line in enumerate(lines, 1) if line.startswith("**on_fail"))
    assert f"PLAN.md:{policy}: error: " in shown.stdout
    assert "    **on_fail:** retry(2), than escalate\n    hint: " in shown.stdout
    assert shown.stdout.endswith("PLAN.md: 2 steps, 2 errors; draft\n")
    assert "status: draft" in desk.read("PLAN.md") and desk.kinds() == []
    desk.run("--yes").fails(4, "PLAN.md:", "(and 1 more)", hint="signoff verify")
    desk.about_plan("approve", "--yes").fails(4, "PLAN.md:")


def test_findings_have_a_stable_machine_shape_either_way_of_asking(desk: Desk) -> None:
    desk.agent("true").plan(step("Lay the ground", "grep -q firm ground || true"))
    report = desk.about_plan("verify", "--json").exits(4).json
    assert report == desk.signoff("--json", "verify", "PLAN.md").exits(4).json
    assert report["schema_version"] == 1 and report["ok"] is False and report["status"] == "draft"
    assert all(
        set(f) >= {"code", "severity", "line", "message", "hint"} for f in report["findings"]
    )
    (error,) = [f for f in report["findings"] if f["severity"] == "error"]
    assert desk.read("PLAN.md").splitlines()[error["line"] - 1] == "grep -q firm ground || true"


def test_warnings_stop_nothing(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND)
    desk.edit_plan("**task:**", "**tusk:** x\n**task:**")
    desk.about_plan("verify").exits(0).shows("warning", "did you mean `task`")
    desk.run("--yes").exits(0)


def test_a_verified_plan_that_is_edited_is_a_draft_again(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.about_plan("verify").exits(0)
    desk.edit_plan("grep -qx firm ground", "grep -qx hard ground")
    assert desk.status()["status"] == "draft"


def test_a_contract_that_writes_into_an_ignored_folder_gets_no_warning_and_is_kept(
    desk: Desk,
) -> None:
    """By-products may change while a check runs; only what is in the digest may not."""
    desk.git().file(".gitignore", "out/\n*.log\n").agent("echo firm > ground")
    writes = "mkdir -p out/x && echo > out/x/a && date > run.log && grep -q firm ground"
    desk.plan(step("Lay the ground", writes))
    desk.about_plan("verify").exits(0).hides("contract-writes")
    desk.run("--yes").exits(0)
    desk.plan(step("Lay the ground", "echo > seen && grep -q firm ground"))
    desk.about_plan("verify").shows("contract-writes", "`seen`")
