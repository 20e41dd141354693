"""Worktrees by the harness: one per plan, nothing lost when one goes."""

from __future__ import annotations

import pytest

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import best_isolation
from tests.cli.plans import step
from tests.cli.project import Project

WORK = step("Write it", "test -s product.txt")


@pytest.fixture
def plan(project: Project) -> Project:
    project.agent("echo works > product.txt")
    project.named("auth", WORK).file("src/a.txt", "a\n").commit("start")
    return project


def test_a_worktree_has_its_branch_its_marker_and_the_vault(plan: Project) -> None:
    plan.signoff("worktree", "add", "auth").exits(0).shows("DESK/work.worktrees/auth")
    tree = plan.worktree("auth")
    assert (tree / "src/a.txt").read_text() == "a\n"
    assert plan.call("branch", "--show-current", cwd=tree) == "plan/auth\n"
    assert plan.call("status", "--porcelain", cwd=tree) == ""
    assert str(tree) in plan.call("worktree", "list")
    assert (
        plan.signoff("show", cwd=tree).exits(0).stdout
        == (plan.vault / "PLAN-auth.md").read_text().rstrip("\n") + "\n"
    )


BOXED = pytest.mark.skipif(
    best_isolation(None) is Isolation.NONE, reason="needs a sandbox on this machine"
)


def setup_of(plan: Project, command: str, mode: str | None = None) -> Project:
    plan.roles["setup"] = f'[setup]\ncommand = "{command}"\n[lanes]\nshare = ["deps", ".venv"]\n'
    plan.agent("true").file(".gitignore", ".harness/\ndeps/\n.venv/\nbuilt\n")
    plan.file("deps/lib/a.js", "1\n").file(".venv/pyvenv.cfg", "home = /usr/bin\n").commit("set-up")
    return plan.person(f'[sandbox]\nisolation = "{mode or best_isolation(None)}"\n')


@BOXED
def test_a_new_worktree_is_set_up_once_and_has_what_lanes_share(plan: Project) -> None:
    setup_of(plan, "cat deps/lib/a.js >> built")
    said = plan.signoff("worktree", "add", "auth").exits(0)
    said.shows("set up: cat deps", "`.venv` was not copied: it holds absolute paths")
    tree = plan.worktree("auth")
    assert (tree / "built").read_text() == "1\n" and not (tree / ".venv").exists()
    (tree / "deps/lib/a.js").write_text("2\n")
    plan.signoff("worktree", "add", "auth").exits(0).hides("set up")
    assert plan.read("deps/lib/a.js") == "1\n" and (tree / "built").read_text() == "1\n"
    assert plan.call("status", "--porcelain", cwd=tree) == ""


@BOXED
def test_a_set_up_that_fails_is_told_and_the_worktree_stays(plan: Project) -> None:
    setup_of(plan, "echo no such lock; touch ../../escaped; exit 3")
    said = plan.signoff("worktree", "add", "auth", "--json").exits(0).json
    assert "set-up failed" in said["notes"][-1] and "no such lock" in said["notes"][-1]
    assert plan.worktree("auth").is_dir() and not (plan.folder / "escaped").exists()
    plan.signoff("worktree", "list").exits(0).shows("auth")


def test_without_a_sandbox_no_set_up_runs_that_nobody_approved(plan: Project) -> None:
    setup_of(plan, "touch built", "none")
    said = plan.signoff("worktree", "add", "auth").exits(0)
    said.shows("not set up: there is no sandbox, and nobody approved `touch built` yet")
    assert not (plan.worktree("auth") / "built").exists()


def test_adding_the_same_worktree_again_changes_nothing(plan: Project) -> None:
    plan.signoff("worktree", "add", "auth").exits(0)
    plan.signoff("worktree", "add", "auth").exits(0)
    assert len(plan.signoff("worktree", "list", "--json").exits(0).json["worktrees"]) == 2


def test_a_worktree_for_an_unknown_plan_is_refused(plan: Project) -> None:
    plan.signoff("worktree", "add", "nope").fails(4, "plan `nope` is not in")
    assert not plan.worktree("nope").exists()


def test_a_plan_approved_in_the_main_checkout_runs_in_its_worktree(plan: Project) -> None:
    plan.signoff("approve", "auth", "--yes").exits(0)
    plan.signoff("worktree", "add", "auth").exits(0)
    plan.signoff("run", "auth").exits(0)
    assert (plan.worktree("auth") / "product.txt").exists()
    assert not (plan.workspace / "product.txt").exists()
    plan.signoff("audit", "auth").exits(0)
    plan.signoff("receipt", "export", "auth").exits(0)


