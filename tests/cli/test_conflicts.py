"""`conflicts`: copies of cloud drives are found and kept; people compare them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.plans import step
from tests.cli.project import Project


def at(hour: int, text: str) -> str:
    return f"- 2026-01-01T{hour:02}:00:00.000000+00:00 ada run=- step=- {text}\n"


@pytest.fixture
def vault(project: Project) -> Path:
    project.named("auth", step("Log in", "test -s auth"))
    (project.vault / "progress-auth.md").write_text(at(1, "one") + at(4, "four"))
    return project.vault


def test_a_clean_vault_has_none(project: Project, vault: Path) -> None:
    assert project.signoff("conflicts").exits(0).stdout == ""
    assert project.signoff("conflicts", "--json").exits(0).json["conflicts"] == []


def test_every_kind_is_named_with_what_to_do(project: Project, vault: Path) -> None:
    for name in ("PLAN-auth (1).md", "progress-auth - Copy.md", "PLAN-auth.md.conflict-1"):
        (vault / name).write_text("x\n")
    plan, progress = (f"DESK/work/.harness/{k}-auth" for k in ("PLAN", "progress"))
    project.signoff("conflicts").exits(1).prints(
        f"""
        plan copy  PLAN-auth (1).md  of PLAN-auth.md
            next: diff {plan}.md '{plan} (1).md'
        kept text  PLAN-auth.md.conflict-1  of PLAN-auth.md
            next: diff {plan}.md {plan}.md.conflict-1
        progress copy  progress-auth - Copy.md  of progress-auth.md
            next: diff {progress}.md '{progress} - Copy.md'
        """
    )
    kinds = [c["kind"] for c in project.signoff("conflicts", "--json").exits(1).json["conflicts"]]
    assert kinds == ["plan copy", "kept text", "progress copy"]


def test_a_copy_is_neither_read_merged_nor_moved(project: Project, vault: Path) -> None:
    secret = project.folder / "secret"
    secret.write_text("key\n")
    (vault / "progress-auth (1).md").symlink_to(secret)
    with (vault / "progress-auth (2).md").open("wb") as file:
        file.truncate(64 << 30)
    before = (vault / "progress-auth.md").read_text()
    project.signoff("conflicts").exits(1).shows("progress-auth (1).md", "progress-auth (2).md")
    assert (vault / "progress-auth.md").read_text() == before
    assert (vault / "progress-auth (1).md").is_symlink()


def test_hostile_lines_of_progress_are_shown_escaped(project: Project, vault: Path) -> None:
    (vault / "progress-auth.md").write_text("- 2026-01-01T00:00:00+00:00 \x1b[2J\u202e\n")
    project.signoff("progress", "auth").exits(0).is_plain().shows("\\x1b[2J\\u202e")
