"""A repository as a person uses it, our git on it, and calls of ours that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import signoff
from signoff.testing.crash import RepositoryPoint
from signoff.workspace.advancing import advance
from signoff.workspace.committing import Committed, commit_content
from signoff.workspace.folders import find_repository
from signoff.workspace.git import Git
from signoff.workspace.ignore import read_ignore_rules
from signoff.workspace.workspace import Workspace
from signoff.workspace.worktrees import add_worktree, remove_worktree

PATIENCE_S = 120


class Repo:
    """A repository with a person's git, whose own settings play no part."""

    def __init__(self, folder: Path):
        self.path = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "-b", "main")

    @property
    def dot_git(self) -> Path:
        return self.path / ".git"

    def git(self, *arguments: str, at: Path | None = None) -> str:
        return person_git(at or self.path, *arguments)

    def write(self, files: dict[str, str | bytes | None], at: Path | None = None) -> None:
        """Write files, or remove them (None)."""
        for name, content in files.items():
            place = (at or self.path) / name
            if content is None:
                place.unlink()
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: dict[str, str | bytes | None], at: Path | None = None) -> str:
        """Write files, commit everything, and return the commit."""
        self.write(files, at)
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--allow-empty", "-m", "by hand", at=at)
        return self.head(at)

    def head(self, at: Path | None = None) -> str:
        return self.git("rev-parse", "HEAD", at=at).strip()

    def status(self, at: Path | None = None) -> str:
        return self.git("status", "--porcelain", at=at)

    def open(self, at: Path | None = None, **more: str) -> Git:
        """Our git on it, in the environment of this test."""
        repository = find_repository(at or self.path)
        assert repository is not None
        return Git.open(repository, {**environment(self.path), **more})

    def files(self, at: Path | None = None) -> dict[str, bytes]:
        """Every file and link of a checkout by its path."""
        return listing(at or self.path)


def person_git(folder: Path, *arguments: str) -> str:
    """git as the person would use it."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    done = subprocess.run(
        ["git", *identity, *arguments],
        cwd=folder,
        env={**environment(folder), "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, (arguments, done)
    return os.fsdecode(done.stdout)


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home)}


def listing(root: Path) -> dict[str, bytes]:
    """Kind, executable bit and content of everything below a folder that git could keep."""
    found: dict[str, bytes] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [n for n in folders if not (folder == str(root) and n == ".git")]
        for name in (*files, *(n for n in folders if (Path(folder) / n).is_symlink())):
            place = Path(folder) / name
            relative = str(place.relative_to(root))
            if relative == ".git":
                continue
            if place.is_symlink():
                # Path.readlink would tidy the target up.
                target = os.readlink(os.fsencode(place))  # noqa: PTH115
                found[relative] = b"link " + target
            else:
                kind = b"executable " if place.stat().st_mode & 0o100 else b"file "
                found[relative] = kind + place.read_bytes()
    return found


def commit_snapshot(
    git: Git, root: Path, store: Path, branch: str, message: str = "signed off"
) -> Committed:
    """Take a snapshot of a folder and commit it."""
    rules = read_ignore_rules(root)
    workspace = Workspace(root, store, rules, frozenset({".harness"}))
    digest = workspace.snapshot().digest
    return commit_content(git, workspace, digest, branch=branch, message=message)


def killed_at(point: RepositoryPoint | str, *call: str) -> None:
    """Run one of the calls below in a process that dies at the point."""
    assert _call(str(point), call) == -signal.SIGKILL


def finished(*call: str) -> None:
    """Run one of the calls below to its end."""
    assert _call(None, call) == 0


def _call(point: str | None, call: tuple[str, ...]) -> int:
    env = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(_import_path())}
    env |= {"SIGNOFF_CRASH_AT": point} if point else {}
    command = [sys.executable, "-m", "tests.workspace.gitkit", *call]
    # A killed process leaves its temporary folder behind.
    with tempfile.TemporaryDirectory() as made:
        env["TMPDIR"] = made
        return subprocess.run(command, env=env, timeout=PATIENCE_S, check=False).returncode


def _import_path() -> list[str]:
    return [str(Path(signoff.__file__).parents[1]), str(Path(__file__).parents[2])]


def _main(verb: str, top: str, *rest: str) -> None:
    repository = find_repository(Path(top))
    assert repository is not None
    with Git.open(repository, os.environ) as git:
        if verb == "add":
            add_worktree(git, Path(rest[0]), rest[1], rest[2])
        elif verb == "remove":
            remove_worktree(git, Path(rest[0]))
        elif verb == "advance":
            advance(git, rest[0], rest[1], rest[2])
        else:
            commit_snapshot(git, Path(top), Path(rest[0]), rest[1])


if __name__ == "__main__":
    _main(*sys.argv[1:])
