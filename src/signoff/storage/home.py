"""The home folder: ours alone, outside every workspace, with a reserve for a full disk."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from signoff.errors import HomeUnsafe, SignoffError
from signoff.storage.database import sqlite_url
from signoff.storage.failures import os_failure
from signoff.storage.files import durable_replace

FOLDERS = ("keys", "locks", "logs", "receipts", "snapshots")
RESERVE_BYTES = 1024 * 1024
_OPEN_TO_OTHERS = 0o077
_WRITABLE_BY_OTHERS = 0o022


class Home:
    """An existing home folder, checked; every path in it is derived here."""

    def __init__(self, path: Path, *, create: bool = True):
        self.path = path
        self.keys = path / "keys"  # that sign receipts
        self.locks = path / "locks"  # files for `hold`
        self.logs = path / "logs"  # of attempts and contracts
        self.receipts = path / "receipts"  # of sign-offs, by plan and run
        self.snapshots = path / "snapshots"  # the content store of workspaces
        if create:
            self._create()
        self._refuse_links()

    @property
    def database_url(self) -> str:
        """The embedded database."""
        return sqlite_url(self.path.absolute() / "ledger.sqlite3")

    def receipt_runs(self, plan: str) -> tuple[str, ...]:
        """The runs of a plan that have a receipt here."""
        found = sorted(path.stem for path in (self.receipts / plan).glob("*.json"))
        return tuple(name for name in found if not name.startswith("."))

    def keep_apart(self, workspace: Path) -> None:
        """Refuse a workspace that holds the home, or lies in it: an agent could write there."""
        home, work = Path(os.path.realpath(self.path)), Path(os.path.realpath(workspace))
        if home == work or home.is_relative_to(work):
            raise HomeUnsafe(f"the home folder `{home}` lies inside the workspace `{work}`")
        if work.is_relative_to(home):
            raise HomeUnsafe(
                f"the workspace `{work}` lies inside the home folder `{home}`",
                "move the workspace elsewhere, or set SIGNOFF_HOME to another folder",
            )

    def keep_reserve(self) -> bool:
        """Set space aside, so that a full disk can still be recorded; False if there is none."""
        reserve = self.path / "reserve"
        with suppress(OSError):
            if reserve.lstat().st_size >= RESERVE_BYTES:
                return True
        try:
            # Random, because zeros take no room on disks that compress.
            durable_replace(reserve, os.urandom(RESERVE_BYTES))
        except SignoffError:
            return False
        return True

    def drop_reserve(self) -> bool:
        """Give the reserve back to the disk; whether there was one."""
        try:
            (self.path / "reserve").unlink()
        except OSError:
            return False
        return True

    def _create(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            _secure(self.path)
            for name in FOLDERS:
                (self.path / name).mkdir(mode=0o700, exist_ok=True)
                _secure(self.path / name)
        except FileExistsError as error:
            raise HomeUnsafe(f"`{error.filename}` is in the way of the home folder") from error
        except OSError as error:
            raise os_failure(f"the home folder `{self.path}`", error) from error

    def _refuse_links(self) -> None:
        try:
            for name in FOLDERS:
                if (self.path / name).is_symlink():
                    raise _linked(self.path / name)
            _secure(self.path)
        except OSError as error:
            raise os_failure(f"the home folder `{self.path}`", error) from error


def _secure(folder: Path) -> None:
    """Refuse a link; close to others what is ours; refuse what others can write."""
    state = folder.lstat()
    if stat.S_ISLNK(state.st_mode):
        raise _linked(folder)
    if not stat.S_ISDIR(state.st_mode):
        raise HomeUnsafe(f"`{folder}` is not a folder")
    if state.st_uid == os.geteuid() and state.st_mode & _OPEN_TO_OTHERS:
        # A read-only disk keeps its modes; what counts then is the check below.
        with suppress(OSError):
            folder.chmod(0o700)
        state = folder.lstat()
    if state.st_mode & _WRITABLE_BY_OTHERS:
        raise HomeUnsafe(f"others than you can write to the home folder `{folder}`")


def _linked(folder: Path) -> HomeUnsafe:
    return HomeUnsafe(
        f"the home folder `{folder}` is a symbolic link to `{folder.readlink()}`",
        "set SIGNOFF_HOME to the folder itself",
    )
