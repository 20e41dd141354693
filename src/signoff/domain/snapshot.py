"""The content of a workspace at one moment, and which files accepted steps answer for."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct


class FileKind(StrEnum):
    """Kinds of things that lie at a path."""

    FILE = "file"
    LINK = "link"
    DIRECTORY = "directory"
    OTHER = "other"


class FileState(NamedTuple):
    """One path: kind, permission bits that matter, and content."""

    kind: FileKind
    executable: bool
    size: int
    sha256: str


class Snapshot(Struct, frozen=True):
    """`digest` covers the source files; `environment` the by-products, cheaply."""

    digest: str
    environment: str
    files: int


class ChangeKind(StrEnum):
    """Differences of a path between two snapshots."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"


class Change(Struct, frozen=True):
    """One path that differs."""

    path: str
    kind: ChangeKind


Manifest = Mapping[str, FileState]


class Product(Struct, frozen=True):
    """A file that a step made, and the content in which it lies as it was accepted."""

    step: str
    snapshot: str
    fingerprint: str
    relied_on: bool = False  # by an accepted check, or because a plan declares it


Products = Mapping[str, Product]  # by path

NO_PRODUCTS: Products = MappingProxyType({})
