"""Scripts kept in JSON or TOML files, read strictly: a misspelt key is an error, not silence."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from signoff.errors import ScriptUnusable
from signoff.testing.conversation import Call
from signoff.testing.script import Failure, FailureKind, Script, Turn

LARGEST_FILE = 50_000_000
Kind = type[Any] | tuple[type[Any], ...]
_Known = Mapping[str, Kind]
_NUMBER = (int, float)
_SCRIPT: _Known = {"schema_version": int, "turns": list, "last_repeats": bool, "aside": Mapping}
_TURN: _Known = {
    "text": (str, list),
    "calls": list,
    "input_tokens": int,
    "output_tokens": int,
    "cut_off": bool,
    "first_byte_s": _NUMBER,
    "between_chunks_s": _NUMBER,
    "failure": Mapping,
}
_CALL: _Known = {"name": str, "arguments": (Mapping, str), "id": str}
_FAILURE: _Known = {
    "kind": str,
    "status": int,
    "message": str,
    "code": str,
    "retry_after_s": _NUMBER,
}


def read_script(path: Path) -> Script:
    """The script in a `.toml` file, or in any other file as JSON."""
    try:
        text = _read_text(path)
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, str(error)) from error
    try:
        return _script(data)
    except ScriptUnusable as error:
        raise _unreadable(path, error.message) from error


def _read_text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise ValueError(f"longer than {LARGEST_FILE} bytes")
    return data.decode("utf-8")


def _script(data: object) -> Script:
    fields = _fields(data, _SCRIPT, "the script")
    if fields.get("schema_version", 1) != 1:
        raise ScriptUnusable(f"schema_version {fields['schema_version']} is not known")
    turns = [_turn(turn, f"turn {n}") for n, turn in enumerate(fields.get("turns", []), start=1)]
    aside = _turn(fields["aside"], "aside") if "aside" in fields else None
    return Script(turns, last_repeats=fields.get("last_repeats", False), aside=aside)


def _turn(data: object, where: str) -> Turn:
    fields = dict(_fields(data, _TURN, where))
    text = fields.pop("text", [])
    chunks = [text] if isinstance(text, str) else text
    if not all(isinstance(chunk, str) for chunk in chunks):
        raise ScriptUnusable(f"{where}: `text` is no list of strings")
    calls = tuple(_call(call, where) for call in fields.pop("calls", []))
    failure = _failure(fields.pop("failure"), where) if "failure" in fields else None
    return Turn(tuple(chunks), calls, failure=failure, **fields)


def _call(data: object, where: str) -> Call:
    fields = _fields(data, _CALL, f"{where}, a call")
    if not fields.get("name"):
        raise ScriptUnusable(f"{where}: a call without a name")
    return Call(**fields)


def _failure(data: object, where: str) -> Failure:
    fields = dict(_fields(data, _FAILURE, f"{where}, its failure"))
    kind = fields.pop("kind", FailureKind.STATUS)
    known = [k.value for k in FailureKind]
    if kind not in known:
        raise ScriptUnusable(f"{where}: `{kind}` is no kind of failure; there are {known}")
    return Failure(FailureKind(kind), **fields)


def _fields(data: object, known: _Known, where: str) -> Mapping[str, Any]:
    """The data as a mapping in which every key is known and every value of its type."""
    if not isinstance(data, Mapping):
        raise ScriptUnusable(f"{where} is no table of keys and values")
    for key, value in data.items():
        if key not in known:
            raise ScriptUnusable(f"{where}: `{key}` is not known; there are {sorted(known)}")
        # True is an int, but no number.
        misplaced = isinstance(value, bool) and known[key] is not bool
        if misplaced or not isinstance(value, known[key]):
            raise ScriptUnusable(f"{where}: `{key}` cannot be `{value}`")
    return data


def _unreadable(path: Path, why: str) -> ScriptUnusable:
    return ScriptUnusable(
        f"`{path}` is no script: {why}",
        'write for example {"turns": [{"text": "Hello."}]}',
        {"path": str(path)},
    )
