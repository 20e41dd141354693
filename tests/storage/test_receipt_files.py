"""Envelopes: signed bytes in one form only, stored once per run."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from signoff.domain.receipt import PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE
from signoff.errors import PlanUnreadable, ProofInvalid
from signoff.storage.home import Home
from signoff.storage.keys import SigningKey, signing_key
from signoff.storage.receipts import ReceiptStore, Sealed, open_sealed, seal

STATEMENT: dict[str, Any] = {
    "_type": STATEMENT_TYPE,
    "subject": [{"name": "work", "digest": {"signoffSnapshot1": "5" * 64}}],
    "predicateType": PREDICATE_TYPE,
    "predicate": {"plan": {"name": "é"}, "usd": 0.25, "previous": None},
}


@pytest.fixture
def key(tmp_path: Path) -> SigningKey:
    (tmp_path / "keys").mkdir()
    return signing_key(tmp_path / "keys")


@pytest.fixture
def sealed(key: SigningKey) -> Sealed:
    return seal(STATEMENT, key)


def rewrite(sealed: Sealed, **changes: Any) -> bytes:
    """The envelope with other fields, in the canonical form all the same."""
    outer = {**json.loads(sealed.data), **changes}
    return json.dumps(outer, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def signature(sealed: Sealed) -> dict[str, str]:
    (found,) = json.loads(sealed.data)["signatures"]
    return dict(found)


def test_signing_again_gives_the_same_bytes(key: SigningKey, sealed: Sealed) -> None:
    assert seal(STATEMENT, key).data == sealed.data
    reordered = dict(reversed(STATEMENT.items()))
    assert seal(reordered, key).data == sealed.data


def test_the_envelope_is_what_dsse_says_without_our_own_code(
    key: SigningKey, sealed: Sealed
) -> None:
    outer = json.loads(sealed.data)
    payload = base64.b64decode(outer["payload"])
    kind = outer["payloadType"].encode()
    encoded = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    assert isinstance(key.public.key, Ed25519PublicKey)
    key.public.key.verify(base64.b64decode(outer["signatures"][0]["sig"]), encoded)
    assert outer["payloadType"] == PAYLOAD_TYPE and json.loads(payload) == STATEMENT


def test_an_envelope_read_back_is_signed_by_its_key_alone(
    key: SigningKey, sealed: Sealed, tmp_path: Path
) -> None:
    again = open_sealed(sealed.data, "r.json")
    assert again == sealed and again.is_signed_by(key.public)
    (tmp_path / "other").mkdir()
    assert not again.is_signed_by(signing_key(tmp_path / "other").public)


def test_no_flipped_bit_goes_unnoticed(key: SigningKey, sealed: Sealed) -> None:
    for place in range(len(sealed.data)):
        data = bytearray(sealed.data)
        data[place] ^= 1 << random.Random(place).randrange(8)
        try:
            opened = open_sealed(bytes(data), "r.json")
        except ProofInvalid:
            continue
        known = opened.key_id == key.public.id
        assert not (known and opened.is_signed_by(key.public)), place


def test_another_statement_under_an_old_signature_is_noticed(
    key: SigningKey, sealed: Sealed
) -> None:
    forged = seal({**STATEMENT, "predicate": {"plan": "another"}}, key)
    payload = json.loads(forged.data)["payload"]
    swapped = open_sealed(rewrite(sealed, payload=payload), "r.json")
    assert swapped.statement == forged.statement and not swapped.is_signed_by(key.public)


def test_a_second_spelling_of_the_same_receipt_is_refused(sealed: Sealed) -> None:
    outer = json.loads(sealed.data)
    one = signature(sealed)
    spellings = [
        sealed.data.rstrip(b"\n"),
        sealed.data + b"\n",
        json.dumps(outer, indent=2).encode(),
        rewrite(sealed, comment="hello"),
        rewrite(sealed, payload=outer["payload"] + "\n"),
        rewrite(sealed, payload=outer["payload"].replace("=", "").replace("/", "_")),
        rewrite(sealed, signatures=[{**one, "cert": "x"}]),
        rewrite(sealed, signatures=[one, {**one, "keyid": "other"}]),
        rewrite(sealed, signatures=[one, one]),
        rewrite(sealed, signatures=[]),
        sealed.data.replace(b'"payload":', b'"payload":"AAAA","payload":', 1),
    ]
    for data in spellings:
        if data == sealed.data:
            continue
        with pytest.raises(ProofInvalid):
            open_sealed(data, "r.json")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"payload":1,"payloadType":2,"signatures":3}\n',
        b'{"payload":"","payloadType":"x","signatures":[{"keyid":1,"sig":null}]}\n',
    ],
)
def test_what_is_no_envelope_is_an_error_and_not_a_crash(data: bytes) -> None:
    with pytest.raises(ProofInvalid, match=r"`r.json` is not a receipt"):
        open_sealed(data, "r.json")


@pytest.mark.parametrize(
    "change",
    [
        {"_type": "https://in-toto.io/Statement/v0.1"},
        {"predicateType": "https://slsa.dev/provenance/v1"},
        {"predicate": []},
    ],
)
def test_a_statement_of_another_kind_does_not_pass_for_a_receipt(
    key: SigningKey, change: dict[str, Any]
) -> None:
    with pytest.raises(ProofInvalid):
        open_sealed(seal({**STATEMENT, **change}, key).data, "r.json")


def test_a_receipt_is_written_once(key: SigningKey, sealed: Sealed, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    store = ReceiptStore(home.receipts)
    assert store.read("p", "r") is None and home.receipt_runs("p") == ()
    store.keep("p", "r", sealed)
    store.keep("p", "r", sealed)
    assert store.read("p", "r") == sealed and home.receipt_runs("p") == ("r",)
    other = seal({**STATEMENT, "predicate": {}}, key)
    with pytest.raises(ProofInvalid, match="another receipt lies"):
        store.keep("p", "r", other)
    assert store.read("p", "r") == sealed


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc", "x" * 65, "a\0b", ".hidden"])
def test_a_name_that_leads_elsewhere_names_no_receipt(tmp_path: Path, name: str) -> None:
    store = ReceiptStore(tmp_path)
    for plan, run in ((name, "r"), ("p", name)):
        with pytest.raises(ProofInvalid, match="cannot name a receipt"):
            store.path(plan, run)


def test_a_link_in_a_receipts_place_is_not_followed(sealed: Sealed, tmp_path: Path) -> None:
    store = ReceiptStore(tmp_path / "receipts")
    (tmp_path / "receipts" / "p").mkdir(parents=True)
    (tmp_path / "elsewhere.json").write_bytes(sealed.data)
    store.path("p", "r").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(PlanUnreadable):
        store.read("p", "r")
