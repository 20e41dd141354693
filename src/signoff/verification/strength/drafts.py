"""Drafts of wrong versions: what would be edited, before it is chosen, made and looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from signoff.domain.second_look import VersionKind
from signoff.domain.text import shortened


class TextEdit(Struct, frozen=True):
    """Bytes from `start` to `end` of a text, and what stands there instead."""

    start: int
    end: int
    new: bytes


class VersionDraft(Struct, frozen=True):
    """One version that could be made.

    `files` replace whole files; without them `edits` change `path`. `group` is the function or hunk
    that it is about: versions are spread over groups.
    """

    kind: VersionKind
    path: str
    line: int
    what: str
    group: str
    edits: tuple[TextEdit, ...] = ()
    files: Mapping[str, bytes | None] | None = None


def edited(text: bytes, edits: Iterable[TextEdit]) -> bytes:
    """Apply edits that do not overlap."""
    parts, at = [], 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        parts += [text[at : edit.start], edit.new]
        at = edit.end
    return b"".join((*parts, text[at:]))


def quoted(text: bytes | str) -> str:
    """Source code for a sentence: one line, in backticks, cut where it is long."""
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    line = " ".join(plain.replace("`", "'").split())
    return f"`{shortened(line, 40)}`"
