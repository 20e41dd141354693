"""A file that an accepted step left behind and answers for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Product:
    """Whose file it is, and the content in which it lies as it was accepted."""

    step: str
    snapshot: str
    fingerprint: str
    relied_on: bool = False  # by an accepted check, or because a plan declares it


Products = Mapping[str, Product]  # by path

NO_PRODUCTS: Products = MappingProxyType({})
