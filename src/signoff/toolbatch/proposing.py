"""From what a model sent to a call: arguments read, paths named relative to the workspace."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from signoff.toolbatch.calls import STANDARD_SHAPES, Call, Nature, ToolShape

MOST_PATHS = 200
_PATCHED = re.compile(r"^(?:\+\+\+|---) (?:[ab]/)?([^\t\n]+)", re.MULTILINE)
_OTHER = ToolShape(Nature.OTHER)
Named = Callable[[str], str]


def propose(
    id: str,
    tool: str,
    arguments: Mapping[str, Any] | str,
    *,
    root: Path,
    shapes: Mapping[str, ToolShape] = STANDARD_SHAPES,
    named: Named | None = None,
) -> Call:
    """A call as the runtime sees it; arguments that cannot be read make it malformed.

    `named` says how reports name a path; left out, it is relative to `root` where it lies in it.
    """
    shape = shapes.get(tool, _OTHER)
    try:
        given = _read(arguments)
    except (ValueError, RecursionError) as error:
        return Call(id, tool, {}, shape, malformed=f"the arguments are {error}")
    naming = named if named is not None else (lambda path: relative(root, path))
    paths = dict.fromkeys(naming(path) for path in _paths(shape, given))
    return Call(id, tool, given, shape, tuple(paths)[:MOST_PATHS])


def relative(root: Path, path: str) -> str:
    """A path as reports name it, without looking at the disk."""
    whole = os.path.normpath(root / path)
    inside = whole == str(root) or whole.startswith(f"{root}{os.sep}")
    return os.path.relpath(whole, root) if inside else whole


def _paths(shape: ToolShape, arguments: Mapping[str, Any]) -> list[str]:
    value = arguments.get(shape.path) if shape.path else None
    if isinstance(value, str):
        return [value] if value and "\0" not in value else []
    diff = arguments.get("diff") if "diff" in shape.payload else None
    if isinstance(diff, str):
        return [p.strip() for p in _PATCHED.findall(diff) if p.strip() != "/dev/null"]
    return []


def _read(arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if isinstance(arguments, Mapping):
        return arguments
    try:
        read = json.loads(arguments or "{}", parse_constant=_no_number)
    except ValueError as error:
        raise ValueError(f"not valid JSON ({error})") from None
    if not isinstance(read, dict):
        raise ValueError("not one JSON object")
    return read


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
