"""`signoff log SESSION`: the timeline of a definition of done, for people and machines."""

from __future__ import annotations

import pytest

from signoff.domain.definition import Artifact, Check, Item, RoundStatus, Seen, Support
from signoff.domain.ledger import Draft, Kind
from signoff.gate.definition import (
    ArtifactsSeen,
    ItemsListed,
    RoundBegun,
    RoundDecided,
    RoundPlanned,
    Touched,
)
from signoff.storage.database import open_database
from signoff.storage.ledger import Ledger
from signoff.toolbatch.keeping import Keeper, LedgerBook
from tests.cli.kit import Desk

SESSION = "session-0123456789abcdef"
CHECK = Check("make test", "project")


def judged(status: RoundStatus, support: Support, detail: str = "") -> RoundDecided:
    return RoundDecided(status, (Seen("project", "make test", support, CHECK.command, detail),))


@pytest.fixture
def worked(desk: Desk) -> Desk:
    """A desk on which a session has a task that was broken, kept, and changed again."""
    desk.signoff("inbox").exits(0)
    database = open_database(f"sqlite:///{desk.ledger_file}")
    try:
        ledger = Ledger(database)
        item = Item("Write it", (Artifact("a.txt"),))
        book = LedgerBook(ledger, SESSION)
        keeper = Keeper(book, "make a.txt", artifacts=item.artifacts, items=(item,))
        keeper.record(
            ItemsListed(()), Touched(("a.txt",), "c1", "write"), ArtifactsSeen(("a.txt",))
        )
        keeper.record(RoundPlanned((CHECK,), "write changed files"), RoundBegun())
        keeper.record(judged(RoundStatus.BROKEN, Support.CONTRADICTS, "a.txt:1: \x1b[2Jwrong"))
        keeper.record(Touched(("a.txt",), "c2", "edit"), RoundBegun())
        keeper.record(judged(RoundStatus.KEPT, Support.SUPPORTS))
        ledger.append(SESSION, [Draft(Kind.NOTE_KEPT, {"key": "k", "text": "x"})])
        keeper.record(Touched(("b.txt",), "c3", "write"))
    finally:
        database.close()
    return desk


def test_the_log_of_a_session_tells_the_timeline_of_its_rounds(worked: Desk) -> None:
    sentences = [
        "the task: make a.txt; to do: `Write it`; planned: `a.txt`",
        "the list left out `Write it`; open as before",
        "write changed `a.txt`; draft → in_progress",
        "done: `Write it`; there: `a.txt`",
        "round 1 of 3 (number 1) is pending: write changed files; to be judged by `make test`;"
        " in_progress → verifying",
        "round 1 of 3 (number 1) is running: write changed files",
        "round 1 of 3 (number 1) is broken: write changed files; a.txt:1: \\x1b[2Jwrong;"
        " verifying → fixing",
        "edit changed `a.txt`; round 2 of 3 (number 2) is pending, in place of number 1: edit"
        " changed `a.txt`; to be judged by `make test`; fixing → verifying",
        "round 2 of 3 (number 2) is running: edit changed `a.txt`",
        "round 2 of 3 (number 2) is kept; verifying → done",
        None,
        "write changed `b.txt`; round 2 of 3 (number 2) is stale:"
        " write changed `b.txt`; round 2 of 3 (number 3) is pending, in place of number 2: round 2"
        " is stale: write changed `b.txt`; to be judged by `make test`; done → verifying",
    ]
    lines = [
        f"{n:>5}  TIME  " + ("note.kept" if text is None else f"definition.changed {text}")
        for n, text in enumerate(sentences, 1)
    ]
    shown = worked.signoff("log", SESSION).exits(0)
    assert shown.normal(shown.stdout) == "\n".join(lines) + "\n"


def test_a_part_of_the_log_tells_the_same_as_the_whole(worked: Desk) -> None:
    whole = worked.signoff("log", SESSION).exits(0).stdout.splitlines()
    assert worked.signoff("log", SESSION, "--after", "9").stdout.splitlines() == whole[9:]


def test_machines_get_the_timeline_beside_the_entry(worked: Desk) -> None:
    entries = worked.signoff("log", SESSION, "--json").exits(0).json_lines
    assert entries[3]["timeline"] == ["done: `Write it`", "there: `a.txt`"]
    assert entries[3]["data"] == {
        "task": "main",
        "fact": "artifacts_seen",
        "existing": ["a.txt"],
        "signs": [],
    }
    assert "timeline" not in entries[10]


def test_a_session_that_never_was_has_no_log(desk: Desk) -> None:
    ended = desk.signoff("log", "session-ffffffffffffffff").exits(2)
    assert ended.stderr.startswith("error: no session has the id `session-ffffffffffffffff`")
