"""How a process ended that somebody else collected, from kernels that remember (Linux 6.15)."""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from contextlib import suppress
from functools import lru_cache

_PIDFD_GET_INFO = 0xC040FF0B
_PIDFD_INFO_EXIT = 1 << 3
_INFO_SIZE = 64
_EXIT_CODE_AT = 60


def open_pidfd(pid: int) -> int:
    """A handle on a process, -1 without one."""
    if sys.platform == "linux":
        with suppress(OSError):
            return os.pidfd_open(pid)
    return -1


@lru_cache(maxsize=1)
def remembers_exits() -> bool:
    """Whether asking can help at all: older kernels do not know the question."""
    fd = open_pidfd(os.getpid())
    if fd < 0:
        return False
    try:
        fcntl.ioctl(fd, _PIDFD_GET_INFO, bytearray(_INFO_SIZE))
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def wait_status(pidfd: int) -> int | None:
    """The status its parent got from `wait`; None when the kernel does not tell."""
    info = bytearray(_INFO_SIZE)
    struct.pack_into("=Q", info, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        return None
    (mask,) = struct.unpack_from("=Q", info, 0)
    if not mask & _PIDFD_INFO_EXIT:
        return None
    (status,) = struct.unpack_from("=i", info, _EXIT_CODE_AT)
    return int(status)
