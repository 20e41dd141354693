"""Locks that die with their process: `flock` on a descriptor, no guessing about stale files."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from signoff.domain.digests import digest_bytes
from signoff.errors import Held, HomeUnsafe
from signoff.storage.failures import os_failure
from signoff.storage.records import Holder

_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_HOLDER_BYTES = 64 * 1024
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.02


@contextmanager
def hold(folder: Path, name: str, holder: Holder, what: str = "") -> Iterator[None]:
    """Hold the lock `name` in our own folder, or raise Held with who has it.

    `what` is how people call the thing that the lock is about.
    The kernel releases it when the process ends, however it ends. The descriptor is
    close-on-exec, so no child started meanwhile can keep it.
    """
    folder_fd = _open_folder(folder)
    try:
        fd = _try_lock(folder_fd, folder / _file_name(name), what or f"`{name}`")
    finally:
        os.close(folder_fd)
    try:
        _write_holder(fd, holder)
        yield
    finally:
        # Emptied while we still hold it, so that the file never names somebody who let go.
        with suppress(OSError):
            os.ftruncate(fd, 0)
        os.close(fd)


@contextmanager
def wait_for(path: Path, flags: int, timeout_s: float, mode: int = 0o600) -> Iterator[int]:
    """Open `path`, wait for its lock, yield the descriptor; Held when the time is over.

    A file that was replaced while we waited is opened again: its old lock guards nothing.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            _wait(fd, path, deadline, timeout_s)
            if _is_current(fd, path):
                yield fd
                return
        finally:
            os.close(fd)


def _wait(fd: int, path: Path, deadline: float, timeout_s: float) -> None:
    pause_s = _FIRST_PAUSE_S
    while not _flock(fd):
        if time.monotonic() > deadline:
            raise Held(
                f"`{path}` was locked by another process for {timeout_s:g} s",
                "find the process that keeps it open, stop it, and run the same command again",
            )
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)


def _try_lock(folder_fd: int, path: Path, what: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    while True:
        try:
            fd = os.open(path.name, flags, 0o600, dir_fd=folder_fd)
        except OSError as error:
            if path.is_symlink():
                message = f"the lock file `{path}` is a symbolic link"
                raise HomeUnsafe(
                    message, f"find out who made it, then: rm {shlex.quote(str(path))}"
                ) from error
            raise os_failure(f"the lock file `{path}`", error) from error
        if not _flock(fd):
            holder = _read_holder(fd)
            os.close(fd)
            raise _held(what, holder)
        if _is_current(fd, Path(path.name), folder_fd):
            return fd
        os.close(fd)


def _held(what: str, holder: Holder | None) -> Held:
    if holder is None:
        return Held(f"{what} is held by a process that did not say who it is")
    # Sessions of agents hold a workspace too, and have no plan's file to name.
    cancel = f", or stop it: signoff cancel {shlex.quote(holder.plan)}"
    return Held(
        f"{what} is held by {holder} (plan `{holder.plan}`)",
        f"wait for it{cancel if holder.plan.endswith('.md') else ''}",
        {"holder": holder.facts()},
    )


def _flock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_current(fd: int, path: Path, dir_fd: int | None = None) -> bool:
    """Whether the name still leads to what we locked."""
    try:
        there = os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(fd), there)


def _open_folder(folder: Path) -> int:
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if folder.is_symlink():
            raise HomeUnsafe(f"the lock folder `{folder}` is a symbolic link") from error
        raise os_failure(f"the lock folder `{folder}`", error) from error


def _file_name(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return f"{name}.lock"
    return f"{digest_bytes(os.fsencode(name))[:32]}.lock"


def _write_holder(fd: int, holder: Holder) -> None:
    text = json.dumps(holder.facts()).encode()
    os.ftruncate(fd, 0)
    os.pwrite(fd, text, 0)


def _read_holder(fd: int) -> Holder | None:
    """None while a new holder has the lock and has not written its name yet."""
    try:
        facts = json.loads(os.pread(fd, _HOLDER_BYTES, 0))
        return Holder(
            int(facts["pid"]), str(facts["host"]), str(facts["plan"]), str(facts["since"])
        )
    except (ValueError, KeyError, TypeError):
        return None


def holders(folder: Path) -> tuple[Holder, ...]:
    """Everybody who wrote themselves into a lock of this folder; one who was killed still shows.

    The locks are not tried: even a short shared lock could turn away somebody who wants one.
    """
    found = []
    for path in sorted(folder.glob("*")):
        with suppress(OSError):
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                holder = _read_holder(fd)
            finally:
                os.close(fd)
            if holder is not None:
                found.append(holder)
    return tuple(found)
