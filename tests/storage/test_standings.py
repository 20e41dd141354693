"""Where a plan stood is written down for those who only glance; it is never in anybody's way."""

from __future__ import annotations

from msgspec.structs import replace

from signoff.storage.engine import Database
from signoff.storage.ledger import Ledger
from signoff.storage.standings import StandingNote, read_standing, write_standing
from tests.storage.kit import note, run_sql

FIRST = StandingNote(1, "in-progress", 2, 5, "3", "Put the roof on")


def test_what_was_written_down_is_read_while_nothing_happened_since(ledger: Ledger) -> None:
    assert read_standing(ledger, "p") is None
    ledger.append("p", [note()])
    write_standing(ledger, "p", FIRST)
    assert read_standing(ledger, "p") == FIRST
    ledger.append("p", [note()])
    assert read_standing(ledger, "p") is None, "something happened since"


def test_a_slow_writer_does_not_overwrite_a_newer_standing(
    ledger: Ledger, database_url: str
) -> None:
    write_standing(ledger, "p", replace(FIRST, seq=9, done=5))
    write_standing(ledger, "p", FIRST)
    assert run_sql(database_url, "SELECT seq, done FROM standings") == [(9, 5)]


def test_the_same_moment_can_be_written_again(ledger: Ledger, database_url: str) -> None:
    write_standing(ledger, "p", FIRST)
    write_standing(ledger, "p", replace(FIRST, status="failed", step=None, title=None))
    assert run_sql(database_url, "SELECT status, step FROM standings") == [("failed", None)]


def test_titles_that_no_database_stores_are_written_without_what_it_refuses(
    ledger: Ledger,
) -> None:
    ledger.append("p", [note()])
    write_standing(ledger, "p", replace(FIRST, step="1\0", title="a\0b\udcff"))
    found = read_standing(ledger, "p")
    assert found is not None and (found.step, found.title) == ("1", "ab?")


def test_a_standing_that_cannot_be_written_stops_nothing(
    ledger: Ledger, database: Database
) -> None:
    database.execute("DROP TABLE standings")
    write_standing(ledger, "p", FIRST)
    ledger.append("p", [note()])
