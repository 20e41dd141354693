"""The content of a workspace at one moment, as digests and a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class FileKind(StrEnum):
    """What lies at a path."""

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


@dataclass(frozen=True)
class Snapshot:
    """`digest` covers the source files; `environment` the by-products, cheaply."""

    digest: str
    environment: str
    files: int


class ChangeKind(StrEnum):
    """How a path differs between two snapshots."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"


@dataclass(frozen=True)
class Change:
    """One path that differs."""

    path: str
    kind: ChangeKind


Manifest = Mapping[str, FileState]
