"""Whose verdicts count: those that a worker signed whom a person trusted when they were written."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.domain.ledger import Draft, Kind
from signoff.errors import KeyUnusable, LedgerBroken
from signoff.storage.home import open_database
from signoff.storage.keys import SigningKey, signing_key
from signoff.storage.ledger import Ledger
from signoff.storage.records import Holder
from signoff.storage.workers import (
    WORKER_KEY,
    WorkerName,
    clock_s,
    give_sign_of_life,
    is_trusted,
    key_word,
    leave,
    present_workers,
    read_key_word,
    require_signed,
    revoke_worker,
    signed,
    trust_worker,
)

PLAN = "plan"
SAID = {"subject": "1", "phase": "attempt", "result": "kept", "reason": "", "key": "k"}


@pytest.fixture
def ledger(database_url: str) -> Ledger:
    return Ledger(open_database(database_url))


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    return signing_key(folder(tmp_path, "one"), WORKER_KEY)


def folder(tmp_path: Path, name: str) -> Path:
    """A folder for keys."""
    made = tmp_path / name
    made.mkdir()
    return made


def name_of(key: SigningKey, name: str = "one") -> WorkerName:
    """A worker with this key."""
    return WorkerName(name, key.public.id)


def write(ledger: Ledger, *drafts: Draft) -> None:
    """Append to the plan's chain, after a run on workers began."""
    began = Draft(Kind.RUN_STARTED, {"on": "workers"}, run="r")
    ledger.append(PLAN, [began, *drafts])


def verdict(ledger: Ledger, key: SigningKey, name: str = "one", **said: str) -> Draft:
    """A verdict that this worker signed, and what it was changed to afterwards."""
    plain = Draft(Kind.VERDICT, dict(SAID), run="r", step="1", attempt=1)
    data = signed(PLAN, plain, name_of(key, name), key, clock_s(ledger.database))
    return Draft(Kind.VERDICT, {**data, **said}, run="r", step="1", attempt=1)


def test_a_verdict_that_a_trusted_worker_signed_counts_also_after_it_is_revoked(
    ledger: Ledger, key: SigningKey
) -> None:
    trust_worker(ledger, "one", key.public, "ann")
    write(ledger, verdict(ledger, key))
    require_signed(ledger, tuple(ledger.entries(PLAN)))
    revoke_worker(ledger, "one", "ann")
    require_signed(ledger, tuple(ledger.entries(PLAN)))
    assert not is_trusted(ledger, name_of(key))


def test_a_verdict_counts_for_nothing_without_a_signature_that_was_trusted_then(
    ledger: Ledger, key: SigningKey, tmp_path: Path
) -> None:
    other = signing_key(folder(tmp_path, "other"), WORKER_KEY)
    trust_worker(ledger, "one", key.public, "ann")
    unsigned = Draft(Kind.VERDICT, dict(SAID), run="r", step="1", attempt=1)
    changed = verdict(ledger, key, result="broken")
    for draft in (unsigned, changed, verdict(ledger, other), verdict(ledger, key, "two")):
        write(ledger, draft)
        with pytest.raises(LedgerBroken, match="without the signature of a worker"):
            require_signed(ledger, tuple(ledger.entries(PLAN))[-2:])
    revoke_worker(ledger, "one", "ann")
    write(ledger, verdict(ledger, key))
    with pytest.raises(LedgerBroken, match="a verdict of worker `one`"):
        require_signed(ledger, tuple(ledger.entries(PLAN))[-2:])


def test_a_signature_counts_at_its_place_only(ledger: Ledger, key: SigningKey) -> None:
    trust_worker(ledger, "one", key.public, "ann")
    made = verdict(ledger, key)
    write(ledger, Draft(made.kind, made.data, run="r", step="2", attempt=1))
    with pytest.raises(LedgerBroken):
        require_signed(ledger, tuple(ledger.entries(PLAN)))


def test_another_key_under_a_name_takes_the_place_of_the_first(
    ledger: Ledger, key: SigningKey, tmp_path: Path
) -> None:
    other = signing_key(folder(tmp_path, "other"), WORKER_KEY)
    trust_worker(ledger, "one", key.public, "ann")
    trust_worker(ledger, "one", other.public, "ann")
    assert is_trusted(ledger, name_of(other)) and not is_trusted(ledger, name_of(key))


def test_a_sign_of_life_lapses_by_the_databases_clock(ledger: Ledger, key: SigningKey) -> None:
    database, worker = ledger.database, name_of(key)
    holder = Holder(1, "host", "doing", "2026-01-01T00:00:00.000000+00:00", "one")
    give_sign_of_life(database, worker, ("coder",), holder, 30)
    (there,) = present_workers(database)
    assert there.live and there.plays(["coder"]) and not there.plays(["coder", "reviewer"])
    assert (there.name, there.doing, there.process) == ("one", "doing", str(worker))
    assert there.silent_s < 10
    give_sign_of_life(database, worker, (), holder, -1)
    (there,) = present_workers(database)
    assert not there.live and there.plays(["anything"])
    leave(database, worker)
    assert present_workers(database) == ()


def test_a_key_is_one_word_and_nothing_else_is_a_key(key: SigningKey) -> None:
    assert read_key_word(key_word(key.public)).id == key.public.id
    for word in ("", "key", "QUJD", key_word(key.public)[:-4], "a b", "-----BEGIN"):
        with pytest.raises(KeyUnusable):
            read_key_word(word)
