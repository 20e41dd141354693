"""The nouns of storage, how an entry is stored, and whether a chain of them still holds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct, to_builtins

from signoff.domain.digests import canonical_json
from signoff.domain.ledger import GENESIS, Entry, Kind
from signoff.errors import LedgerBroken
from signoff.storage.engine import Row


def utc_now() -> str:
    """The current time as stored everywhere: ISO 8601, microseconds, `+00:00`."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


class Holder(Struct, frozen=True):
    """The driver of a run or holder of a lock, for the person who has to wait."""

    pid: int
    host: str
    plan: str
    since: str
    worker: str = ""
    home: str = ""  # whose locks prove that it is alive

    @classmethod
    def current(cls, plan: str, worker: str = "", home: str = "") -> Holder:
        """This process, from now on."""
        return cls(os.getpid(), os.uname().nodename, plan, utc_now(), worker, home)

    def shares_locks_with(self, other: Holder) -> bool:
        """True when both take the same locks, so that a free one proves the other dead."""
        return bool(self.home) and (self.host, self.home) == (other.host, other.home)

    def facts(self) -> dict[str, Any]:
        """The holder as plain data."""
        data: dict[str, Any] = to_builtins(self)
        return data

    def __str__(self) -> str:
        return f"process {self.pid} on `{self.host}` since {self.since}"


class Fence(Struct, frozen=True):
    """The right to write for a run; a takeover hands out a higher token and voids this one."""

    run: str
    token: int


class PlanRecord(Struct, frozen=True):
    """A plan the ledger knows: `repository` is the main checkout, or None outside any vault."""

    id: str
    name: str
    path: str
    repository: str | None


class ChainHead(Struct, frozen=True):
    """The last entry of a chain: its number, when it was appended, and its hash."""

    seq: int
    at: str
    hash: str


class RunRecord(Struct, frozen=True):
    """The current driver of a run."""

    run: str
    plan: str
    token: int
    holder: Holder


class ChainReport(Struct, frozen=True):
    """Result of walking a plan's chain; `first_bad` is the first entry not to be trusted."""

    plan: str
    entries: int
    head: str
    first_bad: int | None = None
    problem: str = ""

    @property
    def holds(self) -> bool:
        """True when every entry is where and what it was when it was written."""
        return self.first_bad is None


COLUMNS = "plan, seq, at, kind, run, step, attempt, data, ref, prev, hash"


def encode_data(data_json: str) -> bytes:
    """Encode data as stored; `surrogatepass`, so that all that was hashed can be read back."""
    return data_json.encode("utf-8", "surrogatepass")


def decode_data(stored: bytes) -> dict[str, Any]:
    """The plain data of an entry."""
    data = json.loads(bytes(stored).decode("utf-8", "surrogatepass"))
    if not isinstance(data, dict):
        raise ValueError("entry data is not an object")
    return data


def ref_of(kind: Kind, data: dict[str, Any]) -> str | None:
    """The key by which an entry can be found: an escalation's id."""
    if kind in (Kind.ESCALATION_OPENED, Kind.ESCALATION_ANSWERED):
        return str(data["id"])
    return None


def to_entry(row: Row) -> Entry:
    """The entry in a row; LedgerBroken when the row cannot be one."""
    plan, seq, at, kind, run, step, attempt, data, _ref, prev, hash_ = row
    try:
        plain = decode_data(data)
        return Entry(plan, seq, at, Kind(kind), run, step, attempt, plain, prev, hash_)
    except (ValueError, TypeError, RecursionError) as error:
        raise LedgerBroken(
            f"entry {seq} of plan `{plan}` cannot be read: {error}", facts={"seq": seq}
        ) from error


def to_row(entry: Entry, data: bytes) -> Row:
    """The row of an entry whose data is already encoded."""
    return (
        entry.plan,
        entry.seq,
        entry.at,
        str(entry.kind),
        entry.run,
        entry.step,
        entry.attempt,
        data,
        ref_of(entry.kind, entry.data),
        entry.prev,
        entry.hash,
    )


