"""One canonical encoding, so that the same meaning always has the same digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, ClassVar

from msgspec import Struct

_HEX_DIGITS = 64


class ByMeaning(Struct, frozen=True):
    """A noun that is equal to others, and has its digest, by its fields without `beside`.

    Beside the meaning stands where it was written, and how it was marked there.
    """

    beside: ClassVar[frozenset[str]] = frozenset({"line"})

    @classmethod
    @lru_cache(maxsize=64)
    def meant(cls) -> tuple[str, ...]:
        """The names of the fields that count."""
        return tuple(name for name in cls.__struct_fields__ if name not in cls.beside)

    def meaning(self) -> dict[str, Any]:
        """The fields that count."""
        return {name: getattr(self, name) for name in self.meant()}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.meant())

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.meant()))


def canonical_json(value: Any) -> str:
    """Sorted keys (strings), no spaces, UTF-8 as is; nouns by the fields that are compared."""
    return _ENCODER.encode(value)


def digest_of(value: Any) -> str:
    """sha256 of the canonical encoding, in hex."""
    return digest_bytes(canonical_json(value).encode("utf-8", "surrogatepass"))


def digest_bytes(data: bytes) -> str:
    """sha256 in hex."""
    return hashlib.sha256(data).hexdigest()


def is_digest(text: str) -> bool:
    """True when a text can be one of these digests."""
    return len(text) == _HEX_DIGITS and not text.strip("0123456789abcdef")


def _plain(value: Any) -> Any:
    """One level of what JSON itself does not know; the encoder asks again for what is inside."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, ByMeaning):
        return value.meaning()
    if isinstance(value, Struct):
        return {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(v.value if isinstance(v, Enum) else v for v in value)
    raise TypeError(f"no canonical form for {type(value).__name__}")


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain
)
