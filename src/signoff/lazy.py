"""The door of a room that loads a module only when one of its names is first asked for."""

from __future__ import annotations

import sys
from importlib import import_module

# Not `typing.TYPE_CHECKING`: what must answer at once comes through here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def door(package: str, module_of: Mapping[str, str]) -> Callable[[str], Any]:
    """The package's `__getattr__`: nobody pays for modules that they do not use."""

    def find(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        found = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return find
