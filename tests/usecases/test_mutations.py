"""A hundred random changes to every entry, receipt and member of a bundle: each one is found."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from signoff.domain.digests import canonical_json
from signoff.domain.ledger import Entry, Kind
from signoff.domain.verdict import Result
from signoff.errors import SignoffError
from signoff.storage.archive import pack, unpack
from signoff.storage.records import check_rows, encode_data, to_entry, to_row
from signoff.usecases.audit import audit_plan
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.receipt import anchor_head, check_anchors, check_receipts, verify_receipt
from tests.usecases.library import Library
from tests.usecases.signed import (
    audit_elsewhere,
    bundle_of,
    entries_of,
    public_key,
    receipt_files,
    rehashed,
    signed_library,
)

PER_ENTRY = 100
Row = tuple[Any, ...]
TEXTS = ("at", "kind", "run", "step")
# A question without an id has no row that a database would take.
KINDS = [kind for kind in Kind if not kind.startswith("escalation")]


class Stored(NamedTuple):
    """A chain as the database has it: rows and the recorded head."""

    rows: list[Row]
    head: Row


class Scene(NamedTuple):
    """A plan signed off, audited and anchored; no test changes it."""

    library: Library
    harness: Harness
    place: PlanLocation
    entries: tuple[Entry, ...]
    anchors: Path
    key: Path


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    library = signed_library(tmp_path_factory.mktemp("signed"))
    harness, place = library.open()
    audit_plan(harness, place)
    anchors = library.folder / "anchors"
    anchor_head(harness, place, anchors)
    key = public_key(library, library.folder / "key.pem")
    return Scene(library, harness, place, entries_of(library), anchors, key)


def stored(entries: Sequence[Entry]) -> Stored:
    """Entries as rows, and the head that fits them."""
    rows = [to_row(entry, encode_data(canonical_json(entry.data))) for entry in entries]
    last = entries[-1]
    return Stored(rows, (last.seq, last.at, last.hash))


def is_found(scene: Scene, chain: Stored) -> bool:
    """Whether an audit with the anchors at hand would refuse this ledger."""
    harness, place = scene.harness, scene.place
    rows = sorted(chain.rows, key=lambda row: int(row[1]))
    if not check_rows(place.record.id, rows, chain.head).holds:
        return True
    try:
        entries = [to_entry(row) for row in rows]
        receipts = check_receipts(harness, place, entries)
        check_anchors(place.record.id, entries, receipts, scene.anchors, whole=True)
    except SignoffError:
        return True
    return False


def flipped(data: bytes, rng: random.Random) -> bytes:
    """One bit turned over."""
    changed = bytearray(data or b"\0")
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def flip_a_bit(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    chain = stored(entries)
    row = list(chain.rows[place])
    column = rng.choice([i for i, value in enumerate(row) if isinstance(value, str | bytes)])
    value = row[column]
    if isinstance(value, str):
        row[column] = flipped(value.encode(), rng).decode("utf-8", "replace")
    else:
        row[column] = flipped(value, rng)
    chain.rows[place] = tuple(row)
    return chain


def other_value(value: Any, rng: random.Random) -> Any:
    """Something else of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + rng.choice((-1, 1, 1000))
    if isinstance(value, str):
        return value[:-1] if value and rng.random() < 0.5 else value + "x"
    return {"forged": True}


def edited(entry: Entry, rng: random.Random) -> Entry:
    """The entry with one of its facts changed."""
    name = rng.choice([*TEXTS, *entry.data]) if entry.data else "at"
    if name in entry.data:
        data = {**entry.data, name: other_value(entry.data[name], rng)}
        return replace(entry, data=data)
    if name == "kind":
        return replace(entry, kind=rng.choice([k for k in KINDS if k is not entry.kind]))
    change: Any = {name: f"{getattr(entry, name) or ''}0"}
    return replace(entry, **change)


