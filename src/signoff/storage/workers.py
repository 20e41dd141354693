"""Workers: who is there by the database's clock, whom people trust, and who signed a verdict."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.exceptions import InvalidSignature
from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.digests import canonical_json
from signoff.domain.ledger import Draft, Entry, Kind
from signoff.errors import KeyUnusable, LedgerBroken
from signoff.storage import claims
from signoff.storage.engine import Database
from signoff.storage.keys import PublicKey, SigningKey, read_public_key
from signoff.storage.ledger import Ledger
from signoff.storage.records import Holder

WORKERS_CHAIN = "workers"
WORKER_KEY = "worker.pem"
ON_WORKERS = "workers"  # stored: where a run is driven
_PREFIX = "worker:"
_SIGNED = ("subject", "phase", "result", "reason", "key", "snapshot", "provisional")
_PEM = "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n"
_WORD = re.compile(r"[A-Za-z0-9+/]+=*")


class WorkerName(Struct, frozen=True):
    """A worker, known by its name and its key together; also the engine's name for its process."""

    name: str
    key_id: str

    def __str__(self) -> str:
        return f"{self.key_id[:32]}:{self.name}"

    @property
    def resource(self) -> str:
        """Name of the lease that says it is alive."""
        return f"{_PREFIX}{self}"


class PresentWorker(Struct, frozen=True):
    """A worker that gave a sign of life; `left_s` below nothing: it gave none for too long."""

    process: str  # as the engine knows it
    name: str
    roles: tuple[str, ...]  # empty: any
    host: str
    since: str
    doing: str
    left_s: float
    term_s: float

    @property
    def live(self) -> bool:
        """True while its lease runs."""
        return self.left_s > 0

    @property
    def silent_s(self) -> float:
        """Seconds since its last sign of life."""
        return max(0.0, self.term_s - self.left_s)

    def plays(self, roles: Sequence[str]) -> bool:
        """True when it can play all of these."""
        return not self.roles or set(roles) <= set(self.roles)


class Trust(Struct, frozen=True):
    """A person's word about a worker's key, and when it was given and taken back."""

    name: str
    key: PublicKey
    by: str
    since_s: float  # by the database's clock, as every time here
    until_s: float | None = None

    def held_at(self, when_s: float) -> bool:
        """True when the key was trusted at that time."""
        return self.since_s <= when_s and (self.until_s is None or when_s < self.until_s)


def clock_s(database: Database) -> float:
    """The time by the database's clock, which all machines share, in seconds since 1970."""
    return float(database.fetch(f"SELECT {database.now_s}")[0][0])


def give_sign_of_life(
    database: Database, worker: WorkerName, roles: Sequence[str], holder: Holder, term_s: float
) -> None:
    """Say that this worker is there for one more term."""
    # Nobody renews such a row by a token; in its place stands how long a sign of life counts.
    term = max(1, round(term_s))
    row = claims.Tenancy(worker.resource, "", None, holder, term, tuple(roles), term_s)
    with claims.tenancies_alone(database, durable=False):
        claims.put_tenancy(database, None, row)


def leave(database: Database, worker: WorkerName) -> None:
    """Say that it is gone; what it did is free for others at once."""
    with claims.tenancies_alone(database):
        claims.drop_tenancy(database, worker.resource)


def present_workers(database: Database) -> tuple[PresentWorker, ...]:
    """Every worker that did not say it is gone, by name."""
    rows = claims.tenancies_with_prefix(database, _PREFIX)
    found = (
        PresentWorker(
            row.resource.removeprefix(_PREFIX),
            row.holder.worker,
            row.touches,
            row.holder.host,
            row.holder.since,
            row.holder.plan,
            row.left_s,
            float(row.token),
        )
        for row in rows
    )
    return tuple(sorted(found, key=lambda worker: (worker.name, worker.process)))


def key_word(key: PublicKey) -> str:
    """The key as one word, for a person to copy."""
    return "".join(key.pem.decode().split("\n")[1:-2])


def read_key_word(word: str) -> PublicKey:
    """The key in what `key_word` printed; KeyUnusable for anything else."""
    if _WORD.fullmatch(word):
        try:
            base64.b64decode(word, validate=True)
            return read_public_key(_PEM.format(word).encode(), word)
        except binascii.Error:
            pass
    raise KeyUnusable(f"`{word[:100]}` is not a worker's key", "signoff worker enroll prints it")


