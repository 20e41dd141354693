"""Positions in valid JSON that the parser does not tell: keys that stand twice, items of lists."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from signoff.toolbatch.checkers.texts import Lines

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]', re.DOTALL)


@dataclass(frozen=True)
class Duplicate:
    """A key that its object already has."""

    key: str
    line: int


@dataclass(frozen=True)
class JsonPlaces:
    """`items` has, for each list directly in the outermost object, the lines of its objects."""

    duplicates: tuple[Duplicate, ...] = ()
    items: dict[str, list[int]] = field(default_factory=dict)


@dataclass
class _Open:
    """An object (with its keys) or a list (without) that is not closed yet."""

    keys: set[str] | None
    key: str = ""


def scan_json(text: str) -> JsonPlaces:
    """One pass over a text that `json.loads` accepted."""
    lines, opened = Lines(text), list[_Open]()
    duplicates: list[Duplicate] = []
    items: dict[str, list[int]] = {}
    last: re.Match[str] | None = None
    for token in _TOKEN.finditer(text):
        sign = token.group()
        if sign in ("{", "["):
            if sign == "{" and len(opened) == 2 and opened[1].keys is None:
                items.setdefault(opened[0].key, []).append(lines.at(token.start()))
            opened.append(_Open(set() if sign == "{" else None))
        elif sign in ("}", "]"):
            opened.pop()
        elif sign == ":" and last is not None:
            here = opened[-1]
            here.key = json.loads(last.group())
            if here.keys is not None and here.key in here.keys:
                duplicates.append(Duplicate(here.key, lines.at(last.start())))
            elif here.keys is not None:
                here.keys.add(here.key)
        elif sign != ",":
            last = token
    return JsonPlaces(tuple(duplicates), items)