def test_what_was_approved_must_be_the_same_in_the_worktree(project: Project) -> None:
    project.agent("echo works > product.txt")
    project.named("auth", step("Write it", "bash check.sh", protects=["check.sh"]))
    project.file("check.sh", "test -s product.txt\n").commit("start")
    project.signoff("approve", "auth", "--yes").exits(0)
    project.signoff("worktree", "add", "auth").exits(0)
    (project.worktree("auth") / "check.sh").write_text("true\n")
    project.signoff("run", "auth").fails(
        6, "what was approved differs", "check.sh", hint="signoff approve"
    )


def test_removing_names_what_would_be_lost_and_refuses(plan: Project) -> None:
    plan.signoff("worktree", "add", "auth").exits(0)
    tree = plan.worktree("auth")
    (tree / "new.txt").write_text("x")
    (tree / "src/a.txt").write_text("changed")
    plan.signoff("worktree", "remove", "auth").fails(
        5, "work that is nowhere else", "new.txt", "src/a.txt", hint="signoff merge auth"
    )
    plan.commit("only here", cwd=tree)
    plan.signoff("worktree", "remove", "auth").fails(5, "only here")
    assert tree.exists()
    plan.signoff("worktree", "remove", "auth", "--force").exits(0)
    assert not tree.exists() and str(tree) not in plan.call("worktree", "list")
    assert "only here" in plan.call("log", "--format=%s", "plan/auth")


def test_removing_takes_the_binding_back(plan: Project) -> None:
    plan.signoff("worktree", "add", "auth").exits(0)
    plan.signoff("worktree", "remove", "auth").exits(0)
    assert [e["kind"] for e in plan.log_of("auth")] == ["plan.bound", "plan.unbound"]
    plan.signoff("bind", "auth").exits(0)


def test_pruning_takes_only_what_is_done_and_merged(plan: Project) -> None:
    plan.named("open", WORK)
    for name in ("auth", "open"):
        plan.signoff("worktree", "add", name).exits(0)
    plan.signoff("run", "auth", "--yes").exits(0)
    plan.signoff("worktree", "prune").exits(0).shows("kept")
    assert plan.worktree("auth").exists()
    plan.signoff("merge", "auth").exits(0)
    plan.signoff("worktree", "prune").exits(0).shows("removed", "done and merged")
    assert not plan.worktree("auth").exists() and plan.worktree("open").exists()


def test_a_worktree_whose_folder_is_gone_is_forgotten(plan: Project) -> None:
    plan.signoff("worktree", "add", "auth").exits(0)
    plan.worktree("auth").rename(plan.folder / "elsewhere")
    plan.signoff("worktree", "prune").exits(0).shows("forgotten", "its folder is gone")
    plan.signoff("worktree", "add", "auth", "--path", "../again").exits(0)


def test_hooks_and_filters_of_the_repository_never_run(plan: Project) -> None:
    canary = plan.folder / "canary"
    hook = plan.workspace / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)
    plan.call("config", "filter.evil.smudge", f"touch {canary}; cat")
    plan.call("config", "filter.evil.clean", f"touch {canary}; cat")
    plan.call("config", "core.fsmonitor", f"touch {canary}")
    (plan.workspace / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    plan.signoff("worktree", "add", "auth").exits(0)
    plan.signoff("run", "auth", "--yes").exits(0)
    plan.signoff("merge", "auth").exits(0)
    plan.signoff("worktree", "prune").exits(0)
    assert not canary.exists()


def test_a_branch_with_commits_of_others_is_adopted_only_on_a_word(plan: Project) -> None:
    plan.call("checkout", "-q", "-b", "plan/auth")
    plan.file("evil.txt", "x").commit("not the plan's work")
    plan.call("checkout", "-q", "main")
    plan.signoff("worktree", "add", "auth").fails(5, "not the plan's work", hint="--adopt")
    assert not plan.worktree("auth").exists()
    plan.signoff("worktree", "add", "auth", "--adopt").exits(0)


def test_a_plan_with_a_worktree_gets_no_second_one(plan: Project) -> None:
    plan.signoff("worktree", "add", "auth", "--path", "../elsewhere").exits(0)
    plan.signoff("worktree", "add", "auth").fails(5, "has a worktree already")
    assert not plan.worktree("auth").exists()


def test_a_worktree_with_signed_off_work_is_not_given_to_another_plan(plan: Project) -> None:
    plan.named("other", WORK)
    plan.signoff("worktree", "add", "auth").exits(0)
    plan.signoff("run", "auth", "--yes").exits(0)
    plan.signoff("bind", "other", cwd=plan.worktree("auth")).fails(
        5, "signed off in this worktree and not merged", hint="signoff merge auth"
    )