def change_a_field(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    changed = list(entries)
    changed[place] = edited(changed[place], rng)
    return stored(changed)


def change_and_hash_alone(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    """The entry agrees with itself again, but not with what follows."""
    changed = list(entries)
    changed[place] = edited(changed[place], rng)
    changed[place] = replace(changed[place], hash=changed[place].expected_hash())
    return stored(changed)


def change_and_hash_all(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    """The whole suffix agrees with itself, the recorded head included."""
    changed = list(entries)
    changed[place] = edited(changed[place], rng)
    return stored(rehashed(changed))


def drop(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    left = [*entries[:place], *entries[place + 1 :]]
    return stored(rehashed(left) if rng.random() < 0.5 else left)


def duplicate(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    twice = [*entries[: place + 1], entries[place], *entries[place + 1 :]]
    # Behind the last entry a well-made one is no change: that is what appending is.
    inside = place + 1 < len(entries)
    return stored(rehashed(twice) if inside and rng.random() < 0.5 else twice)


def swap(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    other = rng.choice([i for i in range(len(entries)) if i != place])
    changed = list(entries)
    changed[place] = replace(entries[other], seq=entries[place].seq)
    changed[other] = replace(entries[place], seq=entries[other].seq)
    return stored(rehashed(changed) if rng.random() < 0.5 else changed)


def insert(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    forged = edited(entries[rng.randrange(len(entries))], rng)
    return stored(rehashed([*entries[:place], forged, *entries[place:]]))


def cut(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    """Everything from here on gone, with the head moved back or not."""
    left = entries[:place] or entries[:1]
    kept = stored(left if place else [replace(entries[0], at=entries[0].at + "0")])
    return kept if rng.random() < 0.5 else Stored(kept.rows, stored(entries).head)


def splice(entries: Sequence[Entry], place: int, rng: random.Random) -> Stored:
    """A stretch from elsewhere in the chain put in this one's place."""
    start = rng.randrange(len(entries))
    piece = entries[start : start + rng.randrange(1, 4)]
    changed = [*entries[:place], *piece, *entries[place + len(piece) :]]
    if changed == list(entries):
        changed = changed[::-1]
    return stored(rehashed(changed))


MUTATIONS: tuple[Callable[[Sequence[Entry], int, random.Random], Stored], ...] = (
    flip_a_bit,
    change_a_field,
    change_and_hash_alone,
    change_and_hash_all,
    drop,
    duplicate,
    swap,
    insert,
    cut,
    splice,
)


def test_the_untouched_ledger_is_accepted(scene: Scene) -> None:
    assert not is_found(scene, stored(scene.entries))


def test_a_hundred_changes_to_every_entry_of_the_ledger_are_found(scene: Scene) -> None:
    honest = stored(scene.entries)
    missed = []
    for place in range(len(scene.entries)):
        for number in range(PER_ENTRY):
            rng = random.Random(f"{place}-{number}")
            mutation = MUTATIONS[number % len(MUTATIONS)]
            chain = mutation(scene.entries, place, rng)
            assert chain != honest, (mutation.__name__, place, number)
            if not is_found(scene, chain):
                missed.append((mutation.__name__, place, number))
    assert missed == []


def test_a_hundred_changes_to_every_receipt_are_found(scene: Scene, tmp_path: Path) -> None:
    missed = []
    for file in receipt_files(scene.library):
        honest = file.read_bytes()
        for number in range(PER_ENTRY):
            rng = random.Random(f"{file.stem}-{number}")
            changed = _changed_receipt(honest, rng)
            assert changed != honest
            (tmp_path / "receipt.json").write_bytes(changed)
            try:
                result = verify_receipt(None, tmp_path / "receipt.json", (scene.key,)).result
            except SignoffError:
                continue
            if result is Result.KEPT:
                missed.append((file.stem, number))
    assert missed == []


def _changed_receipt(honest: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.6:
        return flipped(honest, rng)
    outer = json.loads(honest)
    what = rng.choice(["payload", "payloadType", "keyid", "sig", "more"])
    if what in ("payload", "payloadType"):
        outer[what] = other_value(outer[what], rng)
    elif what == "more":
        outer["signatures"].append({"keyid": "0" * 64, "sig": "AAAA"})
    else:
        outer["signatures"][0][what] = other_value(outer["signatures"][0][what], rng)
    return json.dumps(outer, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def test_a_hundred_changes_to_every_member_of_a_bundle_are_found(
    scene: Scene, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.zip"
    bundle_of(scene.library, bundle, with_content=True)
    assert audit_elsewhere(bundle, scene.key).result is Result.KEPT
    honest = bundle.read_bytes()
    missed = []
    for name in unpack(honest, "b"):
        for number in range(PER_ENTRY):
            rng = random.Random(f"{name}-{number}")
            changed = _changed_bundle(honest, name, rng)
            assert changed != honest
            bundle.write_bytes(changed)
            try:
                result = audit_elsewhere(bundle, scene.key).result
            except SignoffError:
                continue
            if result is Result.KEPT:
                missed.append((name, number))
    assert missed == []


def _changed_bundle(honest: bytes, name: str, rng: random.Random) -> bytes:
    """Raw bytes, or members packed again so that the zip file itself is right."""
    if rng.random() < 0.3:
        return flipped(honest, rng)
    members = unpack(honest, "b")
    how = rng.choice(["flip", "flip", "flip", "cut", "grow", "drop", "swap"])
    data = members[name]
    if how == "flip":
        members[name] = flipped(data, rng)
    elif how == "cut":
        members[name] = data[: rng.randrange(len(data))]
    elif how == "grow":
        members[name] = data + bytes([rng.randrange(256)])
    elif how == "drop":
        del members[name]
    else:
        other = rng.choice([n for n in members if members[n] != data])
        members[name], members[other] = members[other], data
    return pack(members)
