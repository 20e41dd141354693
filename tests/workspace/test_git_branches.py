"""Branches are read and moved exactly, in every shape a repository has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.errors import BranchConflict, ProcessFailed, UsageError
from signoff.workspace.branches import (
    branch_head,
    branch_heads,
    check_branch_name,
    commits_between,
    diff_size,
    is_ancestor,
    make_commit,
    merge_base,
    move_branch,
    tree_of,
)
from signoff.workspace.folders import find_repository
from signoff.workspace.git import Git
from tests.workspace.gitkit import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with one commit, in both object formats."""
    made = Repo(tmp_path / "repo")
    made.commit({"a.txt": "1\n2\n3\n"})
    return made


@pytest.fixture
def git(repo: Repo) -> Iterator[Git]:
    with repo.open() as opened:
        yield opened


def test_a_branch_moves_only_from_where_it_was_expected(repo: Repo, git: Git) -> None:
    first = repo.head()
    second = repo.commit({"a.txt": "1\n"})
    move_branch(git, "plan/deep/name", first, expected=None)
    assert repo.git("rev-parse", "plan/deep/name").strip() == first
    move_branch(git, "plan/deep/name", second, expected=first)
    with pytest.raises(BranchConflict, match=f"stands on `{second[:12]}`") as raised:
        move_branch(git, "plan/deep/name", first, expected=first)
    assert raised.value.facts["current"] == second
    with pytest.raises(BranchConflict, match="expected not to be there"):
        move_branch(git, "plan/deep/name", first, expected=None)
    with pytest.raises(BranchConflict, match="is not there"):
        move_branch(git, "nobody", first, expected=second)
    assert branch_heads(git) == {"main": second, "plan/deep/name": second}


def test_odd_names_of_branches_are_read_whole(repo: Repo, git: Git) -> None:
    odd = ["a\u2028b", "\x85", "ü/ß", os.fsdecode(b"\xff\xfe"), "-dash", "x@y"]
    for name in odd:
        move_branch(git, name, repo.head(), expected=None)
    assert set(branch_heads(git)) == {"main", *odd}


def test_packed_branches_are_found_and_moved(repo: Repo, git: Git) -> None:
    first = repo.head()
    repo.git("branch", "plan/x")
    second = repo.commit({"b": "b"})
    repo.git("pack-refs", "--all")
    assert branch_head(git, "plan/x") == first
    move_branch(git, "plan/x", second, expected=first)
    repo.git("gc", "--quiet")
    assert branch_head(git, "plan/x") == second == repo.git("rev-parse", "plan/x").strip()
    assert repo.git("fsck", "--strict") == ""


def test_a_branch_and_a_folder_of_branches_cannot_have_one_name(repo: Repo, git: Git) -> None:
    repo.git("branch", "plan")
    with pytest.raises(ProcessFailed, match="plan"):
        move_branch(git, "plan/x", repo.head(), expected=None)
    assert branch_head(git, "plan/x") is None


def test_what_is_no_branch_is_not_found_by_the_syntax_of_revisions(repo: Repo, git: Git) -> None:
    repo.commit({"b": "b"})
    for name in ("main~1", "main^{commit}", "main@{0}", "heads/main", "HEAD", "", "m*", "-h"):
        assert branch_head(git, name) is None, name


