"""The books of a definition of done, on either database: atomic, shared, and the same again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from signoff.domain.definition import Definition, DefinitionStatus, Item
from signoff.domain.ledger import Draft, Kind
from signoff.errors import LedgerBroken
from signoff.gate.definition import (
    UNSTATED,
    ArtifactsSeen,
    Fact,
    ItemsListed,
    RoundBegun,
    RoundDecided,
    RoundPlanned,
    Stated,
    Touched,
    apply_all,
)
from signoff.gate.timeline import Note
from signoff.storage.database import open_database
from signoff.storage.ledger import Ledger
from signoff.toolbatch.artifacts import seen_now
from signoff.toolbatch.keeping import Book, Keeper, LedgerBook, MemoryBook
from tests.gate.facts_of_definitions import HISTORIES, PYTEST, A, B, kept

SESSION = "session-0123456789abcdef"


@pytest.fixture
def ledger(database_url: str) -> Iterator[Ledger]:
    database = open_database(database_url)
    yield Ledger(database)
    database.close()


def resume(book: Book) -> Definition:
    """What the facts of a book add up to."""
    return apply_all(UNSTATED, book.read(0).facts)


def book(ledger: Ledger, task: str = "main") -> LedgerBook:
    return LedgerBook(ledger, SESSION, task)


def entries(ledger: Ledger) -> list[str]:
    return [e.data["fact"] for e in ledger.entries(SESSION)]


def test_a_task_taken_up_again_stands_where_it_stood(ledger: Ledger) -> None:
    keeper = Keeper(book(ledger), "make a.txt", artifacts=(A,))
    keeper.record(Touched(("a.txt",), "c1", "write"), ArtifactsSeen(("a.txt",)), *kept(PYTEST))
    assert keeper.definition.status is DefinitionStatus.DONE
    again = Keeper(book(ledger), "make a.txt", artifacts=(A,))
    assert again.definition == keeper.definition == resume(book(ledger))
    assert entries(ledger) == [
        "stated",
        "touched",
        "artifacts_seen",
        "round_planned",
        "round_begun",
        "round_decided",
    ]
    assert ledger.check_chain(SESSION).problem == ""


def test_tasks_and_sessions_keep_apart(ledger: Ledger) -> None:
    Keeper(book(ledger), "one").record(Touched(("a",)))
    other = Keeper(book(ledger, "child"), "two")
    elsewhere = Keeper(LedgerBook(ledger, "session-" + "f" * 16), "three")
    assert (other.definition.statement, other.definition.touched) == ("two", ())
    assert elsewhere.definition.statement == "three"
    assert resume(book(ledger)).statement == "one"


def test_entries_of_other_kinds_between_the_facts_change_nothing(ledger: Ledger) -> None:
    keeper = Keeper(book(ledger), "t")
    ledger.append(SESSION, [Draft(Kind.NOTE_KEPT, {"key": "k", "text": "x"})])
    keeper.record(Touched(("a",)))
    assert resume(book(ledger)) == keeper.definition


def test_two_who_keep_the_same_books_see_each_others_facts(ledger: Ledger) -> None:
    """A change that one records while the other has a round judged makes that round stale."""
    judging, working = Keeper(book(ledger), "t"), Keeper(book(ledger), "t")
    judging.record(Touched(("a",)), RoundPlanned((PYTEST,)), RoundBegun())
    working.record(Touched(("a",), tool="write"))
    judging.record(*kept(PYTEST)[2:])
    assert judging.definition.status is not DefinitionStatus.DONE
    working.record()
    assert working.definition == judging.definition


def test_facts_are_kept_all_or_none(ledger: Ledger) -> None:
    keeper = Keeper(book(ledger), "t")
    before = keeper.definition
    bad = Touched((object(),))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        keeper.record(Touched(("a",)), bad)
    assert keeper.definition == before and entries(ledger) == ["stated"]


def test_what_says_nothing_new_is_not_written_down_and_a_change_always_is(ledger: Ledger) -> None:
    keeper = Keeper(book(ledger), "t")
    keeper.record(Stated("t"), ItemsListed(()), ArtifactsSeen(()))
    keeper.record(Touched(("a",)))
    keeper.record(Touched(("a",)))
    assert entries(ledger) == ["stated", "touched", "touched"]


def test_a_fact_of_another_version_is_refused_and_not_skipped(ledger: Ledger) -> None:
    Keeper(book(ledger), "t")
    ledger.append(SESSION, [Draft(Kind.DEFINITION_CHANGED, {"task": "main", "fact": "new"})])
    with pytest.raises(LedgerBroken, match="entry 2"):
        Keeper(book(ledger), "t")


@pytest.mark.parametrize("path", ["a\0b", "\udcff", "a\nb", "\u202e", "x" * 10_000])
def test_any_name_of_a_file_survives_the_books(ledger: Ledger, path: str) -> None:
    keeper = Keeper(book(ledger), "t")
    keeper.record(Touched((path,), "c", "write"))
    assert resume(book(ledger)) == keeper.definition and keeper.definition.touched == (path,)


def test_what_happened_is_told_once_and_not_again_when_it_is_taken_up(ledger: Ledger) -> None:
    told: list[Note] = []
    keeper = Keeper(book(ledger), "make it", told=told.append)
    keeper.record(Touched(("a.txt",), "c", "write"), *kept(PYTEST), Touched(("b",), tool="edit"))
    assert [n.text for n in told if n.round] == [
        "round 1 of 3 (number 1) is pending: work was done; to be judged by `pytest -q`",
        "round 1 of 3 (number 1) is running: work was done",
        "round 1 of 3 (number 1) is kept",
        "round 1 of 3 (number 1) is stale: edit changed `b`",
        "round 1 of 3 (number 2) is pending, in place of number 1: round 1 is stale: edit changed"
        " `b`; to be judged by `pytest -q`",
    ]
    told.clear()
    Keeper(book(ledger), "make it", told=told.append)
    assert told == []


def test_what_is_planned_is_looked_for_at_once(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")

    def taken_up() -> Keeper:
        return Keeper(book(ledger), "t", artifacts=(A,), look=lambda d: seen_now(d, tmp_path))

    keeper = taken_up()
    assert keeper.definition.built and entries(ledger) == ["stated", "artifacts_seen"]
    assert taken_up().definition == keeper.definition and len(entries(ledger)) == 2
    (tmp_path / "b.txt").write_text("x")
    keeper.record(ItemsListed((Item("make b", (B,)),)))
    assert keeper.definition.existing == ("a.txt", "b.txt")
    assert keeper.definition.built and taken_up().definition == keeper.definition


def test_what_a_plan_declares_is_kept_apart_from_what_the_words_of_a_task_name(
    ledger: Ledger, tmp_path: Path
) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x")
    keeper = Keeper(
        book(ledger), "t", artifacts=(A,), declared=(B,), look=lambda d: seen_now(d, tmp_path)
    )
    assert keeper.definition.asked == ("a.txt",) and keeper.definition.declared == ("b.txt",)


@given(HISTORIES)
@settings(max_examples=60)
def test_a_keeper_stopped_anywhere_and_taken_up_gives_the_same(history: list[Fact]) -> None:
    shared = MemoryBook()
    for fact in history:
        Keeper(shared).record(fact)
    whole = Keeper(MemoryBook())
    whole.record(*history)
    assert resume(shared) == whole.definition == apply_all(UNSTATED, history)


@given(HISTORIES)
@settings(max_examples=15)
def test_the_same_holds_on_a_ledger(
    tmp_path_factory: pytest.TempPathFactory, history: list[Fact]
) -> None:
    folder: Path = tmp_path_factory.mktemp("books")
    database = open_database(f"sqlite:///{folder}/ledger.sqlite3")
    try:
        ledger = Ledger(database)
        for fact in history:
            Keeper(book(ledger)).record(fact)
        assert resume(book(ledger)) == apply_all(UNSTATED, history)
    finally:
        database.close()


def test_a_decision_without_a_round_is_recorded_and_decides_nothing(ledger: Ledger) -> None:
    keeper = Keeper(book(ledger), "t")
    decided = kept(PYTEST)[2]
    assert isinstance(decided, RoundDecided)
    keeper.record(decided)
    assert keeper.definition.status is DefinitionStatus.DRAFT
