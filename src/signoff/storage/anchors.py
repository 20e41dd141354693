"""Anchors: the head of a chain, kept where the ledger's owner cannot quietly change it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from signoff.domain.receipt import Anchor, read_anchor
from signoff.errors import ProcessFailed, ProofInvalid, UsageError
from signoff.workspace.branches import branch_head
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import own_folder, read_head, refuse_linked_ref
from signoff.workspace.repository import find_repository

NOTES_REF = "refs/notes/signoff"


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
    """Append the anchor to the note on HEAD under `refs/notes/signoff`; returns the ref's name."""
    repository = find_repository(workspace)
    if repository is None:
        raise UsageError(f"`{workspace}` is not in a git repository", "anchor with --file")
    with Git.open(repository, environ) as git:
        refuse_linked_ref(git.common, NOTES_REF)
        head = read_head(own_folder(repository))
        commit = branch_head(git, head.branch) if head.branch is not None else head.commit
        if commit is None:
            raise _no_note("there is no commit to put it on")
        text = anchor.line().encode() + b"\n"
        try:
            git.call("notes", f"--ref={NOTES_REF}", "append", "-F", "-", commit, stdin=text)
        except ProcessFailed as error:
            raise _no_note(error.message) from error
    return NOTES_REF


def _no_note(reason: str) -> ProcessFailed:
    return ProcessFailed(
        f"git could not write the note: {reason}", "commit something first, or anchor with --file"
    )
