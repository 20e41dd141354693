"""Why storage failed: one list of causes, worded and hinted in one place."""

from __future__ import annotations

import errno
from enum import StrEnum

from signoff.errors import StorageFailed


class StorageCause(StrEnum):
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


WORDS: dict[StorageCause, str] = {
    StorageCause.ABSENT: "does not exist yet",
    StorageCause.LOCKED: "is locked by another process",
    StorageCause.FULL: "cannot grow: the disk is full",
    StorageCause.READ_ONLY: "is read-only",
    StorageCause.CORRUPT: "is damaged or not a database",
    StorageCause.IO: "could not be read or written by the operating system",
    StorageCause.UNAVAILABLE: "cannot be opened",
    StorageCause.OUTDATED: "has an old schema",
    StorageCause.UNSTORABLE: "cannot store this",
}

_HINTS: dict[StorageCause, str] = {
    StorageCause.ABSENT: "signoff run PLAN",
    StorageCause.LOCKED: "wait for the other signoff process, or stop it, then try again",
    StorageCause.FULL: "free disk space, then run the same command again",
    StorageCause.READ_ONLY: "make it writable for you, then run the same command again",
    StorageCause.CORRUPT: "restore the home folder from a backup; nothing was repaired or deleted",
    StorageCause.IO: "check the disk and the system log, then run the same command again",
    StorageCause.UNAVAILABLE: "check that the address is right and can be reached",
    StorageCause.OUTDATED: "run a command that writes, so that the database is brought up to date",
    StorageCause.UNSTORABLE: "remove NUL and unpaired surrogate characters from the named value",
}

_ERRNO_CAUSES: dict[int, StorageCause] = {
    errno.ENOSPC: StorageCause.FULL,
    errno.EDQUOT: StorageCause.FULL,
    errno.EROFS: StorageCause.READ_ONLY,
    errno.EACCES: StorageCause.READ_ONLY,
    errno.EPERM: StorageCause.READ_ONLY,
    errno.EIO: StorageCause.IO,
}

# After these a connection's own view is not to be trusted: the next use opens and reads anew.
POISONOUS = frozenset({StorageCause.IO, StorageCause.CORRUPT, StorageCause.UNAVAILABLE})


def storage_failed(cause: StorageCause, message: str, hint: str | None = None) -> StorageFailed:
    """The error for `cause`, with its hint and the cause as a fact."""
    return StorageFailed(message, hint or _HINTS[cause], {"cause": str(cause)})


def os_failure(label: str, error: OSError) -> StorageFailed:
    """The operating system's refusal about `label` as our error."""
    cause = _ERRNO_CAUSES.get(error.errno or 0, StorageCause.UNAVAILABLE)
    return storage_failed(cause, f"{label} {WORDS[cause]}: {error.strerror or error}")
