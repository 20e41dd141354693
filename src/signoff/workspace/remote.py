"""Content of workspaces sent to a git remote that the user names, and fetched on another machine.

    send: snapshot in our store → objects and a commit in a git folder of our own → push
    fetch: refs of a plan → objects put into our store → checked against the digest

A ref names content by its digest and is never moved, so a late sender replaces nothing; what counts
is what the ledger names. git runs with a clean configuration: nothing configured anywhere acts.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from signoff.domain.text import decode_output
from signoff.domain.verdict import Ending
from signoff.errors import ContentUnreachable
from signoff.process.command import Command
from signoff.process.environment import clean_environment, safe_search_path
from signoff.process.limits import Limits
from signoff.process.shell import find_tool
from signoff.workspace.git import ALONE, run_git
from signoff.workspace.objects import ObjectStore, replace_file
from signoff.workspace.store import SnapshotStore, damaged
from signoff.workspace.workspace import Workspace

_TIMEOUT_S = 900.0
_AT_ONCE = 500  # objects read in one go
_REFS = "refs/signoff"
_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = true
\tlogAllRefUpdates = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
# How the user logs in to the remote; everything else of the environment stays out.
_LOGIN = ("SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSH", "SSL_CERT_FILE")
_ALONE = {
    **ALONE,
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    **{f"GIT_{who}_DATE": "1970-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
}
_NOBODY_ASKED = "ssh -oBatchMode=yes -oConnectTimeout=20"


class ContentRemote:
    """The remote of one plan's content; `folder` is the git folder of our own beside it."""

    def __init__(self, url: str, folder: Path, plan: str, environ: Mapping[str, str]):
        self.url = url
        self.folder = folder
        self._plan = plan
        search_path = safe_search_path(environ.get("PATH", ""), folder)
        program = find_tool("git", search_path)
        if program is None:
            raise ContentUnreachable("no `git` is installed", "install git on this machine")
        self._program = program
        self._there: set[str] | None = None  # content that the remote has, as far as we know
        self._env = {
            "GIT_SSH_COMMAND": _NOBODY_ASKED,
            **clean_environment(environ, path=search_path, passed=_LOGIN),
            **_ALONE,
            "GIT_DIR": str(folder),
        }
        for name in ("objects", "refs"):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        for name, text in (("config", _CONFIG), ("HEAD", "ref: refs/heads/none\n")):
            if not (folder / name).exists():
                replace_file(folder / name, text.encode())

    def send(self, objects: ObjectStore, digest: str) -> None:
        """Push a kept snapshot, unless the remote has it; only what is new travels."""
        if self._there is None:
            self._there = set(self.digests())
        if digest in self._there:
            return
        tree = objects.snapshot_tree(digest)
        if tree is None:
            raise ContentUnreachable(f"no snapshot `{digest[:64]}` is kept here to be sent")
        self._write(objects, tree)
        last = self.folder / "last"
        parent = ("-p", last.read_text()) if last.exists() else ()
        commit = self._git("commit-tree", tree.hex(), "-m", "content", *parent).decode().strip()
        try:
            self._git("push", "--quiet", self.url, f"{commit}:{self._ref(digest)}")
        except ContentUnreachable:
            if digest not in self.digests():  # another worker was first, with the same content
                raise
        replace_file(last, commit.encode())
        self._there.add(digest)

    def digests(self) -> tuple[str, ...]:
        """Content of this plan that the remote has."""
        lines = self._git("ls-remote", self.url, self._ref("*")).decode().splitlines()
        return tuple(line.rpartition("/")[2] for line in lines)

    def fetch(self, workspace: Workspace, digests: Sequence[str] = ()) -> None:
        """Bring this content, or all of the plan's, into the store, each checked by its digest."""
        wanted = digests or self.digests()
        missing = [d for d in wanted if workspace.objects.snapshot_tree(d) is None]
        if not missing:
            return
        self._git(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", self.url),
            *(f"+{self._ref(digest)}:{self._ref(digest)}" for digest in missing),
        )
        kept = SnapshotStore(workspace.store)
        for digest in missing:
            self._take_in(kept, digest)

    def remove(self, digests: Sequence[str]) -> None:
        """Take content off the remote that nobody needs any more."""
        if digests:
            self._git("push", "--quiet", self.url, *(f":{self._ref(d)}" for d in digests))
            self._there = None

    def _ref(self, digest: str) -> str:
        return f"{_REFS}/{self._plan}/{digest}"

    def _write(self, objects: ObjectStore, tree: bytes) -> None:
        """Write the objects of a tree for git, children first: a tree that is there is whole."""
        if self._path(tree).exists():
            return
        data = objects.get(tree, "tree")
        for mode, oid in _tree_entries(data):
            if mode == b"40000":
                self._write(objects, oid)
            elif not self._path(oid).exists():
                self._write_object(oid, b"blob", objects.get(oid, "blob"))
        self._write_object(tree, b"tree", data)

    def _path(self, oid: bytes) -> Path:
        name = oid.hex()
        return self.folder / "objects" / name[:2] / name[2:]

    def _write_object(self, oid: bytes, kind: bytes, data: bytes) -> None:
        path = self._path(oid)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(path, zlib.compress(b"%b %d\0%b" % (kind, len(data), data), 1))

    def _take_in(self, kept: SnapshotStore, digest: str) -> None:
        tree = self._git("rev-parse", f"{self._ref(digest)}^{{tree}}").decode().strip()
        listed = self._git("rev-list", "--objects", "--no-object-names", tree).decode().split()
        wanted = [oid for oid in listed if not kept.objects.has(bytes.fromhex(oid))]
        for start in range(0, len(wanted), _AT_ONCE):
            asked = "".join(f"{oid}\n" for oid in wanted[start : start + _AT_ONCE])
            for kind, data in _objects_in(self._git("cat-file", "--batch", stdin=asked.encode())):
                kept.objects.put(kind, data)
        _check(kept, digest, bytes.fromhex(tree), {bytes.fromhex(oid) for oid in wanted})
        kept.objects.commit(digest, bytes.fromhex(tree), durable=True)

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        argv = (str(self._program), *arguments)
        command = Command(argv, self.folder, self._env, Limits(wall_s=_TIMEOUT_S), stdin=stdin)
        seen, printed = run_git(command)
        if seen.ending is Ending.EXITED and seen.exit_code == 0:
            return printed
        said = decode_output(seen.stderr.kept).strip() or seen.describe()
        raise ContentUnreachable(f"`git {arguments[0]}` with the content remote: {said}")


