"""`check`: what CI and pre-commit refuse about a vault as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.plans import step
from tests.cli.project import Project


@pytest.fixture
def two(project: Project) -> Project:
    project.agent("true")
    project.named("auth", step("Log in", "grep -qx in auth"), touches=["src/auth/**"])
    return project.named("pay", step("Pay", "grep -qx all paid"), touches=["src/pay/**"])


def findings(project: Project, code: int = 1) -> list[tuple[str, str, str]]:
    found: list[dict[str, Any]] = project.signoff("check", "--json").exits(code).json["findings"]
    # These plans ask for a file, which is all that they are about.
    found = [f for f in found if f["code"] != "weak-contract"]
    return [(f["file"], f["severity"], f["code"]) for f in found]


def test_a_clean_vault_passes_and_nothing_is_written(two: Project) -> None:
    before = {p.name: p.read_bytes() for p in two.vault.iterdir()}
    two.signoff("check").exits(0).prints("DESK/work/.harness: 2 plans, 0 errors, 0 warnings")
    assert {p.name: p.read_bytes() for p in two.vault.iterdir()} == before


def test_without_a_vault_there_is_nothing_to_pass(project: Project) -> None:
    project.vault.rmdir()
    project.signoff("check").fails(4, "no vault")


def test_a_plan_that_does_not_verify_is_named_with_its_line(two: Project) -> None:
    two.named("bad", step("Lie", "true"))
    shown = two.signoff("check").exits(1)
    lines = (two.vault / "PLAN-bad.md").read_text().split("\n")
    assert f"PLAN-bad.md:{lines.index('true') + 1}: error: " in shown.stdout
    assert ("PLAN-bad.md", "error", "cannot-fail") in findings(two)


@pytest.mark.parametrize("name", ["plan-x.md", "PLAN-.md", "PLAN_x.md", "Plan.md", "PLAN--x.md"])
def test_an_odd_name_is_refused(two: Project, name: str) -> None:
    (two.vault / name).write_text("# T\n")
    assert findings(two) == [(name, "error", "odd-name")]


def test_a_hostile_file_name_is_shown_escaped(two: Project) -> None:
    (two.vault / "PLAN-\x1b[2J\n\u202e.md").write_text("# T\n")
    two.signoff("check").exits(1).is_plain().shows("PLAN-\\x1b[2J␊\\u202e.md:1: error: ")


def test_names_that_some_file_systems_confuse_are_refused(two: Project) -> None:
    text = (two.vault / "PLAN-auth.md").read_text()
    (two.vault / "PLAN-Auth.md").write_text(text)
    assert ("PLAN-auth.md", "error", "name-clash") in findings(two)


def test_conflict_copies_are_refused_and_kept_texts_only_named(two: Project) -> None:
    (two.vault / "PLAN-auth.md.conflict-1").write_text("x")
    assert findings(two, 0) == [("PLAN-auth.md.conflict-1", "warning", "conflict-copy")]
    (two.vault / "progress-auth (1).md").write_text("x")
    assert ("progress-auth (1).md", "error", "conflict-copy") in findings(two)


@pytest.mark.parametrize("spoil", ["link", "folder", "not-utf8"])
def test_a_plan_that_cannot_be_read_hides_no_other(two: Project, spoil: str) -> None:
    path = two.vault / "PLAN-auth.md"
    path.unlink()
    if spoil == "link":
        path.symlink_to("nowhere")
    elif spoil == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"\xff\xfe")
    two.named("bad", step("Lie", "true"))
    files = {file for file, severity, _ in findings(two) if severity == "error"}
    assert files == {"PLAN-auth.md", "PLAN-bad.md"}


def test_a_plan_edited_against_its_pin_is_refused_until_somebody_decides(two: Project) -> None:
    two.signoff("approve", "auth", "--yes").exits(0)
    two.signoff("check").exits(0)
    path = two.vault / "PLAN-auth.md"
    path.write_text(path.read_text().replace("grep -qx in auth", "grep -qx in ./auth"))
    assert findings(two) == [("PLAN-auth.md", "error", "edited-against-its-pin")]
    two.signoff("reject", "auth").exits(0)
    two.signoff("check").exits(0)


def test_marks_and_status_are_no_edit(two: Project) -> None:
    two.signoff("approve", "auth", "--yes").exits(0)
    path = two.vault / "PLAN-auth.md"
    path.write_text(path.read_text().replace("### 1. ", "### 1. ✅ "))
    two.signoff("check").exits(0)


def test_a_plan_edited_during_its_run_is_refused(two: Project) -> None:
    two.signoff("run", "auth", "--yes").exits(6)
    path = two.vault / "PLAN-auth.md"
    path.write_text(path.read_text().replace("grep -qx in auth", "grep -qx in ./auth"))
    assert ("PLAN-auth.md", "error", "edited-against-its-pin") in findings(two)
    two.signoff("check").exits(1).shows("is not the one that a run is executing")


def test_a_finished_plan_may_be_edited(two: Project) -> None:
    two.agent("echo in > auth").signoff("run", "auth", "--yes").exits(0)
    path = two.vault / "PLAN-auth.md"
    path.write_text(path.read_text().replace("grep -qx in auth", "grep -qx in ./auth"))
    two.signoff("check").exits(0)


def test_two_active_plans_must_not_touch_the_same_files(two: Project) -> None:
    two.named("pay", step("Pay", "grep -qx all paid"), touches=["src/**/login.py"])
    two.signoff("approve", "auth", "--yes").exits(0)
    two.signoff("check").exits(0)
    two.signoff("approve", "pay", "--yes").exits(0)
    assert findings(two) == [("PLAN-auth.md", "error", "overlap")]
    two.signoff("check").exits(1).shows("`src/auth/**` and `src/**/login.py` of `PLAN-pay.md`")


def test_an_active_plan_without_touches_is_a_warning(two: Project) -> None:
    two.named("pay", step("Pay", "grep -qx all paid"))
    for name in ("auth", "pay"):
        two.signoff("approve", name, "--yes").exits(0)
    assert findings(two, 0) == [("PLAN-pay.md", "warning", "no-touches")]


def test_the_touches_that_count_are_the_pinned_ones(two: Project) -> None:
    """An agent that edits its own `touches` does not get out of the way."""
    two.named("pay", step("Pay", "grep -qx all paid"), touches=["src/auth/x"])
    for name in ("auth", "pay"):
        two.signoff("approve", name, "--yes").exits(0)
    two.named("pay", step("Pay", "grep -qx all paid"), touches=["elsewhere/**"])
    codes = {code for _, _, code in findings(two)}
    assert codes == {"overlap", "edited-against-its-pin"}


def test_a_worktree_checks_the_same_vault(two: Project) -> None:
    two.commit("first")
    tree: Path = two.folder / "tree"
    two.call("worktree", "add", "-q", str(tree))
    two.named("bad", step("Lie", "true"))
    two.signoff("check", cwd=tree).exits(1).shows("PLAN-bad.md:")


def test_a_plan_edited_since_its_sign_off_is_a_warning(two: Project) -> None:
    two.agent("mkdir -p src/auth; echo in > auth")
    two.signoff("run", "auth", "--yes").exits(0)
    assert findings(two, 0) == []
    path = two.vault / "PLAN-auth.md"
    path.write_text(path.read_text().replace("grep -qx in auth", "grep -qx in auth.txt"))
    assert ("PLAN-auth.md", "warning", "edited-since-sign-off") in findings(two, 0)
    two.signoff("check").exits(0).shows("signoff diff auth, or signoff approve auth")


def test_an_empty_plan_can_be_filled_by_the_command_that_is_shown(two: Project) -> None:
    (two.vault / "PLAN-new.md").touch()
    two.signoff("check").exits(1).shows("hint: signoff edit DESK/work/.harness/PLAN-new.md")
    two.file("text.md", (two.vault / "PLAN-pay.md").read_text())
    two.signoff("edit", str(two.vault / "PLAN-new.md"), "--from", "text.md").exits(0)
    two.signoff("show", "new").exits(0)


@pytest.mark.parametrize("verb", ["verify", "approve", "check"])
def test_plans_that_wait_for_each_other_are_an_error(project: Project, verb: str) -> None:
    project.agent("true").named("a", step("A", "test -s a"), depends_on=["b"], touches=["a"])
    project.named("b", step("B", "test -s b"), depends_on=["a"], touches=["b"])
    said = "the plan depends on itself: a → b → a"
    if verb == "check":
        assert findings(project)[0] == ("PLAN-a.md", "error", "circular-dependency")
    else:
        project.signoff(verb, "a", *(["--yes"] if verb == "approve" else [])).exits(4).shows(said)


def test_a_plan_that_waits_for_nobodys_name_is_warned(project: Project) -> None:
    project.agent("true").named("a", step("A", "test -s a"), depends_on=["bee"], touches=["a"])
    assert findings(project, 0) == [("PLAN-a.md", "warning", "unknown-dependency")]
    shown = project.signoff("verify", "a").exits(0)
    shown.shows("the plan depends on `bee`, and there is no such plan [unknown-dependency]")
    shown.shows('depends_on: ["bee"]')
    project.named("bee", step("B", "test -s b"), touches=["b"])
    project.signoff("verify", "a").exits(0).hides("unknown-dependency")
