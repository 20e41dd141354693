"""Where changes are kept so that they can be undone: in memory, or on the ledger of a session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from signoff.domain.digests import digest_bytes
from signoff.domain.ledger import Draft, Kind
from signoff.storage.ledger import Ledger
from signoff.toolbatch.kept import Rollback

MOST_IN_MEMORY = 200  # changes; older ones cannot be undone any more
_KEEPING = (Kind.ROLLBACK_BEGUN, Kind.ROLLBACK_KEPT)


class MemoryShelf:
    """Keeps the last changes for as long as the process lives."""

    def __init__(self, most: int = MOST_IN_MEMORY):
        self._most = most
        self._count = 0
        self._open: dict[int, Rollback] = {}
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

    def begin(self, rollback: Rollback) -> None:
        """A call is about to be made."""
        self._count = rollback.number
        self._open[rollback.number] = rollback

    def add(self, rollback: Rollback) -> None:
        """Keep a change; the oldest ones go when there are too many."""
        self._count = max(self._count, rollback.number)
        self._open.pop(rollback.number, None)
        if rollback.is_empty:
            return
        self._open[rollback.number] = rollback
        if len(self._open) > self._most:
            for number in list(self._open)[: self._most // 4]:
                del self._open[number]
            self._tidy()

    def count(self) -> int:
        """The highest number that was given to a change."""
        return self._count

    def open(self) -> Sequence[Rollback]:
        """Changes that were not undone, oldest first."""
        return tuple(self._open.values())

    def close(self, numbers: Iterable[int], replaced: Mapping[str, Sequence[str]]) -> None:
        """These were undone."""
        del replaced
        for number in numbers:
            self._open.pop(number, None)

    def _tidy(self) -> None:
        wanted = {file.before.digest for kept in self._open.values() for file in kept.files}
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

    def begin(self, rollback: Rollback) -> None:
        """A call is about to be made."""
        self._append(Kind.ROLLBACK_BEGUN, rollback)

    def add(self, rollback: Rollback) -> None:
        """Keep a change, or that there was none."""
        self._append(Kind.ROLLBACK_KEPT, rollback)

    def count(self) -> int:
        """The highest number that was given to a change."""
        entries = self._ledger.entries(self._session)
        return max((int(e.data["number"]) for e in entries if e.kind in _KEEPING), default=0)

    def open(self) -> Sequence[Rollback]:
        """Changes that were not undone, oldest first; what only began was cut off."""
        kept: dict[int, Rollback] = {}
        for entry in self._ledger.entries(self._session):
            if entry.kind in _KEEPING:
                cut_off = entry.kind is Kind.ROLLBACK_BEGUN
                rollback = Rollback.from_data(entry.data, cut_off=cut_off)
                kept[rollback.number] = rollback
            elif entry.kind is Kind.ROLLBACK_RESTORED:
                for number in entry.data["numbers"]:
                    kept.pop(int(number), None)
        return tuple(rollback for rollback in kept.values() if not rollback.is_empty)

    def close(self, numbers: Iterable[int], replaced: Mapping[str, Sequence[str]]) -> None:
        """These were undone."""
        where = {path: list(kept) for path, kept in replaced.items()}
        data = {"numbers": list(numbers), "replaced": where}
        self._ledger.append(self._session, [Draft(Kind.ROLLBACK_RESTORED, data)])

    def _append(self, kind: Kind, rollback: Rollback) -> None:
        self._ledger.append(self._session, [Draft(kind, rollback.to_data())], durable=False)
