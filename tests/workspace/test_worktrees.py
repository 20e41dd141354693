"""Worktrees that we make are worktrees to git, and nothing in them is lost unseen."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from signoff.errors import BranchConflict, ProcessFailed, StorageFailed, UsageError
from signoff.testing.crash import RepositoryPoint
from signoff.workspace.folders import Repository, find_repository
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import exclude_from_git
from signoff.workspace.ignore import IgnoreFile, IgnoreRules
from signoff.workspace.worktrees import (
    Unfinished,
    WorktreeState,
    add_worktree,
    checkouts_of,
    find_worktree,
    list_worktrees,
    prune_missing,
    remove_worktree,
    unfinished_work,
)
from tests.workspace.gitkit import Repo, finished, killed_at

ADDING = [
    RepositoryPoint.WORKTREE_FILLED,
    RepositoryPoint.WORKTREE_BRANCHED,
    RepositoryPoint.WORKTREE_REGISTERED,
]
REMOVING = [RepositoryPoint.WORKTREE_ASIDE, RepositoryPoint.WORKTREE_UNREGISTERED]
NO_RULES = IgnoreRules()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write(
        {
            "src/a.py": "a\n",
            "run.sh": "#!/bin/sh\n",
            b"bytes-\xff".decode("utf-8", "surrogateescape"): "x",
        }
    )
    (made.path / "run.sh").chmod(0o755)
    (made.path / "link").symlink_to("src//a.py")
    made.commit({})
    return made


@pytest.fixture
def git(repo: Repo) -> Iterator[Git]:
    with repo.open() as opened:
        yield opened


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "trees" / "log in"


def test_a_new_worktree_is_one_to_git_and_can_be_worked_in(
    repo: Repo, git: Git, place: Path
) -> None:
    add_worktree(git, place, "plan/log-in", repo.head())
    assert repo.files(place) == repo.files()
    assert f"worktree {place}\nHEAD {repo.head()}\nbranch refs/heads/plan/log-in\n" in (
        repo.git("worktree", "list", "--porcelain")
    )
    assert repo.status(place) == "" == repo.status()
    made = repo.commit({"src/a.py": "changed\n", "new": "n"}, at=place)
    assert repo.git("rev-parse", "plan/log-in").strip() == made
    assert repo.git("log", "-1", "--format=%s", "-g", "HEAD", at=place).strip() == "by hand"
    repo.git("worktree", "prune")
    repo.git("worktree", "remove", "--force", str(place))
    assert repo.git("fsck", "--strict") == ""
    assert not place.exists()


def test_the_index_of_a_new_worktree_knows_its_files(repo: Repo, git: Git, place: Path) -> None:
    add_worktree(git, place, "plan/x", repo.head())
    # Plumbing does not look at content: it believes the times in the index.
    assert repo.git("diff-files", "--name-only", at=place) == ""


def test_worktrees_are_listed_as_git_lists_them(repo: Repo, git: Git, tmp_path: Path) -> None:
    ours, theirs, bare = tmp_path / "ours", tmp_path / "theirs", tmp_path / "detached"
    add_worktree(git, ours, "plan/x", repo.head())
    repo.git("worktree", "add", "--quiet", "-b", "other", str(theirs))
    repo.git("worktree", "add", "--quiet", "--detach", str(bare))
    repo.git("worktree", "lock", str(bare))
    listed = {w.path: w for w in list_worktrees(git)}
    assert set(listed) == {repo.path, ours, theirs, bare}
    assert [w.path for w in listed.values() if w.is_main] == [repo.path]
    assert {w.branch for w in listed.values()} == {"main", "plan/x", "other", None}
    assert {w.head for w in listed.values()} == {repo.head()}
    assert [w.path for w in listed.values() if w.locked] == [bare]
    assert {w.state for w in listed.values()} == {WorktreeState.PRESENT}
    assert [w.path for w in checkouts_of(git, "other")] == [theirs]


def test_the_same_list_is_seen_from_inside_a_worktree(repo: Repo, git: Git, place: Path) -> None:
    add_worktree(git, place, "plan/x", repo.head())
    with repo.open(at=place) as inside:
        assert list_worktrees(inside) == list_worktrees(git)


def test_an_existing_branch_is_checked_out_as_it_stands(repo: Repo, git: Git, place: Path) -> None:
    repo.git("checkout", "--quiet", "-b", "plan/x")
    ahead = repo.commit({"more": "m"})
    repo.git("checkout", "--quiet", "main")
    repo.git("pack-refs", "--all")
    made = add_worktree(git, place, "plan/x", repo.head())
    assert made.head == ahead == repo.head(place)
    assert (place / "more").exists() and repo.status(place) == ""


def test_eight_workers_get_eight_worktrees_at_once(repo: Repo, tmp_path: Path) -> None:
    head = repo.head()
    names = [f"plan-{number}" for number in range(8)]
    calls = [("add", str(repo.path), str(tmp_path / n), f"plan/{n}", head) for n in names]
    with ThreadPoolExecutor(len(calls)) as pool:
        list(pool.map(lambda call: finished(*call), calls))
    for name in names:
        assert repo.status(tmp_path / name) == "" and repo.head(tmp_path / name) == head
    assert repo.git("worktree", "list").count("\n") == 9


def test_a_branch_that_is_checked_out_elsewhere_is_refused(
    repo: Repo, git: Git, tmp_path: Path
) -> None:
    add_worktree(git, tmp_path / "one", "plan/x", repo.head())
    for branch, where in (("plan/x", "one"), ("main", "repo")):
        with pytest.raises(BranchConflict, match=f"checked out in `{tmp_path / where}`"):
            add_worktree(git, tmp_path / "two", branch, repo.head())
    assert not (tmp_path / "two").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one", "repo"]


def test_a_folder_with_something_in_it_is_refused_and_an_empty_one_is_used(
    repo: Repo, git: Git, tmp_path: Path
) -> None:
    full, empty = tmp_path / "full", tmp_path / "empty"
    for folder in (full, empty):
        folder.mkdir()
    (full / "mine").write_text("mine")
    (tmp_path / "link").symlink_to(empty)
    for name in ("full", "full/mine", "link", "a\nb"):
        with pytest.raises(UsageError):
            add_worktree(git, tmp_path / name, "plan/x", repo.head())
    assert list_worktrees(git)[1:] == () and (full / "mine").read_text() == "mine"
    add_worktree(git, empty, "plan/x", repo.head())
    assert repo.status(empty) == ""


def test_a_commit_that_is_not_there_leaves_nothing_half_made(
    repo: Repo, git: Git, tmp_path: Path
) -> None:
    before = sorted(repo.dot_git.rglob("*"))
    with pytest.raises(ProcessFailed, match="ls-tree"):
        add_worktree(git, tmp_path / "new", "plan/x", "1" * len(repo.head()))
    assert sorted(repo.dot_git.rglob("*")) == before
    assert [p.name for p in tmp_path.iterdir()] == ["repo"]


def test_two_worktrees_of_one_folder_name_do_not_mix(repo: Repo, git: Git, tmp_path: Path) -> None:
    for number in range(3):
        place = tmp_path / str(number) / "plan"
        add_worktree(git, place, f"plan/{number}", repo.head())
        assert repo.git("branch", "--show-current", at=place).strip() == f"plan/{number}"


@pytest.mark.parametrize("point", ADDING)
def test_a_kill_while_adding_is_finished_by_the_same_call(
    tmp_path: Path, point: RepositoryPoint
) -> None:
    repo = Repo(tmp_path / "repo")
    head = repo.commit({"a": "a", "b/c": "c"})
    place = tmp_path / "plan"
    call = ("add", str(repo.path), str(place), "plan/x", head)
    killed_at(point, *call)
    assert not place.exists() and repo.status() == ""
    repo.git("fsck", "--strict")
    finished(*call)
    assert repo.files(place) == repo.files() and repo.status(place) == ""
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plan", "repo"]
    assert [p.name for p in (repo.dot_git / "worktrees").iterdir()] == ["plan"]
    assert not list(repo.dot_git.glob("signoff*"))


@pytest.mark.parametrize("point", REMOVING)
def test_a_kill_while_removing_is_finished_by_the_same_call(
    tmp_path: Path, point: RepositoryPoint
) -> None:
    repo = Repo(tmp_path / "repo")
    head = repo.commit({"a": "a"})
    place = tmp_path / "plan"
    finished("add", str(repo.path), str(place), "plan/x", head)
    killed_at(point, "remove", str(repo.path), str(place))
    finished("remove", str(repo.path), str(place))
    assert [p.name for p in tmp_path.iterdir()] == ["repo"]
    assert not (repo.dot_git / "worktrees").exists()


def test_a_removed_worktree_leaves_its_branch_and_nothing_else(
    repo: Repo, git: Git, place: Path
) -> None:
    add_worktree(git, place, "plan/x", repo.head())
    repo.write({"left/over": "x"}, at=place)
    (place / "left").chmod(0o500)
    remove_worktree(git, place)
    assert not place.exists() and list(place.parent.iterdir()) == []
    assert "plan/x" in repo.git("branch", "--list")
    assert repo.git("worktree", "list").count("\n") == 1
    add_worktree(git, place, "plan/x", repo.head())


def test_what_may_not_be_removed_stays(repo: Repo, git: Git, place: Path) -> None:
    with pytest.raises(UsageError, match="main checkout"):
        remove_worktree(git, repo.path)
    with pytest.raises(UsageError, match="not a worktree"):
        remove_worktree(git, place.parent)
    add_worktree(git, place, "plan/x", repo.head())
    repo.git("worktree", "lock", str(place))
    with pytest.raises(BranchConflict, match="locked") as raised:
        remove_worktree(git, place)
    assert "worktree unlock" in raised.value.hint
    assert repo.status(place) == ""


def test_worktrees_whose_folder_is_gone_are_forgotten_unless_locked(
    repo: Repo, git: Git, tmp_path: Path
) -> None:
    for name in ("gone", "kept", "away"):
        add_worktree(git, tmp_path / name, f"plan/{name}", repo.head())
    repo.git("worktree", "lock", str(tmp_path / "away"))
    for name in ("gone", "away"):
        (tmp_path / name).rename(tmp_path / f"{name}.moved")
    assert find_worktree(git, tmp_path / "gone").state is WorktreeState.MISSING
    assert prune_missing(git) == (tmp_path / "gone",)
    assert prune_missing(git) == ()
    names = {w.path.name for w in list_worktrees(git)}
    assert names == {"repo", "kept", "away"}


def test_everything_that_would_be_lost_with_a_worktree_is_named(
    repo: Repo, git: Git, place: Path
) -> None:
    base = repo.head()
    add_worktree(git, place, "plan/x", base)
    rules = IgnoreRules((IgnoreFile("", "build/\n*.log\n"),))

    def unfinished() -> Unfinished:
        return unfinished_work(git, find_worktree(git, place), "main", rules)

    assert unfinished().is_nothing
    made = repo.commit({"new": "n"}, at=place)
    assert [c.id for c in unfinished().commits] == [made] and not unfinished().uncommitted
    repo.write({"src/a.py": "changed", "build/out": "x", "x.log": "l", "deep/er/y": "y"}, at=place)
    repo.write({"staged": "s"}, at=place)
    repo.git("add", "staged", at=place)
    (place / "staged").unlink()
    (place / "run.sh").unlink()
    (place / "link").unlink()
    (place / "link").symlink_to("elsewhere")
    assert unfinished().uncommitted == ("deep/er/y", "link", "run.sh", "src/a.py", "staged")


def test_flags_in_the_index_hide_no_change_from_us(repo: Repo, git: Git, place: Path) -> None:
    add_worktree(git, place, "plan/x", repo.head())
    repo.git("update-index", "--assume-unchanged", "src/a.py", at=place)
    repo.git("update-index", "--skip-worktree", "run.sh", at=place)
    repo.write({"src/a.py": "hidden", "run.sh": "hidden", ".gitignore": "*\n"}, at=place)
    repo.write({"untracked": "hidden"}, at=place)
    assert repo.status(place) == ""
    found = unfinished_work(git, find_worktree(git, place), "main", NO_RULES)
    assert found.uncommitted == (".gitignore", "run.sh", "src/a.py", "untracked")


def test_attributes_hide_no_change_from_us(repo: Repo, git: Git, place: Path) -> None:
    base = repo.commit({"lines": "one\ntwo\n", ".gitattributes": "* text ident\n"})
    add_worktree(git, place, "plan/x", base)
    repo.write({"lines": "one\r\ntwo\r\n"}, at=place)
    assert repo.git("diff", "--name-only", at=place) == ""
    found = unfinished_work(git, find_worktree(git, place), "main", NO_RULES)
    assert found.uncommitted == ("lines",)


def test_work_of_a_worktree_that_is_missing_is_in_its_branch(
    repo: Repo, git: Git, place: Path
) -> None:
    add_worktree(git, place, "plan/x", repo.head())
    made = repo.commit({"new": "n"}, at=place)
    place.rename(place.with_name("away"))
    found = unfinished_work(git, find_worktree(git, place), "main", NO_RULES)
    assert (found.uncommitted, [c.id for c in found.commits]) == ((), [made])


def repository_of(path: Path) -> Repository:
    found = find_repository(path)
    assert found is not None
    return found


def test_a_line_is_excluded_once_for_all_checkouts(repo: Repo, git: Git, place: Path) -> None:
    add_worktree(git, place, "plan/x", repo.head())
    exclude = repo.dot_git / "info" / "exclude"
    exclude.write_bytes(b"# mine\nno-newline")
    assert exclude_from_git(repository_of(place), "/.harness/active-plan")
    assert not exclude_from_git(repository_of(repo.path), "/.harness/active-plan")
    assert exclude.read_bytes() == b"# mine\nno-newline\n/.harness/active-plan\n"
    for folder in (repo.path, place):
        repo.write({".harness/active-plan": "x"}, at=folder)
        assert repo.status(folder) == ""


def test_excluding_makes_what_is_missing_and_follows_no_link(repo: Repo, tmp_path: Path) -> None:
    exclude = repo.dot_git / "info" / "exclude"
    exclude.unlink()
    exclude.parent.rmdir()
    exclude_from_git(repository_of(repo.path), "/x")
    assert exclude.read_text() == "/x\n"
    exclude.unlink()
    exclude.symlink_to(tmp_path / "victim")
    with pytest.raises(UsageError, match="symbolic link"):
        exclude_from_git(repository_of(repo.path), "/y")
    exclude.unlink()
    exclude.mkdir()
    with pytest.raises(UsageError, match="regular file"):
        exclude_from_git(repository_of(repo.path), "/y")
    with pytest.raises(UsageError, match="one line"):
        exclude_from_git(repository_of(repo.path), "a\nb")
    assert not (tmp_path / "victim").exists()


def test_a_bare_repository_has_worktrees_and_no_main_checkout(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    head = repo.commit({"a": "a"})
    bare, place = tmp_path / "bare", tmp_path / "one"
    repo.git("clone", "--quiet", "--bare", str(repo.path), str(bare))
    repo.git("worktree", "add", "--quiet", str(place), "main", at=bare)
    with repo.open(at=place) as git:
        assert [(w.path, w.branch) for w in list_worktrees(git)] == [(place, "main")]
        add_worktree(git, tmp_path / "two", "plan/x", head)
    assert repo.status(tmp_path / "two") == ""


def test_an_unwritable_place_is_told(repo: Repo, git: Git, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises((UsageError, StorageFailed), match="file"):
        add_worktree(git, tmp_path / "file" / "below", "plan/x", repo.head())
    assert list_worktrees(git)[1:] == () and (tmp_path / "file").read_text() == "x"
