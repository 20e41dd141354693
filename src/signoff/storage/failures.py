"""Why storage failed: one list of causes, worded and hinted in one place."""

from __future__ import annotations

import errno
from enum import StrEnum

from signoff.errors import StorageFailed


class Cause(StrEnum):
    """Why storage failed, as the fact `cause` of the error."""

    ABSENT = "absent"
    LOCKED = "locked"
    FULL = "disk-full"
    READ_ONLY = "read-only"
    CORRUPT = "corrupt"
    IO = "input-output"
    UNAVAILABLE = "unavailable"
    OUTDATED = "outdated"
    UNSTORABLE = "unstorable"


WORDS: dict[Cause, str] = {
    Cause.ABSENT: "does not exist yet",
    Cause.LOCKED: "is locked by another process",
    Cause.FULL: "cannot grow: the disk is full",
    Cause.READ_ONLY: "is read-only",
    Cause.CORRUPT: "is damaged or not a database",
    Cause.IO: "could not be read or written by the operating system",
    Cause.UNAVAILABLE: "cannot be opened",
    Cause.OUTDATED: "has an old schema",
    Cause.UNSTORABLE: "cannot store this",
}

_HINTS: dict[Cause, str] = {
    Cause.ABSENT: "signoff run PLAN",
    Cause.LOCKED: "wait for the other signoff process, or stop it, then run the same command again",
    Cause.FULL: "free disk space, then run the same command again",
    Cause.READ_ONLY: "make it writable for you, then run the same command again",
    Cause.CORRUPT: "restore the home folder from a backup; nothing was repaired or deleted",
    Cause.IO: "check the disk and the system log, then run the same command again",
    Cause.UNAVAILABLE: "check that the address is right and can be reached",
    Cause.OUTDATED: "run a command that writes once, so that the database is brought up to date",
    Cause.UNSTORABLE: "remove NUL and unpaired surrogate characters from the named value",
}

_ERRNO_CAUSES: dict[int, Cause] = {
    errno.ENOSPC: Cause.FULL,
    errno.EDQUOT: Cause.FULL,
    errno.EROFS: Cause.READ_ONLY,
    errno.EACCES: Cause.READ_ONLY,
    errno.EPERM: Cause.READ_ONLY,
    errno.EIO: Cause.IO,
}

# After these a connection's own view is not to be trusted: the next use opens and reads anew.
POISONOUS = frozenset({Cause.IO, Cause.CORRUPT, Cause.UNAVAILABLE})


def storage_failed(cause: Cause, message: str, hint: str | None = None) -> StorageFailed:
    """The error for `cause`, with its hint and the cause as a fact."""
    return StorageFailed(message, hint or _HINTS[cause], {"cause": str(cause)})


def os_failure(label: str, error: OSError) -> StorageFailed:
    """The operating system's refusal about `label` as our error."""
    cause = _ERRNO_CAUSES.get(error.errno or 0, Cause.UNAVAILABLE)
    return storage_failed(cause, f"{label} {WORDS[cause]}: {error.strerror or error}")
