"""What must be on disk is waited for, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.storage.home import open_database, sqlite_url

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
