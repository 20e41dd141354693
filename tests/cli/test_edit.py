"""`edit`: a plan is replaced only by who read it last; what comes too late is kept."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.cli.plans import plan_text, step
from tests.cli.project import Project

NEWER = plan_text([step("Log out", "test -s out")])


@pytest.fixture
def auth(project: Project) -> Project:
    project.file("new.md", NEWER)
    return project.named("auth", step("Log in", "test -s auth"))


def digest(project: Project) -> str:
    return str(project.signoff("show", "auth", "--json").exits(0).json["file_digest"])


def test_the_digest_to_expect_is_that_of_the_files_bytes(auth: Project) -> None:
    data = (auth.vault / "PLAN-auth.md").read_bytes()
    assert digest(auth) == hashlib.sha256(data).hexdigest()


def test_a_plan_is_replaced_from_a_file(auth: Project) -> None:
    auth.signoff("edit", "auth", "--from", "new.md", "--expect", digest(auth)).exits(0)
    assert auth.read(".harness/PLAN-auth.md") == NEWER
    again = auth.signoff("edit", "auth", "--from", "new.md", "--json").exits(0).json
    assert again["changed"] is False and again["file_digest"] == digest(auth)


def test_a_stale_writer_gets_the_current_digest_and_the_difference(auth: Project) -> None:
    stale = digest(auth)
    path = auth.vault / "PLAN-auth.md"
    path.write_text(path.read_text() + "\nNobody told me.\n")
    before = path.read_text()
    failed = auth.signoff("edit", "auth", "--from", "new.md", "--expect", stale).exits(5)
    assert failed.stdout == "" and digest(auth) in failed.stderr
    assert "-Nobody told me." in failed.stderr and "+### 1. Log out" in failed.stderr
    assert "your text is kept in" in failed.stderr
    assert path.read_text() == before
    assert (auth.vault / "PLAN-auth.md.conflict-1").read_text() == NEWER
    failed = auth.signoff("edit", "auth", "--from", "new.md", "--expect", stale, "--json").exits(5)
    assert failed.failure["code"] == "plan-conflict" and failed.stderr.count("\n") == 1
    facts = failed.failure["facts"]
    assert facts["current"] == digest(auth) and facts["expected"] == stale
    assert Path(facts["kept"]).read_text() == NEWER
    assert "-Nobody told me." in facts["diff"]


def test_a_text_that_is_there_already_is_no_conflict(auth: Project) -> None:
    stale = digest(auth)
    (auth.vault / "PLAN-auth.md").write_text(NEWER)
    done = auth.signoff("edit", "auth", "--from", "new.md", "--expect", stale, "--json").exits(0)
    assert done.json["changed"] is False and done.json["file_digest"] == digest(auth)
    assert not (auth.vault / "PLAN-auth.md.conflict-1").exists()


@pytest.mark.parametrize("wrong", ["", "abc", "g" * 64, "A" * 64, "0" * 63])
def test_what_is_expected_must_be_a_digest(auth: Project, wrong: str) -> None:
    before = auth.read(".harness/PLAN-auth.md")
    auth.signoff("edit", "auth", "--from", "new.md", "--expect", wrong).fails(2, "is not a digest")
    assert auth.read(".harness/PLAN-auth.md") == before
    assert not (auth.vault / "PLAN-auth.md.conflict-1").exists()


def test_an_editor_works_on_a_copy(auth: Project) -> None:
    auth.tool("my-editor", 'sed -i "s/Log in/Log on/" "$1"; echo "$1" > "$HOME/edited"')
    auth.variable(EDITOR="my-editor")
    auth.signoff("edit", "auth").exits(0).shows("changed: ")
    assert "### 1. Log on" in auth.read(".harness/PLAN-auth.md")
    copy = Path((auth.folder / "person" / "edited").read_text().strip())
    assert copy.parent != auth.vault and not copy.exists()
    auth.variable(EDITOR="true").signoff("edit", "auth").exits(0).shows("unchanged: ")


def test_what_changed_while_the_editor_was_open_is_not_overwritten(auth: Project) -> None:
    plan = auth.vault / "PLAN-auth.md"
    auth.tool("slow-editor", f'echo mine >> "$1"; echo theirs >> "{plan}"')
    auth.variable(VISUAL="slow-editor")
    auth.signoff("edit", "auth").exits(5).shows("-theirs", "+mine")
    assert plan.read_text().endswith("theirs\n")
    assert auth.read(".harness/PLAN-auth.md.conflict-1").endswith("mine\n")


def test_nobody_at_the_terminal_and_no_editor_is_said(auth: Project) -> None:
    auth.signoff("edit", "auth").fails(2, "this is not a terminal", hint="--from")


@pytest.mark.parametrize("data", [b"", b" \n", b"\xff\xfe", b"a\0b"])
def test_a_text_that_is_no_plan_text_is_refused(auth: Project, data: bytes) -> None:
    before = digest(auth)
    (auth.workspace / "bad.md").write_bytes(data)
    assert auth.signoff("edit", "auth", "--from", "bad.md").code in (2, 4)
    assert digest(auth) == before


def test_a_source_that_is_no_file_is_refused(auth: Project) -> None:
    auth.signoff("edit", "auth", "--from", "nowhere.md").fails(2, "is not a file")
    auth.signoff("edit", "gone", "--from", "new.md").fails(4)


def test_an_agent_may_not_edit_the_plan(auth: Project) -> None:
    command = " ".join(auth.command(["edit", "PLAN-auth.md", "--from", "new.md"]))
    path = auth.environment()["PYTHONPATH"]
    auth.agent(f"echo x > auth; unset SIGNOFF_ATTEMPT; PYTHONPATH={path} {command} 2> said; true")
    auth.signoff("run", "auth", "--yes").exits(0)
    assert "Log out" not in auth.read(".harness/PLAN-auth.md")
    assert "is part of an attempt" in auth.read("said")
