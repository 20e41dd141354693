"""`conflicts`: copies of cloud drives are found and kept, and merged where they are progress."""

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
    plan = "DESK/work/.harness/PLAN-auth"
    project.signoff("conflicts").exits(1).prints(
        f"""
        plan copy  PLAN-auth (1).md  of PLAN-auth.md
            next: diff {plan}.md '{plan} (1).md'
        kept text  PLAN-auth.md.conflict-1  of PLAN-auth.md
            next: diff {plan}.md {plan}.md.conflict-1
        progress copy  progress-auth - Copy.md  of progress-auth.md
            next: signoff conflicts merge
        """
    )
    kinds = [c["kind"] for c in project.signoff("conflicts", "--json").exits(1).json["conflicts"]]
    assert kinds == ["plan copy", "kept text", "progress copy"]


def test_progress_copies_become_one_file_in_the_order_of_time(
    project: Project, vault: Path
) -> None:
    (vault / "progress-auth (1).md").write_text(at(1, "one") + at(3, "three"))
    (vault / "progress-auth.sync-conflict-20260601-120000-ABCDEFG.md").write_text(at(2, "two"))
    project.signoff("conflicts", "merge").exits(0)
    merged = at(1, "one") + at(2, "two") + at(3, "three") + at(4, "four")
    assert (vault / "progress-auth.md").read_text() == merged
    kept = {p.name for p in (vault / "conflicts-kept").iterdir()}
    assert kept == {
        "progress-auth.md.1",
        "progress-auth (1).md.1",
        "progress-auth.sync-conflict-20260601-120000-ABCDEFG.md.1",
    }
    project.signoff("conflicts").exits(0)
    shown = project.signoff("progress", "auth").exits(0)
    assert shown.stdout == merged


def test_merging_twice_changes_nothing_more(project: Project, vault: Path) -> None:
    (vault / "progress-auth (1).md").write_text(at(2, "two"))
    project.signoff("conflicts", "merge").exits(0)
    once = (vault / "progress-auth.md").read_text()
    project.signoff("conflicts", "merge").exits(0).prints(
        "nothing was merged: no progress file has a conflict copy that can be merged"
    )
    assert (vault / "progress-auth.md").read_text() == once


def test_only_the_named_plans_progress_is_merged(project: Project, vault: Path) -> None:
    (vault / "progress-auth (1).md").write_text(at(2, "two"))
    (vault / "progress (1).md").write_text(at(2, "two"))
    found = project.signoff("conflicts", "merge", "auth", "--json").exits(0).json
    assert [Path(m["progress"]).name for m in found["merged"]] == ["progress-auth.md"]
    assert [Path(c["path"]).name for c in found["left"]] == ["progress (1).md"]
    project.signoff("conflicts", "merge", "PLAN").exits(0).shows(
        "into DESK/work/.harness/progress.md"
    )


def test_a_plan_without_copies_is_told_apart_from_the_others(project: Project, vault: Path) -> None:
    (vault / "progress-auth (1).md").write_text(at(2, "two"))
    project.signoff("conflicts", "merge", "PLAN").exits(0).shows(
        "nothing was merged: progress.md has no conflict copy that can be merged",
        "next: signoff conflicts merge",
    )


def test_copies_of_plans_are_left_for_people(project: Project, vault: Path) -> None:
    (vault / "PLAN-auth (1).md").write_text("# Mine\n")
    before = (vault / "PLAN-auth.md").read_text()
    project.signoff("conflicts", "merge").exits(0).shows(
        "plan copy  PLAN-auth (1).md", "next: diff"
    )
    assert (vault / "PLAN-auth.md").read_text() == before
    assert (vault / "PLAN-auth (1).md").read_text() == "# Mine\n"


def test_a_copy_that_is_a_link_is_neither_read_nor_moved(project: Project, vault: Path) -> None:
    secret = project.folder / "secret"
    secret.write_text("key\n")
    (vault / "progress-auth (1).md").symlink_to(secret)
    shown = project.signoff("conflicts", "merge").exits(0).shows("progress copy")
    shown.shows("next: diff DESK/").hides("next: signoff conflicts merge")
    assert "key" not in (vault / "progress-auth.md").read_text()
    assert (vault / "progress-auth (1).md").is_symlink()


def test_a_copy_without_end_is_left_for_people(project: Project, vault: Path) -> None:
    with (vault / "progress-auth (1).md").open("wb") as file:
        file.truncate(64 << 30)
    project.signoff("conflicts", "merge").exits(0).shows("progress copy  progress-auth (1).md")


def test_a_copys_hostile_lines_are_shown_escaped(project: Project, vault: Path) -> None:
    (vault / "progress-auth (1).md").write_text("- 2026-01-01T00:00:00+00:00 \x1b[2J\u202e\n")
    project.signoff("conflicts", "merge").exits(0).is_plain()
    project.signoff("progress", "auth").exits(0).is_plain().shows("\\x1b[2J\\u202e")


@pytest.mark.parametrize("name", ["../x", "", "-x"])
def test_an_unsafe_name_is_refused(project: Project, vault: Path, name: str) -> None:
    project.signoff("conflicts", "merge", "--", name).fails(2)
