"""Values of a configuration file, checked one by one; what is wrong is told with its place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from signoff.errors import ConfigInvalid

E = TypeVar("E", bound=StrEnum)


def check_keys(table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Nothing in the table that nobody would read."""
    names = sorted(known)
    for key in table:
        if key in names:
            continue
        close = difflib.get_close_matches(key, names, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known here: {', '.join(names)}"
        raise ConfigInvalid(f"`{where}` has an unknown key `{key}`", hint)


def read_table(
    data: Mapping[str, Any], name: str, known: Iterable[str], where: str
) -> tuple[Mapping[str, Any], str]:
    """A table in which nothing is unknown, empty where there is none; and how its place is told."""
    table, place = data.get(name, {}), f"{where}, {name}"
    if not isinstance(table, dict):
        raise ConfigInvalid(f"`{where}`: `{name}` must be a table")
    check_keys(table, known, place)
    return table, place


def read_choice(table: Mapping[str, Any], name: str, plain: E, where: str) -> E:
    """One of the words of an enumeration."""
    value, choices = table.get(name, plain), list(type(plain))
    if value not in choices:
        raise ConfigInvalid(f"`{where}`: `{name}` must be one of {', '.join(choices)}")
    return type(plain)(value)


def is_positive(value: Any) -> bool:
    """A number above nothing, with an end."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 < value < float("inf")


def read_text(table: Mapping[str, Any], name: str, where: str) -> str | None:
    """A text that is not empty; None when there is none."""
    value = table.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise ConfigInvalid(f"`{where}`: `{name}` must be a text")
    return value


def read_texts(
    table: Mapping[str, Any], name: str, where: str, of: str = "paths"
) -> tuple[str, ...]:
    """A list of texts."""
    value = table.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ConfigInvalid(f"`{where}`: `{name}` must be a list of {of}")
    return tuple(value)


def read_number(
    table: Mapping[str, Any], name: str, where: str, *, default: int, most: int, least: int = 1
) -> int:
    """A whole number from the least to the most there may be."""
    value = table.get(name, default)
    if type(value) is not int or not least <= value <= most:
        raise ConfigInvalid(f"`{where}`: `{name}` must be a number from {least} to {most}")
    return value


def read_boolean(table: Mapping[str, Any], name: str, where: str, *, default: bool = False) -> bool:
    """A switch."""
    value = table.get(name, default)
    if not isinstance(value, bool):
        raise ConfigInvalid(f"`{where}`: `{name}` must be true or false")
    return value