def _check(kept: SnapshotStore, digest: str, tree: bytes, fresh: Collection[bytes]) -> None:
    """Refuse objects that are not what the digest names, before they count as kept.

    What was here before was looked at when it came.
    """
    kept.load(digest, tree)
    for path, oid in kept.folder_records(digest, tree).items():
        for _, row in kept.folder_rows(path, oid) if oid in fresh else ():
            blob, named = bytes.fromhex(row[4]) if row else b"", hashlib.sha256()
            if not blob.strip(b"\0"):
                continue  # a folder, or something without content
            for piece in kept.objects.stream(blob, "blob"):
                named.update(piece)
            if named.hexdigest() != row[3]:
                raise damaged(digest)


def _tree_entries(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Mode and object of each entry of a git tree."""
    start = 0
    while start < len(data):
        end = data.index(b"\0", start)
        start, mode = end + 21, data[start:end].partition(b" ")[0]
        yield mode, data[end + 1 : start]


def _objects_in(printed: bytes) -> Iterator[tuple[str, bytes]]:
    """Kind and content of each object that `git cat-file --batch` printed."""
    start = 0
    while start < len(printed):
        line = printed.index(b"\n", start)
        _, kind, size = printed[start:line].decode().split()
        start = line + 1 + int(size) + 1
        yield kind, printed[line + 1 : start - 1]
