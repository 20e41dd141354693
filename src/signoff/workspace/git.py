"""The one way to call git: on an agent's repository, without anything configured in it.

git works in a folder of our own with our own configuration, which borrows only objects and refs.
Hooks, filters, drivers, aliases and attributes of the repository are never read, so a filter such
as git-lfs does not run: what is committed and checked out are the bytes themselves.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from signoff.domain.text import decode_output
from signoff.domain.verdict import Ending, Observation
from signoff.errors import ProcessFailed
from signoff.process.command import Command, StreamName
from signoff.process.environment import clean_environment, safe_search_path
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool
from signoff.workspace.folders import Repository
from signoff.workspace.gitfolders import common_folder, read_bare, refusals

_TIMEOUT_S = 300.0
_BORROWED = ("objects", "refs", "packed-refs")
# The repository's commit graph is left aside because it can claim any ancestry, and the
# multi-pack index because it can name any content.
_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = true
\tcommitGraph = false
\tmultiPackIndex = false
\tlogAllRefUpdates = false
\tfsync = committed,reference
\tuntrackedCache = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
# Stronger than any `.gitattributes`: no conversion, no filter, no merge driver.
_ATTRIBUTES = (
    "* !text !eol !crlf !ident !filter !working-tree-encoding !merge !diff !conflict-marker-size\n"
)
ALONE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
    # Commits are signoff's: the repository's `user.name` is not asked.
    **{f"GIT_{who}_NAME": "signoff" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "signoff@localhost" for who in ("AUTHOR", "COMMITTER")},
}


def run_git(command: Command) -> tuple[Observation, bytes]:
    """Run git to its end; the observation, and everything it printed."""
    printed: list[bytes] = []

    def on_output(stream: StreamName, piece: bytes) -> None:
        if stream is StreamName.STDOUT:
            printed.append(piece)

    return run(command, on_output=on_output), b"".join(printed)


class GitReply(NamedTuple):
    """Output and exit code of git."""

    code: int
    stdout: bytes


class Git:
    """One repository. `with Git.open(…) as git:` removes its temporary folder at the end."""

    def __init__(
        self,
        common: Path,
        bare: bool,
        program: Path,
        env: Mapping[str, str],
        made: tempfile.TemporaryDirectory[str],
    ):
        self.common = common
        self.bare = bare or common.name != ".git"
        self._program = program
        self._env = env
        self._made = made
        self._folder = Path(made.name)

    @classmethod
    def open(cls, repository: Repository, environ: Mapping[str, str]) -> Git:
        """Ready to work on a repository; nothing of it was executed or changed."""
        common = common_folder(repository)
        bare = read_bare(common)
        # It leads neither into the checkout nor into the main one.
        search_path = safe_search_path(environ.get("PATH", ""), repository.top)
        search_path = safe_search_path(search_path, repository.main)
        program = find_tool("git", search_path)
        if program is None:
            raise ProcessFailed(
                "no `git` outside the workspace", "install git with the system's package manager"
            )
        with refusals(Path(tempfile.gettempdir())):
            made = tempfile.TemporaryDirectory(prefix="signoff-git-")
            _furnish(Path(made.name), common)
        return cls(common, bare, program, clean_environment(environ, path=search_path), made)

    def __enter__(self) -> Git:
        return self

    def __exit__(self, *_: object) -> None:
        self._made.cleanup()

    def scratch(self) -> Path:
        """A new empty folder, gone when this object is closed."""
        return Path(tempfile.mkdtemp(prefix="scratch-", dir=self._folder))

    def call(
        self,
        *arguments: str,
        stdin: bytes = b"",
        index: Path | None = None,
        work_tree: Path | None = None,
    ) -> bytes:
        """Run git and return its output; ProcessFailed with git's own words when it refuses."""
        return self.ask(*arguments, stdin=stdin, index=index, work_tree=work_tree).stdout

    def ask(
        self,
        *arguments: str,
        stdin: bytes = b"",
        index: Path | None = None,
        work_tree: Path | None = None,
        accept: tuple[int, ...] = (0,),
    ) -> GitReply:
        """Run git like `call`, for questions that git answers with its exit code."""
        env = {**self._env, **ALONE, "GIT_DIR": str(self._folder)}
        if index is not None:
            env["GIT_INDEX_FILE"] = str(index)
        if work_tree is not None:
            env["GIT_WORK_TREE"] = str(work_tree)
        argv = (str(self._program), *arguments)
        limits = Limits(wall_s=_TIMEOUT_S)
        command = Command(argv, work_tree or self._folder, env, limits, stdin=stdin)
        seen, printed = run_git(command)
        if seen.ending is Ending.EXITED and seen.exit_code in accept:
            return GitReply(int(seen.exit_code), printed)
        said = decode_output(seen.stderr.kept).strip() or seen.describe()
        raise ProcessFailed(
            f"`git {arguments[0]}` in `{self.common}`: {said}",
            self._hint(),
            {"arguments": list(arguments), "exit_code": seen.exit_code},
        )

    def version(self) -> tuple[int, int]:
        """The major and minor version of the git that is called."""
        said = decode_output(self.call("version"))
        found = re.search(r"(\d+)\.(\d+)", said)
        if found is None:
            raise ProcessFailed(f"`{self._program}` does not say its version: {said.strip()}")
        return int(found[1]), int(found[2])

    def _hint(self) -> str:
        if (self.common / "shallow").exists():
            return "the clone is shallow; fetch the rest of its history: git fetch --unshallow"
        return f"look at the repository: git --git-dir={shlex.quote(str(self.common))} fsck"


def _furnish(folder: Path, common: Path) -> None:
    """A git folder of our own around the objects and refs of the repository."""
    (folder / "config").write_text(_CONFIG)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "info").mkdir()
    (folder / "info" / "attributes").write_text(_ATTRIBUTES)
    for name in _BORROWED:
        (folder / name).symlink_to(common / name)
