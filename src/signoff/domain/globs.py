"""The one meaning of a glob, wherever a plan names files: protects, writes, produces, touches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile

from signoff.domain.glob_automaton import Meeting, automaton
from signoff.domain.glob_tokens import (
    ANY,
    IN_NAME,
    SLASH,
    Kind,
    Token,
    both,
    only_char,
    readable,
    tokens_of,
)

# A regular expression tries every way to share a path among its stars. Beyond these few the
# automaton answers, which reads each character once.
_STARS_FOR_REGEX = 3
_NO_NAMES = frozenset({"", ".", ".."})


def matches(pattern: str, path: str) -> bool:
    """Whether a workspace-relative path falls under the pattern.

    `*` and `?` stay within one component, `**` crosses components, and a pattern that names a
    folder (with or without a trailing slash) covers everything below it.
    """
    compiled = _compiled(pattern)
    if compiled is None:
        return automaton(pattern).accepts(path)
    return compiled.fullmatch(path) is not None


def matches_any(patterns: Iterable[str], path: str) -> bool:
    """Whether at least one pattern covers the path."""
    return any(matches(pattern, path) for pattern in patterns)


def has_wildcard(pattern: str) -> bool:
    """Whether the pattern can stand for more than the one path it spells."""
    return any(c in pattern for c in "*?[")


def literal(path: str) -> str:
    """A pattern that covers exactly this path (and what lies below it)."""
    return re.sub(r"[*?[]", r"[\g<0>]", path)


def intersect(one: str, other: str) -> bool:
    """Whether there can be a path in a workspace that both patterns cover."""
    return common_path(one, other) is not None


def common_path(one: str, other: str) -> str | None:
    """A path that both patterns cover, as `matches` means it; none if there can be none.

    A real path of a workspace, of any length: no component is empty, `.` or `..`. The time grows
    with the product of the two lengths, whatever the patterns are.
    """
    if other < one:
        one, other = other, one
    return None if _apart(one, other) else _met(one, other)


def _apart(one: str, other: str) -> bool:
    """Whether what the two spell out differs: a quick no, and most patterns get it."""
    if not _one_starts_other(spelled_start(one), spelled_start(other)):
        return True
    for (start, end), (start_too, end_too) in zip(_heads(one), _heads(other), strict=False):
        if not _one_starts_other(start, start_too):
            return True
        if not (end.endswith(end_too) or end_too.endswith(end)):
            return True
    return False


def _one_starts_other(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


@lru_cache(maxsize=8192)
def _met(one: str, other: str) -> str | None:
    mine, theirs = _some_path(one), _some_path(other)
    if mine is None or theirs is None:
        return None
    # Most patterns that meet do so on a path that is easily guessed; the automata are exact.
    for guess in _guesses(mine, theirs):
        if matches(one, guess) and matches(other, guess):
            return guess
    return Meeting(automaton(one), automaton(other)).path()


def _guesses(mine: str, theirs: str) -> Iterator[str]:
    yield from (mine, theirs)
    for above, below in ((mine, theirs), (theirs, mine)):
        if "/" in above:
            yield f"{above.rpartition('/')[0]}/{below}"
        yield f"{above}/{below}"


@lru_cache(maxsize=8192)
def _some_path(pattern: str) -> str | None:
    for filler in ("", "a"):
        plain = "".join(_plainly(token, filler) for token in tokens_of(pattern))
        if "\0" not in plain and _NO_NAMES.isdisjoint(plain.split("/")):
            return plain
    return Meeting(automaton(pattern), automaton("**")).path()


def _plainly(token: Token, filler: str) -> str:
    if token.kind is Kind.ONE:
        return readable(token.chars)
    return "" if token.kind is Kind.FOLDERS else filler


def covers_nothing(pattern: str) -> bool:
    """Whether no path of a workspace can fall under the pattern: ``, `.`, `../a`, `/a`, `a//b`."""
    return _some_path(pattern) is None


@lru_cache(maxsize=8192)
def spelled_start(pattern: str) -> str:
    """The characters with which every path begins that the pattern covers."""
    return _spelled(tokens_of(pattern))


@lru_cache(maxsize=8192)
def _heads(pattern: str) -> tuple[tuple[str, str], ...]:
    """How the first components begin and end of every path that the pattern covers."""
    heads: list[tuple[str, str]] = []
    component: list[Token] = []
    for token in (*tokens_of(pattern), Token(Kind.ONE, SLASH)):
        if token == Token(Kind.ONE, SLASH):
            heads.append((_spelled(component), _spelled(component[::-1])[::-1]))
            component = []
        elif token.kind in (Kind.ONE, Kind.STAR) and not both(token.chars, SLASH):
            component.append(token)
        else:
            break
    return tuple(heads)


def _spelled(tokens: Sequence[Token]) -> str:
    """The characters that the first tokens stand for, up to one that can be several."""
    alone = takewhile(lambda token: only_char(token) is not None, tokens)
    return "".join(only_char(token) or "" for token in alone)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    tokens = tokens_of(pattern)
    if sum(token.kind is not Kind.ONE for token in tokens) > _STARS_FOR_REGEX:
        return None
    return re.compile("".join(map(_as_regex, tokens)) + r"(?:/.*)?", re.DOTALL)


def _as_regex(token: Token) -> str:
    if token.kind is not Kind.ONE:
        return {Kind.STAR: r"[^/]*", Kind.DEEP: r".*", Kind.FOLDERS: r"(?:[^/]+/)*"}[token.kind]
    if token.chars in (IN_NAME, ANY):
        return r"[^/]" if token.chars == IN_NAME else r"."
    char = only_char(token)
    if char is not None:
        return re.escape(char)
    ranges = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in token.chars)
    return f"[{ranges}]" if ranges else r"(?!)"


def plain_path(path: str) -> str:
    """A path or glob as the workspace spells it: `./a.txt` and `b/../a.txt` are `a.txt`.

    The workspace itself is empty.
    """
    if "./" not in path and "//" not in path and not path.endswith("."):
        return path
    if path.startswith(("/", "~", "\\")):
        return path
    parts: list[str] = []
    for part in path.split("/"):
        above = parts[-1] if parts else ".."
        if part == ".." and above != ".." and not has_wildcard(above):
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    slash = "/" if path.endswith("/") and parts else ""
    return "/".join(parts) + slash
