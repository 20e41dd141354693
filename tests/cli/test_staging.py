"""Staging: a plan waits in `queued-plans/` until somebody activates it."""

from __future__ import annotations

import pytest

from signoff.testing.crash import VARIABLE, VaultPoint
from tests.cli.plans import plan_text, step
from tests.cli.project import Project


def stage(project: Project, name: str, *produces: str) -> None:
    made = step("Make", "test -s made", produces=list(produces)) if produces else None
    text = plan_text([made or step("Make", "test -s made")])
    folder = project.vault / "queued-plans"
    folder.mkdir(exist_ok=True)
    (folder / f"PLAN-{name}.md").write_text(text)


def test_a_staged_plan_is_no_plan_until_it_is_activated(project: Project) -> None:
    project.signoff("new", "later", "--staged").exits(0).shows("queued-plans/PLAN-later.md")
    assert project.signoff("list-plans").exits(0).stdout == ""
    project.signoff("run", "later").fails(4, "is staged", hint="signoff activate later")
    text = project.read(".harness/queued-plans/PLAN-later.md")
    project.signoff("activate", "later").exits(0).shows(
        "activated DESK/work/.harness/PLAN-later.md"
    )
    assert project.read(".harness/PLAN-later.md") == text
    assert list((project.vault / "queued-plans").iterdir()) == []
    project.signoff("list-plans").exits(0).prints("PLAN-later.md\tdraft")


def test_a_plan_that_exists_is_not_overwritten(project: Project) -> None:
    project.named("auth", step("Log in", "test -s auth"))
    before = project.read(".harness/PLAN-auth.md")
    stage(project, "auth")
    project.signoff("activate", "auth").fails(5, "exists already", hint="diff ")
    project.signoff("activate", "auth", "--anyway").fails(5, "exists already")
    assert project.read(".harness/PLAN-auth.md") == before
    project.signoff("new", "auth", "--staged").fails(5, "exists already")
    project.signoff("new", "AUTH").fails(5, "only in case")


def test_a_name_in_another_case_clashes(project: Project) -> None:
    project.named("auth", step("Log in", "test -s auth"))
    stage(project, "Auth")
    project.signoff("activate", "Auth").fails(5, "only in case")


def test_new_does_not_pass_by_a_staged_plan(project: Project) -> None:
    stage(project, "later")
    project.signoff("new", "later").fails(5, "exists already", hint="signoff activate later")
    project.signoff("new", "later", "--staged").fails(5, "exists already")


def test_nothing_staged_is_said(project: Project) -> None:
    project.signoff("activate", "none").fails(4, "is staged", hint="signoff new none --staged")
    project.signoff("activate", "../x").fails(2)


def test_work_that_is_all_there_is_not_begun_again(project: Project) -> None:
    stage(project, "docs", "docs/a.md", "docs/*.txt")
    project.file("docs/a.md", "x")
    project.signoff("activate", "docs").exits(0)
    (project.vault / "PLAN-docs.md").unlink()
    stage(project, "docs", "docs/a.md", "docs/*.txt")
    project.file("docs/b.txt", "x")
    project.signoff("activate", "docs").fails(
        5, "everything that plan `docs` produces exists", hint="--anyway"
    )
    assert not (project.vault / "PLAN-docs.md").exists()
    project.signoff("activate", "docs", "--anyway").exits(0)


def test_a_staged_plan_that_is_a_link_is_refused(project: Project) -> None:
    folder = project.vault / "queued-plans"
    folder.mkdir()
    (project.folder / "secret").write_text("key")
    (folder / "PLAN-x.md").symlink_to(project.folder / "secret")
    project.signoff("activate", "x").fails(4, "symbolic link")
    assert not (project.vault / "PLAN-x.md").exists()


def test_killed_in_between_the_plan_is_active_and_the_rest_is_said(project: Project) -> None:
    stage(project, "later")
    project.variables[VARIABLE] = VaultPoint.PLAN_ACTIVATED
    project.signoff("activate", "later").exits(-9)
    del project.variables[VARIABLE]
    project.signoff("list-plans").exits(0).prints("PLAN-later.md\tdraft")
    project.signoff("activate", "later").fails(
        5, "exists already", "with the same text", hint="rm DESK/work/.harness/queued-plans/"
    )


@pytest.mark.parametrize("flag", ["--json"])
def test_the_same_as_json(project: Project, flag: str) -> None:
    stage(project, "later")
    found = project.signoff("activate", "later", flag).exits(0).json
    assert found["plan"] == "later" and found["path"] == str(project.vault / "PLAN-later.md")
    assert project.signoff("show", "later", "--json").json["file_digest"] == found["file_digest"]


def test_a_new_plan_is_told_apart_from_a_staged_one_on_every_file_system(project: Project) -> None:
    stage(project, "st2")
    project.signoff("new", "ST2").fails(5, "differs from `st2` only in case")
    project.signoff("new", "ST2", "--staged").fails(5, "only in case")
    assert not (project.vault / "PLAN-ST2.md").exists()


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_an_empty_staged_plan_is_not_activated(project: Project, text: str) -> None:
    stage(project, "later")
    path = project.vault / "queued-plans" / "PLAN-later.md"
    path.write_text(text)
    project.signoff("activate", "later", "--anyway").fails(4, "is empty")
    assert path.exists() and not (project.vault / "PLAN-later.md").exists()


def test_staged_plans_can_be_listed(project: Project) -> None:
    assert project.signoff("list-plans", "--staged").exits(0).stdout == ""
    stage(project, "later")
    project.signoff("list-plans", "--staged").exits(0).prints("PLAN-later.md\tstaged")
    found = project.signoff("list-plans", "--staged", "--json").exits(0).json["plans"]
    assert [plan["name"] for plan in found] == ["later"]
    project.signoff("list").exits(0).shows("later  staged")


@pytest.mark.parametrize("plan", ["later", ".harness/queued-plans/PLAN-later.md"])
def test_verbs_that_look_take_a_staged_plan_and_others_say_to_activate_it(
    project: Project, plan: str
) -> None:
    stage(project, "later")
    for verb in ("show", "status", "stats", "progress", "log", "verify"):
        project.signoff(verb, plan).hides("is staged", "no plan")
    activate = "signoff activate later"
    for words in (("approve", plan, "--yes"), ("run", plan, "--yes")):
        project.signoff(*words).fails(4, "`later` is staged", hint=activate)
    project.signoff("progress", plan, "--add", "x").fails(4, "is staged", hint=activate)
    assert "next: signoff activate later" in project.signoff("diff", plan).stderr
