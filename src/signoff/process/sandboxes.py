"""Find the sandboxes that work here, by using them, and the sockets that lead out of them."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from signoff.domain.verdict import Ending, Isolation
from signoff.process.bubblewrap import bubblewrap_version
from signoff.process.command import Command, Confinement, Unavailable
from signoff.process.environment import STANDARD_PATH
from signoff.process.kernel import landlock_abi
from signoff.process.landlock import SCOPED_SINCE_ABI
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool

_PATIENCE_S = 10.0


class Support(Struct, frozen=True):
    """Availability of a sandbox; `detail` is its version, or why it cannot be used."""

    isolation: Isolation
    available: bool
    detail: str


def probe_sandboxes() -> tuple[Support, ...]:
    """Every sandbox there is, the best first."""
    return tuple(map(probe_sandbox, _BEST_FIRST))


def best_isolation(wanted: Isolation | None) -> Isolation:
    """The isolation to use: as wanted, or the best that works here, which may be none.

    A wish is never lowered: a run that cannot have its sandbox is not started.
    """
    if wanted is not None:
        return wanted
    return next((i for i in _BEST_FIRST if probe_sandbox(i).available), Isolation.NONE)


def own_view_advice() -> str:
    """The way to a sandbox with a view of its own, as far as this machine has one."""
    if best_isolation(None).has_own_view:
        return 'set `isolation = "auto"` under `[sandbox]`'
    return "install bubblewrap or allow user namespaces"


@cache
def probe_sandbox(isolation: Isolation) -> Support:
    """Availability of one sandbox; it is really tried, once per process."""
    program = find_tool("true", STANDARD_PATH)
    if program is None:
        return Support(isolation, False, f"no `true` in {STANDARD_PATH} to try it with")
    try:
        detail = _DESCRIBE[isolation]()
    except Unavailable as reason:
        return Support(isolation, False, str(reason))
    confinement = Confinement(isolation, writable=())
    limits = Limits(wall_s=_PATIENCE_S)
    seen = run(Command((str(program),), Path("/"), {}, limits, confinement=confinement))
    if seen.ending is Ending.EXITED and seen.exit_code == 0:
        return Support(isolation, True, detail)
    return Support(isolation, False, seen.detail or seen.describe())


def _describe_landlock() -> str:
    abi = landlock_abi()
    if not abi:
        raise Unavailable("the kernel offers no Landlock")
    missing = ["read-only paths inside writable folders are not enforced"]
    missing.append("modes, times and attributes of files outside can be changed")
    if abi < SCOPED_SINCE_ABI:
        missing.append("signals to other processes are not stopped")
    return f"Landlock {abi}; " + "; ".join(missing)


_DESCRIBE: dict[Isolation, Callable[[], str]] = {
    Isolation.BUBBLEWRAP: lambda: "bubblewrap " + ".".join(map(str, bubblewrap_version())),
    Isolation.NAMESPACES: lambda: "namespaces of its own, without bubblewrap",
    Isolation.LANDLOCK: _describe_landlock,
}
_BEST_FIRST = tuple(_DESCRIBE)

_LISTED = Path("/proc/net/unix")
_LISTENS = 0x10000  # the flag that `listen` sets
_FLAGS, _INODE, _PATH = 3, 6, 7
_ELSEWHERE = ("/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock")
_NAMED = re.compile(r"(?:unix:(?://)?(?:path=)?)?(/[^,;]+)")
_VARIABLES = ("TMUX", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST")


def reachable_sockets(environ: Mapping[str, str], *, scoped: bool | None = None) -> tuple[str, ...]:
    """Sockets on which somebody listens and which this user may use from inside Landlock.

    Those of services for everybody (writable by all, and not the user's own) do not count: they
    give nobody the rights of another. Abstract ones (`@name`) count where the kernel's Landlock
    does not keep a process from them (`scoped`), if a process of this user listens.
    """
    scoped = landlock_abi() >= SCOPED_SINCE_ABI if scoped is None else scoped
    listed = dict(_listed())
    abstract = {} if scoped else {p: inode for p, inode in listed.items() if p.startswith("@")}
    own = _own_inodes() if abstract else frozenset[str]()
    listening = {os.path.realpath(p) for p in listed if p.startswith("/")}
    listening = {path for path in listening if _is_usable(path)}
    listening |= {path for path, inode in abstract.items() if inode in own}
    # A listener in another namespace is not in the list: try to connect.
    named = {path for path in _named(environ) if _is_usable(path) and _answers(path)}
    return tuple(sorted(listening | named))


def _listed() -> Iterator[tuple[str, str]]:
    """Names of listening sockets, each with its inode."""
    try:
        lines = _LISTED.read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        parts = line.split(maxsplit=_PATH)
        if len(parts) > _PATH and int(parts[_FLAGS], 16) & _LISTENS:
            yield parts[_PATH], parts[_INODE]


def _own_inodes() -> frozenset[str]:
    """Sockets that processes of this user hold."""
    found: set[str] = set()
    for fds in Path("/proc").glob("[0-9]*/fd"):
        try:
            if fds.stat().st_uid == os.geteuid():
                found.update(os.readlink(fd) for fd in fds.iterdir())  # noqa: PTH115 - one text each
        except OSError:
            continue  # it has ended, or is not to be read
    return frozenset(name[8:-1] for name in found if name.startswith("socket:["))


def _named(environ: Mapping[str, str]) -> Iterator[str]:
    """Sockets that the environment names, and those of container engines."""
    for name in _VARIABLES:
        found = _NAMED.match(environ.get(name, ""))
        if found:
            yield os.path.realpath(found[1])
    yield from map(os.path.realpath, _ELSEWHERE)


def _is_usable(path: str) -> bool:
    try:
        seen = Path(path).lstat()
    except OSError:
        return False
    own = seen.st_uid == os.geteuid()
    for_all = bool(seen.st_mode & stat.S_IWOTH)
    return stat.S_ISSOCK(seen.st_mode) and os.access(path, os.W_OK) and (own or not for_all)


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        tried.setblocking(False)
        try:
            tried.connect(path)
        except BlockingIOError:
            return True  # its queue is full
        except OSError:
            return False
    return True