def own_problem(row: Row) -> str:
    """The fault of a row by itself; empty when it has none."""
    try:
        entry = to_entry(row)
        data_json = canonical_json(entry.data)
        if bytes(row[7]) != encode_data(data_json):
            return "its data is not in canonical form"
        if entry.expected_hash(data_json) != entry.hash:
            return "its content does not match its hash: it was changed"
        if ref_of(entry.kind, entry.data) != row[8]:
            return "its reference was changed"
    except (LedgerBroken, ValueError, TypeError, KeyError) as error:
        return f"it cannot be read: {error}"
    return ""


def check_rows(plan: str, rows: Iterable[Row], head: Row | None) -> ChainReport:
    """Walk all rows of a plan in order of seq, then compare with the stored head."""
    count, last_hash, last_at = 0, GENESIS, ""
    for row in rows:
        seq, at, prev = row[1], row[2], row[9]
        expected = count + 1
        if seq > expected:
            return _bad(plan, count, last_hash, expected, "it was removed")
        problem = "it was inserted before the first" if seq < expected else own_problem(row)
        if not problem and prev != last_hash:
            problem = "it does not follow the entry before it: reordered, inserted or replaced"
        if not problem and at < last_at:
            problem = "its time lies before that of the entry before it"
        if problem:
            return _bad(plan, count, last_hash, seq, problem)
        count, last_hash, last_at = seq, row[10], at
    return _against_head(ChainReport(plan, count, last_hash), last_at, head)


def _against_head(report: ChainReport, last_at: str, head: Row | None) -> ChainReport:
    seq, at, hash_ = head if head is not None else (0, "", GENESIS)
    count = report.entries
    if seq > count:
        return _bad(report.plan, count, report.head, count + 1, f"it was removed; {seq} were there")
    if seq < count:
        problem = f"it lies beyond the recorded head {seq}"
        return _bad(report.plan, count, report.head, seq + 1, problem)
    if (at, hash_) != (last_at, report.head):
        return _bad(report.plan, count, report.head, max(count, 1), "it is not the recorded head")
    return report


def _bad(plan: str, count: int, head: str, seq: int, problem: str) -> ChainReport:
    return ChainReport(plan, count, head, seq, f"entry {seq}: {problem}")


def entry_line(entry: Entry) -> bytes:
    """An entry as one line of a bundle: canonical JSON of all its fields."""
    return encode_data(canonical_json(entry)) + b"\n"


def read_entry_line(line: bytes) -> Entry:
    """The entry in a line that `entry_line` wrote; ValueError when it is none."""
    data = decode_data(line)
    if set(data) != set(Entry.__struct_fields__):
        raise ValueError("it has other fields than an entry")
    if not _has_types(data):
        raise ValueError("a field of it has the wrong type")
    entry = Entry(**{**data, "kind": Kind(data["kind"])})
    if entry_line(entry) != line + b"\n":
        raise ValueError("it is not in canonical form")
    return entry


def check_entries(plan: str, entries: Sequence[Entry]) -> ChainReport:
    """Walk entries that came from outside, as a chain from its first entry to its last."""
    rows = (to_row(entry, encode_data(canonical_json(entry.data))) for entry in entries)
    last = entries[-1] if entries else None
    foreign = next((e for e in entries if e.plan != plan), None)
    if foreign is not None:
        return _bad(plan, 0, GENESIS, foreign.seq, f"it belongs to plan `{foreign.plan}`")
    return check_rows(plan, rows, (last.seq, last.at, last.hash) if last else None)


def _has_types(data: dict[str, Any]) -> bool:
    texts = all(isinstance(data[name], str) for name in ("plan", "at", "kind", "prev", "hash"))
    maybe = all(isinstance(data[name], str | None) for name in ("run", "step"))
    numbers = type(data["seq"]) is int and type(data["attempt"]) in (int, type(None))
    return texts and maybe and numbers and isinstance(data["data"], dict)
