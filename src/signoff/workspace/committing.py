"""A snapshot as a commit: exactly the content that was judged, whatever lies in the folder now."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from signoff.domain.snapshot import FileKind
from signoff.domain.text import storable_path
from signoff.errors import BranchConflict, StorageFailed, UsageError
from signoff.testing.crash import RepositoryPoint, reach
from signoff.workspace import trees
from signoff.workspace.branches import existing_head, make_commit, move_branch, tree_of
from signoff.workspace.content import LARGE_BYTES, whole_content
from signoff.workspace.folders import opened_root
from signoff.workspace.git import Git
from signoff.workspace.gitfolders import locked, refusals
from signoff.workspace.packs import new_object_hash
from signoff.workspace.records import FileRecord
from signoff.workspace.walk import CACHE_FOLDERS, CACHE_SUFFIXES
from signoff.workspace.workspace import Workspace
from signoff.workspace.worktrees import Worktree, checkouts_of
from signoff.workspace.writing import created_file, stream_object, wrong_content

_AT_ONCE = 256


class Committed(NamedTuple):
    """The branch's commit with the content; `is_new` is False when the branch held it already."""

    commit: str
    tree: str
    is_new: bool


def commit_content(
    git: Git, workspace: Workspace, digest: str, *, branch: str, message: str
) -> Committed:
    """Commit a kept snapshot of the workspace to the branch that is checked out there.

    The tree is the snapshot's files, plus those of the branch that are no source: vault, plan
    file, files that the pinned rules ignore. The content comes from the snapshot store, which an
    agent cannot reach. Empty folders, pipes and sockets are nothing that git keeps.
    """
    with locked(git.common):
        checkout = _checkout(git, branch, workspace.root)
        head = existing_head(git, branch)
        tree = _tree(git, workspace, digest, trees.list_tree(git, head))
        is_new = tree != tree_of(git, head)
        commit = head
        if is_new:
            commit = make_commit(git, tree, (head,), message)
            move_branch(git, branch, commit, expected=head)
        reach(RepositoryPoint.CONTENT_COMMITTED)
        if checkout is not None:
            trees.put_index(checkout.own, trees.index_of_tree(git, tree, checkout.path))
    return Committed(commit, tree, is_new)


def _checkout(git: Git, branch: str, root: Path) -> Worktree | None:
    """The checkout whose index follows the commit; None when the branch is checked out nowhere."""
    found = checkouts_of(git, branch)
    for worktree in found:
        if worktree.path != root:
            raise BranchConflict(
                f"branch `{storable_path(branch)}` is checked out in `{worktree.path}`, "
                f"and the content is that of `{root}`",
                "commit it there, or check out another branch in "
                f"{shlex.quote(str(worktree.path))}",
            )
        trees.refuse_locked_index(worktree.own)
    return found[0] if found else None


def _tree(git: Git, workspace: Workspace, digest: str, before: trees.Tree) -> str:
    records = dict(_source_files(workspace, digest))
    ids = {path: _blob_id(workspace, r) for path, r in records.items()}
    known = {entry.id for entry in before.values()}
    _store(git, workspace, {ids[p]: (p, r) for p, r in records.items() if ids[p] not in known})
    wanted = {path: trees.TreeEntry(_mode(r), ids[path]) for path, r in records.items()}
    kept = {p: e for p, e in before.items() if p not in wanted and _stays(workspace, p, e, wanted)}
    return trees.make_tree(git, wanted | kept)


def _source_files(workspace: Workspace, digest: str) -> Iterator[tuple[str, FileRecord]]:
    for folder, files in workspace.content(digest).items():
        for name, record in files.items():
            path = f"{folder}/{name}" if folder else name
            if any(part.lower() == ".git" for part in path.split("/")):
                raise UsageError(
                    f"`{storable_path(path)}` belongs to a repository inside the workspace; "
                    "git cannot commit it",
                    "remove the inner repository, or have it ignored before the plan is approved",
                )
            if record.kind in (FileKind.FILE, FileKind.LINK):
                yield path, record


def _blob_id(workspace: Workspace, record: FileRecord) -> str:
    """The id of the content in the repository; our own store names blobs likewise."""
    if record.state.size <= LARGE_BYTES:
        return record.blob.hex()
    named = new_object_hash("blob", record.state.size)
    for piece in whole_content(workspace.objects, record.blob, record.state.size):
        named.update(piece)
    return named.hexdigest()


def _store(git: Git, workspace: Workspace, new: dict[str, tuple[str, FileRecord]]) -> None:
    """Put content into the repository and make sure that it is what came to lie there.

    git does not write an object that exists, and an agent can have put anything under its name.
    """
    pending = iter(sorted(new.items(), key=lambda item: item[1][0]))
    while batch := list(islice(pending, _AT_ONCE)):
        folder = git.scratch()
        with refusals(folder):
            files = [_export(workspace, folder, n, *item[1]) for n, item in enumerate(batch)]
        if trees.store_files(git, files) != [named for named, _ in batch]:
            raise StorageFailed("git stored content under another id than the content has")
        shutil.rmtree(folder)
        stored = {
            str(n): trees.TreeEntry(trees.Mode.FILE, named) for n, (named, _) in enumerate(batch)
        }
        folder.mkdir()
        trees.write_tree_files(git, stored, folder)
        shutil.rmtree(folder)


def _export(workspace: Workspace, into: Path, number: int, path: str, record: FileRecord) -> Path:
    """The stored content as a file of ours, checked against the snapshot."""
    with opened_root(into) as folder_fd, created_file(folder_fd, str(number), 0o600) as out:
        if stream_object(workspace.objects, record.blob, record.key[1], out) != record.sha256:
            raise wrong_content(path)
    return into / str(number)


def _mode(record: FileRecord) -> trees.Mode:
    if record.kind is FileKind.LINK:
        return trees.Mode.LINK
    return trees.Mode.EXECUTABLE if record.executable else trees.Mode.FILE


def _stays(workspace: Workspace, path: str, entry: trees.TreeEntry, wanted: trees.Tree) -> bool:
    """True when a file of the branch that the snapshot does not hold is still the branch's own."""
    parts = path.split("/")
    above = ["/".join(parts[:n]) for n in range(1, len(parts))]
    if entry.mode is trees.Mode.SUBMODULE:
        inside = next((p for p in wanted if p == path or p.startswith(f"{path}/")), None)
        if inside is not None:
            raise UsageError(
                f"`{storable_path(inside)}` lies in the submodule `{storable_path(path)}`; "
                "git cannot commit it there",
                "commit it in the submodule's own repository",
            )
        return True
    return not any(folder in wanted for folder in above) and not _is_source(workspace, path)


def unjudged_changes(git: Git, workspace: Workspace, old: str, new: str) -> tuple[str, ...]:
    """Paths that differ between two trees and that no snapshot holds, so nobody judged them."""
    return tuple(
        change.path
        for change in trees.tree_changes(git, old, new)
        if not _is_source(workspace, change.path)
        or any(e is not None and e.mode is trees.Mode.SUBMODULE for e in (change.old, change.new))
    )


def _is_source(workspace: Workspace, path: str) -> bool:
    """True when a snapshot of the workspace holds a file of this path."""
    parts = path.split("/")
    above = ["/".join(parts[:n]) for n in range(1, len(parts))]
    apart = {a.strip("/") for a in workspace.apart}
    is_cache = bool(CACHE_FOLDERS & set(parts[:-1])) or parts[-1].endswith(CACHE_SUFFIXES)
    is_apart = any(p in apart for p in (*above, path))
    return not (is_cache or is_apart or workspace.rules.is_ignored(path))
