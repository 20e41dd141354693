"""The view of the file system inside bubblewrap: one rule per place, the most specific wins.

Outer places are mounted before inner ones. A folder on the way from a writable folder to a
protected place is mounted onto itself: a mount point cannot be renamed, and so the protected place
cannot be carried away with its parent and replaced.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from signoff.process.command import Confinement, Unavailable

# Sockets of the host's services, other programs' temporary files and shared memory live here.
_PRIVATE = ("/tmp", "/var/tmp", "/run")
_SYSTEM_IN_RUN = ("/run/current-system", "/run/opengl-driver")
_RESOLVER = "/etc/resolv.conf"


class _Kind(Enum):
    PRIVATE = auto()
    READABLE = auto()
    WRITABLE = auto()
    SCRATCH = auto()
    READONLY = auto()
    HIDDEN = auto()


@dataclass(frozen=True)
class _Rule:
    kind: _Kind
    source: Path


def mount_arguments(confinement: Confinement) -> list[str]:
    """Arguments for bubblewrap that make the view; the order is part of the meaning.

    Raises Unavailable when what is asked for cannot be shown.
    """
    rules = _Rules(confinement)
    arguments = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
    # The first process relays the command's exit code: nobody inside may write its memory. Kernel
    # settings belong to root's number, capabilities or not, and `bwrap` leaves them writable:
    # `/proc/sys/kernel/core_pattern` alone would run any program outside, with all rights.
    arguments += ["--perms", "0111", "--tmpfs", "/proc/1"]
    sealed = ["/proc/1", "/proc"] if os.geteuid() == 0 else ["/proc/1"]
    for place, rule in rules.outer_first():
        arguments += _mount(place, rule)
        if rule.kind is _Kind.HIDDEN and rule.source.is_dir():
            sealed.append(str(place))
    # Sealed at the end, because inner mount points are made in them.
    for folder in sealed:
        arguments += ["--remount-ro", folder]
    return arguments


class _Rules:
    """At most one rule for each place, links resolved."""

    def __init__(self, confinement: Confinement):
        self._mounts = {_real(mount.at): mount for mount in confinement.mounts}
        self._rules: dict[Path, _Rule] = {}
        cwd = os.getcwd()  # noqa: PTH109 - places are compared as text: there are many
        self._cwd = cwd
        self._writable = [(_named(cwd, root), str(_real(root))) for root in confinement.writable]
        for path in (*confinement.writable, *(mount.at for mount in confinement.mounts)):
            if self._leads_out(path):
                raise Unavailable(f"a link leads from `{path}` out of its writable folder")
        # From the weakest to the strongest: for the same place the later one holds.
        always = (*_SYSTEM_IN_RUN, *((_RESOLVER,) if confinement.network else ()))
        readable = (*map(Path, always), *confinement.readable)
        self._add(_Kind.READABLE, (path for path in readable if not self._leads_out(path)))
        self._add(_Kind.PRIVATE, map(Path, _PRIVATE))
        self._add(_Kind.WRITABLE, confinement.writable, required=True)
        self._add(_Kind.SCRATCH, confinement.scratch)
        for place, mount in self._mounts.items():
            kind = _Kind.WRITABLE if mount.writable else _Kind.READONLY
            self._rules[place] = _Rule(kind, _real(mount.source))
        self._add(_Kind.READONLY, (*confinement.readonly, *confinement.absent))
        self._add(_Kind.HIDDEN, confinement.hidden)
        self._add(_Kind.READONLY, confinement.shown)
        self._drop_what_needs_no_mount()
        self._hold_parents_in_place()

    def outer_first(self) -> Iterator[tuple[Path, _Rule]]:
        """Every place before those inside it."""
        return iter(sorted(self._rules.items(), key=lambda item: len(item[0].parts)))

    def _add(self, kind: _Kind, paths: Iterable[Path], *, required: bool = False) -> None:
        for path in paths:
            place = _real(path)
            source = self._source(place)
            if source.exists():
                self._rules[place] = _Rule(kind, source)
            elif required:
                raise Unavailable(f"`{path}` is to be writable and is not there")

    def _source(self, place: Path) -> Path:
        """Where the host keeps what is seen at a place: below a mount it is the mount's content."""
        for outer in (place, *place.parents):
            mount = self._mounts.get(outer)
            if mount is not None:
                return _real(mount.source) / place.relative_to(outer)
        return place

    def _enclosing(self, place: Path) -> tuple[Path, _Rule] | None:
        for outer in place.parents:
            if outer in self._rules:
                return outer, self._rules[outer]
        return None

    def _drop_what_needs_no_mount(self) -> None:
        """Readable: what is visible anyway would become read-only, what is hidden stays hidden."""
        readable = [p for p, rule in self._rules.items() if rule.kind is _Kind.READABLE]
        for place in sorted(readable, key=lambda path: len(path.parts)):
            outer = self._enclosing(place)
            if outer is None or outer[1].kind not in (_Kind.PRIVATE, _Kind.SCRATCH):
                del self._rules[place]

    def _hold_parents_in_place(self) -> None:
        loose = {at for at, mount in self._mounts.items() if not mount.holds_parents}
        for place in [place for place in self._rules if place not in loose]:
            outer = self._enclosing(place)
            if outer is None or outer[1].kind is not _Kind.WRITABLE:
                continue
            for between in place.relative_to(outer[0]).parents:
                held = outer[0] / between
                if held != outer[0] and self._source(held).is_dir():
                    self._rules.setdefault(held, _Rule(_Kind.WRITABLE, self._source(held)))

    def _leads_out(self, path: Path) -> bool:
        """A link inside a writable folder is the agent's: following it would widen its rights."""
        named = _named(self._cwd, path)
        roots = [real for root, real in self._writable if _is_in(named, root)]
        return bool(roots) and not all(_is_in(str(_real(path)), real) for real in roots)


def _named(cwd: str, path: Path) -> str:
    return os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118 - text, as above


def _is_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")


def _mount(place: Path, rule: _Rule) -> list[str]:
    source, at = str(rule.source), str(place)
    if rule.kind in (_Kind.READABLE, _Kind.READONLY):
        return ["--ro-bind", source, at]
    if rule.kind is _Kind.WRITABLE:
        return ["--bind", source, at]
    if rule.kind is _Kind.HIDDEN:
        # A device on a mount without devices: the name is there, opening it is refused.
        is_folder = rule.source.is_dir()
        return ["--perms", "0111", "--tmpfs", at] if is_folder else ["--ro-bind", "/dev/null", at]
    if rule.kind is _Kind.PRIVATE and place != _real(Path("/run")):
        return ["--perms", "1777", "--tmpfs", at]
    return ["--tmpfs", at]


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
