"""Files that an agent leaves for the harness: small, regular, and never waited for."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_small_file(path: Path, largest: int) -> bytes:
    """A regular file that is no link; opening a FIFO would wait for a writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > largest:
            raise ValueError("not a report of an agent")
        return os.read(descriptor, largest)
    finally:
        os.close(descriptor)
