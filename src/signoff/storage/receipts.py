"""Receipts as signed DSSE envelopes in one canonical form; anchors as lines in files."""

from __future__ import annotations

import json
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import rfc8785
from msgspec import Struct
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from signoff.domain.digests import digest_bytes
from signoff.domain.receipt import PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE, Anchor, read_anchor
from signoff.errors import PlanConflict, PlanNotFound, ProofInvalid
from signoff.storage.engine import os_failure
from signoff.storage.files import read_plan_file, swap_file
from signoff.storage.keys import PublicKey, SigningKey

MAX_RECEIPT_BYTES = 64 * 1024 * 1024
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FIELDS = {"payload", "payloadType", "signatures"}


class Sealed(Struct, frozen=True, dict=True):
    """An envelope whose form is right; who signed it is another question."""

    data: bytes
    statement: dict[str, Any]
    key_id: str

    @cached_property
    def digest(self) -> str:
        """The sha256 of the file, as `sha256sum` prints it."""
        return digest_bytes(self.data)

    def is_signed_by(self, public: PublicKey) -> bool:
        """True when this very key signed this very statement."""
        key = SSlibKey.from_crypto(public.key, keyid=public.id)
        try:
            _envelope(self.data).verify([key], 1)
        except VerificationError:
            return False
        return True


def seal(statement: dict[str, Any], key: SigningKey) -> Sealed:
    """Sign a statement; the same statement and key always give the same bytes."""
    public = SSlibKey.from_crypto(key.public.key, keyid=key.public.id)
    envelope = Envelope(rfc8785.dumps(statement), PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key.key, public))
    return Sealed(_encode(envelope.to_dict()), statement, key.public.id)


def open_sealed(data: bytes, where: str) -> Sealed:
    """Read an envelope; ProofInvalid unless it is byte for byte the one form a receipt has.

    One form only, because a second spelling of the same receipt would have another digest, and
    because a changed byte that means nothing to us may mean something to another reader.
    """
    try:
        outer = json.loads(data)
        envelope = _envelope(data)
        (signature,) = outer["signatures"]
        statement = json.loads(envelope.payload)
        if set(outer) != _FIELDS or set(signature) != {"keyid", "sig"}:
            raise ValueError("it has other fields than a receipt")
        if _encode(envelope.to_dict()) != data or rfc8785.dumps(statement) != envelope.payload:
            raise ValueError("it is not in canonical form")
        _require_types(envelope.payload_type, statement)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ProofInvalid(f"`{where}` is not a receipt as signoff writes it: {error}") from error
    return Sealed(data, statement, signature["keyid"])


class ReceiptStore:
    """The receipts of one home folder: `<plan id>/<run>.json`, written once."""

    def __init__(self, folder: Path):
        self._folder = folder

    def path(self, plan: str, run: str) -> Path:
        """Path of a run's receipt, whether it exists or not."""
        for name in (plan, run):
            if not _SAFE_NAME.fullmatch(name):
                raise ProofInvalid(f"`{name}` cannot name a receipt")
        return self._folder / plan / f"{run}.json"

    def read(self, plan: str, run: str) -> Sealed | None:
        """The receipt of a run, or None when it was not made yet or is lost."""
        path = self.path(plan, run)
        try:
            data = read_plan_file(path, limit_bytes=MAX_RECEIPT_BYTES, follow=False)
        except PlanNotFound:
            return None
        return open_sealed(data, str(path))

    def keep(self, plan: str, run: str, sealed: Sealed) -> None:
        """Write it; one that is there already must be the same, byte for byte."""
        path = self.path(plan, run)
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            swap_file(path, None, sealed.data)
        except PlanConflict as error:
            if error.facts["current"] != sealed.digest:
                raise ProofInvalid(f"another receipt lies at `{path}`") from error
        except OSError as error:
            raise os_failure(f"the receipt `{path}`", error) from error


def _envelope(data: bytes) -> Envelope:
    return Envelope.from_dict(json.loads(data))


def _encode(envelope: dict[str, Any]) -> bytes:
    return rfc8785.dumps(envelope) + b"\n"


def _require_types(payload_type: str, statement: dict[str, Any]) -> None:
    if payload_type != PAYLOAD_TYPE or statement["_type"] != STATEMENT_TYPE:
        raise ValueError("it holds no in-toto statement of version 1")
    if statement["predicateType"] != PREDICATE_TYPE or not isinstance(statement["predicate"], dict):
        raise ValueError(f"its predicate is `{statement['predicateType']}`")


def read_anchors(data: bytes, where: str) -> tuple[Anchor, ...]:
    """Every anchor of a file, one per line; ProofInvalid names the line that is none."""
    anchors = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            anchors.append(read_anchor(line.decode("utf-8")))
        except (ValueError, TypeError, RecursionError) as error:
            raise ProofInvalid(f"`{where}`:{number} is not an anchor: {error}") from error
    return tuple(anchors)
