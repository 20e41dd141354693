"""JSON with comments, edited in place: what is not ours stays byte for byte.

read(text) → Node with its place in the text; insert, replace and remove give the new text
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

DEEPEST = 200
_SPACE = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_INDENT = re.compile(r"^([ \t]+)\S", re.M)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


class NotJson(ValueError):
    """The text is no JSON, with or without comments; `at` is where."""

    def __init__(self, message: str, text: str, at: int):
        super().__init__(message)
        self.at = at
        self.line = text.count("\n", 0, at) + 1
        self.source = text.split("\n")[self.line - 1].strip()


class JsonNode(Struct, frozen=True):
    """A value, where it stands, and what is in it; `key` only within an object."""

    text: str
    start: int
    end: int
    value: Any
    inner: tuple[JsonNode, ...] = ()
    key: str | None = None
    key_start: int = -1

    @property
    def whole_start(self) -> int:
        """Offset at which it begins, its key included."""
        return self.start if self.key is None else self.key_start

    def member(self, key: str) -> JsonNode | None:
        """The value under a key; NotJson if the key is there twice, since readers differ then."""
        found = [node for node in self.inner if node.key == key]
        if len(found) > 1:
            raise NotJson(f"`{key}` is there twice", self.text, found[1].key_start)
        return found[0] if found else None


def read(text: str) -> JsonNode:
    start = _skip(text, 1 if text.startswith("\ufeff") else 0)
    node = _value(text, start, 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise NotJson("there is more after the end", text, end)
    return node


def insert(where: JsonNode, value: Any, key: str | None = None) -> str:
    """Put a value at the end of an array, or with a key at the end of an object."""
    text = where.text
    label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    closing = where.end - 1
    last = where.inner[-1] if where.inner else None
    first_line = text[where.start + 1 : where.inner[0].whole_start] if where.inner else "\n"
    if last is not None and "\n" not in first_line and "\n" not in text[last.end : closing]:
        comma = _comma(text, last.end, where.end)
        new = f"{label}{json.dumps(value, ensure_ascii=False)}"
        at = last.end if comma is None else comma + 1
        return f"{text[:at]}{', ' if comma is None else ' '}{new}{text[at:]}"
    line, base = _newline(text), _line_indent(text, where.start)
    child = base + _unit(text)
    if last is not None and "\n" in first_line:
        child = _line_indent(text, last.whole_start)
    new = f"{line}{child}{label}{_dump(text, value, child)}"
    if last is None:
        kept = text[where.start + 1 : closing].rstrip(" \t\r\n")
        return f"{text[: where.start + 1]}{kept}{new}{line}{base}{text[closing:]}"
    comma = _comma(text, last.end, where.end)
    tail = text[last.end : closing]
    kept, space = tail.rstrip(" \t\r\n"), tail[len(tail.rstrip(" \t\r\n")) :]
    if comma is None:
        return f"{text[: last.end]},{kept}{new}{space or line + base}{text[closing:]}"
    return f"{text[: last.end]}{kept}{new},{space or line + base}{text[closing:]}"


def replace(node: JsonNode, value: Any) -> str:
    text = node.text
    new = _dump(text, value, _line_indent(text, node.whole_start), node)
    return text[: node.start] + new + text[node.end :]


def remove(where: JsonNode, node: JsonNode) -> str:
    """Take a member or an item out, with its comma; comments around it stay."""
    text, at = where.text, where.inner.index(node)
    before = where.inner[at - 1].end if at else where.start + 1
    comma_after = _comma(text, node.end, where.end)
    lead = text[before : node.whole_start]
    rest = text[node.end :]
    if comma_after is not None:
        between = text[node.end : comma_after]
        rest = (between if between.strip() else "") + text[comma_after + 1 :]
    if comma_after is None and at:
        comma = _comma(text, before, where.end)
        assert comma is not None, "two values have a comma between them"
        lead = lead[: comma - before] + lead[comma - before + 1 :]
    # The line break before it goes with it, unless it ends a comment's line for what comes next.
    kept = lead.rstrip(" \t\r\n")
    inside = rest[: len(rest) - len(text) + where.end - 1]
    if len(where.inner) == 1 and not (kept + inside).strip():
        return text[: where.start + 1] + text[where.end - 1 :]
    if "//" in kept and not rest.lstrip(" \t").startswith(("\n", "\r")):
        kept += _newline(text)
    return text[:before] + kept + rest


def has_comments(where: JsonNode) -> bool:
    """True when somebody wrote a comment directly inside this value, or between it and its key."""
    text = where.text
    key = None if where.key is None else _STRING.match(text, where.key_start)
    starts = [where.start + 1, *(node.end for node in where.inner)]
    ends = [*(node.whole_start for node in where.inner), where.end - 1]
    gaps = [text[key.end() : where.start]] if key is not None else []
    gaps += [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return any(map(_COMMENT.search, gaps))


def _value(text: str, at: int, depth: int) -> JsonNode:
    if depth > DEEPEST:
        raise NotJson(f"it is nested more than {DEEPEST} deep", text, at)
    opening = text[at : at + 1]
    if opening == "{":
        return _container(text, at, depth, "}")
    if opening == "[":
        return _container(text, at, depth, "]")
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise NotJson("a value is missing or misspelt", text, at)
    try:
        return JsonNode(text, at, found.end(), json.loads(found.group()))
    except ValueError as error:
        raise NotJson("a string has a wrong escape", text, at) from error


def _container(text: str, start: int, depth: int, closing: str) -> JsonNode:
    inner: list[JsonNode] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        node = _member(text, at, depth) if closing == "}" else _value(text, at, depth + 1)
        inner.append(node)
        at = _skip(text, node.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise NotJson(f"a comma or `{closing}` is missing", text, at)
    value: Any = [node.value for node in inner]
    if closing == "}":
        value = {node.key: node.value for node in inner}
    return JsonNode(text, start, at + 1, value, tuple(inner))


def _member(text: str, at: int, depth: int) -> JsonNode:
    key = _STRING.match(text, at)
    if key is None:
        raise NotJson("a key in double quotes is missing", text, at)
    colon = _skip(text, key.end())
    if text[colon : colon + 1] != ":":
        raise NotJson("a `:` is missing", text, colon)
    node = _value(text, _skip(text, colon + 1), depth + 1)
    try:
        name: str = json.loads(key.group())
    except ValueError as error:
        raise NotJson("a key has a wrong escape", text, at) from error
    return JsonNode(text, node.start, node.end, node.value, node.inner, name, at)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _comma(text: str, at: int, limit: int) -> int | None:
    """The comma that comes next after a value, if there is one."""
    found = _skip(text, at)
    return found if found < limit and text[found : found + 1] == "," else None


def _dump(text: str, value: Any, indent: str, instead_of: JsonNode | None = None) -> str:
    if instead_of is not None and "\n" not in text[instead_of.start : instead_of.end]:
        return json.dumps(value, ensure_ascii=False)
    lines: Sequence[str] = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found.group(1) if found else "  "


def _line_indent(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]
