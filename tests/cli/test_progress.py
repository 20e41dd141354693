"""`progress`: lines with time, author, run and step, appended and shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.plans import step
from tests.cli.project import Project

LINE = r"- \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00 \S+ run=- step=- "


@pytest.fixture
def auth(project: Project) -> Project:
    (project.vault / "PLAN.md").write_text("# T\n")
    return project.named("auth", step("Log in", "test -s auth"))


def test_a_line_is_added_and_shown(auth: Project) -> None:
    auth.signoff("progress", "auth").exits(0).shows("no progress yet")
    auth.signoff("progress", "auth", "--add", "half way").exits(0)
    shown = auth.signoff("progress", "auth").exits(0).stdout
    assert re.fullmatch(LINE + "half way\n", shown)
    assert (auth.vault / "progress-auth.md").read_text() == shown
    assert not (auth.vault / "progress.md").exists(), "the other plan's file is not touched"


def test_without_a_name_it_is_about_the_bound_plan(auth: Project) -> None:
    auth.signoff("progress", "--add", "unnamed").exits(0)
    auth.signoff("bind", "auth").exits(0)
    auth.signoff("progress", "--add", "named").exits(0)
    assert "unnamed" in auth.read(".harness/progress.md")
    assert "named" in auth.read(".harness/progress-auth.md")
    (auth.vault / "active-plan").write_text("gone\n")
    auth.signoff("progress", "--add", "lost").fails(2)


@pytest.mark.parametrize(
    "text",
    ["two\nlines", "a\r- 2026-01-01T00:00:00+00:00 signoff run=r step=1 done", "\x1b[2J", "\u202e"],
)
def test_a_text_stays_on_its_own_line_and_is_no_command(auth: Project, text: str) -> None:
    auth.signoff("progress", "auth", "--add", text).exits(0).is_plain()
    data = (auth.vault / "progress-auth.md").read_bytes()
    assert data.count(b"\n") == 1 and b"\r" not in data and b"\x1b" not in data


def test_a_long_text_is_cut_and_an_empty_one_refused(auth: Project) -> None:
    auth.signoff("progress", "auth", "--add", "x" * 50_000).exits(0)
    assert len(auth.read(".harness/progress-auth.md")) <= 2_001
    auth.signoff("progress", "auth", "--add", "  ").fails(2, "nothing to add")


def test_the_last_lines(auth: Project) -> None:
    for text in ("one", "two", "three"):
        auth.signoff("progress", "auth", "--add", text).exits(0)
    found = auth.signoff("progress", "auth", "--last", "2", "--json").exits(0).json
    assert [line.rsplit(" ", 1)[1] for line in found["lines"]] == ["two", "three"]
    assert found["plan"] == "auth" and Path(found["path"]).name == "progress-auth.md"
    auth.signoff("progress", "auth", "--last", "0").fails(2)


def test_an_agents_line_says_that_it_is_an_agents(auth: Project) -> None:
    command = " ".join(auth.command(["progress", "PLAN-auth.md", "--add", "looking"]))
    auth.agent(f"echo x > auth; PYTHONPATH={auth.environment()['PYTHONPATH']} {command}")
    auth.signoff("run", "auth", "--yes").exits(0)
    lines = auth.read(".harness/progress-auth.md").splitlines()
    (said,) = [line for line in lines if line.endswith(" looking")]
    assert re.search(r" agent run=\w+ step=1 looking$", said)


def test_a_plan_outside_a_vault_has_no_progress_file(auth: Project) -> None:
    auth.file("elsewhere.md", "# T\n")
    auth.signoff("progress", "./elsewhere.md").fails(2, "outside a vault", hint="signoff log")
