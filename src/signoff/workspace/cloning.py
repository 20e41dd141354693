"""Copying a file's content so that a write to the copy never reaches the original."""

from __future__ import annotations

import errno
import fcntl
import os
from enum import StrEnum

from signoff.workspace.writing import write_all

_FICLONE = 0x40049409
_CHUNK_BYTES = 1 << 20
# What file systems say that cannot do it, or not between these two files.
_CANNOT = frozenset(
    {
        errno.EOPNOTSUPP,
        errno.ENOTTY,
        errno.EINVAL,
        errno.EXDEV,
        errno.ENOSYS,
        errno.EPERM,
        errno.ETXTBSY,
    }
)


class How(StrEnum):
    """The way content came into a folder."""

    NOTHING = "nothing copied"
    REFLINK = "reflink"
    COPY = "copy"


class Cloner:
    """Shares blocks (copy on write) where the file system can, else copies them; says which."""

    def __init__(self) -> None:
        self.how = How.NOTHING

    def clone(self, source: int, target: int) -> None:
        """Give the empty file behind `target` the content of the one behind `source`."""
        if self.how is not How.COPY:
            if _shares_blocks(source, target):
                self.how = How.REFLINK
                return
            self.how = How.COPY
        _copy(source, target)


def _shares_blocks(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, _FICLONE, source)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        return False
    return True


def _copy(source: int, target: int) -> None:
    try:
        while os.copy_file_range(source, target, _CHUNK_BYTES):
            pass
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
    # Also after a copy that ended early: some file systems report an end that is none.
    while piece := os.read(source, _CHUNK_BYTES):
        write_all(target, piece)
