"""The home folder, ours alone: its reserve for a full disk, its locks, and the database it names.

Locks die with their process: `flock` on a descriptor, no guessing about stale files.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes, urlsplit

from msgspec import Struct

from signoff.domain.digests import digest_bytes
from signoff.errors import ConfigInvalid, Held, HomeUnsafe, SignoffError
from signoff.storage.engine import Database, os_failure
from signoff.storage.files import durable_replace
from signoff.storage.records import Holder
from signoff.workspace.folders import flock, is_current, opened_root, remove_any

FOLDERS = ("keys", "locks", "logs", "receipts", "snapshots")
RESERVE_BYTES = 1024 * 1024
QUICK_LOOK = 2_000  # entries, some milliseconds
_INSTALLED = "installed.json"
_OPEN_TO_OTHERS = 0o077
_WRITABLE_BY_OTHERS = 0o022


class DiskSize(Struct, frozen=True):
    """Bytes on the disk; at least so many where not everything was looked at."""

    taken: int
    whole: bool = True

    def __str__(self) -> str:
        return ("" if self.whole else "more than ") + shown_size(self.taken)


def shown_size(amount: int) -> str:
    """Bytes as people say them."""
    for unit, power in (("GB", 9), ("MB", 6), ("kB", 3)):
        if amount >= 10**power:
            return f"{amount / 10**power:.1f} {unit}"
    return f"{amount} bytes"


def size_of(path: Path, most_entries: int = sys.maxsize) -> DiskSize:
    """Disk use of a folder or file, from at most so many entries; hard links count once."""
    seen: set[tuple[int, int]] = set()
    taken, pending = 0, [str(path)]
    while pending:
        current = pending.pop()
        with suppress(OSError):
            state = os.lstat(current)
            if state.st_nlink > 1 and not stat.S_ISDIR(state.st_mode):
                if (state.st_dev, state.st_ino) in seen:
                    continue
                seen.add((state.st_dev, state.st_ino))
            taken += state.st_blocks * 512
            most_entries -= 1
            if most_entries < 0:
                return DiskSize(taken, whole=False)
            if stat.S_ISDIR(state.st_mode):
                pending += map(str, Path(current).iterdir())
    return DiskSize(taken)


class Home:
    """An existing home folder, checked; every path in it is derived here."""

    def __init__(self, path: Path, *, create: bool = True):
        self.path = path
        self.keys = path / "keys"  # that sign receipts
        self.locks = path / "locks"  # files for `hold`
        self.logs = path / "logs"  # of attempts and contracts
        self.attempts = self.logs / "attempts"  # what agents report, by run
        self.conversations = self.logs / "sessions"  # of the built-in agent with its model
        self.receipts = path / "receipts"  # of sign-offs, by plan and run
        self.snapshots = path / "snapshots"  # the content store of workspaces
        # By workspace, and made again when they are gone.
        self.rooms, self.lanes, self.setups = path / "rooms", path / "lanes", path / "setups"
        self.heldout = path / "heldout"  # checks that no agent sees
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

    def note_installed(self, written: Mapping[Path, str]) -> None:
        """Remember what `install` wrote, by its sha256; empty where it took a file away."""
        noted = {**self._installed(), **{str(path): digest for path, digest in written.items()}}
        durable_replace(self.path / _INSTALLED, json.dumps(noted).encode())

    def installed_in(self, workspace: Path) -> dict[str, str]:
        """Files that `install` wrote there, by path within the workspace; no agent's doing."""
        return {
            os.path.relpath(path, workspace): digest
            for path, digest in self._installed().items()
            if Path(path).is_relative_to(workspace)
        }

    def _installed(self) -> dict[str, str]:
        try:
            noted = json.loads((self.path / _INSTALLED).read_bytes())
        except (OSError, ValueError):
            return {}
        return {str(path): str(digest) for path, digest in noted.items()}

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

    def size(self, most_entries: int = QUICK_LOOK) -> DiskSize:
        """Disk use of the whole folder."""
        return size_of(self.path, most_entries)

    def take_out(self, path: Path) -> None:
        """Take a folder out of the home at once; killed meanwhile, it is there or gone, never half.

        Who calls holds what keeps others from it, and then calls `empty_removing`.
        """
        removing = self.path / "removing"
        removing.mkdir(mode=0o700, exist_ok=True)
        path.rename(removing / os.urandom(8).hex())

    def empty_removing(self) -> None:
        """Remove for good what was taken out, by whomever."""
        for path in (self.path / "removing").glob("*"):
            with suppress(SignoffError, OSError), opened_root(path.parent) as fd:
                remove_any(fd, path.name)

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
        raise HomeUnsafe(f"other users can write to the home folder `{folder}`")


def _linked(folder: Path) -> HomeUnsafe:
    return HomeUnsafe(
        f"the home folder `{folder}` is a symbolic link to `{folder.readlink()}`",
        "set SIGNOFF_HOME to the folder itself",
    )


_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_HOLDER_BYTES = 64 * 1024


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
        if not flock(fd):
            holder = _read_holder(fd)
            os.close(fd)
            raise _held(what, holder)
        if is_current(fd, Path(path.name), folder_fd):
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


DEFAULT_BUSY_TIMEOUT_S = 30.0


def open_database(
    url: str, *, read_only: bool = False, busy_timeout_s: float = DEFAULT_BUSY_TIMEOUT_S
) -> Database:
    """Open, and create or migrate unless `read_only`; an absent one is then StorageFailed."""
    scheme = url.partition(":")[0]
    database: Database
    if scheme == "sqlite":
        # Commands that never open a database start faster without the driver.
        from signoff.storage.sqlite import SqliteDatabase  # noqa: PLC0415

        path = sqlite_path(url)
        database = SqliteDatabase(path, read_only=read_only, busy_timeout_s=busy_timeout_s)
    elif scheme in ("postgresql", "postgres"):
        # psycopg takes longer to import than most commands take to run.
        from signoff.storage.postgres import PostgresDatabase  # noqa: PLC0415

        database = PostgresDatabase(url, read_only=read_only, busy_timeout_s=busy_timeout_s)
    else:
        raise ConfigInvalid(
            f"the database address starts with `{scheme}:`",
            "use sqlite:///absolute/path or postgresql://user@host/name",
        )
    try:
        database.prepare()
    except BaseException:
        database.close()
        raise
    return database


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite file at an absolute path."""
    return f"sqlite://{quote(os.fsencode(path))}"


def sqlite_path(url: str) -> Path:
    """The absolute path in a SQLite URL."""
    parts = urlsplit(url)
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if parts.netloc or parts.query or parts.fragment or not path.startswith("/"):
        raise ConfigInvalid(
            f"the database address `{url}` is not sqlite:/// and an absolute path",
            "use sqlite:///absolute/path, with % for special characters",
        )
    return Path("/" + path.lstrip("/"))
