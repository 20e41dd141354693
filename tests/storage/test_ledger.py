"""Appending to the ledger and reading it back."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.domain.ledger import GENESIS, Draft, Kind
from signoff.domain.redaction import Redactor
from signoff.domain.verdict import Result
from signoff.errors import AlreadyAccepted, NothingToAnswer, PlanConflict, StorageFailed
from signoff.storage.ledger import Ledger
from signoff.storage.records import PlanRecord
from tests.storage.kit import done, note, run_sql, verdict


def test_entries_come_back_as_they_were_acknowledged(ledger: Ledger) -> None:
    first = ledger.append("p", [note("a"), verdict("k")])
    second = ledger.append("p", [done()])
    assert tuple(ledger.entries("p")) == first + second
    assert [e.seq for e in first + second] == [1, 2, 3]
    assert first[0].prev == GENESIS and second[0].prev == first[1].hash
    assert all(e.hash == e.expected_hash() for e in first + second)
    assert ledger.head("p") == (3, second[0].hash)


def test_plans_have_chains_of_their_own(ledger: Ledger) -> None:
    ledger.append("p", [note()])
    (other,) = ledger.append("q", [note()])
    assert (other.seq, other.prev) == (1, GENESIS)
    assert ledger.head("nobody") == (0, GENESIS)
    assert list(ledger.entries("nobody")) == []


def test_nothing_is_appended_behind_an_entry_that_was_not_seen(ledger: Ledger) -> None:
    ledger.append("p", [note()], onto=GENESIS)
    seen = ledger.head("p")[1]
    (last,) = ledger.append("p", [note()])
    for onto in (seen, GENESIS):
        with pytest.raises(PlanConflict):
            ledger.append("p", [note()], onto=onto)
    assert ledger.head("p") == (2, last.hash)
    ledger.append("q", [note()])
    ledger.append("p", [note()], onto=last.hash)
    heads = ledger.heads()
    assert {plan: (head.seq, head.hash) for plan, head in heads.items()} == {
        plan: ledger.head(plan) for plan in ("p", "q")
    }


def test_times_are_utc_with_microseconds_and_never_go_back(
    ledger: Ledger, database_url: str
) -> None:
    before = datetime.now(UTC)
    (entry,) = ledger.append("p", [note()])
    at = datetime.fromisoformat(entry.at)
    assert entry.at.endswith("+00:00") and len(entry.at) == len("2026-01-02T03:04:05.000006+00:00")
    assert before - timedelta(seconds=1) <= at <= datetime.now(UTC) + timedelta(seconds=1)
    # As after a clock that ran ahead and was set back.
    ahead = "2999-01-01T00:00:00.000000+00:00"
    run_sql(database_url, "UPDATE chains SET at = ? WHERE plan = 'p'", ahead)
    assert ledger.append("p", [note()])[0].at == ahead


def test_nothing_is_appended_when_one_of_several_is_refused(ledger: Ledger) -> None:
    ledger.append("p", [done("1")])
    with pytest.raises(AlreadyAccepted, match="step `1` was accepted before in run `r`"):
        ledger.append("p", [note(), done("2"), done("1")])
    assert ledger.head("p")[0] == 1
    assert ledger.check_chain("p").holds
    ledger.append("p", [done("2")])


def test_the_same_step_is_accepted_once_per_run_and_plan(ledger: Ledger) -> None:
    ledger.append("p", [done("1", run="r")])
    ledger.append("p", [done("1", run="s")])
    ledger.append("q", [done("1", run="r")])
    with pytest.raises(AlreadyAccepted):
        ledger.append("p", [done("1", run="s")])


def test_a_run_finishes_once(ledger: Ledger) -> None:
    finished = Draft(Kind.RUN_FINISHED, {"outcome": "done"}, run="r")
    ledger.append("p", [finished])
    with pytest.raises(AlreadyAccepted, match="run `r` was finished before"):
        ledger.append("p", [finished])


def test_an_escalation_is_open_until_its_one_answer(ledger: Ledger) -> None:
    first, second = (Draft(Kind.ESCALATION_OPENED, {"id": name, "question": "?"}) for name in "ab")
    answer = Draft(Kind.ESCALATION_ANSWERED, {"id": "a", "choice": "retry"})
    ledger.append("p", [first])
    ledger.append("q", [second])
    assert [e.data["id"] for e in ledger.open_escalations()] == ["a", "b"]
    assert [e.data["id"] for e in ledger.open_escalations("q")] == ["b"]
    ledger.append("p", [answer])
    assert [e.data["id"] for e in ledger.open_escalations()] == ["b"]
    with pytest.raises(NothingToAnswer, match="`a` was answered before"):
        ledger.append("p", [answer])


@pytest.mark.parametrize(
    "draft",
    [
        Draft(Kind.STEP_DONE, {}, run=None, step="1"),
        Draft(Kind.STEP_DONE, {}, run="r", step=None),
        Draft(Kind.RUN_FINISHED, {}),
        Draft(Kind.ESCALATION_OPENED, {}),
        Draft(Kind.ESCALATION_ANSWERED, {"id": ""}),
    ],
    ids=lambda d: d.kind,
)
def test_what_uniqueness_counts_on_cannot_be_left_out(ledger: Ledger, draft: Draft) -> None:
    with pytest.raises(ValueError, match="needs"):
        ledger.append("p", [draft])
    assert ledger.head("p") == (0, GENESIS)


def test_entries_of_one_run_and_after_a_number(ledger: Ledger) -> None:
    ledger.append("p", [done("1", "r"), done("1", "s"), note(), done("2", "s")])
    assert [e.seq for e in ledger.entries("p", run="s")] == [2, 4]
    assert [e.seq for e in ledger.entries("p", after=2)] == [3, 4]
    assert [e.seq for e in ledger.entries("p", after=2, run="s")] == [4]


def test_reading_goes_on_while_entries_are_appended(ledger: Ledger) -> None:
    ledger.append("p", [note(str(i)) for i in range(1200)])
    seen = []
    for entry in ledger.entries("p"):
        if entry.seq == 3:
            ledger.append("p", [note("late")])
        seen.append(entry.seq)
    assert seen == list(range(1, 1202))


def test_threads_append_side_by_side(ledger: Ledger) -> None:
    def append_ten() -> None:
        for _ in range(10):
            ledger.append("p", [note()])

    threads = [threading.Thread(target=append_ten) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.check_chain("p").entries == 40
    assert ledger.check_chain("p").holds


class Colour(StrEnum):
    RED = "red"


def test_data_is_stored_plain(ledger: Ledger) -> None:
    odd = {"text": "a\0b\ud800\udc00\udfffé✅\u2028", "colour": Colour.RED, "list": (1, 2.5, None)}
    (entry,) = ledger.append("p", [Draft(Kind.AUDITED, odd)])
    assert entry.data == {**odd, "colour": "red", "list": [1, 2.5, None]}
    assert list(ledger.entries("p")) == [entry]
    assert ledger.check_chain("p").holds


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.dictionaries(st.text(st.characters(codec=None)), json_values, max_size=4))
def test_any_data_survives_the_round_trip(ledger: Ledger, data: dict[str, object]) -> None:
    (entry,) = ledger.append("p", [Draft(Kind.AUDITED, dict(data))])
    (read,) = ledger.entries("p", after=entry.seq - 1)
    assert read == entry
    assert read.expected_hash() == read.hash


@pytest.mark.parametrize("step", ["a\0b", "\ud800"])
def test_a_step_id_that_a_database_cannot_store_is_named(ledger: Ledger, step: str) -> None:
    with pytest.raises(StorageFailed, match=r"the step .* holds a character") as caught:
        ledger.append("p", [Draft(Kind.STEP_FAILED, {}, run="r", step=step)])
    assert caught.value.facts["cause"] == "unstorable"


def test_plans_are_registered_and_follow_a_move(ledger: Ledger) -> None:
    odd = PlanRecord("2", "b", "/repo/b\udcff.md", None)
    ledger.register_plan(odd)
    ledger.register_plan(PlanRecord("1", "a", "/old/PLAN-a.md", "/old"))
    moved = PlanRecord("1", "a", "/new/PLAN-a.md", "/new")
    ledger.register_plan(moved)
    ledger.register_plan(moved)
    assert ledger.plans() == (moved, odd)


def test_the_transaction_of_a_thread_is_not_nested(ledger: Ledger) -> None:
    database = ledger._db
    with pytest.raises(RuntimeError, match="already open"), database.transaction():
        ledger.append("p", [note()])
    assert ledger.head("p")[0] == 0
    ledger.append("p", [note()])


def test_whoever_appends_secrets_are_taken_out(ledger: Ledger) -> None:
    ledger.redactor = Redactor(
        [("PASSWORD", "hunter22"), ("CI_TOKEN", "kept22"), ("DIR_KEY", "/in/here")]
    )
    said = {
        "note": ["use hunter22"],
        "hunter22": 1,
        "result": Result.KEPT,
        "workspace": "/in/here",
    }
    token = "ghp_" + "aB3dE6gH9" * 4
    (entry,) = ledger.append("p", [Draft(Kind.AUDITED, {**said, "message": f"{token}!"})])
    assert entry.data == {
        "note": ["use [redacted:PASSWORD]"],
        "[redacted:PASSWORD]": 1,
        "result": "kept",
        "workspace": "/in/here",
        "message": "[redacted:token]!",
    }
    assert tuple(ledger.intact_entries("p")) == (entry,), "hashed as it is stored"
    assert ledger.get_blob(ledger.put_text(f"hunter22 {token}")) == (
        b"[redacted:PASSWORD] [redacted:token]"
    )
