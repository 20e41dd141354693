"""Modification times of source files: kept at approval, compared and put back when judged again.

A digest knows no times, but build tools go by them: a file that is merely touched is newer than
what it is made of.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from signoff.workspace.folders import opened_root, opened_strictly
from signoff.workspace.records import FilesByFolder, Folders

_MTIME, _CTIME, _MODE = 2, 3, 4  # places in the key of a record


class Times(NamedTuple):
    """Times of one file: the one that anybody can set, and the one that only the system sets."""

    modified_ns: int
    changed_ns: int


class ApprovedTimes(Struct, frozen=True):
    """Modification times as they were when a plan was approved, and when that was."""

    files: Mapping[str, int] = field(default_factory=dict)
    taken_ns: int = 0

    def to_bytes(self) -> bytes:
        """The stored form."""
        data = {"taken_ns": self.taken_ns, "files": dict(self.files)}
        return zlib.compress(json.dumps(data).encode("ascii"))

    @classmethod
    def from_bytes(cls, kept: bytes) -> ApprovedTimes:
        """The stored form read back."""
        return cls(**json.loads(zlib.decompress(kept)))


def times_of(folders: Folders) -> dict[str, Times]:
    """Times of the source files that a walk met."""
    return {
        f"{path}/{name}" if path else name: Times(record.key[_MTIME], record.key[_CTIME])
        for path, folder in folders.items()
        for name, record in folder.files.items()
        if stat.S_ISREG(record.key[_MODE])
    }


def put_times(root: Path, times: Mapping[str, int]) -> None:
    """Give files these modification times; what is no file any more is left alone."""
    with opened_root(root) as root_fd:
        for path, mtime_ns in times.items():
            above, _, name = path.rpartition("/")
            with suppress(OSError), opened_strictly(root_fd, above) as fd:
                os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=fd, follow_symlinks=False)


def with_times(content: FilesByFolder, times: Mapping[str, int]) -> FilesByFolder:
    """The content with these modification times."""
    changed = dict(content)
    for path, mtime_ns in times.items():
        above, _, name = path.rpartition("/")
        record = changed.get(above, {}).get(name)
        if record is not None:
            inode, size, _, ctime_ns, mode = record.key
            put = record._replace(key=(inode, size, mtime_ns, ctime_ns, mode))
            changed[above] = {**changed[above], name: put}
    return changed
