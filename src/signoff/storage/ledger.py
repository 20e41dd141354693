"""The ledger: one hash chain per plan, one transaction per append, fenced by run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from signoff.domain.digests import canonical_json, digest_bytes
from signoff.domain.ledger import GENESIS, Draft, Entry, Kind, entry_hash
from signoff.domain.redaction import NOTHING_SECRET, Redactor
from signoff.errors import (
    AlreadyAccepted,
    Fenced,
    Held,
    LedgerBroken,
    NoSuchRun,
    NothingToAnswer,
    PlanConflict,
    SignoffError,
)
from signoff.storage.engine import Database, Duplicate, Row, StorageCause, storage_failed
from signoff.storage.glance import Glance
from signoff.storage.records import (
    COLUMNS,
    ChainHead,
    ChainReport,
    Fence,
    Holder,
    PlanRecord,
    RunRecord,
    check_rows,
    decode_data,
    encode_data,
    to_entry,
    to_row,
    utc_now,
)

_PAGE = 500
_BEFORE_ALL = -(2**63)

_HEAD = "SELECT seq, at, hash FROM chains WHERE plan = ?"
_HEADS = "SELECT plan, seq, at, hash FROM chains"
_NEW_CHAIN = (
    "INSERT INTO chains (plan, seq, at, hash) VALUES (?, 0, '', ?) ON CONFLICT (plan) DO NOTHING"
)
_MOVE_HEAD = "UPDATE chains SET seq = ?, at = ?, hash = ? WHERE plan = ?"
_FROM_HEAD = "SELECT seq, hash FROM entries WHERE plan = ? AND seq >= ? ORDER BY seq LIMIT 2"
_INSERT = f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_PAGE_OF = f"SELECT {COLUMNS} FROM entries WHERE plan = ? AND seq > ? ORDER BY seq LIMIT {_PAGE}"
_PAGE_OF_RUN = (
    f"SELECT {COLUMNS} FROM entries WHERE plan = ? AND seq > ? AND run = ?"
    f" ORDER BY seq LIMIT {_PAGE}"
)
_OPEN = (
    f"SELECT {COLUMNS} FROM entries o WHERE o.kind = 'escalation.opened' AND NOT EXISTS ("
    "SELECT 1 FROM entries a WHERE a.kind = 'escalation.answered'"
    " AND a.plan = o.plan AND a.ref = o.ref)"
)
_RUN_OVER = "SELECT 1 FROM entries WHERE plan = ? AND run = ? AND kind = 'run.finished'"
_IS_DRIVEN = "SELECT 1 FROM runs WHERE run = ? AND plan = ? AND token = ?"
_PLANS = "SELECT id, name, path, repository FROM plans"
_RUN = "SELECT run, plan, token, holder FROM runs WHERE run = ?"

# Where things are and what steps are made of, by which work is found again: a folder or an item of
# a list may be called like somebody's password.
_EXACT = (
    *("workspace", "worktree", "base", "branch", "produced", "named", "relies_on"),
    *("items", "subject", "counted", "waived"),
)


class Ledger:
    """Append-only truth about plans, on either database."""

    def __init__(self, database: Database, redactor: Redactor = NOTHING_SECRET):
        self._db = database
        self.redactor = redactor  # who learns of more secrets puts another in its place

    @property
    def database(self) -> Database:
        """The database, for writes in one transaction with entries: bindings, leases, standings."""
        return self._db

    def glance(self) -> Glance:
        """Light read access to bindings, standings and questions."""
        return Glance(self._db.fetch)

    def append(
        self,
        plan: str,
        drafts: Sequence[Draft],
        *,
        fence: Fence | None = None,
        onto: str | None = None,
        durable: bool = True,
        blobs: Sequence[bytes] = (),
    ) -> tuple[Entry, ...]:
        """Append all drafts or none; durable when it returns, unless a power cut may take it.

        `blobs` are kept along with entries that name them by digest. With `onto`, the hash of the
        last entry that somebody saw, nothing is appended behind an entry that they did not see.

        The head's row lock is taken first, so writers of a plan queue, and a fence that was
        current when checked stays current until the commit.
        """
        if not drafts:
            return ()
        with self._db.transaction(durable=durable):
            for data in blobs:
                self._keep_blob(digest_bytes(data), data)
            return self.append_within(plan, drafts, fence=fence, onto=onto)

    def append_within(
        self,
        plan: str,
        drafts: Sequence[Draft],
        *,
        fence: Fence | None = None,
        onto: str | None = None,
    ) -> tuple[Entry, ...]:
        """Append inside the caller's transaction."""
        for draft in drafts:
            _refuse_incomplete(plan, draft, fence)
        seq, at, prev = self._lock_head(plan)
        if onto not in (None, prev):
            raise PlanConflict("something happened since this was shown", "look at it again")
        if fence is not None:
            self._check_fence(plan, fence)
        entries = []
        for draft in map(self._without_secrets, drafts):
            # A clock set back must not reorder the chain.
            at = max(at, utc_now())
            seq += 1
            entries.append(self._insert(plan, seq, at, draft, prev))
            prev = entries[-1].hash
        self._db.execute(_MOVE_HEAD, seq, at, prev, plan)
        return tuple(entries)

    def entries(self, plan: str, *, after: int = 0, run: str | None = None) -> Iterator[Entry]:
        """The entries in order, read in pages: no cursor stays open, appending meanwhile is fine.

        Hashes are not recomputed here; `intact_entries` and `check_chain` do that.
        """
        for row in self._rows(plan, after, run):
            yield to_entry(row)

    def intact_entries(self, plan: str) -> tuple[Entry, ...]:
        """All entries, for who says that a plan is done: as they were written, or LedgerBroken."""
        with self._db.snapshot():
            heads = self._db.fetch(_HEAD, plan)
            rows = tuple(self._rows(plan, _BEFORE_ALL, None))
        chain = check_rows(plan, rows, heads[0] if heads else None)
        if not chain.holds:
            raise LedgerBroken(
                f"ledger broken: {chain.problem}", facts={"first_bad": chain.first_bad}
            )
        return tuple(to_entry(row) for row in rows)

    def head(self, plan: str) -> tuple[int, str]:
        """Number and hash of the last entry; `(0, GENESIS)` for a plan without any."""
        rows = self._db.fetch(_HEAD, plan)
        return (rows[0][0], rows[0][2]) if rows else (0, GENESIS)

    def heads(self) -> dict[str, ChainHead]:
        """The last entry of every chain, for who waits for something to happen."""
        return {row[0]: ChainHead(*row[1:]) for row in self._db.fetch(_HEADS)}

    def check_chain(self, plan: str) -> ChainReport:
        """Recompute every hash of the plan's chain, at one moment, and compare with the head."""
        with self._db.snapshot():
            heads = self._db.fetch(_HEAD, plan)
            rows = self._rows(plan, _BEFORE_ALL, None)
            return check_rows(plan, rows, heads[0] if heads else None)

    def open_escalations(self, plan: str | None = None) -> tuple[Entry, ...]:
        """Questions nobody has answered yet, oldest first."""
        if plan is None:
            rows = self._db.fetch(f"{_OPEN} ORDER BY at, seq")
        else:
            rows = self._db.fetch(f"{_OPEN} AND o.plan = ? ORDER BY at, seq", plan)
        return tuple(to_entry(row) for row in rows)

    def register_plan(self, record: PlanRecord) -> None:
        """Remember where a plan lives; a moved plan is updated, an unchanged one costs no write."""
        rows = self._db.fetch(f"{_PLANS} WHERE id = ?", record.id)
        if rows and _to_plan(rows[0]) == record:
            return
        with self._db.transaction():
            self._db.execute(
                "INSERT INTO plans (id, name, path, repository) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET name = excluded.name, path = excluded.path,"
                " repository = excluded.repository",
                record.id,
                record.name,
                os.fsencode(record.path),
                None if record.repository is None else os.fsencode(record.repository),
            )

    def plans(self) -> tuple[PlanRecord, ...]:
        """Every plan that was ever registered, by path."""
        rows = self._db.fetch(_PLANS)
        return tuple(sorted((_to_plan(row) for row in rows), key=lambda p: (p.path, p.id)))

    def put_blob(self, data: bytes, *, durable: bool = True) -> str:
        """Keep `data` under its digest; writing the same again costs no commit."""
        digest = digest_bytes(data)
        if self._blob(digest) != data:
            with self._db.transaction(durable=durable):
                self._keep_blob(digest, data)
        return digest

    def put_text(self, text: str) -> str:
        """Keep what somebody said or was told under its digest, without secrets."""
        return self.put_blob(self.redactor.text(text).encode("utf-8", "replace"))

    def get_blob(self, digest: str) -> bytes:
        """The data with this digest, verified; LedgerBroken when it is gone or changed."""
        data = self._blob(digest)
        if data is None:
            raise LedgerBroken(f"blob `{digest}` is missing", facts={"digest": digest})
        if digest_bytes(data) != digest:
            raise LedgerBroken(f"blob `{digest}` was changed", facts={"digest": digest})
        return data

    def begin_run(self, plan: str, run: str, holder: Holder) -> Fence:
        """Make `holder` the first driver of a new run."""
        try:
            with self._db.transaction():
                self._lock_head(plan)
                self._db.execute(
                    "INSERT INTO runs (run, plan, token, holder) VALUES (?, ?, 1, ?)",
                    run,
                    plan,
                    json.dumps(holder.facts()),
                )
        except Duplicate as error:
            record = self.run_record(run)
            who = f" by {record.holder}" if record else ""
            raise Held(f"run `{run}` was already begun{who}") from error
        return Fence(run, 1)

    def take_over(self, run: str, holder: Holder) -> Fence:
        """Make `holder` the driver from now on; every earlier fence of the run is void."""
        known = self.run_record(run)
        if known is None:
            raise NoSuchRun(f"run `{run}` was never begun")
        with self._db.transaction():
            # Same lock as append: nobody is between its fence check and its commit now.
            self._lock_head(known.plan)
            self._db.execute(
                "UPDATE runs SET token = token + 1, holder = ? WHERE run = ?",
                json.dumps(holder.facts()),
                run,
            )
            token = self._db.fetch(_RUN, run)[0][2]
        return Fence(run, token)

    def run_record(self, run: str) -> RunRecord | None:
        """The driver of a run; None when it was never begun."""
        rows = self._db.fetch(_RUN, run)
        if not rows:
            return None
        name, plan, token, holder = rows[0]
        return RunRecord(name, plan, token, Holder(**json.loads(holder)))

    def run_is_over(self, plan: str, run: str) -> bool:
        """True when the run's end is recorded."""
        return bool(self._db.fetch(_RUN_OVER, plan, run))

    def _rows(self, plan: str, after: int, run: str | None) -> Iterator[Row]:
        while True:
            if run is None:
                page = self._db.fetch(_PAGE_OF, plan, after)
            else:
                page = self._db.fetch(_PAGE_OF_RUN, plan, after, run)
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1][1]

    def _without_secrets(self, draft: Draft) -> Draft:
        """Here, so that nobody who appends can forget it."""
        kept = {name: draft.data[name] for name in _EXACT if name in draft.data}
        return replace(draft, data={**self.redactor.data(draft.data), **kept})

    def _lock_head(self, plan: str) -> tuple[int, str, str]:
        """Wait for our turn on this chain; refuse to build on a head that is not there."""
        query = _HEAD + self._db.row_lock
        rows = self._db.fetch(query, plan)
        if not rows:
            self._db.execute(_NEW_CHAIN, plan, GENESIS)
            rows = self._db.fetch(query, plan)
        seq, at, head = rows[0]
        # Its own statement: only a statement begun after the wait sees the latest entry.
        there = [tuple(row) for row in self._db.fetch(_FROM_HEAD, plan, seq)]
        if there != ([(seq, head)] if seq else []) or (seq == 0 and head != GENESIS):
            raise LedgerBroken(
                f"the entries of plan `{plan}` do not end with the recorded head {seq}",
                facts={"seq": seq},
            )
        return seq, at, head

    def _check_fence(self, plan: str, fence: Fence) -> None:
        if self._db.fetch(_IS_DRIVEN, fence.run, plan, fence.token):
            return
        record = self.run_record(fence.run)
        if record is None or record.plan != plan:
            raise Fenced(f"run `{fence.run}` of plan `{plan}` was never begun")
        raise Fenced(
            f"run `{fence.run}` was taken over by {record.holder}",
            facts={"token": fence.token, "current": record.token},
        )

    def _insert(self, plan: str, seq: int, at: str, draft: Draft, prev: str) -> Entry:
        data_json = canonical_json(draft.data)
        data = encode_data(data_json)
        entry = Entry(
            plan=plan,
            seq=seq,
            at=at,
            kind=draft.kind,
            run=draft.run,
            step=draft.step,
            attempt=draft.attempt,
            data=decode_data(data),
            prev=prev,
            hash=entry_hash(plan, seq, at, draft, prev, data_json),
        )
        try:
            self._db.execute(_INSERT, *to_row(entry, data))
        except Duplicate as error:
            raise _refused(draft) from error
        return entry

    def _keep_blob(self, digest: str, data: bytes) -> None:
        self._db.execute(
            "INSERT INTO blobs (digest, data) VALUES (?, ?)"
            " ON CONFLICT (digest) DO UPDATE SET data = excluded.data",
            digest,
            data,
        )

    def _blob(self, digest: str) -> bytes | None:
        rows = self._db.fetch("SELECT data FROM blobs WHERE digest = ?", digest)
        return bytes(rows[0][0]) if rows else None


