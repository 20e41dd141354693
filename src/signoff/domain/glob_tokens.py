"""A glob taken apart: the tokens from which its regular expression and its automaton are made."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

# A set of characters: sorted, disjoint ranges of code points.
Chars = tuple[tuple[int, int], ...]

_LAST = 0x10FFFF
_SLASH_CODE = ord("/")
_READABLE = "abcdefghijklmnopqrstuvwxyz0123456789_-"
ANY: Chars = ((0, _LAST),)
SLASH: Chars = ((_SLASH_CODE, _SLASH_CODE),)
IN_NAME: Chars = ((0, _SLASH_CODE - 1), (_SLASH_CODE + 1, _LAST))


class Kind(Enum):
    """What a token stands for."""

    ONE = "one character of a set"
    STAR = "any characters within one component"
    DEEP = "any characters, across components"
    FOLDERS = "any number of whole components, each with its slash"


class Token(NamedTuple):
    """One part of a glob; `chars` is what a `ONE` may be."""

    kind: Kind
    chars: Chars = ()


@lru_cache(maxsize=4096)
def tokens_of(pattern: str) -> tuple[Token, ...]:
    """The tokens, without stars that add nothing to the star beside them."""
    text = pattern.removeprefix("./").rstrip("/")
    found: list[Token] = []
    i = 0
    while i < len(text):
        token, i = _next_token(text, i)
        _add(found, token)
    return tuple(found)


def _add(found: list[Token], token: Token) -> None:
    """What may be nothing is part of a `DEEP` next to it; folders twice are folders."""
    if token.kind is Kind.DEEP:
        while found and found[-1].kind is not Kind.ONE:
            found.pop()
    elif found and token.kind is not Kind.ONE and found[-1].kind in (Kind.DEEP, token.kind):
        return
    found.append(token)


def _next_token(text: str, i: int) -> tuple[Token, int]:
    """One token, and where the next one starts."""
    if text.startswith("**/", i):
        return Token(Kind.FOLDERS), i + 3
    if text.startswith("**", i):
        return Token(Kind.DEEP), i + 2
    char = text[i]
    if char == "*":
        return Token(Kind.STAR), i + 1
    if char == "?":
        return Token(Kind.ONE, IN_NAME), i + 1
    end = text.find("]", i + 2) if char == "[" else -1
    if end != -1:
        chars = _class_chars(text[i + 1 : end])
        if chars is not None:
            return Token(Kind.ONE, chars), end + 1
    return Token(Kind.ONE, ((ord(char), ord(char)),)), i + 1


def _class_chars(body: str) -> Chars | None:
    """What a class stands for; none if a range such as `z-a` makes it no class at all."""
    negated = body.startswith(("!", "^"))
    ranges = list(_ranges(body[1:] if negated else body))
    if any(low > high for low, high in ranges):
        return None
    if negated:
        return _without(_sorted([*ranges, *SLASH]))
    return _sorted(ranges)


def _ranges(body: str) -> Iterator[tuple[int, int]]:
    i = 0
    while i < len(body):
        width = 3 if body[i + 1 : i + 2] == "-" and i + 2 < len(body) else 1
        yield ord(body[i]), ord(body[i + width - 1])
        i += width


def _sorted(ranges: list[tuple[int, int]]) -> Chars:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _without(chars: Chars) -> Chars:
    """Every character that is not among these."""
    out: list[tuple[int, int]] = []
    start = 0
    for low, high in chars:
        if start < low:
            out.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        out.append((start, _LAST))
    return tuple(out)


@lru_cache(maxsize=4096)
def both(one: Chars, other: Chars) -> Chars:
    """The characters that are in both sets."""
    out: list[tuple[int, int]] = []
    for low, high in one:
        for low_too, high_too in other:
            start, end = max(low, low_too), min(high, high_too)
            if start <= end:
                out.append((start, end))
    return tuple(out)


def only_char(token: Token) -> str | None:
    """The character that the token stands for, if it can be no other."""
    if (
        token.kind is not Kind.ONE
        or len(token.chars) != 1
        or token.chars[0][0] != token.chars[0][1]
    ):
        return None
    return chr(token.chars[0][0])


@lru_cache(maxsize=4096)
def readable(chars: Chars) -> str:
    """One of the characters, a plain letter if there is one; NUL, which no path holds, for none."""
    for char in _READABLE:
        if any(low <= ord(char) <= high for low, high in chars):
            return char
    return chr(chars[0][0]) if chars else "\0"
