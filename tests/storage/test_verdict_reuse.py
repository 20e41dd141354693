"""A verdict is found again by its evidence key, if its place in the chain proves it."""

from __future__ import annotations

import pytest

from signoff.domain.ledger import Entry
from signoff.storage import Ledger
from tests.storage.kit import note, run_sql, verdict
from tests.storage.test_chain import forge, insert


def test_the_latest_verdict_with_the_key_is_found(ledger: Ledger) -> None:
    ledger.append("p", [verdict("k", "kept"), verdict("other"), verdict("k", "broken")])
    (latest,) = ledger.append("q", [verdict("k", "kept")])
    assert ledger.find_verdict("k") == latest
    assert ledger.find_verdict("nothing") is None


def test_only_a_final_answer_is_reused(ledger: Ledger) -> None:
    (kept,) = ledger.append("p", [verdict("k")])
    ledger.append("p", [verdict("k", "unknown"), verdict("k", provisional=True)])
    assert ledger.find_verdict("k") == kept


def test_a_verdict_without_a_key_is_never_found(ledger: Ledger) -> None:
    ledger.append("p", [verdict("")])
    assert ledger.find_verdict("") is None


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_verdict_edited_in_the_database_is_not_reused(
    ledger: Ledger, database_url: str, place: str
) -> None:
    before = [] if place == "first" else [note()]
    after = [] if place == "last" else [note()]
    entries = ledger.append("p", [*before, verdict("k", "broken"), *after])
    (edited,) = [e for e in entries if e.data.get("key") == "k"]
    assert ledger.find_verdict("k") == edited
    change = "UPDATE entries SET data = ? WHERE seq = ?"
    data = b'{"key":"k","output_tail":"","provisional":false,"result":"kept"}'
    run_sql(database_url, change, data, edited.seq)
    assert ledger.find_verdict("k") is None


def test_an_older_sound_verdict_is_found_behind_a_forged_one(
    ledger: Ledger, database_url: str
) -> None:
    (sound,) = ledger.append("p", [verdict("k", "broken")])
    insert(database_url, forge(verdict("k"), 2, sound.hash), "k")
    assert ledger.find_verdict("k") == sound


def test_a_key_moved_to_another_verdict_is_not_believed(ledger: Ledger, database_url: str) -> None:
    ledger.append("p", [verdict("easy")])
    run_sql(database_url, "UPDATE entries SET ref = 'hard'")
    assert ledger.find_verdict("hard") is None


@pytest.mark.parametrize("seq", [-1, 0, 6, 99])
def test_a_forged_verdict_outside_the_chain_is_not_reused(
    ledger: Ledger, database_url: str, seq: int
) -> None:
    last = ledger.append("p", [note(str(i)) for i in range(5)])[-1]
    for prev in (last.hash, "0" * 64):
        insert(database_url, forge(verdict("k"), seq, prev), "k")
        assert ledger.find_verdict("k") is None
        run_sql(database_url, "DELETE FROM entries WHERE seq = ?", seq)


@pytest.mark.parametrize("seq", [1, 3, 5])
def test_a_rehashed_verdict_in_place_of_an_entry_is_not_reused(
    ledger: Ledger, database_url: str, seq: int
) -> None:
    entries: tuple[Entry, ...] = ledger.append("p", [note(str(i)) for i in range(5)])
    replaced = entries[seq - 1]
    run_sql(database_url, "DELETE FROM entries WHERE seq = ?", seq)
    insert(database_url, forge(verdict("k"), seq, replaced.prev, replaced.at), "k")
    assert ledger.find_verdict("k") is None


def test_a_forged_verdict_in_a_plan_of_its_own_is_not_reused(
    ledger: Ledger, database_url: str
) -> None:
    insert(database_url, forge(verdict("k"), 1, "0" * 64), "k")
    assert ledger.find_verdict("k") is None


def test_a_forged_last_verdict_with_its_head_does_not_follow_the_entry_before(
    ledger: Ledger, database_url: str
) -> None:
    ledger.append("p", [note(str(i)) for i in range(5)])
    forged = forge(verdict("k"), 5, "f" * 64)
    run_sql(database_url, "DELETE FROM entries WHERE seq = 5")
    insert(database_url, forged, "k")
    run_sql(database_url, "UPDATE chains SET hash = ?", forged.hash)
    assert ledger.find_verdict("k") is None
