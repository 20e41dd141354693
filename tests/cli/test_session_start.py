"""`session-start`: what a session is told; never fatal, and silent where there is nothing."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.ended import LIMIT_S
from tests.cli.plans import plan_text, step
from tests.cli.project import Project


def block(project: Project, cwd: Path | None = None) -> str:
    shown = project.signoff("session-start", cwd=cwd).exits(0).is_plain()
    assert shown.stderr == ""
    return shown.stdout


@pytest.fixture
def two(project: Project) -> Project:
    project.named("pay", step("Pay", "test -s paid"))
    return project.named("auth", step("Log in", "test -s auth"), step("Log out", "test -s out"))


def test_without_a_vault_nothing_is_printed(project: Project) -> None:
    project.vault.rmdir()
    assert block(project) == ""


def test_a_solo_project_gets_the_same_bytes_whatever_its_plan_says(project: Project) -> None:
    empty = block(project)
    assert empty and empty.isascii()
    plan = project.vault / "PLAN.md"
    for text in ("# T\n", "", "\x1b[31m", "---\nstatus: done\n---\n# Other\n### 9. Last\n"):
        plan.write_text(text)
        assert block(project) == empty
    (project.vault / "progress.md").write_text("- a line\n")
    project.agent("true")
    plan.write_text(plan_text([step("Go", "test -s gone")]))
    project.signoff("verify").exits(0)
    project.signoff("approve", "--yes").exits(0)
    assert block(project) == empty
    other = project.folder / "elsewhere"
    (other / ".harness").mkdir(parents=True)
    assert block(project, other) == empty, "and in every project"


def test_a_bound_worktree_is_told_its_plan_and_the_next_step(two: Project) -> None:
    two.signoff("bind", "auth").exits(0)
    assert block(two) == (
        "signoff: this project works by plans; only signoff decides what is done.\n"
        "this worktree works on plan auth (draft)\n"
        "next step, as its plan words it: 1. Log in\n"
        "other plans: pay (draft)\n"
    )


def test_the_next_step_is_the_ledgers_once_it_knows_the_plan(two: Project) -> None:
    two.agent('if [ "$SIGNOFF_STEP" = 1 ]; then echo x > auth; fi')
    two.signoff("bind", "auth").exits(0)
    two.signoff("run", "--yes").exits(6)
    shown = block(two)
    assert "works on plan auth (in-progress, 1 of 2 steps done)" in shown
    assert "next step, as its plan words it: 2. Log out" in shown
    assert "waiting for a person: " in shown and "(auth, step 2); next: signoff inbox" in shown


def test_an_unbound_worktree_with_named_plans_only_is_told_to_choose(two: Project) -> None:
    shown = block(two)
    assert "bound to no plan" in shown and "other plans: auth (draft), pay (draft)" in shown
    assert "next step" not in shown


def test_a_dangling_binding_is_told_and_no_step_is_offered(two: Project) -> None:
    (two.vault / "PLAN.md").write_text("# T\n### 1. Wrong one\n")
    (two.vault / "active-plan").write_text("gone\n")
    shown = block(two)
    assert "DANGLING binding: " in shown and "names plan `gone`" in shown
    assert "Wrong one" not in shown and "works on" not in shown


def test_a_marker_without_a_vault_is_told(project: Project) -> None:
    project.named("auth", step("Log in", "true")).commit("first")
    tree = project.folder / "tree"
    project.call("worktree", "add", "-q", str(tree))
    (tree / ".harness").mkdir()
    (tree / ".harness" / "active-plan").write_text("auth\n")
    (project.vault / "PLAN-auth.md").unlink()
    project.vault.rmdir()
    assert "DANGLING" in block(project, tree)


def test_conflict_copies_are_named(two: Project) -> None:
    (two.vault / "progress-pay (conflicted copy 2026-06-01).md").write_text("x")
    assert "`progress-pay (conflicted copy 2026-06-01).md`; next: signoff conflicts" in block(two)


def test_text_from_plans_is_escaped_and_cut(two: Project) -> None:
    hostile = "\x1b[2J\u202e" + "x" * 5000
    (two.vault / "PLAN-auth.md").write_text(f"# T\n\n### 1. {hostile}\n")
    two.signoff("bind", "auth").exits(0)
    shown = block(two)
    assert "\\x1b[2J\\u202e" in shown and len(shown) < 1500


def test_many_plans_are_counted_and_not_all_named(project: Project) -> None:
    for number in range(500):
        (project.vault / f"PLAN-{number:03}.md").write_text("# T\n")
    shown = block(project)
    assert "and 480 more (signoff list-plans)" in shown and len(shown) < 2000


@pytest.mark.parametrize("broken", ["ledger", "config", "vault", "plan", "home"])
def test_whatever_is_broken_becomes_a_line(two: Project, broken: str) -> None:
    two.signoff("bind", "auth").exits(0)
    if broken == "ledger":
        two.ledger_file.write_bytes(b"no database at all " * 60)
    elif broken == "config":
        two.person('vault = [\n"')
    elif broken == "vault":
        two.variable(SIGNOFF_VAULT="relative")
    elif broken == "plan":
        (two.vault / "PLAN-auth.md").write_bytes(b"\xff\xfe\0### 1. \x1b")
    else:
        two.variable(SIGNOFF_HOME="relative")
    shown = block(two)
    assert shown.startswith("signoff: ")
    assert broken == "plan" or "trouble: " in shown


def test_a_current_folder_that_is_gone_is_not_fatal(two: Project) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    ended = subprocess.run(
        ["bash", "-c", script, "-", *two.command(["session-start"])],
        cwd=two.workspace,
        env=two.environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert ended.returncode == 0 and "trouble: " in ended.stdout, ended


def test_the_block_and_its_parts_as_json(two: Project) -> None:
    two.signoff("bind", "auth").exits(0)
    found = two.signoff("session-start", "--json").exits(0).json
    assert found["text"] == block(two) and found["bound"] == "auth"
    assert found["next_step"] == "1. Log in" and found["plans"] == ["auth", "pay"]
    assert found["dangling"] is False and found["troubles"] == [] and found["schema_version"] == 1
    (two.vault / "active-plan").write_text("pay\n")
    found = json.loads(two.signoff("session-start", "--json").exits(0).stdout)
    assert found["bound"] is None and found["dangling"] is True and len(found["troubles"]) == 1


def test_an_ascii_terminal_is_no_accident(two: Project) -> None:
    (two.vault / "PLAN-auth.md").write_text("# T\n\n### 1. Größe ändern\n")
    two.signoff("bind", "auth").exits(0)
    two.variable(PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert "Gr\\xf6\\xdfe" in block(two)


@pytest.mark.parametrize("names", [("pay",), ("pay", "")], ids=["named", "with the unnamed"])
def test_a_ledger_that_cannot_be_read_leaves_open_what_is_bound(
    project: Project, names: tuple[str, ...]
) -> None:
    for name in names:
        text = plan_text([step("Pay", "test -s paid")])
        (project.vault / (f"PLAN-{name}.md" if name else "PLAN.md")).write_text(text)
    project.agent("true").signoff("verify", "pay").exits(0)
    project.ledger_file.write_bytes(b"no database at all, but long enough to be looked at" * 99)
    shown = project.signoff("session-start").exits(0)
    shown.shows("cannot tell which plan this worktree is bound to")
    shown.hides("bound to no plan", "this worktree works on")
    found = project.signoff("session-start", "--json").exits(0).json
    assert found["bound"] is None and found["binding_known"] is False
