"""Which repository, which plan: found by paths, with real git repositories as the measure."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from signoff.storage.identity import plan_identity
from signoff.workspace.folders import Repository, find_repository


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(
        ["git", *identity, *arguments], cwd=folder, env=environ, check=True, capture_output=True
    )


@pytest.fixture
def main(tmp_path: Path) -> Path:
    path = tmp_path / "main"
    path.mkdir()
    git(path, "init", "-q")
    git(path, "commit", "-q", "--allow-empty", "-m", "first")
    return path


def plan_in(folder: Path, name: str = "PLAN-a.md") -> Path:
    path = folder / ".harness" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# T\n")
    return path


def test_a_checkout_is_found_from_anywhere_inside(main: Path) -> None:
    (main / "a" / "b").mkdir(parents=True)
    assert find_repository(main / "a" / "b") == Repository(main, main)
    assert find_repository(main / "a" / "not-there-yet") == Repository(main, main)


def test_outside_any_checkout_there_is_none(tmp_path: Path) -> None:
    assert find_repository(tmp_path) is None


def test_a_linked_worktree_belongs_to_the_main_checkout(main: Path, tmp_path: Path) -> None:
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert find_repository(tmp_path / "tree") == Repository(tmp_path / "tree", main)


def test_a_worktree_of_a_bare_repository_belongs_to_it(main: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(main, "clone", "-q", "--bare", str(main), str(bare))
    git(bare, "worktree", "add", "-q", str(tmp_path / "tree"))
    assert find_repository(tmp_path / "tree") == Repository(tmp_path / "tree", bare)


def test_a_checkout_with_its_git_folder_elsewhere_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    git(tmp_path / "work", "init", "-q", f"--separate-git-dir={tmp_path / 'store'}")
    assert find_repository(tmp_path / "work") == Repository(tmp_path / "work", tmp_path / "work")


def test_a_git_file_that_claims_another_repositorys_worktree_is_not_believed(
    main: Path, tmp_path: Path
) -> None:
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    thief = tmp_path / "thief"
    thief.mkdir()
    (thief / ".git").write_text((tmp_path / "tree" / ".git").read_text())
    assert find_repository(thief) == Repository(thief, thief)


def test_a_git_file_that_claims_a_whole_repository_is_not_believed(
    main: Path, tmp_path: Path
) -> None:
    thief = tmp_path / "thief"
    fake = thief / "fake"
    fake.mkdir(parents=True)
    (thief / ".git").write_text(f"gitdir: {fake}\n")
    (fake / "gitdir").write_text(f"{thief / '.git'}\n")
    (fake / "commondir").write_text(f"{main / '.git'}\n")
    assert find_repository(thief) == Repository(thief, thief)


@pytest.mark.parametrize("content", ["", "nonsense", "gitdir:", "gitdir: /nowhere", "x" * 100_000])
def test_an_odd_git_file_makes_a_checkout_of_its_own(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert find_repository(tmp_path) == Repository(tmp_path, tmp_path)


def test_a_pipe_in_place_of_git_files_blocks_nobody(main: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert find_repository(tmp_path) is None
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    pointer = main / ".git" / "worktrees" / "tree" / "commondir"
    pointer.unlink()
    os.mkfifo(pointer)
    tree = tmp_path / "tree"
    assert find_repository(tree) == Repository(tree, tree)


def test_a_plan_in_a_vault_is_its_repository_and_name(main: Path, tmp_path: Path) -> None:
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    record = plan_identity(plan_in(main))
    assert (record.name, record.repository) == ("a", str(main))
    assert record.path == str(main / ".harness" / "PLAN-a.md")
    assert plan_identity(plan_in(tmp_path / "tree")).id == record.id
    assert plan_identity(plan_in(main, "PLAN-b.md")).id != record.id
    assert plan_identity(plan_in(main, "PLAN.md")).name == ""


def test_a_plan_kept_in_a_bare_repository_is_its_repository_and_name(
    main: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.git"
    git(main, "clone", "-q", "--bare", str(main), str(bare))
    record = plan_identity(plan_in(bare))
    assert (record.name, record.repository) == ("a", str(bare))
    (tmp_path / "objects").mkdir()
    assert plan_identity(plan_in(tmp_path)).repository is None, "half of what makes a repository"


def test_a_plan_outside_any_vault_is_its_real_path(main: Path, tmp_path: Path) -> None:
    path = main / "docs" / "fix.md"
    path.parent.mkdir()
    path.write_text("# T\n")
    record = plan_identity(path)
    assert (record.name, record.path, record.repository) == ("fix", str(path), None)
    (tmp_path / "link.md").symlink_to(path)
    assert plan_identity(tmp_path / "link.md") == record
    assert plan_identity(main / "docs" / ".." / "docs" / "fix.md") == record
    assert plan_identity(plan_in(tmp_path)).repository is None


def test_a_link_in_the_vault_to_a_plan_elsewhere_takes_no_name_there(
    main: Path, tmp_path: Path
) -> None:
    real = tmp_path / "other.md"
    real.write_text("# T\n")
    (main / ".harness").mkdir()
    (main / ".harness" / "PLAN-a.md").symlink_to(real)
    assert plan_identity(main / ".harness" / "PLAN-a.md") == plan_identity(real)


def test_an_id_is_short_and_safe_as_a_file_name(main: Path) -> None:
    assert plan_identity(plan_in(main)).id.isalnum()
    odd = plan_identity(main / "\udcff.md")
    assert odd.name == "\ufffd" and odd.id.isalnum()
