"""Where changes are kept so that they can be undone: in memory, or on the ledger of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from signoff.domain.digests import digest_bytes
from signoff.domain.ledger import Draft, Kind
from signoff.domain.snapshot import FileKind
from signoff.errors import StorageFailed
from signoff.storage import Ledger
from signoff.toolbatch.rollback import Rollback
from signoff.workspace import Workspace

MOST_IN_MEMORY = 200  # changes; older ones cannot be undone any more
_EXECUTABLE, _PLAIN = 0o755, 0o644


class MemoryShelf:
    """Keeps the last changes for as long as the process lives."""

    def __init__(self, most: int = MOST_IN_MEMORY):
        self._most = most
        self._count = 0
        self._open: list[Rollback] = []
        self._contents: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        """Keep a content."""
        digest = digest_bytes(data)
        if len(self._contents) > 2 * self._most:
            self._tidy()
        self._contents[digest] = data
        return digest

    def get(self, digest: str) -> bytes:
        """A content that was kept."""
        return self._contents[digest]

    def add(self, rollback: Rollback) -> None:
        """Keep a change; the oldest one goes when there are too many."""
        self._count += 1
        self._open.append(rollback)
        if len(self._open) > self._most:
            del self._open[: self._most // 4]
            self._tidy()

    def count(self) -> int:
        """How many changes were ever kept."""
        return self._count

    def open(self) -> Sequence[Rollback]:
        """Changes that were not undone, oldest first."""
        return tuple(self._open)

    def close(self, numbers: Iterable[int], replaced: Mapping[str, str]) -> None:
        """These were undone."""
        del replaced
        gone = set(numbers)
        self._open = [rollback for rollback in self._open if rollback.number not in gone]

    def _tidy(self) -> None:
        wanted = {file.before for kept in self._open for file in kept.files}
        self._contents = {d: data for d, data in self._contents.items() if d in wanted}


class LedgerShelf:
    """Keeps changes on the chain of a session, and contents as blobs beside it.

    Not durable against a power cut: the files themselves are not either.
    """

    def __init__(self, ledger: Ledger, session: str):
        self._ledger, self._session = ledger, session

    def put(self, data: bytes) -> str:
        """Keep a content."""
        return self._ledger.put_blob(data, durable=False)

    def get(self, digest: str) -> bytes:
        """A content that was kept, checked."""
        return self._ledger.get_blob(digest)

    def add(self, rollback: Rollback) -> None:
        """Keep a change."""
        draft = Draft(Kind.ROLLBACK_KEPT, rollback.to_data())
        self._ledger.append(self._session, [draft], durable=False)

    def count(self) -> int:
        """How many changes were ever kept."""
        entries = self._ledger.entries(self._session)
        return sum(entry.kind is Kind.ROLLBACK_KEPT for entry in entries)

    def open(self) -> Sequence[Rollback]:
        """Changes that were not undone, oldest first."""
        kept: dict[int, Rollback] = {}
        for entry in self._ledger.entries(self._session):
            if entry.kind is Kind.ROLLBACK_KEPT:
                rollback = Rollback.from_data(entry.data)
                kept[rollback.number] = rollback
            elif entry.kind is Kind.ROLLBACK_RESTORED:
                for number in entry.data["numbers"]:
                    kept.pop(int(number), None)
        return tuple(kept.values())

    def close(self, numbers: Iterable[int], replaced: Mapping[str, str]) -> None:
        """These were undone."""
        data = {"numbers": list(numbers), "replaced": dict(replaced)}
        self._ledger.append(self._session, [Draft(Kind.ROLLBACK_RESTORED, data)])


class WorkspaceSnapshots:
    """Snapshots of the workspace as its judge takes them."""

    def __init__(self, workspace: Workspace):
        self._workspace = workspace

    def take(self) -> str:
        """Keep the content as it is now; the agent may be alive."""
        return self._workspace.snapshot(quiet=False).digest

    def file(self, snapshot: str, path: str) -> tuple[bytes, int] | None:
        """Content and mode of a regular file in it; None where it had none."""
        state = self._workspace.manifest(snapshot).get(path)
        if state is None or state.kind is not FileKind.FILE:
            return None
        try:
            data = self._workspace.read(snapshot, path)
        except StorageFailed:
            return None
        return data, _EXECUTABLE if state.executable else _PLAIN

    def holds(self, snapshot: str, path: str) -> bool:
        """Whether anything was there, a link or a folder too."""
        return path in self._workspace.manifest(snapshot)