def trust_worker(ledger: Ledger, name: str, key: PublicKey, by: str) -> None:
    """Record that this key judges from now on, in place of any other of this name."""
    said = {"name": name, "by": by, "at_s": clock_s(ledger.database)}
    data = {**said, "public_key": key.pem.decode(), "key_id": key.id}
    ledger.append(WORKERS_CHAIN, [Draft(Kind.WORKER_TRUSTED, data)])


def revoke_worker(ledger: Ledger, name: str, by: str) -> None:
    """Record that nobody trusts the worker of this name any more."""
    data = {"name": name, "by": by, "at_s": clock_s(ledger.database)}
    ledger.append(WORKERS_CHAIN, [Draft(Kind.WORKER_REVOKED, data)])


def read_trust(ledger: Ledger) -> tuple[Trust, ...]:
    """Words of people about workers' keys, oldest first; every hash is recomputed."""
    said: list[Trust] = []
    for entry in ledger.intact_entries(WORKERS_CHAIN):
        name, at_s = entry.data["name"], entry.data["at_s"]
        for number, trust in enumerate(said):
            if trust.name == name and trust.until_s is None:
                said[number] = replace(trust, until_s=at_s)
        if entry.kind is Kind.WORKER_TRUSTED:
            key = read_public_key(entry.data["public_key"].encode(), f"the key of `{name}`")
            said.append(Trust(name, key, entry.data["by"], at_s))
    return tuple(said)


def is_trusted(ledger: Ledger, worker: WorkerName) -> bool:
    """True while a person trusts this key under this name."""
    return any(
        trust.until_s is None and (trust.name, trust.key.id) == (worker.name, worker.key_id)
        for trust in read_trust(ledger)
    )


def signed(
    plan: str, draft: Draft, worker: WorkerName, key: SigningKey, at_s: float
) -> dict[str, Any]:
    """The data of a verdict with the signature of the worker that judged, and when it did."""
    by = {"name": worker.name, "key_id": worker.key_id, "at_s": at_s}
    said = _statement(plan, draft.run, draft.step, draft.attempt, {**draft.data, "worker": by})
    signature = base64.b64encode(key.key.sign(said)).decode()
    return {**draft.data, "worker": {**by, "signature": signature}}


def require_signed(ledger: Ledger, entries: Sequence[Entry]) -> None:
    """Refuse verdicts of runs on workers that no worker signed whom a person trusted then."""
    driven = {
        e.run for e in entries if e.kind is Kind.RUN_STARTED and e.data.get("on") == ON_WORKERS
    }
    trust: tuple[Trust, ...] | None = None
    for entry in entries:
        by = entry.data.get("worker") if entry.kind is Kind.VERDICT else None
        if by is None and (entry.kind is not Kind.VERDICT or entry.run not in driven):
            continue
        trust = read_trust(ledger) if trust is None else trust
        if by is None or not any(_is_by(entry, by, known) for known in trust):
            whose = f"worker `{by['name']}`" if by else "nobody who is named"
            raise LedgerBroken(
                f"ledger broken: entry {entry.seq} is a verdict of {whose},"
                " without the signature of a worker that was trusted then",
                "signoff workers",
                {"first_bad": entry.seq},
            )


def _is_by(entry: Entry, by: Mapping[str, Any], trust: Trust) -> bool:
    if (trust.name, trust.key.id) != (by["name"], by["key_id"]) or not trust.held_at(by["at_s"]):
        return False
    said = _statement(entry.plan, entry.run, entry.step, entry.attempt, entry.data)
    try:
        trust.key.key.verify(base64.b64decode(by["signature"]), said)
    except (InvalidSignature, binascii.Error):
        return False
    return True


def _statement(
    plan: str, run: str | None, step: str | None, attempt: int | None, data: Mapping[str, Any]
) -> bytes:
    """Text that is signed: the verdict, and the place in which it counts."""
    said = {name: data.get(name) for name in _SIGNED}
    place = {"plan": plan, "run": run, "step": step, "attempt": attempt}
    said["at_s"] = data["worker"]["at_s"]
    return canonical_json({"signoff": "verdict", **place, **said}).encode("utf-8", "surrogatepass")
