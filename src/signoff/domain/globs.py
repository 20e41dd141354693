"""The one meaning of a glob, wherever a plan names files, and which plans' globs can meet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import lru_cache
from itertools import chain

from msgspec import Struct

# A regular expression tries every way to share a path among its stars. Beyond these few the
# automaton answers, which reads each character once.
_STARS_FOR_REGEX = 3
_NO_NAMES = frozenset({"", ".", ".."})
_UNTIL_WILD = re.compile(r"[^*?\[]*")
_SLASH_IN_CLASS = re.compile(r"\[[^\]]*[/-]")  # or a range that may hold one
_BEHIND_WILD = re.compile(r"[^*?\]]*$")
_LAST = 0x10FFFF


class _Kind(IntEnum):
    ONE = 0  # character of a set
    STAR = 1  # any characters within one component
    DEEP = 2  # any characters, across components
    FOLDERS = 3  # any number of whole components, each with its slash


class _Token(Struct, frozen=True):
    """One part of a glob; a `ONE` stands for the characters in `ranges`, or for all others.

    All others are never a slash: only `**` crosses components.
    """

    kind: _Kind
    ranges: tuple[tuple[int, int], ...] = ()
    others: bool = False

    def takes(self, char: str) -> bool:
        """True when a `ONE` can stand for the character; a star stands for no single one."""
        inside = any(low <= ord(char) <= high for low, high in self.ranges)
        return char != "/" and not inside if self.others else inside


def _only(char: str) -> _Token:
    return _Token(_Kind.ONE, ((ord(char), ord(char)),))


_SLASH = _only("/")
_IN_NAME = _Token(_Kind.ONE, others=True)
_ANY = _Token(_Kind.ONE, ((0, _LAST),))


def matches(pattern: str, path: str) -> bool:
    """True when a workspace-relative path falls under the pattern.

    `*` and `?` stay within one component, `**` crosses components, and a pattern that names a
    folder (with or without a trailing slash) covers everything below it.
    """
    compiled = _compiled(pattern)
    return accepts(pattern, path) if compiled is None else compiled.fullmatch(path) is not None


def accepts(pattern: str, path: str) -> bool:
    """Match by the automaton: its time grows with pattern and path, nothing else."""
    edges, ends = _automaton(pattern)
    states = {0}
    for char in path:
        states = {to for state in states for token, to in edges[state] if token.takes(char)}
    return not states.isdisjoint(ends)


def matches_any(patterns: Iterable[str], path: str) -> bool:
    """True when at least one pattern covers the path."""
    return any(matches(pattern, path) for pattern in patterns)


def has_wildcard(pattern: str) -> bool:
    """True when the pattern can stand for more than the one path it spells."""
    return any(c in pattern for c in "*?[")


def literal(path: str) -> str:
    """A pattern that covers exactly this path (and what lies below it)."""
    return re.sub(r"[*?[]", r"[\g<0>]", path)


def intersect(one: str, other: str) -> bool:
    """False when no path can fall under both patterns; True is a safe guess.

    Compared name by name up to the first `**`. Two names with wildcards in both are told apart by
    how they begin and end.
    """
    if covers_nothing(one) or covers_nothing(other):
        return False
    for mine, theirs in zip(_names(one), _names(other), strict=False):
        if "**" in mine or "**" in theirs:
            return True
        if not _may_be_one(mine, theirs):
            return False
    return True


def covers_nothing(pattern: str) -> bool:
    """True when no path of a workspace falls under the pattern: ``, `.`, `../a`, `/a`, `a//b`."""
    return "\0" in pattern or not _NO_NAMES.isdisjoint(_names(pattern))


def spelled_start(pattern: str) -> str:
    """The characters with which every path begins that the pattern covers."""
    return _UNTIL_WILD.match("/".join(_names(pattern)))[0]  # type: ignore[index]


@lru_cache(maxsize=8192)
def _names(pattern: str) -> tuple[str, ...]:
    """The names on the way, up to one that stands for any number of them: the rest tells nothing.

    A class may hold a slash, so nothing is told from a pattern with such a class.
    """
    if _SLASH_IN_CLASS.search(pattern):
        return ("**",)
    names = pattern.removeprefix("./").rstrip("/").split("/")
    known = next((n for n, name in enumerate(names, 1) if "**" in name), len(names))
    return tuple(names[:known])


def _may_be_one(mine: str, theirs: str) -> bool:
    if mine == theirs:
        return True
    (start, end), (start_too, end_too) = _spelled(mine), _spelled(theirs)
    if not (start.startswith(start_too) or start_too.startswith(start)):
        return False
    if not has_wildcard(theirs):
        return matches(mine, theirs)
    if not has_wildcard(mine):
        return matches(theirs, mine)
    return end.endswith(end_too) or end_too.endswith(end)


@lru_cache(maxsize=8192)
def _spelled(name: str) -> tuple[str, str]:
    """The beginning and the end of a name, as far as they have no wildcard."""
    start, end = _UNTIL_WILD.match(name), _BEHIND_WILD.search(name)
    assert start and end  # each of them can be empty
    return start[0], end[0]


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


class Overlap(Struct, frozen=True):
    """Another plan that may change the same files, and one glob of each that says so."""

    other: str
    mine: str
    theirs: str


def unusable(touches: tuple[str, ...]) -> tuple[str, ...]:
    """The globs that cover no path of a workspace, so that nothing can be told from them.

    `.` is one of them: whoever writes it means everything, and as a glob it covers nothing.
    """
    return tuple(glob for glob in touches if covers_nothing(glob))


class Overlaps:
    """Overlaps between the files that plans touch, and the plans of which nobody can tell."""

    def __init__(self, touches: Mapping[str, tuple[str, ...]]):
        self._names = frozenset(touches)
        # Nobody knows what a plan changes that does not say so in globs that mean something.
        self._unknown = frozenset(n for n, globs in touches.items() if not globs or unusable(globs))
        known = {name: touches[name] for name in sorted(self._names - self._unknown)}
        self._overlaps = _overlaps(known)

    def overlaps(self, name: str) -> tuple[Overlap, ...]:
        """The others that can change the same files, by name."""
        found = self._overlaps.get(name, {})
        return tuple(found[other] for other in sorted(found))

    def cannot_tell(self, name: str) -> tuple[str, ...]:
        """The others of whom that is not known, because one of the two does not say enough."""
        others = self._names if name in self._unknown else self._unknown
        return tuple(sorted(others - {name}))

    def in_the_way(self, name: str) -> frozenset[str]:
        """Plans that may not run at the same time: what is not known is never safe."""
        others = self._names if name in self._unknown else self._unknown.union(self._overlaps[name])
        return others - {name}

    def groups(self, names: Iterable[str]) -> tuple[tuple[str, ...], ...]:
        """The names in groups that may run together: each in the first that it can join."""
        groups: list[dict[str, None]] = []
        for name in names:
            others = self.in_the_way(name)
            group = next((g for g in groups if others.isdisjoint(g)), None)
            if group is None:
                groups.append({name: None})
            else:
                group[name] = None
        return tuple(map(tuple, groups))


def _overlaps(touches: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, Overlap]]:
    """Overlaps of each plan with others, with the first two globs that meet."""
    plans_of: dict[str, list[str]] = {}
    for plan, globs in touches.items():
        for glob in dict.fromkeys(globs):
            plans_of.setdefault(glob, []).append(plan)
    found: dict[str, dict[str, Overlap]] = {plan: {} for plan in touches}
    shared = ((glob, glob) for glob, plans in plans_of.items() if len(plans) > 1)
    for one, other in chain(shared, _comparable(plans_of)):
        if not intersect(one, other):
            continue
        for plan in plans_of[one]:
            for another in plans_of[other]:
                if plan != another and another not in found[plan]:
                    found[plan][another] = Overlap(another, one, other)
                    found[another][plan] = Overlap(plan, other, one)
    return found


def _comparable(globs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each two of which one spells the beginning of the other: no others can meet."""
    ordered = sorted(globs, key=spelled_start)
    for place, glob in enumerate(ordered):
        for other in ordered[place + 1 :]:
            # What begins alike stands together, so the first that does not is the last to see.
            if not spelled_start(other).startswith(spelled_start(glob)):
                break
            yield glob, other