def _to_plan(row: Row) -> PlanRecord:
    path, repository = os.fsdecode(bytes(row[2])), row[3]
    return PlanRecord(
        row[0], row[1], path, None if repository is None else os.fsdecode(bytes(repository))
    )


def _refuse_incomplete(plan: str, draft: Draft, fence: Fence | None) -> None:
    """The database's uniqueness rules see no NULL, so what they count on must be there."""
    if draft.kind is Kind.STEP_DONE and (draft.run is None or draft.step is None):
        raise ValueError("`step.done` needs a run and a step")
    if draft.kind is Kind.RUN_FINISHED and draft.run is None:
        raise ValueError("`run.finished` needs a run")
    if draft.kind in (Kind.ESCALATION_OPENED, Kind.ESCALATION_ANSWERED) and not draft.data.get(
        "id"
    ):
        raise ValueError(f"`{draft.kind}` needs an id in its data")
    if fence is not None and draft.run not in (None, fence.run):
        raise ValueError(f"an entry of run `{draft.run}` under the fence of run `{fence.run}`")
    for name, text in (("plan", plan), ("run", draft.run), ("step", draft.step)):
        if text is not None and ("\0" in text or not _is_utf8(text)):
            message = f"the {name} {text!r} holds a character that no database stores"
            raise storage_failed(StorageCause.UNSTORABLE, message)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refused(draft: Draft) -> SignoffError:
    """The rule that an entry broke: its place was free (we hold the head), so its kind tells."""
    if draft.kind is Kind.ESCALATION_ANSWERED:
        return NothingToAnswer(f"escalation `{draft.data['id']}` was answered before")
    if draft.kind is Kind.RUN_FINISHED:
        return AlreadyAccepted(f"run `{draft.run}` was finished before")
    return AlreadyAccepted(f"step `{draft.step}` was accepted before in run `{draft.run}`")
