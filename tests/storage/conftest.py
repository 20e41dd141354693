"""A ledger on either database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from signoff.storage.engine import Database
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = open_database(database_url)
    yield opened
    opened.close()


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database)
