"""Digests of one section of a settings file, so that work on its other sections goes unnoticed."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from signoff.domain.digests import digest_bytes

_TOML_NAMES = frozenset(("Pipfile",))
_HEADER = re.compile(r"\s*\[\s*([^\]]*?)\s*\]")
_DEFAULTS = "DEFAULT"


@dataclass(frozen=True)
class Section:
    """One section of a settings file: keys of a table, or the header of an ini section.

    An ini header that ends in `*` stands for every section that begins so.
    """

    file: str
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        """How the section is named behind the `#`."""
        return ".".join(self.keys).rstrip("*")


def section(text: str) -> Section:
    """A section written as `file#a.b` for tables and `file#header` for ini files."""
    file, _, name = text.partition("#")
    return Section(file, tuple(name.split(".")) if is_table(file) else (name,))


def is_table(file: str) -> bool:
    """Whether the file holds nested tables (TOML, JSON) and not ini sections."""
    return file.endswith((".toml", ".json")) or file in _TOML_NAMES


def section_digest(wanted: Section, data: bytes) -> str | None:
    """The digest of the section, None when it is not there; of the whole file when unreadable."""
    if not is_table(wanted.file):
        return _ini_digest(wanted.keys[0], data)
    try:
        value = lookup(wanted, data)
    except (ValueError, RecursionError):
        return digest_bytes(data)
    if value is None:
        return None
    return digest_bytes(json.dumps(value, sort_keys=True, default=str).encode())


def lookup(wanted: Section, data: bytes) -> Any:
    """The value of a table's section, None when it is not there; ValueError when unreadable."""
    loads: Callable[[str], Any] = json.loads if wanted.file.endswith(".json") else tomllib.loads
    value: Any = loads(data.decode("utf-8-sig"))
    for key in wanted.keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def command_in(wanted: Section, data: bytes | None) -> str:
    """The shell text that a table's section holds, itself or as its `cmd`; empty where none."""
    try:
        value = None if data is None else lookup(wanted, data)
    except (ValueError, RecursionError):
        return ""
    text = value.get("cmd") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def _ini_digest(header: str, data: bytes) -> str | None:
    """The section's lines without comments.

    Tools read ini files in different dialects, so this takes every line that any of them could
    count: it reads no values, and it does not end a section at an indented header.
    """
    lines = data.decode("utf-8-sig", "surrogateescape").splitlines()
    found = list(_ini_lines(header, lines))
    if not found:
        return None
    found += _ini_lines(_DEFAULTS, lines)
    return digest_bytes("\n".join(found).encode("utf-8", "surrogateescape"))


def _ini_lines(header: str, lines: list[str]) -> Iterator[str]:
    within = False
    for line in lines:
        match = _HEADER.match(line)
        if match and (_is_header(header, match[1]) or not line[:1].isspace()):
            within = _is_header(header, match[1])
        if within and line.strip() and line.lstrip()[0] not in "#;":
            yield line.rstrip()


def _is_header(wanted: str, found: str) -> bool:
    return found.startswith(wanted[:-1]) if wanted.endswith("*") else found == wanted
