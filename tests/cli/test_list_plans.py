"""`list-plans`: every plan with its status, and what this worktree is bound to."""

from __future__ import annotations

import pytest

from tests.cli.plans import step
from tests.cli.project import Project


@pytest.fixture
def three(project: Project) -> Project:
    (project.vault / "PLAN.md").write_text("# T\n")
    project.named("pay", step("Pay", "test -s paid"))
    return project.named("auth", step("Log in", "test -s auth"))


def test_every_plan_is_a_line_with_its_status(three: Project) -> None:
    three.signoff("list-plans").exits(0).prints(
        """
        PLAN.md\tdraft
        PLAN-auth.md\tdraft
        PLAN-pay.md\tdraft
        """
    )


def test_a_status_comes_from_the_ledger_never_from_the_file(three: Project) -> None:
    three.agent("true")
    path = three.vault / "PLAN-pay.md"
    path.write_text(path.read_text().replace("status: draft", "status: done"))
    three.signoff("verify", "auth").exits(0)
    three.signoff("approve", "auth", "--yes").exits(0)
    three.signoff("list-plans").exits(0).shows("PLAN-auth.md\tapproved", "PLAN-pay.md\tdraft")


def test_the_binding_is_the_last_line(three: Project) -> None:
    three.signoff("bind", "auth").exits(0)
    shown = three.signoff("list-plans").exits(0)
    assert shown.stdout.splitlines()[-1] == "active-binding=auth" and shown.stderr == ""


@pytest.mark.parametrize(
    ("marker", "named"), [("gone\n", "gone"), ("../x\n", "../x"), ("", "?"), ("a\x1b\n", "a\\x1b")]
)
def test_a_dangling_binding_is_named_and_not_fatal(three: Project, marker: str, named: str) -> None:
    (three.vault / "active-plan").write_text(marker)
    shown = three.signoff("list-plans").exits(0).is_plain()
    assert shown.stdout.splitlines()[-1] == f"active-binding=DANGLING:{named}"
    assert "error: " in shown.stderr and "next: " in shown.stderr


def test_a_marker_removed_behind_the_ledger_dangles(three: Project) -> None:
    three.signoff("bind", "auth").exits(0)
    (three.vault / "active-plan").unlink()
    three.signoff("list-plans").exits(0).shows("active-binding=DANGLING:auth")


def test_conflict_copies_and_staged_plans_are_not_listed(three: Project) -> None:
    three.signoff("new", "later", "--staged").exits(0)
    for name in ("PLAN-auth (1).md", "PLAN-auth.md.conflict-1", "progress-auth.md", "PLAN-.md"):
        (three.vault / name).write_text("x")
    assert three.signoff("list-plans").exits(0).stdout.count("\n") == 3


def test_without_a_vault_there_is_nothing_to_list(project: Project) -> None:
    project.vault.rmdir()
    assert project.signoff("list-plans").exits(0).stdout == ""


def test_a_ledger_that_cannot_be_read_leaves_the_names(three: Project) -> None:
    three.home.mkdir(mode=0o700)
    (three.home / "ledger.sqlite3").write_bytes(b"no database at all " * 60)
    three.signoff("list-plans").exits(0).shows("PLAN-auth.md\tunknown", "error: the ledger")


def test_the_same_as_json(three: Project) -> None:
    three.signoff("bind", "auth").exits(0)
    found = three.signoff("list-plans", "--json").exits(0).json
    assert found["active_binding"] == "auth" and found["schema_version"] == 1
    assert [plan["name"] for plan in found["plans"]] == ["", "auth", "pay"]
    assert found["plans"][1]["path"] == str(three.vault / "PLAN-auth.md")


def test_a_vault_outside_git_has_statuses_too(three: Project) -> None:
    alone = three.folder / "alone"
    (alone / ".harness").mkdir(parents=True)
    text = (three.vault / "PLAN-auth.md").read_text()
    (alone / ".harness" / "PLAN-auth.md").write_text(text)
    three.signoff("verify", "auth", "--role", "coder=true", cwd=alone).exits(0)
    three.signoff("list-plans", cwd=alone).exits(0).prints("PLAN-auth.md\tverified")
