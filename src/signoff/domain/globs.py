"""The one meaning of a glob, wherever a plan names files: protects, writes, produces, touches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


def matches(pattern: str, path: str) -> bool:
    """Whether a workspace-relative path falls under the pattern.

    `*` and `?` stay within one component, `**` crosses components, and a pattern that names a
    folder (with or without a trailing slash) covers everything below it.
    """
    return _compiled(pattern).fullmatch(path) is not None


def matches_any(patterns: Iterable[str], path: str) -> bool:
    """Whether at least one pattern covers the path."""
    return any(matches(pattern, path) for pattern in patterns)


def has_wildcard(pattern: str) -> bool:
    """Whether the pattern can stand for more than the one path it spells."""
    return any(c in pattern for c in "*?[")


def literal(path: str) -> str:
    """A pattern that covers exactly this path (and what lies below it)."""
    return re.sub(r"[*?[]", r"[\g<0>]", path)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    text = pattern.removeprefix("./").rstrip("/")
    out: list[str] = []
    i = 0
    while i < len(text):
        piece, i = _next_piece(text, i)
        out.append(piece)
    return re.compile("".join(out) + r"(?:/.*)?", re.DOTALL)


def _next_piece(text: str, i: int) -> tuple[str, int]:
    """One token of the glob as a regular expression, and where the next one starts."""
    if text.startswith("**/", i):
        return r"(?:[^/]+/)*", i + 3
    if text.startswith("**", i):
        return r".*", i + 2
    char = text[i]
    if char == "*":
        return r"[^/]*", i + 1
    if char == "?":
        return r"[^/]", i + 1
    end = text.find("]", i + 2) if char == "[" else -1
    if end != -1:
        body = text[i + 1 : end].replace("\\", r"\\").replace("[", r"\[")
        negated = body.startswith(("!", "^"))
        piece = f"[{'^/' if negated else ''}{body[1:] if negated else body}]"
        if _is_class(piece):
            return piece, end + 1
    return re.escape(char), i + 1


def _is_class(piece: str) -> bool:
    """A range such as `[z-a]` is none; its bracket then stands for itself."""
    try:
        re.compile(piece)
    except re.error:
        return False
    return True
