"""A base branch moves forward with its checkouts, or nothing moves at all."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from signoff.errors import BranchConflict, ProcessFailed
from signoff.testing.crash import RepositoryPoint
from signoff.workspace.advancing import advance
from signoff.workspace.branches import branch_head
from signoff.workspace.git import Git
from tests.workspace.gitkit import Repo, finished, killed_at, listing

OLD: dict[str, str | bytes | None] = {
    "same": "same\n",
    "edit": "old\n",
    "gone/deep/file": "old\n",
    "becomes-folder": "old\n",
    "becomes-file/x": "old\n",
    "tool": "#!old\n",
}


class Story:
    """main stands on `old`; `new` follows it and changes everything that can change."""

    def __init__(self, repo: Repo):
        self.repo = repo
        repo.write(OLD)
        (repo.path / "link").symlink_to("same")
        self.old = repo.commit({})
        repo.git("checkout", "--quiet", "-b", "plan/x")
        repo.write({"edit": "new\n", "added/deep/file": "new\n"})
        for path in ("gone/deep/file", "becomes-folder", "becomes-file/x", "link"):
            (repo.path / path).unlink()
        (repo.path / "becomes-file").rmdir()
        repo.write({"becomes-folder/y": "new\n", "becomes-file": "new\n"})
        (repo.path / "link").symlink_to(".//edit")
        (repo.path / "tool").chmod(0o755)
        self.new = repo.commit({})
        self.wanted = repo.files()
        repo.git("checkout", "--quiet", "main")
        self.before = repo.files()

    def assert_new(self, at: Path | None = None) -> None:
        assert self.repo.files(at) == self.wanted
        assert self.repo.status(at) == "" and self.repo.head(at) == self.new
        assert self.repo.git("diff-files", "--name-only", at=at) == ""

    def assert_old(self) -> None:
        assert self.repo.head() == self.old == self.repo.git("rev-parse", "main").strip()


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(Repo(tmp_path / "repo"))


@pytest.fixture
def git(story: Story) -> Iterator[Git]:
    with story.repo.open() as opened:
        yield opened


def go(git: Git, story: Story) -> tuple[Path, ...]:
    return advance(git, "main", story.new, story.old)


def test_the_checkout_of_a_base_comes_along(story: Story, git: Git) -> None:
    assert go(git, story) == (story.repo.path,)
    story.assert_new()
    assert not (story.repo.path / "gone").exists()
    assert go(git, story) == ()
    assert story.repo.git("fsck", "--strict") == ""


def test_a_base_that_is_checked_out_in_a_worktree_comes_along_there(
    story: Story, git: Git, tmp_path: Path
) -> None:
    story.repo.git("checkout", "--quiet", "--detach")
    story.repo.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "main")
    assert go(git, story) == (tmp_path / "tree",)
    story.assert_new(tmp_path / "tree")
    assert story.repo.files() == story.before and story.repo.head() == story.old


def test_a_base_that_is_checked_out_nowhere_just_moves(story: Story, git: Git) -> None:
    story.repo.git("checkout", "--quiet", "--detach")
    assert go(git, story) == ()
    assert branch_head(git, "main") == story.new and story.repo.files() == story.before


def test_changes_of_a_person_that_are_not_in_the_way_stay(story: Story, git: Git) -> None:
    story.repo.write({"same": "mine\n", "staged": "mine\n", "untracked": "mine\n"})
    story.repo.git("add", "staged")
    go(git, story)
    assert story.repo.status() == " M same\nA  staged\n?? untracked\n"
    assert story.repo.head() == story.new
    assert (story.repo.path / "edit").read_text() == "new\n"


def edit(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("mine\n")


def remove(place: Path) -> None:
    place.unlink()


def make_executable(place: Path) -> None:
    place.chmod(0o755)


def make_folder(place: Path) -> None:
    place.unlink(missing_ok=True)
    place.mkdir()


def make_link(place: Path) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to("..")


def make_pipe(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


CHANGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "an edited file": ("edit", edit),
    "a deleted file": ("edit", remove),
    "a file that was made executable": ("edit", make_executable),
    "an edited file that is to go": ("gone/deep/file", edit),
    "an untracked file in the place of a new one": ("added/deep/file", edit),
    "a file where a folder is to be": ("added", edit),
    "a link where a folder is to be": ("added", make_link),
    "an untracked file in a folder that becomes a file": ("becomes-file/mine", edit),
    "an empty folder in a folder that becomes a file": ("becomes-file/mine", make_folder),
    "a link that leads elsewhere": ("link", make_link),
    "a pipe": ("edit", make_pipe),
    "a folder in the place of a file": ("edit", make_folder),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_would_be_overwritten_is_named_before_anything_moves(
    tmp_path: Path, what: str
) -> None:
    story = Story(Repo(tmp_path / "repo"))
    path, change = CHANGES[what]
    change(story.repo.path / path)
    # A pipe is nothing that could be listed by reading it.
    before = {} if what == "a pipe" else story.repo.files()
    with story.repo.open() as git, pytest.raises(BranchConflict, match="overwritten") as raised:
        go(git, story)
    named = raised.value.facts["paths"]
    assert any(p == path or p.startswith(f"{path}/") or path.startswith(f"{p}/") for p in named)
    assert "stash" in raised.value.hint
    story.assert_old()
    assert what == "a pipe" or story.repo.files() == before


def test_ignored_files_in_the_place_of_new_ones_are_not_overwritten(story: Story, git: Git) -> None:
    story.repo.write({"added/deep/file": "mine\n", ".git/info/exclude": "added/\n"})
    with pytest.raises(BranchConflict, match="`added/deep/file`"):
        go(git, story)
    assert (story.repo.path / "added/deep/file").read_text() == "mine\n"


def test_a_staged_change_is_not_lost_though_the_file_is_as_committed(
    story: Story, git: Git
) -> None:
    story.repo.write({"edit": "staged\n"})
    story.repo.git("add", "edit")
    story.repo.write({"edit": "old\n"})
    with pytest.raises(BranchConflict, match="`edit`"):
        go(git, story)
    assert story.repo.git("show", ":edit") == "staged\n"
    story.assert_old()


def test_a_merge_that_is_under_way_is_left_alone(story: Story, git: Git) -> None:
    (story.repo.dot_git / "MERGE_HEAD").write_text(story.new)
    with pytest.raises(BranchConflict, match="under way"):
        go(git, story)
    story.assert_old()


def test_a_base_that_moved_meanwhile_is_named(story: Story, git: Git) -> None:
    other = story.repo.commit({"other": "o"})
    with pytest.raises(BranchConflict, match=f"stands on `{other[:12]}`"):
        go(git, story)
    assert story.repo.head() == other and story.repo.status() == ""


def test_a_commit_that_does_not_follow_the_base_is_refused(story: Story, git: Git) -> None:
    go(git, story)
    with pytest.raises(BranchConflict, match="commits would be lost"):
        advance(git, "main", story.old, story.new)
    story.assert_new()


def test_a_lock_of_somebody_elses_git_is_found_before_anything_moves(
    story: Story, git: Git
) -> None:
    (story.repo.dot_git / "index.lock").write_bytes(b"")
    with pytest.raises(BranchConflict, match=r"index\.lock"):
        go(git, story)
    story.assert_old()


def test_a_damaged_object_is_found_before_anything_moves(story: Story, git: Git) -> None:
    named = story.repo.git("rev-parse", f"{story.new}:edit").strip()
    (story.repo.dot_git / "objects" / named[:2] / named[2:]).unlink()
    with pytest.raises(ProcessFailed, match=named):
        go(git, story)
    story.assert_old()
    assert story.repo.files() == story.before


def test_an_edit_after_the_base_moved_does_not_stop_the_same_call(story: Story, git: Git) -> None:
    go(git, story)
    story.repo.write({"edit": "my own\n"})
    assert go(git, story) == ()
    assert (story.repo.path / "edit").read_text() == "my own\n"


POINTS = [
    "base-moved",
    "file-removed",
    *(f"{name}:{n}" for name, n in itertools.product(("file-written", "file-placed"), range(1, 7))),
    "index-locked",
    "index-placed",
]


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_on_the_way_is_finished_by_the_same_call(tmp_path: Path, point: str) -> None:
    story = Story(Repo(tmp_path / "repo"))
    call = ("advance", str(story.repo.path), "main", story.new, story.old)
    killed_at(point, *call)
    assert story.repo.git("rev-parse", "main").strip() == story.new
    finished(*call)
    story.assert_new()
    assert listing(story.repo.path) == story.wanted
    assert not [p for p in story.repo.dot_git.iterdir() if "signoff" in p.name]


def test_every_point_on_the_way_is_one_of_the_list() -> None:
    on_the_way = {RepositoryPoint(point.partition(":")[0]) for point in POINTS}
    elsewhere = {p for p in RepositoryPoint if p.startswith(("worktree-", "content-"))}
    assert on_the_way | elsewhere == set(RepositoryPoint)
