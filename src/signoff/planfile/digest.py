"""Two digests: of the file's bytes, and of what the plan means whatever its progress."""

from __future__ import annotations

from functools import lru_cache

from signoff.domain.digests import digest_bytes
from signoff.planfile.outline import Outline, canonical_text, read_outline


def file_digest(text: str) -> str:
    """Of every byte: for compare-and-swap."""
    return digest_bytes(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=2)
def plan_digest(text: str) -> str:
    """Of the meaning, without marks, status and hints: for pins and evidence.

    Whoever watches a file and writes marks into it asks about the same two texts again and again.
    """
    return digest_outline(read_outline(text))


def digest_outline(outline: Outline) -> str:
    """The plan digest of a document whose outline is known."""
    return digest_bytes(canonical_text(outline).encode("utf-8", "surrogatepass"))
