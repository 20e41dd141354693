"""Plan and progress files: read with care, replaced durably, compared before they are swapped."""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from signoff.domain.digests import digest_bytes
from signoff.domain.text import decode_output
from signoff.errors import PlanConflict, PlanNotFound, PlanUnreadable, UsageError
from signoff.storage.engine import os_failure
from signoff.workspace.folders import wait_for

MAX_PLAN_BYTES = 20 * 1024 * 1024
LOCK_TIMEOUT_S = 30.0
LONGEST_DIFF = 20_000
_NEW_FILE_MODE = 0o666  # the kernel takes the umask off
_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a device",
    stat.S_IFCHR: "a device",
    stat.S_IFLNK: "a symbolic link",
}


def read_plan_file(path: Path, *, limit_bytes: int = MAX_PLAN_BYTES, follow: bool = True) -> bytes:
    """The bytes of a regular file; what could block, never end or be huge is refused unread.

    A link is followed to a regular file: a plan's identity is its real path.
    """
    try:
        real = Path(os.path.realpath(path, strict=True)) if follow else path
        _refuse_irregular(real, os.lstat(real).st_mode)
        # Non-blocking, in case the file became a pipe since it was looked at.
        fd = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | _OPEN)
    except OSError as error:
        raise _unreadable(path, error) from error
    with open(fd, "rb") as file:
        state = os.fstat(fd)
        _refuse_irregular(real, state.st_mode)
        data = b"" if state.st_size > limit_bytes else file.read(limit_bytes + 1)
    if max(state.st_size, len(data)) > limit_bytes:
        raise PlanUnreadable(
            f"`{path}` has {state.st_size} bytes, the limit is {limit_bytes}",
            "split it into smaller plans",
            {"size": state.st_size, "limit": limit_bytes},
        )
    return data


def durable_replace(path: Path, data: bytes) -> None:
    """Replace `path` so that after a power cut it is wholly the old or wholly the new file."""
    try:
        with _folder(path.parent) as folder_fd:
            _replace(folder_fd, path.name, data)
    except OSError as error:
        raise os_failure(f"`{path}`", error) from error


def swap_file(
    path: Path,
    expected_digest: str | None,
    data: bytes,
    *,
    keep_loser: bool = False,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
    mode: int = _NEW_FILE_MODE,
) -> str:
    """Replace `path` only if its bytes have `expected_digest` (None: only if there is no file).

    Returns the new digest. Raises PlanConflict with the current digest; with `keep_loser` the
    refused text is kept beside it. The lock is on the folder itself, so that all who can reach
    the file agree on it, and there is no lock file to plant or to delete.
    """
    folder = Path(os.path.realpath(path.parent))
    try:
        with wait_for(folder, os.O_RDONLY | os.O_DIRECTORY, lock_timeout_s) as folder_fd:
            there = _content_at(folder_fd, path)
            current = None if there is None else digest_bytes(there)
            if current == expected_digest:
                _replace(folder_fd, path.name, data, mode)
                return digest_bytes(data)
            kept = _keep_beside(folder_fd, path, data) if keep_loser else None
    except OSError as error:
        raise os_failure(f"`{path}`", error) from error
    conflict = _conflict(path, expected_digest, current, kept)
    if keep_loser:
        conflict.facts["diff"] = _difference(path.name, there or b"", data)
    raise conflict


