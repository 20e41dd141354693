"""Content beside the workspace: looked at as if it lay there, and brought over to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from signoff.domain.snapshot import FileKind, FileState, Manifest, Snapshot
from signoff.domain.verdict import Ending
from signoff.process.command import Command
from signoff.process.environment import clean_environment
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.workspace.objects import replace_file
from signoff.workspace.records import folders_above
from signoff.workspace.workspace import Workspace

_MERGE_LIMIT_S = 60.0
_LARGEST_TEXT = 8_000_000
_NO_SETTINGS = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C"}


class WorkspaceAt(Workspace):
    """A workspace as it would be with other content: judged in a clean room, never written to.

    By-products, and what lies apart from the content, are the workspace's own, as its latest walk
    found them.
    """

    def __init__(self, workspace: Workspace, digest: str):
        super().__init__(
            workspace.root, workspace.store, workspace.rules, workspace.apart, workspace.protects
        )
        self._byproducts = workspace.byproducts
        self._known, self._last = workspace._known, workspace._last
        self._at = Snapshot(digest, self._last.environment, 0)

    def snapshot(self, *, quiet: bool = True, durable: bool = False) -> Snapshot:
        """The snapshot of that content, which is kept already."""
        del quiet, durable
        return self._at

    def digest_now(self, *, quiet: bool = True) -> Snapshot:
        """The snapshot of that content."""
        return self.snapshot(quiet=quiet)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders with sources."""
        held = self.content(self._at.digest)
        return tuple({"": None, **{f: None for path in held for f in (path, *folders_above(path))}})

    @property
    def closed(self) -> list[str]:
        """None: a room is made with files that can be read."""
        return []

    @property
    def last_digest(self) -> str:
        """The digest of that content."""
        return self._at.digest


def bring_over(target: Workspace, base: str, changed: str, environ: Mapping[str, str]) -> list[str]:
    """Bring the changes from `base` to `changed` into the target; returns paths where both moved.

    Where there are such paths, nothing is written. Two changes of one text that do not touch each
    other go together, as git merges them; whether that is right, a check has to say. The search
    path in `environ` must lead to no folder that an agent can write.
    """
    here = target.snapshot().digest
    old, new, now = (target.manifest(digest) for digest in (base, changed, here))
    paths = {change.path for change in target.diff(base, changed)}
    in_use = {folder for path in now.keys() - paths for folder in folders_above(path)}
    taken: set[str] = set()
    merged: dict[str, bytes] = {}
    collided: list[str] = []
    for path in sorted(path for path in paths if now.get(path) != new.get(path)):
        if now.get(path) == old.get(path) and _is_free(path, new, now, in_use, paths):
            taken.add(path)
            continue
        text = None
        if _are_texts(old.get(path), new.get(path), now.get(path)):
            text = _merge([target.read(d, path) for d in (here, base, changed)], environ)
        if text is None:
            collided.append(path)
        else:
            merged[path] = text
    if not collided:
        target.revert(changed, only=taken)
        for path, text in merged.items():
            (target.root / path).write_bytes(text)
            if new[path].executable != old[path].executable:
                (target.root / path).chmod(0o755 if new[path].executable else 0o644)
    return collided


def begin_landing(workspace: Workspace, content: str) -> None:
    """Note durably that this content is about to be written to the workspace."""
    replace_file(workspace.landing_note, content.encode(), durable=True)


def begun_landing(workspace: Workspace) -> str:
    """The content that was about to be written; empty when all of it was."""
    note = workspace.landing_note
    return note.read_bytes().decode() if note.exists() else ""


def write_landing(workspace: Workspace, onto: str, content: str) -> None:
    """Put into the workspace what differs; not over what somebody changed in between."""
    then, now = workspace.manifest(onto), workspace.manifest(workspace.snapshot().digest)
    new, paths = workspace.manifest(content), {c.path for c in workspace.diff(onto, content)}
    in_use = {folder for path in now.keys() - paths for folder in folders_above(path)}
    same = (path for path in paths if now.get(path) == then.get(path))
    workspace.revert(content, only={p for p in same if _is_free(p, new, now, in_use, paths)})
    workspace.landing_note.unlink(missing_ok=True)


def _is_free(path: str, new: Manifest, now: Manifest, in_use: set[str], moved: set[str]) -> bool:
    """True when no file lies where a folder has to be, and no folder where a file has to be."""
    if path not in new:
        return True
    if new[path].kind is not FileKind.DIRECTORY and path in in_use:
        return False
    above = (f for f in folders_above(path) if f in now and f not in moved)
    return all(now[folder].kind is FileKind.DIRECTORY for folder in above)


def _are_texts(*states: FileState | None) -> bool:
    return all(
        s is not None and s.kind is FileKind.FILE and s.size <= _LARGEST_TEXT for s in states
    )


def _merge(texts: list[bytes], environ: Mapping[str, str]) -> bytes | None:
    """Both changes in one text; None where they touch each other, or something is no text."""
    if any(b"\0" in text for text in texts):
        return None
    with tempfile.TemporaryDirectory(prefix="signoff-merge-") as folder:
        for name, text in zip(("ours", "base", "theirs"), texts, strict=True):
            Path(folder, name).write_bytes(text)
        # Into the first file, not printed: what is kept of a process's output has a limit.
        command = Command(
            argv=("git", "merge-file", "--quiet", "ours", "base", "theirs"),
            cwd=Path(folder),
            env=clean_environment(environ, path=environ.get("PATH", ""), extra=_NO_SETTINGS),
            limits=Limits(wall_s=_MERGE_LIMIT_S),
        )
        seen = run(command)
        merges = seen.ending is Ending.EXITED and seen.exit_code == 0
        return Path(folder, "ours").read_bytes() if merges else None
