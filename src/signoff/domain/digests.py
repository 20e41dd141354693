"""One canonical encoding, so that the same meaning always has the same digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

_HEX_DIGITS = 64


def canonical_json(value: Any) -> str:
    """Sorted keys (strings), no spaces, UTF-8 as is; dataclasses by their compared fields."""
    return _ENCODER.encode(value)


def digest_of(value: Any) -> str:
    """sha256 of the canonical encoding, in hex."""
    return digest_bytes(canonical_json(value).encode("utf-8", "surrogatepass"))


def digest_bytes(data: bytes) -> str:
    """sha256 in hex."""
    return hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """Whether a text can be one of these digests."""
    return len(text) == _HEX_DIGITS and not text.strip("0123456789abcdef")


def _plain(value: Any) -> Any:
    """One level of what JSON itself does not know; the encoder asks again for what is inside."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, name) for name in _compared(type(value))}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(v.value if isinstance(v, Enum) else v for v in value)
    raise TypeError(f"no canonical form for {type(value).__name__}")


@lru_cache(maxsize=128)
def _compared(noun: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(noun) if f.compare)


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
)
