"""A package that a library imports at once and may never use: it is loaded when first used."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any


@contextmanager
def put_off(package: str, *submodules: str) -> Iterator[None]:
    """Whoever is imported in here gets a stand-in, which loads the package when it is used."""
    if package in sys.modules:
        yield
        return
    stand_ins = {package: _StandIn(package)}
    for name in submodules:
        stand_ins[f"{package}.{name}"] = _StandIn(f"{package}.{name}")
        setattr(stand_ins[package], name, stand_ins[f"{package}.{name}"])
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        _withdraw(package)


class _StandIn(ModuleType):
    """Stays with whoever imported it; only while that happens do others find it as well."""

    def __init__(self, name: str):
        super().__init__(name)
        self.__path__: list[str] = []  # or `from package import name` asks for it, and loads

    def __getattr__(self, name: str) -> Any:
        _withdraw(self.__name__.partition(".")[0])
        return getattr(import_module(self.__name__), name)


def _withdraw(package: str) -> None:
    """So that an import finds the package itself."""
    for name, module in tuple(sys.modules.items()):
        if isinstance(module, _StandIn) and name.partition(".")[0] == package:
            sys.modules.pop(name, None)
