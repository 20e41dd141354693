"""The one meaning of a glob, wherever a plan names files: protects, writes, produces, touches."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

# A regular expression tries every way to share a path among its stars. Beyond these few the
# automaton answers, which reads each character once.
_STARS_FOR_REGEX = 3
_NO_NAMES = frozenset({"", ".", ".."})
_READABLE = "abcdefghijklmnopqrstuvwxyz0123456789_-"
_LAST = 0x10FFFF


class _Kind(IntEnum):
    ONE = 0  # character of a set
    STAR = 1  # any characters within one component
    DEEP = 2  # any characters, across components
    FOLDERS = 3  # any number of whole components, each with its slash


class _Token(NamedTuple):
    """One part of a glob; a `ONE` stands for the characters in `ranges`, or for all others.

    All others are never a slash: only `**` crosses components.
    """

    kind: _Kind
    ranges: tuple[tuple[int, int], ...] = ()
    others: bool = False

    def takes(self, char: str) -> bool:
        """Whether a `ONE` can stand for the character; a star stands for no single one."""
        inside = any(low <= ord(char) <= high for low, high in self.ranges)
        return char != "/" and not inside if self.others else inside

    @property
    def char(self) -> str | None:
        """The character that the token stands for, if it can be no other."""
        if self.others or len(self.ranges) != 1 or self.ranges[0][0] != self.ranges[0][1]:
            return None
        return chr(self.ranges[0][0])


def _only(char: str) -> _Token:
    return _Token(_Kind.ONE, ((ord(char), ord(char)),))


_SLASH = _only("/")
_IN_NAME = _Token(_Kind.ONE, others=True)
_ANY = _Token(_Kind.ONE, ((0, _LAST),))


def matches(pattern: str, path: str) -> bool:
    """Whether a workspace-relative path falls under the pattern.

    `*` and `?` stay within one component, `**` crosses components, and a pattern that names a
    folder (with or without a trailing slash) covers everything below it.
    """
    compiled = _compiled(pattern)
    return accepts(pattern, path) if compiled is None else compiled.fullmatch(path) is not None


def accepts(pattern: str, path: str) -> bool:
    """The same answer by the automaton: its time grows with pattern and path, nothing else."""
    edges, ends = _automaton(pattern)
    states = {0}
    for char in path:
        states = {to for state in states for token, to in edges[state] if token.takes(char)}
    return not states.isdisjoint(ends)


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
    """A shortest path that both patterns cover, as `matches` means it; none if there can be none.

    A real path of a workspace, of any length: no component is empty, `.` or `..`. The time grows
    with the product of the two lengths, whatever the patterns are.
    """
    for (start, end), (start_too, end_too) in zip(_heads(one), _heads(other), strict=False):
        # What the two spell out differs: a quick no, and most patterns get it.
        if not (start.startswith(start_too) or start_too.startswith(start)):
            return None
        if not (end.endswith(end_too) or end_too.endswith(end)):
            return None
    return _meeting(min(one, other), max(one, other))


def covers_nothing(pattern: str) -> bool:
    """Whether no path of a workspace can fall under the pattern: ``, `.`, `../a`, `/a`, `a//b`."""
    return common_path(pattern, "**") is None


@lru_cache(maxsize=8192)
def spelled_start(pattern: str) -> str:
    """The characters with which every path begins that the pattern covers."""
    return _spelled_out(_tokens(pattern))


@lru_cache(maxsize=8192)
def _heads(pattern: str) -> tuple[tuple[str, str], ...]:
    """How the first components begin and end of every path that the pattern covers."""
    heads: list[tuple[str, str]] = []
    component: list[_Token] = []
    for token in (*_tokens(pattern), _SLASH):
        if token == _SLASH:
            heads.append((_spelled_out(component), _spelled_out(component[::-1])[::-1]))
            component = []
        elif token.kind in (_Kind.DEEP, _Kind.FOLDERS) or token.takes("/"):
            break
        else:
            component.append(token)
    return tuple(heads)


def _spelled_out(tokens: Iterable[_Token]) -> str:
    """The characters that the first tokens stand for, up to one that can be several."""
    return "".join(takewhile(bool, (token.char or "" for token in tokens)))


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


@lru_cache(maxsize=4096)
def _tokens(pattern: str) -> tuple[_Token, ...]:
    """The tokens, without stars that add nothing to the star beside them."""
    text = pattern.removeprefix("./").rstrip("/")
    found: list[_Token] = []
    i = 0
    while i < len(text):
        token, i = _next_token(text, i)
        # What may be nothing is part of a `DEEP` next to it; folders twice are folders.
        if token.kind is _Kind.DEEP:
            while found and found[-1].kind is not _Kind.ONE:
                found.pop()
        elif found and token.kind is not _Kind.ONE and found[-1].kind in (_Kind.DEEP, token.kind):
            continue
        found.append(token)
    return tuple(found)


def _next_token(text: str, i: int) -> tuple[_Token, int]:
    """One token, and where the next one starts."""
    for sign, kind in (("**/", _Kind.FOLDERS), ("**", _Kind.DEEP), ("*", _Kind.STAR)):
        if text.startswith(sign, i):
            return _Token(kind), i + len(sign)
    if text[i] == "?":
        return _IN_NAME, i + 1
    end = text.find("]", i + 2) if text[i] == "[" else -1
    if end != -1:
        others = text[i + 1] in "!^"
        ranges = tuple(_ranges(text[i + 1 + others : end]))
        # A range such as `z-a` makes it no class at all.
        if all(low <= high for low, high in ranges):
            return _Token(_Kind.ONE, ranges, others), end + 1
    return _only(text[i]), i + 1


def _ranges(body: str) -> Iterator[tuple[int, int]]:
    i = 0
    while i < len(body):
        width = 3 if body[i + 1 : i + 2] == "-" and i + 2 < len(body) else 1
        yield ord(body[i]), ord(body[i + width - 1])
        i += width


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    tokens = _tokens(pattern)
    if sum(token.kind is not _Kind.ONE for token in tokens) > _STARS_FOR_REGEX:
        return None
    return re.compile("".join(map(_as_regex, tokens)) + r"(?:/.*)?", re.DOTALL)


def _as_regex(token: _Token) -> str:
    if token.kind is not _Kind.ONE:
        return {_Kind.STAR: "[^/]*", _Kind.DEEP: ".*", _Kind.FOLDERS: "(?:[^/]+/)*"}[token.kind]
    ranges = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in token.ranges)
    if token.others:
        return f"[^/{ranges}]"
    return f"[{ranges}]" if ranges else "(?!)"


_Edges = list[list[tuple[_Token, int]]]  # by state: what is read, and the state it leads to


@lru_cache(maxsize=4096)
def _automaton(pattern: str) -> tuple[_Edges, frozenset[int]]:
    """The edges of each state, beginning with state 0, and the states in which a path may end."""
    edges: _Edges = [[]]
    here = 0
    for token in _tokens(pattern):
        new = len(edges)
        if token.kind is _Kind.ONE:
            edges[here].append((token, new))
            edges.append([])
            here = new
        elif token.kind is _Kind.FOLDERS:
            edges[here].append((_IN_NAME, new))
            edges.append([(_IN_NAME, new), (_SLASH, here)])
        else:
            edges[here].append((_IN_NAME if token.kind is _Kind.STAR else _ANY, here))
    below = len(edges)
    edges[here].append((_SLASH, below))
    edges.append([(_ANY, below)])
    return edges, frozenset({here, below})


# A state of each automaton, and the component so far: empty, dots, or `x` for a real name.
_Place = tuple[int, int, str]


@lru_cache(maxsize=8192)
def _meeting(one: str, other: str) -> str | None:
    """Let both automata read the same path, all paths at once: the first to end is a shortest."""
    (edges, ends), (edges_too, ends_too) = _automaton(one), _automaton(other)
    start = (0, 0, "")
    came_from: dict[_Place, tuple[_Place, str]] = {start: (start, "")}
    waiting = deque([start])
    while waiting:
        place = waiting.popleft()
        state, state_too, name = place
        if state in ends and state_too in ends_too and name not in _NO_NAMES:
            return _spelled(came_from, place)
        for token, to in edges[state]:
            for token_too, to_too in edges_too[state_too]:
                for char in _shared(token, token_too):
                    if char == "/" and name in _NO_NAMES:
                        continue
                    longer = "" if char == "/" else name + char
                    new = (to, to_too, longer if longer in _NO_NAMES else "x")
                    if new not in came_from:
                        came_from[new] = place, char
                        waiting.append(new)
    return None


@lru_cache(maxsize=8192)
def _shared(one: _Token, other: _Token) -> tuple[str, ...]:
    """What both can stand for, as far as it makes a difference: one name character, `.`, `/`."""
    ends = [code for token in (one, other) for pair in token.ranges for code in pair]
    # Where a set of both begins or ends, one of them has an end, or lies just beside it.
    beside = (chr(code) for end in (1, *ends) for code in (end, end + 1) if 0 < code <= _LAST)
    names = (c for c in (*_READABLE, *beside) if c not in "/." and one.takes(c) and other.takes(c))
    dots = (c for c in "./" if one.takes(c) and other.takes(c))
    return (*[c for c in (next(names, ""),) if c], *dots)


def _spelled(came_from: dict[_Place, tuple[_Place, str]], place: _Place) -> str:
    out: list[str] = []
    while came_from[place][0] != place:
        place, char = came_from[place]
        out.append(char)
    return "".join(reversed(out))
