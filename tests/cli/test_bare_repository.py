"""A bare repository and its worktrees: its plans have one name, whoever looks from where."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.plans import step
from tests.cli.project import Project


@pytest.fixture
def tree(project: Project) -> Path:
    """A worktree of a bare repository."""
    project.commit("first")
    project.call("clone", "-q", "--bare", ".", "../bare.git")
    project.call("worktree", "add", "-q", "../tree", cwd=project.folder / "bare.git")
    return project.folder / "tree"


def test_a_worktree_is_bound_to_the_plan_that_its_marker_names(
    project: Project, tree: Path
) -> None:
    project.signoff("new", "p1", cwd=tree).exits(0)
    project.signoff("bind", "p1", cwd=tree).exits(0)
    assert (tree / ".harness" / "active-plan").read_text() == "p1\n"
    found = project.signoff("resolve-active-plan", "--json", cwd=tree).exits(0).json
    assert found["plan"] == "p1" and found["source"] == "marker"
    project.signoff("list-plans", cwd=tree).exits(0).shows("active-binding=p1")
    project.signoff("verify", cwd=tree)
    project.signoff("unbind", cwd=tree).exits(0)


@pytest.mark.parametrize("inside", [".", "hooks"])
def test_nothing_is_written_inside_the_bare_repository_itself(
    project: Project, tree: Path, inside: str
) -> None:
    bare = project.folder / "bare.git"
    before = sorted(bare.rglob("*"))
    for command in (("new", "p1"), ("init",), ("activate", "p1"), ("bind", "p1"), ("unbind",)):
        project.signoff(*command, cwd=bare / inside).fails(
            2, "is a bare repository", hint="git -C DESK/bare.git worktree list"
        )
    assert sorted(bare.rglob("*")) == before


def test_plans_look_the_same_from_the_bare_repository_and_its_worktree(
    project: Project, tree: Path
) -> None:
    project.named("p1", step("Go", "test -s gone"))
    vault = project.folder / "bare.git" / ".harness"
    project.vault.rename(vault)
    project.agent("true")
    (tree / "signoff.toml").write_text(project.read("signoff.toml"))
    project.signoff("approve", "p1", "--yes", cwd=tree).exits(0)
    for place in (tree, vault.parent):
        project.signoff("list-plans", cwd=place).exits(0).shows("PLAN-p1.md\tapproved")