def append_lines(path: Path, *lines: str, lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
    """Append lines under one lock, all of them on disk before this returns.

    A torn line before them is closed first.
    """
    for line in lines:
        if any(c in line for c in "\n\r\0"):
            raise UsageError(
                f"a line for `{path}` has a line break or NUL in it", "pass one line at a time"
            )
    if not lines:
        return
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
    try:
        with wait_for(path, flags, lock_timeout_s, mode=_NEW_FILE_MODE) as fd:
            state = os.fstat(fd)
            _refuse_irregular(path, state.st_mode)
            if state.st_size == 0:
                sync_folder(path.parent)
            torn = state.st_size > 0 and os.pread(fd, 1, state.st_size - 1) != b"\n"
            _append(fd, (b"\n" if torn else b"") + text, state.st_size)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise _unreadable(path, error) from error
        raise os_failure(f"`{path}`", error) from error


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable: without it an acknowledged new file can vanish."""
    with _folder(folder) as fd:
        os.fsync(fd)


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def _replace(folder_fd: int, name: str, data: bytes, mode: int = _NEW_FILE_MODE) -> None:
    before = _state_at(folder_fd, name)
    temporary = f".{name[:100]}.{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN
    fd = os.open(temporary, flags, mode, dir_fd=folder_fd)
    try:
        with open(fd, "wb") as file:
            if before is not None:
                _keep_owner_and_mode(fd, before)
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.rename(temporary, name, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder_fd)
        raise
    os.fsync(folder_fd)


def _keep_owner_and_mode(fd: int, before: os.stat_result) -> None:
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (before.st_uid, before.st_gid):
        # Only root may give a file away; for anybody else the writer becomes the owner.
        with suppress(PermissionError):
            os.fchown(fd, before.st_uid, before.st_gid)
    os.fchmod(fd, stat.S_IMODE(before.st_mode))


def _append(fd: int, data: bytes, size_before: int) -> None:
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError:
        # Half a line on a full disk is worse than none; we hold the lock, nobody wrote after us.
        os.ftruncate(fd, size_before)
        raise
    os.fsync(fd)


def _state_at(folder_fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _content_at(folder_fd: int, path: Path) -> bytes | None:
    state = _state_at(folder_fd, path.name)
    if state is None:
        return None
    _refuse_irregular(path, state.st_mode)
    fd = os.open(path.name, os.O_RDONLY | os.O_NONBLOCK | _OPEN, dir_fd=folder_fd)
    with open(fd, "rb") as file:
        _refuse_irregular(path, os.fstat(fd).st_mode)
        return file.read()


def _difference(name: str, there: bytes, refused: bytes) -> str:
    """Difference between the file as it is and the text that was refused, cut for people."""
    # Only a conflict needs it, and those who write plans should not load the parser for it.
    from signoff.planfile.diff import unified  # noqa: PLC0415

    lines = unified(decode_output(there), decode_output(refused), name).split("\n")
    # The heads name a before and a now; here both texts are of now.
    lines[:2] = [f"--- {name} as it is", f"+++ {name} as you wanted it"] if lines[0] else []
    text = "\n".join(lines)
    return text if len(text) <= LONGEST_DIFF else f"{text[:LONGEST_DIFF]}\n… cut"


def _keep_beside(folder_fd: int, path: Path, data: bytes) -> Path:
    number = 1
    while True:
        name = f"{path.name}.conflict-{number}"
        if _state_at(folder_fd, name) is None:
            # Nobody who honours the folder's lock can take the name between look and rename.
            _replace(folder_fd, name, data)
            return path.with_name(name)
        number += 1


def _conflict(
    path: Path, expected: str | None, current: str | None, kept: Path | None
) -> PlanConflict:
    facts = {"path": str(path), "expected": expected, "current": current}
    if current is None:
        message = f"`{path}` does not exist any more"
    elif expected is None:
        message = f"`{path}` exists already with digest `{current}`"
    else:
        message = f"`{path}` changed since it was read; its digest is now `{current}`"
    if kept is None:
        return PlanConflict(message, facts=facts)
    facts["kept"] = str(kept)
    return PlanConflict(
        f"{message}; your text is kept in `{kept}`",
        shlex.join(["diff", str(path), str(kept)]),
        facts,
    )


def _refuse_irregular(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = _KINDS.get(stat.S_IFMT(mode), "not a file")
    hint = None
    if stat.S_ISDIR(mode) and (inside := sorted(path.glob("PLAN*.md"))):
        hint = f"name the file: {shlex.quote(str(inside[0]))}"
    elif stat.S_ISLNK(mode):
        hint = "name the file it points to, or replace the link by the file"
    raise PlanUnreadable(f"`{path}` is {kind}, not a regular file", hint)


def _unreadable(path: Path, error: OSError) -> PlanNotFound | PlanUnreadable:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        if path.is_symlink():
            target = path.readlink()
            return PlanNotFound(f"`{path}` points to `{target}`, which does not exist")
        return PlanNotFound(f"no plan at `{path}`")
    if error.errno == errno.ELOOP:
        return PlanUnreadable(f"`{path}` is a symbolic link that cannot be followed")
    return PlanUnreadable(
        f"`{path}` cannot be read: {error.strerror}", f"ls -l {shlex.quote(str(path))}"
    )
