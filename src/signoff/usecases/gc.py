"""`gc`: give back what the home folder takes and nobody needs any more.

What is made again (clean rooms, what set-up commands made) goes while nobody works in its
workspace. Reports of attempts go with the end of their run, conversations of sessions when nobody
went on with them for a while. Content goes when nobody can ask for it any more: the workspace is
gone from the disk, and so are the repositories or folders of all plans that were worked on there,
no run is open, and nothing was written for a while: a disk may be away.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field

from signoff.domain.ledger import Kind
from signoff.domain.session import SESSION_PREFIX
from signoff.errors import Held, SignoffError
from signoff.storage.home import Home, hold, size_of
from signoff.storage.ledger import Ledger
from signoff.storage.records import Holder, PlanRecord
from signoff.usecases.harness import Harness, is_surely_gone
from signoff.usecases.person import require_person
from signoff.usecases.workspaces import lock_of_workspace, workspace_key
from signoff.verification.pins import Pins

DEFAULT_DAYS = 30
_DAY_S = 86_400
Tell = Callable[[str], None]


class Garbage(StrEnum):
    ROOM = "clean room"
    SETUP = "what the set-up command made"
    REPORTS = "reports of a run that is over"
    CONVERSATIONS = "conversation of a session"
    SNAPSHOTS = "content of a workspace that is gone"


_UNLOCKED = (Garbage.REPORTS, Garbage.CONVERSATIONS)  # nobody writes there any more


class Removed(Struct, frozen=True):
    """One folder or file that was removed, or would be."""

    what: Garbage
    path: Path
    taken: int
    about: str  # the workspace, or the run


class LeftAlone(Struct, frozen=True):
    """One folder that stays although it could go at another time."""

    path: Path
    why: str


class GcReport(Struct, frozen=True):
    removed: tuple[Removed, ...]
    left: tuple[LeftAlone, ...]
    taken: int
    content: int  # of that, for what audit, diff and undo may ask
    quota: int | None
    dry_run: bool

    @property
    def given_back(self) -> int:
        """Bytes, as far as they could be counted before."""
        return sum(one.taken for one in self.removed)


def collect_garbage(
    harness: Harness,
    *,
    days: float = DEFAULT_DAYS,
    dry_run: bool = False,
    tell: Tell = lambda _: None,
) -> GcReport:
    """Remove what nobody needs, at a person's request; refused inside an attempt."""
    require_person(harness.environ, harness.home.path)
    return _collect(harness, days, dry_run, tell)


def keep_quota(harness: Harness, tell: Tell) -> None:
    """Free space at the end of a run, if the home takes more than the user wants."""
    quota, home = harness.settings.quota, harness.home
    if quota is None or home.size().taken <= quota:
        return
    try:
        report = _collect(harness, DEFAULT_DAYS, dry_run=False, tell=tell)
    except (SignoffError, OSError) as error:
        tell(f"the home folder is over its quota, and could not be tidied: {error}")
        return
    if report.taken > quota:
        tell("the home folder is over its quota, and all that is left in it is needed: signoff gc")


def _collect(harness: Harness, days: float, dry_run: bool, tell: Tell) -> GcReport:
    home = harness.home
    removed: list[Removed] = []
    left: list[LeftAlone] = []
    if not dry_run:
        home.empty_removing()
    for one in _found(home, _Known.of(harness.ledger), days, left):
        tell(f"{one.what}: {one.path}")
        if dry_run or _take_out(home, one, left):
            removed.append(one)
    taken, content = (size_of(path, 1_000_000).taken for path in (home.path, home.snapshots))
    return GcReport(tuple(removed), tuple(left), taken, content, harness.settings.quota, dry_run)


