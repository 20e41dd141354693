"""Anchors: the head of a chain, kept where the ledger's owner cannot quietly change it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from signoff.domain.observation import Ending
from signoff.domain.receipt import Anchor, read_anchor
from signoff.domain.text import decode_output
from signoff.errors import ProcessFailed, ProofInvalid, UsageError
from signoff.process import Command, Limits, clean_environment, find_tool, run, safe_search_path
from signoff.storage.files import read_plan_file
from signoff.storage.identity import find_repository

NOTES_REF = "refs/notes/signoff"
_GIT_TIMEOUT_S = 60.0
_HEAD_BYTES = 4096
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "signoff"), ("EMAIL", "signoff@localhost"))
}
_ALONE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_TERMINAL_PROMPT": "0",
}


class _GitFolders(NamedTuple):
    """Where a checkout keeps its HEAD, and where its objects and refs are."""

    own: Path
    shared: Path


def read_anchors(data: bytes, where: str) -> tuple[Anchor, ...]:
    """Every anchor of a file, one per line; ProofInvalid names the line that is none."""
    anchors = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            anchors.append(read_anchor(line.decode("utf-8")))
        except (ValueError, TypeError, RecursionError) as error:
            raise ProofInvalid(f"`{where}`:{number} is not an anchor: {error}") from error
    return tuple(anchors)


def note_in_git(workspace: Path, anchor: Anchor, environ: Mapping[str, str]) -> str:
    """Append the anchor to the note on HEAD under `refs/notes/signoff`; returns the ref's name.

    The repository is one that an agent may have configured, so its configuration and hooks are
    never read: git works in a folder of our own that borrows only its objects and refs.
    """
    folders = _git_folders(workspace)
    search_path = safe_search_path(environ.get("PATH", ""), workspace)
    git = find_tool("git", search_path)
    if git is None:
        raise ProcessFailed("no `git` outside the workspace", "install git, or anchor with --file")
    head = read_plan_file(folders.own / "HEAD", limit_bytes=_HEAD_BYTES, follow=False)
    with tempfile.TemporaryDirectory(prefix="signoff-git-") as made:
        own = Path(made)
        (own / "HEAD").write_bytes(head)
        (own / "config").write_text(_CONFIG)
        for name in ("objects", "refs", "packed-refs"):
            (own / name).symlink_to(folders.shared / name)
        argv = (str(git), f"--git-dir={own}", "notes", f"--ref={NOTES_REF}", "append", "-F", "-")
        env = clean_environment(environ, path=search_path, extra={**_IDENTITY, **_ALONE})
        text = anchor.line().encode() + b"\n"
        command = Command((*argv, "HEAD"), own, env, Limits(wall_s=_GIT_TIMEOUT_S), stdin=text)
        seen = run(command)
    if seen.ending is not Ending.EXITED or seen.exit_code != 0:
        said = decode_output(seen.stderr.kept).strip() or seen.describe()
        raise ProcessFailed(
            f"git could not write the note: {said}", "commit something first, or anchor with --file"
        )
    return NOTES_REF


def _git_folders(workspace: Path) -> _GitFolders:
    repository = find_repository(workspace)
    if repository is None:
        raise UsageError(f"`{workspace}` is not in a git repository", "anchor with --file")
    dot_git = repository.top / ".git"
    if dot_git.is_dir():
        folders = _GitFolders(dot_git, dot_git)
    elif repository.main != repository.top:
        folders = _worktree(dot_git, repository.main)
    else:
        raise UsageError(f"`{dot_git}` leads elsewhere; no note is written there", "use --file")
    for place in (folders.shared, *(folders.shared / n for n in ("objects", "refs", "refs/notes"))):
        # A link here would have git write where the repository is not.
        if place.is_symlink():
            raise UsageError(
                f"`{place}` is a symbolic link; no note is written there", "use --file"
            )
    return folders


def _worktree(dot_git: Path, main: Path) -> _GitFolders:
    """A linked worktree; that both ends name each other was checked when it was found."""
    pointer = read_plan_file(dot_git, limit_bytes=_HEAD_BYTES, follow=False)
    target = os.fsdecode(pointer).strip().removeprefix("gitdir:").strip()
    own = Path(os.path.realpath(dot_git.parent / target))
    shared = main / ".git"
    with suppress(OSError):
        if not shared.is_dir():
            shared = main
    return _GitFolders(own, shared)