@pytest.mark.parametrize(
    "name", ["", "-x", "a..b", "a b", "a~b", "x.lock", "a//b", "/a", "a/", "@{x}", "a\nb", "HEAD"]
)
def test_a_name_that_git_does_not_take_is_refused(git: Git, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a branch"):
        check_branch_name(git, name)


def test_only_full_ids_name_commits(repo: Repo, git: Git) -> None:
    for text in ("main", "HEAD", repo.head()[:12], "--all", f"{repo.head()}^", ""):
        with pytest.raises(UsageError, match="not the full id"):
            is_ancestor(git, text, repo.head())


def test_ancestry_and_commits_of_a_branch_are_told(repo: Repo, git: Git) -> None:
    first = repo.head()
    repo.git("checkout", "--quiet", "-b", "plan/x")
    second = repo.commit({"a.txt": "1\n2\n"})
    third = repo.commit({"b.txt": "b"})
    assert is_ancestor(git, first, third) and is_ancestor(git, third, third)
    assert not is_ancestor(git, third, first)
    assert [c.id for c in commits_between(git, first, third)] == [third, second]
    assert commits_between(git, first, third)[0].subject == "by hand"
    assert commits_between(git, third, first) == ()
    assert merge_base(git, first, third) == first


def test_the_size_of_a_branch_counts_its_own_lines_since_it_left_the_base(
    repo: Repo, git: Git
) -> None:
    repo.git("checkout", "--quiet", "-b", "plan/x")
    binary = bytes(range(256)) * 40
    repo.commit({"a.txt": "1\n2\nthree\n", "new\nline": "x\ny\n", "blob": binary, "c\td": "z\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit({"elsewhere": "1\n" * 500})
    # One line replaced (2), two and one added, and a binary file.
    assert diff_size(git, "main", "plan/x") == 2 + 2 + 1 + 1
    assert diff_size(git, "main", "main") == 0
    with pytest.raises(UsageError, match="no branch `gone`"):
        diff_size(git, "main", "gone")


def test_histories_that_never_met_have_no_common_commit(repo: Repo, git: Git) -> None:
    stranger = make_commit(git, tree_of(git, repo.head()), (), "other")
    assert merge_base(git, repo.head(), stranger) is None
    move_branch(git, "stranger", stranger, expected=None)
    assert diff_size(git, "main", "stranger") == 0


def test_a_commit_is_by_signoff_whoever_the_repository_names(repo: Repo, git: Git) -> None:
    repo.git("config", "user.name", "somebody else")
    made = make_commit(git, tree_of(git, repo.head()), (repo.head(),), "a\n\nb — c\udcff\n")
    who = "signoff <signoff@localhost>"
    shown = repo.git("show", "--no-patch", "--format=%an <%ae>|%cn <%ce>|%P|%B", made)
    assert shown.startswith(f"{who}|{who}|{repo.head()}|a\n\nb — c")


def test_a_repository_without_a_commit_has_no_branches(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    with repo.open() as git:
        assert branch_heads(git) == {}


@pytest.mark.parametrize(
    ("extension", "named"),
    [
        ("refStorage = reftable", "`refstorage` = `reftable`"),
        ("objectFormat = sha256", "`objectformat` = `sha256`"),
        ("compatObjectFormat = sha1", "`compatobjectformat` = `sha1`"),
        ("tomorrow", "`tomorrow` = `true`"),
    ],
)
def test_an_extension_that_changes_the_format_is_refused_by_name(
    tmp_path: Path, extension: str, named: str
) -> None:
    repo = Repo(tmp_path / "repo")
    with (repo.dot_git / "config").open("a") as config:
        config.write(f"[core] repositoryformatversion = 1\n[Extensions]\n\t{extension} # why\n")
    with pytest.raises(UsageError) as raised:
        repo.open()
    assert named in raised.value.message and "config" in raised.value.message


def test_a_format_of_the_future_is_refused_and_harmless_extensions_are_not(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    head = repo.commit({"a": "a"})
    config = repo.dot_git / "config"
    text = config.read_text()
    config.write_text(text + "[extensions]\npreciousObjects = true\nworktreeConfig = true\n")
    with repo.open() as git:
        assert branch_head(git, "main") == head
    config.write_text(text + "[core]\nrepositoryformatversion = 2\n")
    with pytest.raises(UsageError, match="format version `2`"):
        repo.open()


def test_a_shallow_clone_is_told_how_to_get_its_history(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit({"a": "a"})
    repo.commit({"a": "b"})
    url = f"file://{repo.path}"
    repo.git("clone", "--quiet", "--depth=1", url, str(tmp_path / "shallow"))
    repository = find_repository(tmp_path / "shallow")
    assert repository is not None
    with Git.open(repository, {}) as git:
        head = branch_head(git, "main")
        assert head is not None
        with pytest.raises(ProcessFailed) as raised:
            commits_between(git, make_commit(git, tree_of(git, head), (), "x"), head)
    assert "--unshallow" in raised.value.hint
