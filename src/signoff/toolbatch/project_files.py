"""The files of a project as far as they say how it is judged: bounded, and none from outside."""

from __future__ import annotations

import configparser
import os
import re
import stat
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

LARGEST_MANIFEST = 1_000_000
MOST_LOOKED_AT = 20_000  # entries of a project, in search of its tests
MOST_TESTS = 500  # that a command is said to rest on
_NOT_ENTERED = frozenset(
    {"node_modules", "__pycache__", "venv", "build", "dist", "target", "vendor"}
)


def files_named(
    root: Path,
    name: re.Pattern[str],
    within: Collection[str] = (),
    saying: re.Pattern[str] | None = None,
) -> Iterator[str]:
    """Files of this name, at the top or below a folder called one of `within`; with an end."""
    looked = found = 0
    for place, folders, files in os.walk(root):
        folders[:] = sorted(
            folder for folder in folders if folder not in _NOT_ENTERED and folder[0] != "."
        )
        looked += len(files) + len(folders)
        if looked > MOST_LOOKED_AT or found >= MOST_TESTS:
            return
        named = sorted(filter(name.fullmatch, files))
        if not named:
            continue
        inside = Path(place).relative_to(root)
        if within and inside.parts and not set(within) & set(inside.parts):
            continue
        for file in named:
            path = inside / file
            if (root / path).is_file() and (saying is None or saying.search(text_of(root / path))):
                found += 1
                yield path.as_posix()


def content_of(path: Path) -> bytes | None:
    """A manifest that lies in the project itself and has a reasonable size; else nothing."""
    try:
        state = os.lstat(path)
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST_MANIFEST:
            return None
        return path.read_bytes()
    except (OSError, ValueError):
        return None


def text_of(path: Path) -> str:
    """The same as text; empty where there is none."""
    return (content_of(path) or b"").decode("utf-8", "replace").replace("\r\n", "\n")


def toml_of(path: Path) -> dict[str, Any]:
    """What a file says in TOML; nothing when it is none."""
    try:
        return tomllib.loads(text_of(path))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def ini_of(path: Path) -> Mapping[str, Mapping[str, str]]:
    """The sections of a settings file; none when it is none."""
    text = text_of(path)
    if not text:
        return {}  # making a parser takes longer than all the looking
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    return parser
