"""The hash of an entry covers everything it says and the entry before it."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from signoff.domain.digests import canonical_json, digest_of
from signoff.domain.ledger import GENESIS, Choice, Draft, Entry, Kind, entry_hash
from signoff.domain.verdict import Phase, Reason, Result, Verdict

AT = "2026-01-02T03:04:05.000006+00:00"
DRAFT = Draft(Kind.STEP_DONE, {"key": "k", "list": [1, 2]}, run="r", step="1", attempt=2)


def entry(draft: Draft = DRAFT, *, seq: int = 1, prev: str = GENESIS) -> Entry:
    return Entry(
        plan="p",
        seq=seq,
        at=AT,
        kind=draft.kind,
        run=draft.run,
        step=draft.step,
        attempt=draft.attempt,
        data=draft.data,
        prev=prev,
        hash=entry_hash("p", seq, AT, draft, prev),
    )


def test_an_untouched_entry_carries_the_hash_it_must_carry() -> None:
    assert entry().hash == entry().expected_hash()


@pytest.mark.parametrize(
    "touched",
    [
        replace(entry(), plan="q"),
        replace(entry(), seq=2),
        replace(entry(), at=AT.replace("05", "06")),
        replace(entry(), kind=Kind.STEP_WAIVED),
        replace(entry(), run="r2"),
        replace(entry(), run=None),
        replace(entry(), step="2"),
        replace(entry(), attempt=1),
        replace(entry(), attempt=None),
        replace(entry(), data={"key": "k", "list": [2, 1]}),
        replace(entry(), data={"key": "k", "list": [1, 2], "more": None}),
        replace(entry(), data={}),
        replace(entry(), prev="1" * 64),
    ],
)
def test_any_change_of_an_entry_shows(touched: Entry) -> None:
    assert touched.hash != touched.expected_hash()


def test_the_hash_is_a_stored_format() -> None:
    told = {
        "plan": "p",
        "seq": 1,
        "at": AT,
        "kind": "step.done",
        "run": "r",
        "step": "1",
        "attempt": 2,
        "data": {"key": "k", "list": [1, 2]},
        "prev": GENESIS,
    }
    assert entry().hash == digest_of(told)


def test_an_entry_keeps_its_hash_through_storage() -> None:
    data = {"choice": Choice.WAIVE, "choices": (Choice.RETRY, Choice.WAIVE), "cost": 0.1}
    written = entry(Draft(Kind.ESCALATION_ANSWERED, data, run="r"))
    read = replace(written, data=json.loads(canonical_json(data)))
    assert read.expected_hash() == written.hash


def test_every_kind_has_its_meaning() -> None:
    assert all(kind.meaning for kind in Kind)


@pytest.mark.parametrize("result", list(Result))
def test_only_kept_is_kept(result: Result) -> None:
    verdict = Verdict("1", Phase.ATTEMPT, result, Reason.HELD, "", "k", "s")
    assert verdict.kept is (result is Result.KEPT)
