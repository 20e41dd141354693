"""The before-tool hook: advice against writing what signoff pins, in each client's words."""

from __future__ import annotations

import pytest

from tests.cli.plans import step
from tests.cli.project import Project
from tests.hooks.kit import FakeClient

WRITERS = {
    "claude": ("Write", "file_path"),
    "gemini": ("write_file", "file_path"),
    "qwen": ("write_file", "file_path"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_plan_progress_configuration_and_hooks_are_kept_from_tools(
    bound: Project, name: str
) -> None:
    tool, field = WRITERS[name]
    guarded = (
        ".harness/PLAN-auth.md",
        ".harness/progress-auth.md",
        ".harness/active-plan",
        "signoff.toml",
        ".claude/settings.json",
        ".codex/hooks.json",
        str(bound.home / "ledger.sqlite3"),
        "sub/../signoff.toml",
    )
    with FakeClient(bound, name=name) as client:
        for path in guarded:
            reason = client.denied(tool, **{field: path})
            assert reason.startswith("signoff: ") and "advice" in reason, path
        assert client.denied(tool, **{field: "src/login.py"}) == ""


def test_protected_files_of_the_approved_plan_are_kept(bound: Project, client: FakeClient) -> None:
    assert "protected by plan `auth`" in client.denied("Edit", file_path="tests/test_login.py")
    assert "protected by plan" in client.denied("Write", file_path="tests/test_new.py")
    assert client.denied("Edit", file_path="login.txt") == ""


def test_codex_patches_name_their_files(bound: Project) -> None:
    patch = "*** Begin Patch\n*** Update File: tests/test_login.py\n@@\n-a\n+b\n*** End Patch"
    with FakeClient(bound, name="codex") as client:
        assert "protected" in client.denied("apply_patch", command=patch)


def test_shells_may_read_what_they_may_not_write(bound: Project, client: FakeClient) -> None:
    for command in (
        "cat .harness/PLAN-auth.md",
        "grep -n contract .harness/PLAN-auth.md | head",
        "pytest tests/test_login.py > /dev/null",
        "git diff signoff.toml",
    ):
        assert client.denied("Bash", command=command) == "", command
    for command in (
        "echo true > .harness/PLAN-auth.md",
        "echo '[roles]' >>signoff.toml",
        "sed -i s/a/b/ tests/test_login.py",
        "true && rm -f .harness/active-plan",
        "git checkout HEAD~1 -- tests/test_login.py",
    ):
        assert client.denied("Bash", command=command) != "", command


def test_a_link_to_a_guarded_file_is_the_file(bound: Project, client: FakeClient) -> None:
    (bound.workspace / "notes.md").symlink_to(bound.vault / "PLAN-auth.md")
    assert client.denied("Write", file_path="notes.md") != ""


def test_a_draft_may_be_written_by_the_agent_that_proposes_it(
    project: Project, client: FakeClient
) -> None:
    project.named("auth", step("Log in", "test -s login.txt"))
    assert client.denied("Write", file_path=".harness/PLAN-auth.md") == ""
    assert client.denied("Write", file_path=".harness/PLAN-new.md") == ""
    assert client.denied("Write", file_path=".harness/topics/auth.md") == ""
