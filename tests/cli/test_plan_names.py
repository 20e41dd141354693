"""Names of plans: every one is its own file's, a branch can have it, and a shell cannot obey it."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.ended import LIMIT_S, Ended
from tests.cli.plans import plan_text, step
from tests.cli.project import Project

HOSTILE = "x$(touch${IFS}pwned)"
TEXT = plan_text([step("Log in", "test -s auth")])


def test_a_file_that_would_be_called_like_another_plan_is_no_plan(project: Project) -> None:
    project.named("np", step("Log in", "test -s auth"))
    (project.vault / "PLAN-PLAN-np.md").write_text(TEXT)
    project.signoff("list-plans").exits(0).prints("PLAN-np.md\tdraft")
    project.signoff("check").exits(1).shows("PLAN-PLAN-np.md:1", "odd-name")
    project.signoff("doctor").shows("`PLAN-PLAN-np.md`", "looks like a plan, but cannot be one")
    for name in ("PLAN-PLAN-np", "PLAN-PLAN-np.md", "plan-np"):
        project.signoff("show", name).fails(2, "reads like the file of another plan")


@pytest.mark.parametrize("name", ["PLAN-PLAN-q", "plan-q", "q.md.md"])
def test_no_such_plan_is_made(project: Project, name: str) -> None:
    project.signoff("new", name).fails(2, "reads like the file of another plan")
    project.signoff("new", name, "--staged").fails(2)
    assert list(project.vault.rglob("*.md")) == []


@pytest.mark.parametrize("name", ["a b", "a..b", "foo.lock", ".a", "a~", "a.", "a@{b"])
def test_a_name_that_no_branch_can_have_is_refused_for_new_plans(
    project: Project, name: str
) -> None:
    project.signoff("new", name).fails(2, f"plan name `{name}`", "branch")
    staged = project.vault / "queued-plans"
    staged.mkdir()
    (staged / f"PLAN-{name}.md").write_text(TEXT)
    project.signoff("activate", name).fails(2, "branch")
    assert not (project.vault / f"PLAN-{name}.md").exists()
    (staged / f"PLAN-{name}.md").rename(project.vault / f"PLAN-{name}.md")
    project.signoff("list-plans").exits(0).prints(f"PLAN-{name}.md\tdraft")
    project.signoff("show", name).exits(0)


def pasted(project: Project, ended: Ended, cwd: Path) -> None:
    """A person pastes the commands of the last line into a shell, with a stand-in for signoff."""
    line = ended.stderr.strip().split("\n")[-1]
    command = line.partition("next: ")[2].removeprefix("edit it, then ")
    subprocess.run(
        ["bash", "-c", f"signoff() {{ :; }}; diff() {{ :; }}; rm() {{ :; }}; {command}"],
        cwd=cwd,
        timeout=LIMIT_S,
        check=False,
        capture_output=True,
    )
    assert not (cwd / "pwned").exists(), command
    assert any(HOSTILE in word for word in shlex.split(command)), command


def test_a_hostile_name_does_nothing_when_a_printed_command_is_pasted(project: Project) -> None:
    project.agent("true")
    cwd = project.folder / "shell"
    cwd.mkdir()
    pasted(project, project.signoff("new", HOSTILE).exits(0), cwd)
    pasted(project, project.signoff("new", HOSTILE).exits(5), cwd)
    pasted(project, project.signoff("approve", HOSTILE).exits(6), cwd)
    pasted(project, project.signoff("approve", HOSTILE, "--yes").exits(0), cwd)
    pasted(project, project.signoff("cancel", HOSTILE).exits(2), cwd)
    project.signoff("new", f"{HOSTILE}2", "--staged").exits(0)
    pasted(project, project.signoff("new", f"{HOSTILE}2").exits(5), cwd)
    pasted(project, project.signoff("activate", f"{HOSTILE}2").exits(0), cwd)
    (project.folder / "new.md").write_text(TEXT)
    stale = ("--from", str(project.folder / "new.md"), "--expect", "0" * 64)
    pasted(project, project.signoff("edit", HOSTILE, *stale).exits(5), cwd)


def test_the_same_holds_for_worktrees_and_merges(project: Project) -> None:
    cwd = project.folder / "shell"
    cwd.mkdir()
    project.agent("true").commit("first")
    project.signoff("new", HOSTILE).exits(0)
    pasted(project, project.signoff("merge", HOSTILE).fails(1, "was not signed off"), cwd)
    pasted(project, project.signoff("worktree", "add", HOSTILE).exits(0), cwd)
    project.signoff("unbind", cwd=project.worktree(HOSTILE)).exits(0)
    elsewhere = ("--path", str(project.folder / "else"))
    again = project.signoff("worktree", "add", HOSTILE, *elsewhere)
    pasted(project, again.fails(2, "is checked out in"), cwd)
    project.named("other", step("Go", "test -s gone"))
    project.signoff("bind", "other").exits(0)
    pasted(project, project.signoff("run", HOSTILE, "--workspace", ".").fails(2, "is bound"), cwd)
