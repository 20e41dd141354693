"""Python types as JSON schemas, and a model's arguments checked against them."""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from signoff.errors import UsageError

_PLAIN: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_LONGEST_SHOWN = 80


class BadArgument(ValueError):
    """An argument that does not fit; the message is for the model."""


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON schema of a type; a type that no model could fill is refused."""
    if kind is Any:
        return {}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return _choice(parts)
    if origin in (Union, types.UnionType):
        return _union(parts)
    if kind is list or origin is list:
        return {"type": "array", "items": schema_of(parts[0]) if parts else {}}
    if kind is dict or origin is dict:
        return {"type": "object", "additionalProperties": schema_of(parts[1]) if parts else {}}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _record(kind)
    raise UsageError(
        f"a tool cannot take `{getattr(kind, '__name__', kind)}`",
        "use str, int, float, bool, list, dict, Literal, Optional or a dataclass",
    )


def read_value(kind: Any, value: Any, place: str) -> Any:
    """The value as the type asks for it; BadArgument says what is wrong, and where."""
    if kind is Any:
        return value
    if kind in _PLAIN:
        return _plain(kind, value, place)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        # By type too: True equals 1, and is another answer.
        if any(value == part and type(value) is type(part) for part in parts):
            return value
        raise _wrong(place, f"one of {', '.join(map(repr, parts))}", value)
    if origin in (Union, types.UnionType):
        return _first_fit(parts, value, place)
    if kind is list or origin is list:
        if not isinstance(value, list):
            raise _wrong(place, "a list", value)
        item = parts[0] if parts else Any
        return [read_value(item, v, f"{place}[{i}]") for i, v in enumerate(value)]
    if not isinstance(value, Mapping):
        raise _wrong(place, "an object", value)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _read_record(kind, value, place)
    item = parts[1] if parts else Any
    return {str(k): read_value(item, v, f"{place}.{k}") for k, v in value.items()}


def read_fields(
    kinds: Mapping[str, Any], required: frozenset[str], given: Mapping[str, Any], place: str = ""
) -> dict[str, Any]:
    """Named values, each checked; unknown and missing names are told with the known ones."""
    prefix = f"{place}." if place else ""
    known = ", ".join(f"`{name}`" for name in kinds) or "none"
    for name in given:
        if name not in kinds:
            raise BadArgument(f"`{prefix}{name}` is not an argument; there are: {known}")
    for name in kinds:
        if name in required and name not in given:
            raise BadArgument(f"`{prefix}{name}` is missing; the arguments are: {known}")
    return {name: read_value(kinds[name], value, prefix + name) for name, value in given.items()}


def _choice(parts: tuple[Any, ...]) -> dict[str, Any]:
    names = {_PLAIN.get(type(part)) for part in parts}
    schema: dict[str, Any] = {"enum": list(parts)}
    if len(names) == 1 and None not in names:
        schema["type"] = names.pop()
    return schema


def _union(parts: tuple[Any, ...]) -> dict[str, Any]:
    """An optional value may be left out; nobody needs to send null, so the schema stays plain."""
    some = [part for part in parts if part is not type(None)]
    if len(some) == 1:
        return schema_of(some[0])
    return {"anyOf": [schema_of(part) for part in some]}


def _record(kind: type) -> dict[str, Any]:
    kinds = get_type_hints(kind)
    fields = [field for field in dataclasses.fields(kind) if field.init]
    return {
        "type": "object",
        "properties": {field.name: schema_of(kinds[field.name]) for field in fields},
        "required": sorted(_required(kind)),
        "additionalProperties": False,
    }


def _required(kind: type) -> frozenset[str]:
    missing = dataclasses.MISSING
    return frozenset(
        field.name
        for field in dataclasses.fields(kind)
        if field.init and field.default is missing and field.default_factory is missing
    )


def _read_record(kind: type, value: Mapping[str, Any], place: str) -> Any:
    hints = get_type_hints(kind)
    kinds = {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}
    fields = read_fields(kinds, _required(kind), value, place)
    try:
        return kind(**fields)
    except ValueError as error:
        raise BadArgument(f"`{place}`: {error}") from None


def _plain(kind: Any, value: Any, place: str) -> Any:
    if kind is str and isinstance(value, str):
        return value
    if kind is bool and isinstance(value, bool):
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and number and math.isfinite(value):
        return float(value)
    # Some models write every number with a point.
    if kind is int and number and math.isfinite(value) and value == int(value):
        return int(value)
    raise _wrong(place, f"{'an' if kind is int else 'a'} {_PLAIN[kind]}", value)


def _first_fit(parts: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None and type(None) in parts:
        return None
    failures = []
    for part in parts:
        if part is type(None):
            continue
        try:
            return read_value(part, value, place)
        except BadArgument as error:
            failures.append(str(error))
    raise BadArgument(" or ".join(dict.fromkeys(failures)))


def _wrong(place: str, wanted: str, value: Any) -> BadArgument:
    shown = repr(value)
    cut = shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + "…"
    return BadArgument(f"`{place}` must be {wanted}, not {cut}")
