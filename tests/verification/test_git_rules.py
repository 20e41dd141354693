"""Ignore rules in git's own folder: which count, and that nothing else of git does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from signoff.verification.protection import git_rules


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    _git(root, "init", "-q")
    _git(root, "config", "user.name", "a")
    _git(root, "config", "user.email", "a@example.org")
    _git(root, "commit", "-q", "--allow-empty", "-m", "start")
    return root


def test_commits_branches_remotes_and_comments_do_not_matter(checkout: Path) -> None:
    _git(checkout, "remote", "add", "origin", "/nowhere")
    _git(checkout, "checkout", "-q", "-b", "other")
    (checkout / ".git/info/exclude").write_text("# a comment\n\n")
    assert git_rules(checkout) == {}


def test_rules_are_found_wherever_git_finds_them(checkout: Path) -> None:
    (checkout / ".git/info/exclude").write_text("*.log\n")
    (checkout / ".git/info/attributes").write_text("* -diff\n")
    (checkout / ".git/more").write_text("[user]\n\tname = b\n")
    _git(checkout, "config", "core.excludesFile", "~/ignored")
    _git(checkout, "config", "includeIf.gitdir:/a/.path", "more")
    assert sorted(git_rules(checkout)) == [
        ".git/config#core.excludesfile",
        ".git/config#includeif.path",
        ".git/info/attributes",
        ".git/info/exclude",
    ]


def test_a_file_that_the_configuration_names_counts_by_what_it_says(checkout: Path) -> None:
    _git(checkout, "config", "include.path", "more")
    (checkout / ".git/more").write_text("[user]\n\tname = b\n")
    before = git_rules(checkout)
    (checkout / ".git/more").write_text("[core]\n\texcludesFile = x\n")
    assert git_rules(checkout) != before


def test_a_linked_worktree_has_the_rules_of_its_repository(checkout: Path) -> None:
    (checkout / ".git/info/exclude").write_text("*.log\n")
    _git(checkout, "worktree", "add", "-q", "../linked")
    assert git_rules(checkout.parent / "linked") == git_rules(checkout)


def test_a_folder_without_git_has_none(tmp_path: Path) -> None:
    assert git_rules(tmp_path) == {}
