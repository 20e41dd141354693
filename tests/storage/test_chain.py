"""Whatever is done to stored entries behind the ledger's back is found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from signoff.domain.ledger import GENESIS, Draft, Entry, Kind, entry_hash
from signoff.errors import LedgerBroken
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger
from tests.storage.kit import done, note, run_sql, verdict

CHANGES: dict[str, object] = {
    "at": "2001-01-01T00:00:00.000000+00:00",
    "kind": "plan.approved",
    "run": "other",
    "step": "other",
    "attempt": 7,
    "data": b'{"result":"kept"}',
    "ref": "other",
    "prev": "f" * 64,
    "hash": "e" * 64,
}


@pytest.fixture
def chain(ledger: Ledger) -> tuple[Entry, ...]:
    opened = Draft(Kind.ESCALATION_OPENED, {"id": "e"}, run="r", step="1", attempt=1)
    return ledger.append("p", [note(), verdict("k", "broken"), opened, done(), note("last")])


def insert(url: str, entry: Entry, ref: str | None = None) -> None:
    data = json.dumps(entry.data, sort_keys=True, separators=(",", ":")).encode()
    run_sql(
        url,
        "INSERT INTO entries (plan, seq, at, kind, run, step, attempt, data, ref, prev, hash)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        *(entry.plan, entry.seq, entry.at, str(entry.kind), entry.run, entry.step, entry.attempt),
        *(data, ref, entry.prev, entry.hash),
    )


def forge(draft: Draft, seq: int, prev: str, at: str = "2999-01-01T00:00:00.000000+00:00") -> Entry:
    hash_ = entry_hash("p", seq, at, draft, prev)
    place: dict[str, Any] = {"run": draft.run, "step": draft.step, "attempt": draft.attempt}
    return Entry(
        plan="p", seq=seq, at=at, kind=draft.kind, data=draft.data, prev=prev, hash=hash_, **place
    )


def test_an_untouched_chain_holds(ledger: Ledger, chain: tuple[Entry, ...]) -> None:
    report = ledger.check_chain("p")
    assert (report.holds, report.entries, report.head) == (True, 5, chain[-1].hash)
    nothing = ledger.check_chain("nobody")
    assert (nothing.holds, nothing.entries, nothing.head) == (True, 0, GENESIS)


@pytest.mark.parametrize("column", CHANGES)
def test_a_change_to_any_column_of_any_entry_is_found(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str, column: str
) -> None:
    for entry in chain:
        where = "WHERE plan = 'p' AND seq = ?"
        ((before,),) = run_sql(database_url, f"SELECT {column} FROM entries {where}", entry.seq)
        assert before != CHANGES[column]
        change = f"UPDATE entries SET {column} = ? {where}"
        run_sql(database_url, change, CHANGES[column], entry.seq)
        report = ledger.check_chain("p")
        assert report.first_bad == entry.seq and f"entry {entry.seq}: it" in report.problem
        run_sql(database_url, change, before, entry.seq)
    assert ledger.check_chain("p").holds


def test_a_changed_number_is_found(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    for seq, moved in ((5, 6), (2, 0), (1, -3), (3, 99)):
        run_sql(database_url, "UPDATE entries SET seq = ? WHERE seq = ?", moved, seq)
        assert ledger.check_chain("p").first_bad == min(seq, moved)
        run_sql(database_url, "UPDATE entries SET seq = ? WHERE seq = ?", seq, moved)
    assert ledger.check_chain("p").holds


def test_an_entry_moved_to_another_plan_is_found_in_both(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    run_sql(database_url, "UPDATE entries SET plan = 'q' WHERE seq = 1")
    assert ledger.check_chain("p").problem == "entry 1: it was removed"
    assert ledger.check_chain("q").first_bad == 1


@pytest.mark.parametrize("seq", [1, 3, 5])
def test_a_removed_entry_is_named(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str, seq: int
) -> None:
    run_sql(database_url, "DELETE FROM entries WHERE seq = ?", seq)
    report = ledger.check_chain("p")
    assert report.first_bad == seq and "it was removed" in report.problem


def test_a_cut_tail_is_found_even_when_what_is_left_is_a_chain(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    run_sql(database_url, "DELETE FROM entries WHERE seq > 2")
    assert ledger.check_chain("p").problem == "entry 3: it was removed; 5 were there"
    run_sql(database_url, "DELETE FROM entries")
    assert ledger.check_chain("p").problem == "entry 1: it was removed; 5 were there"


def test_entries_that_decide_are_given_out_whole_or_not_at_all(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    assert ledger.intact_entries("p") == chain == tuple(ledger.entries("p"))
    assert ledger.intact_entries("nobody") == ()
    run_sql(database_url, "DELETE FROM entries WHERE seq = 5")
    with pytest.raises(LedgerBroken, match="ledger broken: entry 5: it was removed") as caught:
        ledger.intact_entries("p")
    assert caught.value.facts == {"first_bad": 5}


def test_swapped_entries_are_found(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    for seq, moved in ((2, 99), (3, 2), (99, 3)):
        run_sql(database_url, "UPDATE entries SET seq = ? WHERE seq = ?", moved, seq)
    assert ledger.check_chain("p").first_bad == 2


def test_a_consistent_entry_put_in_the_middle_breaks_its_successor(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    for seq in (5, 4, 3):
        run_sql(database_url, "UPDATE entries SET seq = ? WHERE seq = ?", seq + 1, seq)
    insert(database_url, forge(note("forged"), 3, chain[1].hash, chain[1].at))
    report = ledger.check_chain("p")
    assert report.first_bad == 4


def test_forged_entries_that_vouch_for_each_other_are_found(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    first = forge(verdict("k"), 3, chain[1].hash, chain[2].at)
    second = forge(note("forged"), 4, first.hash, chain[3].at)
    run_sql(database_url, "DELETE FROM entries WHERE seq IN (3, 4)")
    insert(database_url, first)
    insert(database_url, second)
    assert ledger.check_chain("p").first_bad == 5


def test_a_last_entry_dated_back_is_found_even_with_its_head(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    forged = forge(note("earlier"), 5, chain[3].hash, "2001-01-01T00:00:00.000000+00:00")
    run_sql(database_url, "DELETE FROM entries WHERE seq = 5")
    insert(database_url, forged)
    run_sql(database_url, "UPDATE chains SET hash = ?, at = ?", forged.hash, forged.at)
    assert "its time lies before" in ledger.check_chain("p").problem


def test_a_consistent_entry_put_after_the_head_is_found_and_never_built_upon(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    insert(database_url, forge(done("9"), 6, chain[-1].hash))
    assert ledger.check_chain("p").problem == "entry 6: it lies beyond the recorded head 5"
    with pytest.raises(LedgerBroken, match="do not end with the recorded head 5"):
        ledger.append("p", [note()])
    with pytest.raises(LedgerBroken, match="do not end with the recorded head 5"):
        ledger.append("p", [done("9")])


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE chains SET seq = 4",
        "UPDATE chains SET seq = 99",
        "UPDATE chains SET hash = 'f'",
        "UPDATE chains SET at = ''",
        "DELETE FROM chains",
    ],
)
def test_a_changed_head_is_found(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str, change: str
) -> None:
    run_sql(database_url, change)
    assert not ledger.check_chain("p").holds


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET hash = 'f' WHERE seq = 5",
        "DELETE FROM entries WHERE seq = 5",
        "UPDATE chains SET seq = 4",
        "DELETE FROM chains",
    ],
)
def test_nothing_is_appended_to_a_head_that_is_not_there(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str, change: str
) -> None:
    run_sql(database_url, change)
    with pytest.raises(LedgerBroken):
        ledger.append("p", [note()])


def test_data_that_says_two_things_at_once_is_found(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str
) -> None:
    # The last of two equal keys is what Python reads; other readers take the first.
    ((data,),) = run_sql(database_url, "SELECT data FROM entries WHERE seq = 2")
    twice = bytes(data).replace(b'{"', b'{"result":"kept","', 1)
    run_sql(database_url, "UPDATE entries SET data = ? WHERE seq = 2", twice)
    assert ledger.check_chain("p").problem == "entry 2: its data is not in canonical form"


@pytest.mark.parametrize("data", [b"\xff", b"[]", b"{", b"[" * 100_000])
def test_an_unreadable_entry_is_an_error_and_not_a_crash(
    ledger: Ledger, chain: tuple[Entry, ...], database_url: str, data: bytes
) -> None:
    run_sql(database_url, "UPDATE entries SET data = ? WHERE seq = 2", data)
    assert ledger.check_chain("p").first_bad == 2
    with pytest.raises(LedgerBroken, match="entry 2 of plan `p` cannot be read"):
        list(ledger.entries("p"))


def test_a_reader_sees_one_moment_while_others_append(ledger: Ledger, database_url: str) -> None:
    ledger.append("p", [note(str(i)) for i in range(600)])
    other = Ledger(open_database(database_url))
    with ledger._db.snapshot():
        assert ledger.head("p")[0] == 600
        other.append("p", [note("later")])
        assert len(list(ledger.entries("p"))) == 600
    other._db.close()
    assert ledger.check_chain("p").entries == 601
