"""A snapshot as a commit, and a commit as files: the same bytes, names and modes both ways."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.errors import BranchConflict, ProcessFailed, StorageFailed, UsageError
from signoff.testing.crash import RepositoryPoint
from signoff.workspace.branches import check_out, merge
from signoff.workspace.committing import commit_content
from signoff.workspace.git import Git
from signoff.workspace.workspace import Workspace
from signoff.workspace.worktrees import add_worktree
from tests.workspace.gitkit import Repo, commit_snapshot, finished, killed_at, listing


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit({"a.py": "a\n", "gone.py": "g\n", "pkg/b.py": "b\n"})
    return made


@pytest.fixture
def git(repo: Repo) -> Iterator[Git]:
    with repo.open() as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def test_a_commit_holds_exactly_what_was_judged(
    repo: Repo, git: Git, store: Path, tmp_path: Path
) -> None:
    place = tmp_path / "plan"
    add_worktree(git, place, "plan/x", repo.head())
    repo.write({"a.py": "changed\r\n", "gone.py": None, "new/c": "c\n", "tool": "#!"}, at=place)
    (place / "tool").chmod(0o755)
    (place / "pkg" / "link").symlink_to("../new//c")
    made = commit_snapshot(git, place, store, "plan/x", "plan x\n")
    assert made.is_new and repo.head(place) == made.commit
    assert repo.status(place) == "" and repo.git("diff-files", "--name-only", at=place) == ""
    shown = repo.git("log", "-1", "--format=%an|%s|%P", made.commit).strip()
    assert shown == f"signoff|plan x|{repo.head()}"
    check_out(git, made.commit, tmp_path / "out")
    assert listing(tmp_path / "out") == listing(place)
    assert repo.git("fsck", "--strict") == "" and repo.status() == ""


def test_content_that_the_branch_holds_already_is_not_committed_again(
    repo: Repo, git: Git, store: Path
) -> None:
    head = repo.head()
    made = commit_snapshot(git, repo.path, store, "main")
    assert (made.commit, made.is_new) == (head, False)
    repo.write({"x": "x"})
    once = commit_snapshot(git, repo.path, store, "main")
    assert once.is_new and commit_snapshot(git, repo.path, store, "main") == once._replace(
        is_new=False
    )


def test_files_of_the_branch_that_are_no_source_stay_in_it(
    repo: Repo, git: Git, store: Path
) -> None:
    repo.commit({".harness/PLAN.md": "# Plan\n", "keep.log": "tracked\n", "c/m.pyc": "cache"})
    repo.commit({".gitignore": "*.log\n"})
    repo.write({"keep.log": "changed", "new.log": "n", ".harness/progress.md": "p", "s.py": "s"})
    made = commit_snapshot(git, repo.path, store, "main")
    shown = repo.git("ls-tree", "-r", "--name-only", made.commit).split()
    assert set(shown) == {
        *(".gitignore", ".harness/PLAN.md", "a.py", "c/m.pyc"),
        *("gone.py", "keep.log", "pkg/b.py", "s.py"),
    }
    assert repo.git("show", f"{made.commit}:keep.log") == "tracked\n"


def test_an_edit_after_the_snapshot_is_not_committed_and_stays_visible(
    repo: Repo, git: Git, store: Path
) -> None:
    repo.write({"a.py": "judged\n"})
    workspace = Workspace(repo.path, store)
    digest = workspace.snapshot().digest
    repo.write({"a.py": "sneaked\n"})
    made = commit_content(git, workspace, digest, branch="main", message="m")
    assert repo.git("show", f"{made.commit}:a.py") == "judged\n"
    assert repo.status() == " M a.py\n"
    # Another process, which took no snapshot of its own, commits the same.
    again = commit_content(git, Workspace(repo.path, store), digest, branch="main", message="m")
    assert again == made._replace(is_new=False)


def test_content_is_committed_where_its_branch_is_checked_out(
    repo: Repo, git: Git, store: Path, tmp_path: Path
) -> None:
    add_worktree(git, tmp_path / "plan", "plan/x", repo.head())
    with pytest.raises(BranchConflict, match=f"checked out in `{tmp_path / 'plan'}`"):
        commit_snapshot(git, repo.path, store, "plan/x")
    with pytest.raises(UsageError, match="no branch `nobody`"):
        commit_snapshot(git, repo.path, store, "nobody")


def test_content_of_a_branch_that_is_checked_out_nowhere_is_committed_too(
    repo: Repo, git: Git, store: Path
) -> None:
    repo.git("branch", "aside")
    repo.write({"a.py": "for aside\n"})
    made = commit_snapshot(git, repo.path, store, "aside")
    assert repo.git("rev-parse", "aside").strip() == made.commit
    assert repo.status() == " M a.py\n"


def test_a_repository_inside_the_workspace_is_refused_by_name(
    repo: Repo, git: Git, store: Path
) -> None:
    Repo(repo.path / "inner").commit({"x": "x"})
    with pytest.raises(UsageError, match=r"`inner/\.git/"):
        commit_snapshot(git, repo.path, store, "main")
    assert repo.git("log", "--oneline").count("\n") == 1


def test_a_submodule_stays_where_it_stands(repo: Repo, git: Git, store: Path) -> None:
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},sub")
    repo.git("commit", "--quiet", "-m", "sub")
    repo.write({"x": "x"})
    made = commit_snapshot(git, repo.path, store, "main")
    assert f"160000 commit {repo.git('rev-parse', 'main~2').strip()}\tsub" in repo.git(
        "ls-tree", made.commit
    )
    repo.write({"sub/y": "y"})
    with pytest.raises(UsageError, match="`sub/y` lies in the submodule `sub`"):
        commit_snapshot(git, repo.path, store, "main")


def test_pipes_and_empty_folders_are_left_out(repo: Repo, git: Git, store: Path) -> None:
    head = repo.head()
    os.mkfifo(repo.path / "pipe")
    (repo.path / "empty" / "inner").mkdir(parents=True)
    assert commit_snapshot(git, repo.path, store, "main").commit == head


def test_everything_can_be_removed(repo: Repo, git: Git, store: Path) -> None:
    repo.write({"a.py": None, "gone.py": None, "pkg/b.py": None})
    made = commit_snapshot(git, repo.path, store, "main")
    assert repo.git("ls-tree", "-r", made.commit) == "" == repo.status()


def test_a_kill_after_the_commit_is_finished_by_the_same_call(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit({"a": "a"})
    repo.write({"a": "b"})
    call = ("commit", str(repo.path), str(tmp_path / "store"), "main")
    killed_at(RepositoryPoint.CONTENT_COMMITTED, *call)
    head = repo.head()
    assert repo.git("show", "HEAD:a") == "b"
    for point in (RepositoryPoint.INDEX_LOCKED, RepositoryPoint.INDEX_PLACED):
        killed_at(point, *call)
    finished(*call)
    assert repo.head() == head and repo.status() == ""
    assert not [p for p in repo.dot_git.iterdir() if "signoff" in p.name or p.suffix == ".lock"]


def test_the_lock_of_somebody_elses_git_is_respected(repo: Repo, git: Git, store: Path) -> None:
    repo.write({"a.py": "b"})
    (repo.dot_git / "index.lock").write_bytes(b"")
    with pytest.raises(BranchConflict, match=r"index\.lock` exists"):
        commit_snapshot(git, repo.path, store, "main")
    assert repo.git("log", "--oneline").count("\n") == 1
    assert (repo.dot_git / "index.lock").exists()


# Names as Linux takes them: any bytes but slash and NUL; those that git refuses by rule are not it.
NAMES = st.binary(min_size=1, max_size=12).filter(
    lambda raw: (
        b"/" not in raw
        and b"\0" not in raw
        and raw not in (b".", b"..")
        and b"git" not in raw.lower()
        and not raw.endswith((b".pyc", b".pyo"))
    )
)
TARGETS = st.binary(min_size=1, max_size=20).filter(lambda raw: b"\0" not in raw)
ENTRIES = st.one_of(
    st.tuples(st.just("file"), st.binary(max_size=200)),
    st.tuples(st.just("executable"), st.binary(max_size=200)),
    st.tuples(st.just("link"), TARGETS),
)
TREES = st.dictionaries(
    st.tuples(st.sampled_from((b"", b"d", b"d/e f")), NAMES), ENTRIES, max_size=8
)


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(tree=TREES)
def test_whatever_is_committed_is_checked_out_byte_for_byte(
    tree: dict[tuple[bytes, bytes], tuple[str, bytes]],
) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        repo = Repo(folder / "repo")
        repo.git("commit", "--quiet", "--allow-empty", "-m", "first")
        for (above, name), (kind, content) in tree.items():
            put(repo.path / os.fsdecode(above) / os.fsdecode(name), kind, content)
        with repo.open() as git:
            commit = commit_snapshot(git, repo.path, folder / "store", "main").commit
            check_out(git, commit, folder / "out")
        assert listing(folder / "out") == listing(repo.path)
        assert repo.status() == ""


def put(place: Path, kind: str, content: bytes) -> None:
    if os.path.lexists(place) or (os.path.lexists(place.parent) and not place.parent.is_dir()):
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        # A Path would tidy the target up.
        os.symlink(content, os.fsencode(place))  # noqa: PTH211
        return
    place.write_bytes(content)
    place.chmod(0o755 if kind == "executable" else 0o644)


def test_two_branches_are_merged_without_touching_a_checkout(
    repo: Repo, git: Git, tmp_path: Path
) -> None:
    base = repo.head()
    theirs = repo.commit({"a.py": "main\n"})
    repo.git("checkout", "--quiet", "-b", "plan/x", base)
    ours = repo.commit({"pkg/b.py": "plan\n", "gone.py": None})
    merged = merge(git, theirs, ours)
    assert merged.conflicts == ()
    check_out(git, merged.tree, tmp_path / "out")
    assert listing(tmp_path / "out") == {"a.py": b"file main\n", "pkg/b.py": b"file plan\n"}
    assert repo.status() == "" and repo.head() == ours


def test_conflicts_are_named_whatever_their_names(repo: Repo, git: Git) -> None:
    odd = os.fsdecode(b"odd\n\xff name")
    base = repo.commit({odd: "1\n", "deep/é": "1\n"})
    theirs = repo.commit({odd: "2\n", "deep/é": "2\n", "a.py": None})
    repo.git("checkout", "--quiet", "-b", "plan/x", base)
    ours = repo.commit({odd: "3\n", "deep/é": "3\n", "a.py": "changed\n"})
    assert merge(git, theirs, ours).conflicts == ("a.py", "deep/é", odd)


def test_attributes_and_settings_of_the_repository_merge_nothing(repo: Repo, git: Git) -> None:
    base = repo.commit({".gitattributes": "* merge=union\n*.py merge=ours\n"})
    repo.git("config", "merge.ours.driver", "true")
    theirs = repo.commit({"a.py": "2\n", "log": "2\n"})
    repo.git("checkout", "--quiet", "-b", "plan/x", base)
    ours = repo.commit({"a.py": "3\n", "log": "3\n"})
    assert merge(git, theirs, ours).conflicts == ("a.py", "log")


def test_an_old_git_and_none_at_all_say_what_to_install(repo: Repo, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    with pytest.raises(ProcessFailed, match="no `git`") as missing:
        repo.open(PATH=str(tools))
    assert "install git" in missing.value.hint
    old = tools / "git"
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    with repo.open(PATH=str(tools)) as git, pytest.raises(ProcessFailed) as raised:
        merge(git, repo.head(), repo.head())
    assert raised.value.message == "merging needs git 2.38; this is 2.30"
    assert "install a newer git" in raised.value.hint


def test_a_folder_with_something_in_it_is_no_place_to_check_out(
    repo: Repo, git: Git, tmp_path: Path
) -> None:
    with pytest.raises(StorageFailed, match="not empty"):
        check_out(git, repo.head(), repo.path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageFailed, match="cannot be used"):
        check_out(git, repo.head(), tmp_path / "file")
