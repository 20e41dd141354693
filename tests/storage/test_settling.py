"""What is not waited for is made durable later, and what must be durable always is."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.domain.ledger import Draft, Kind
from signoff.storage import Ledger, open_database, sqlite_url

SYNCS_EVERY_COMMIT = [(2,)]
SYNCS_NO_COMMIT = [(1,)]


@pytest.fixture
def address(tmp_path: Path) -> str:
    return sqlite_url(tmp_path / "ledger.sqlite3")


def test_each_transaction_waits_for_the_disk_exactly_when_asked(address: str) -> None:
    database = open_database(address)
    for durable in (True, False, False, True, False, True, True):
        with database.transaction(durable=durable):
            found = database.fetch("PRAGMA synchronous")
        assert found == (SYNCS_EVERY_COMMIT if durable else SYNCS_NO_COMMIT)
    database.close()


def test_a_refused_transaction_does_not_change_what_the_next_one_waits_for(address: str) -> None:
    database = open_database(address)
    with pytest.raises(ZeroDivisionError), database.transaction(durable=False):
        raise ZeroDivisionError
    with database.transaction():
        assert database.fetch("PRAGMA synchronous") == SYNCS_EVERY_COMMIT
    database.close()


def test_settling_commits_once_and_changes_no_entry(address: str, tmp_path: Path) -> None:
    database = open_database(address)
    ledger = Ledger(database)
    ledger.append("plan", [Draft(Kind.AUDITED, {"n": 1})])
    log = tmp_path / "ledger.sqlite3-wal"
    settled = log.stat().st_size
    ledger.settle()
    assert log.stat().st_size == settled, "nothing was left to settle"
    ledger.append("plan", [Draft(Kind.AUDITED, {"n": 2})], durable=False)
    entries, appended = tuple(ledger.entries("plan")), log.stat().st_size
    ledger.settle()
    after = log.stat().st_size
    assert after > appended, "only a commit that is waited for makes those before it durable"
    ledger.settle()
    assert log.stat().st_size == after
    assert tuple(ledger.entries("plan")) == entries
    assert ledger.check_chain("plan").holds
    database.close()
