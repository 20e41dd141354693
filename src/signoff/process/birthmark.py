"""A mark that every process of a run carries from birth and cannot wash off.

Environments can be emptied (`env -i`) and sessions left (`setsid`), but resource limits are
inherited through both, and a hard limit can only be lowered without privileges. The kernel keeps
`RLIMIT_LOCKS` and has ignored it since Linux 2.4.25, so its value is free to carry a number.
"""

from __future__ import annotations

import hashlib
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

if sys.platform != "win32":
    import resource

_RLIMIT_LOCKS = 10
_LOWEST = 1 << 56
_BITS = 55


def mark_for(name: str, value: str) -> int:
    """The mark of runs whose environment carries NAME=value, the same in every driver."""
    text = f"{name}={value}".encode("utf-8", "surrogateescape")
    return _LOWEST + (int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> (64 - _BITS))


def choose_mark(wanted: int | None) -> int | None:
    """The wanted mark or a random one, within what our own hard limit allows; None without any."""
    if sys.platform != "linux":
        return None
    hard = resource.getrlimit(_RLIMIT_LOCKS)[1]
    mark = wanted if wanted is not None else _LOWEST + secrets.randbits(_BITS)
    if hard == resource.RLIM_INFINITY or mark < hard:
        return mark
    # Inside another run's limit only lower numbers are allowed.
    return secrets.randbelow(hard - 1) + 1 if hard > _LOWEST >> 16 else None


def own_mark() -> int:
    """What processes carry that belong to no run: our own limit."""
    return resource.getrlimit(_RLIMIT_LOCKS)[0] if sys.platform == "linux" else -1


def mark_of(pid: int) -> int | None:
    """The mark a process carries; None when it is gone or belongs to another user."""
    if sys.platform != "linux":
        return None
    try:
        return resource.prlimit(pid, _RLIMIT_LOCKS)[0]
    except (OSError, ValueError):
        return None


@contextmanager
def inherited(mark: int | None) -> Iterator[None]:
    """Children started inside the block are born with the mark; the caller serialises."""
    if sys.platform != "linux" or mark is None:
        yield
        return
    before = resource.getrlimit(_RLIMIT_LOCKS)
    resource.setrlimit(_RLIMIT_LOCKS, (mark, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(_RLIMIT_LOCKS, before)


def fix(pid: int, mark: int | None) -> None:
    """Make the mark final: from now on it can only be lowered, which gives the process away."""
    if sys.platform == "linux" and mark is not None:
        with suppress(OSError, ValueError):
            resource.prlimit(pid, _RLIMIT_LOCKS, (mark, mark))
