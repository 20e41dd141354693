"""`signoff log SESSION`: entries of a session, also those that earlier versions wrote."""

from __future__ import annotations

import pytest

from signoff.domain.ledger import Draft, Kind
from signoff.storage.home import open_database
from signoff.storage.ledger import Ledger
from tests.cli.kit import Desk

SESSION = "session-0123456789abcdef"
# As 0.1.0 wrote them.
OLD = (
    {"task": "main", "fact": "stated", "statement": "make a.txt", "artifacts": [], "items": []},
    {"task": "main", "fact": "round_decided", "status": "kept", "seen": []},
    {"task": "main", "fact": "\x1b[2J"},
)


@pytest.fixture
def worked(desk: Desk) -> Desk:
    """A desk with a session of an earlier version."""
    desk.signoff("inbox").exits(0)
    database = open_database(f"sqlite:///{desk.ledger_file}")
    try:
        ledger = Ledger(database)
        ledger.append(SESSION, [Draft(Kind.DEFINITION_CHANGED, dict(data)) for data in OLD])
        ledger.append(SESSION, [Draft(Kind.NOTE_KEPT, {"key": "k", "text": "x"})])
    finally:
        database.close()
    return desk


def test_entries_of_earlier_versions_are_shown(worked: Desk) -> None:
    shown = worked.signoff("log", SESSION).exits(0)
    assert shown.normal(shown.stdout).splitlines() == [
        "    1  TIME  the task: stated",
        "    2  TIME  the task: round decided",
        "    3  TIME  the task: \\x1b[2J",
        "    4  TIME  the agent notes k",
    ]


def test_machines_get_the_entry_as_it_was_stored(worked: Desk) -> None:
    entries = worked.signoff("log", SESSION, "--json").exits(0).json_lines
    assert entries[1]["data"] == OLD[1]


def test_a_part_of_the_log_begins_after_the_entry_that_is_named(worked: Desk) -> None:
    whole = worked.signoff("log", SESSION).exits(0).stdout.splitlines()
    assert worked.signoff("log", SESSION, "--after", "2").stdout.splitlines() == whole[2:]


def test_a_session_that_never_was_has_no_log(desk: Desk) -> None:
    ended = desk.signoff("log", "session-ffffffffffffffff").exits(2)
    assert ended.stderr.startswith("error: no session has the id `session-ffffffffffffffff`")