class _Known(Struct):
    """Workspaces and runs that the ledger knows."""

    ledger: Ledger
    paths: dict[str, Path] = field(default_factory=dict)  # of workspaces, by their key
    homes: dict[str, set[Path]] = field(default_factory=dict)  # of plans worked on there
    open: dict[str, str] = field(default_factory=dict)  # plans with an open run there
    over: set[str] = field(default_factory=set)  # runs that ended
    unread: str = ""  # a plan whose history could not be read: then no content goes

    @classmethod
    def of(cls, ledger: Ledger) -> _Known:
        known = cls(ledger)
        for record in ledger.plans():
            try:
                known._read(record)
            except SignoffError:
                known.unread = record.name or record.id
        return known

    def _read(self, record: PlanRecord) -> None:
        running: dict[str, str] = {}
        # A plan whose file is gone can still be audited: its text is pinned.
        home = Path(record.repository or Path(record.path).parent)
        for entry in self.ledger.entries(record.id):
            key = self._workspace(entry.kind, entry.data)
            if key and not record.id.startswith(SESSION_PREFIX):
                self.homes.setdefault(key, set()).add(home)
            if entry.kind is Kind.RUN_STARTED and entry.run is not None:
                running[entry.run] = key
            elif entry.kind is Kind.RUN_FINISHED and entry.run is not None:
                running.pop(entry.run, None)
                self.over.add(entry.run)
        self.open.update(dict.fromkeys(running.values(), record.name or record.id))

    def _workspace(self, kind: Kind, data: Mapping[str, object]) -> str:
        where = data.get("workspace")
        if kind is Kind.PLAN_APPROVED and where is None:
            where = Pins.from_bytes(self.ledger.get_blob(str(data["pins"]))).workspace
        if not isinstance(where, str) or not where:
            return ""
        key = workspace_key(Path(where))
        self.paths[key] = Path(where)
        return key

    def is_gone(self, key: str) -> bool:
        """True when nobody can ask for what was kept of the workspace."""
        there = (self.paths[key], *self.homes.get(key, ()))
        return all(map(is_surely_gone, there))


def _found(home: Home, known: _Known, days: float, left: list[LeftAlone]) -> Iterator[Removed]:
    rooms = ((Garbage.ROOM, home.rooms), (Garbage.ROOM, home.lanes), (Garbage.SETUP, home.setups))
    for what, folder in rooms:
        for path in _inside(folder):
            about = str(known.paths.get(path.name, "a workspace"))
            if what is Garbage.SETUP and path.name in known.open:
                # It may have come from a network that is not there now.
                left.append(LeftAlone(path, f"a run of `{known.open[path.name]}` is open"))
            else:
                yield Removed(what, path, size_of(path).taken, about)
    for path in _inside(home.attempts):
        if path.name in known.over:
            yield Removed(Garbage.REPORTS, path, size_of(path).taken, path.name)
    for path in _inside(home.conversations):
        if (time.time() - path.lstat().st_mtime) / _DAY_S >= days:
            yield Removed(Garbage.CONVERSATIONS, path, size_of(path).taken, path.stem)
    yield from _content(home, known, days, left)


def _content(home: Home, known: _Known, days: float, left: list[LeftAlone]) -> Iterator[Removed]:
    for path in _inside(home.snapshots):
        if path.name not in known.paths or not known.is_gone(path.name):
            continue
        # Whatever was kept there last, a new file changed its folder.
        newest = max(each.lstat().st_mtime for each in (path, *path.rglob("*")))
        age = (time.time() - newest) / _DAY_S
        about = str(known.paths[path.name])
        if known.unread:
            left.append(LeftAlone(path, f"the history of `{known.unread}` cannot be read"))
        elif path.name in known.open:
            plan = known.open[path.name]
            left.append(LeftAlone(path, f"`{about}` is gone, but a run of `{plan}` is open"))
        elif age < days:
            why = f"`{about}` is gone, perhaps for a while; used {age:.0f} days ago"
            left.append(LeftAlone(path, why))
        else:
            yield Removed(Garbage.SNAPSHOTS, path, size_of(path).taken, about)


def _inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _take_out(home: Home, one: Removed, left: list[LeftAlone]) -> bool:
    """Remove it under the lock of its users; what is in use stays."""
    lock, us = lock_of_workspace(one.path.name), Holder.current("signoff gc")
    held_by_nobody = hold(home.locks, lock, us, f"the workspace `{one.about}`")
    try:
        with nullcontext() if one.what in _UNLOCKED else held_by_nobody:
            home.take_out(one.path)
    except Held as held:
        left.append(LeftAlone(one.path, held.message))
        return False
    except FileNotFoundError:
        return False  # another `gc` was quicker
    home.empty_removing()
    return True
