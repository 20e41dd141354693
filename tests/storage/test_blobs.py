"""Data kept by its digest."""

from __future__ import annotations

import hashlib

import pytest

from signoff.errors import Fenced, LedgerBroken
from signoff.storage.ledger import Ledger
from tests.storage.kit import HOLDER, note, run_sql


@pytest.mark.parametrize("data", [b"", b"text", b"\0\xff" * 500_000])
def test_a_blob_comes_back_by_its_sha256(ledger: Ledger, data: bytes) -> None:
    digest = ledger.put_blob(data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert ledger.put_blob(data) == digest
    assert ledger.get_blob(digest) == data


def test_a_changed_blob_is_refused_and_can_be_put_again(ledger: Ledger, database_url: str) -> None:
    digest = ledger.put_blob(b"evidence")
    run_sql(database_url, "UPDATE blobs SET data = ?", b"forged")
    with pytest.raises(LedgerBroken, match=f"`{digest}` was changed"):
        ledger.get_blob(digest)
    ledger.put_blob(b"evidence")
    assert ledger.get_blob(digest) == b"evidence"


def test_a_missing_blob_is_said_to_be_missing(ledger: Ledger) -> None:
    with pytest.raises(LedgerBroken, match="`0123` is missing"):
        ledger.get_blob("0123")


def test_blobs_are_kept_along_with_the_entries_that_name_them_or_not_at_all(ledger: Ledger) -> None:
    prompt = b"what the agent was told"
    digest = hashlib.sha256(prompt).hexdigest()
    old = ledger.begin_run("p", "r", HOLDER)
    current = ledger.take_over("r", HOLDER)
    with pytest.raises(Fenced):
        ledger.append("p", [note()], fence=old, blobs=[prompt])
    with pytest.raises(LedgerBroken):
        ledger.get_blob(digest)
    ledger.append("p", [note()], fence=current, blobs=[prompt])
    assert ledger.get_blob(digest) == prompt
