"""A worktree works on exactly one plan, the ledger says which, and nobody falls back silently."""

from __future__ import annotations

import shlex
import sys

import pytest

from tests.cli.plans import step
from tests.cli.project import Project

WORK = step("Write it", "test -s product.txt")


@pytest.fixture
def two_plans(project: Project) -> Project:
    project.agent("echo $SIGNOFF_PLAN > product.txt")
    project.named("one", WORK).named("two", WORK).commit("start")
    return project


def test_a_bound_checkout_needs_no_plan_on_the_command_line(two_plans: Project) -> None:
    two_plans.signoff("bind", "one").exits(0).shows("works on plan `one`")
    assert (two_plans.vault / "active-plan").read_text() == "one\n"
    two_plans.signoff("run", "--yes").exits(0)
    assert two_plans.signoff("status", "--json").exits(0).json["plan"] == "one"
    assert two_plans.signoff("status", "two", "--json").exits(1).json["status"] == "draft"


def test_binding_to_a_plan_that_is_not_there_is_refused(two_plans: Project) -> None:
    two_plans.signoff("bind", "three").fails(4, "plan `three` is not in", hint="list-plans")
    two_plans.signoff("bind", "../two").fails(2, "is not one path component")
    assert not (two_plans.vault / "active-plan").exists()


def test_a_folder_that_is_no_registered_worktree_is_not_bound(two_plans: Project) -> None:
    thief = two_plans.folder / "thief"
    (thief / ".harness").mkdir(parents=True)
    (thief / ".git").write_text(f"gitdir: {two_plans.workspace}/.git\n")
    (thief / ".harness" / "PLAN-one.md").write_text("# One\n")
    two_plans.signoff("bind", "one", cwd=thief).fails(2, "is not a worktree that git knows")


def test_a_plan_has_one_worktree_at_a_time(two_plans: Project) -> None:
    two_plans.signoff("worktree", "add", "one").exits(0)
    two_plans.signoff("bind", "one").fails(5, "is bound to the worktree", hint="signoff unbind")


@pytest.mark.parametrize("written", ["two\n", "", "one\ntwo\n", "../x\n", None])
def test_a_marker_changed_behind_the_ledger_is_loud(
    two_plans: Project, written: str | None
) -> None:
    two_plans.signoff("bind", "one").exits(0)
    marker = two_plans.vault / "active-plan"
    if written is None:
        marker.unlink()
    else:
        marker.write_text(written)
    for verb in ("run", "status", "show", "audit", "log"):
        ended = two_plans.signoff(verb).fails(2, "active-plan")
        assert ended.stdout == ""
    two_plans.signoff("bind", "one").exits(0)
    two_plans.signoff("show").exits(0).shows("# one")


def test_a_marker_written_after_unbinding_is_loud(two_plans: Project) -> None:
    two_plans.signoff("bind", "one").exits(0)
    two_plans.signoff("unbind").exits(0).shows("it was bound to `one`")
    assert not (two_plans.vault / "active-plan").exists()
    (two_plans.vault / "active-plan").write_text("two\n")
    two_plans.signoff("status").fails(2, "was unbound", hint="signoff bind")


def test_a_bound_worktree_is_worked_on_by_no_other_plan(two_plans: Project) -> None:
    two_plans.signoff("worktree", "add", "one").exits(0)
    tree = two_plans.worktree("one")
    two_plans.signoff("run", "two", "--yes", cwd=tree).fails(
        2, "is bound to plan `one`, not to `two`", hint="signoff worktree add two"
    )
    assert not (tree / "product.txt").exists()


def test_an_agent_cannot_rebind_its_worktree(project: Project) -> None:
    own = " ".join(
        f"{name}={shlex.quote(value)}"
        for name, value in project.environment().items()
        if name.startswith(("SIGNOFF", "PYTHON"))
    )
    bind = f"env -u SIGNOFF_ATTEMPT {own} {sys.executable} -m signoff bind two"
    project.agent(f"{bind} > said 2>&1; echo x > product.txt")
    project.named("one", WORK).named("two", WORK).commit("start")
    project.signoff("bind", "one").exits(0)
    project.signoff("run", "--yes").exits(0)
    assert "part of an attempt" in project.read("said")
    assert (project.vault / "active-plan").read_text() == "one\n"


def test_the_marker_is_never_committed(two_plans: Project) -> None:
    two_plans.file(".gitignore", "nothing\n").commit("the vault is tracked now")
    two_plans.signoff("bind", "one").exits(0)
    assert two_plans.call("status", "--porcelain") == ""


def test_the_binding_is_in_the_plans_own_history(two_plans: Project) -> None:
    two_plans.signoff("bind", "one").exits(0)
    two_plans.signoff("bind", "two").exits(0).shows("(was `one`)")
    assert [e["kind"] for e in two_plans.log_of("one")] == ["plan.bound", "plan.unbound"]
    assert [e["kind"] for e in two_plans.log_of("two")] == ["plan.bound"]


def test_a_binding_is_not_taken_from_a_run_that_is_not_over(project: Project) -> None:
    project.agent("false")
    project.named("one", step("Never", "test -s never", on_fail="escalate")).commit("start")
    project.signoff("bind", "one").exits(0)
    project.signoff("run", "--yes").exits(6)
    project.signoff("unbind").fails(5, "is not over in this worktree", hint="signoff cancel one")


def test_a_name_that_is_also_a_file_must_be_said_plainly(two_plans: Project) -> None:
    two_plans.file("one", "# Not the plan\n")
    two_plans.signoff("show", "one").fails(2, "is a file here and a plan of the vault")
    two_plans.signoff("show", "./one").exits(0).shows("# Not the plan")


def test_a_plan_that_git_brought_into_a_worktree_is_a_copy(two_plans: Project) -> None:
    two_plans.file(".gitignore", "nothing\n").commit("the vault is tracked now")
    two_plans.signoff("worktree", "add", "one").exits(0)
    tree = two_plans.worktree("one")
    two_plans.signoff("show", ".harness/PLAN-two.md", cwd=tree).fails(
        2, "is a copy in a worktree", hint="name the plan: two"
    )
