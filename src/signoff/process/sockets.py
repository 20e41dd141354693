"""Sockets of other programs of this user, through which a confined process could act outside.

A program that listens (a terminal multiplexer, a key agent, a session bus, a container engine) does
what it is asked with all rights of the user. Landlock leaves sockets in the file system alone.
"""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

_LISTED = Path("/proc/net/unix")
_LISTENS = 0x10000  # the flag that `listen` sets
_FLAGS, _PATH = 3, 7
_ELSEWHERE = ("/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock")
_NAMED = re.compile(r"(?:unix:(?://)?(?:path=)?)?(/[^,;]+)")
_VARIABLES = ("TMUX", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST")


def reachable_sockets(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Sockets in the file system on which somebody listens and which this user may use.

    Those of services for everybody (writable by all, and not the user's own) do not count: they
    give nobody the rights of another.
    """
    listening = {path for path in _listed() if _is_usable(path)}
    # A listener in another namespace is not in the list: try to connect.
    named = {path for path in _named(environ) if _is_usable(path) and _answers(path)}
    return tuple(sorted(listening | named))


def _listed() -> Iterator[str]:
    try:
        lines = _LISTED.read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return
    for line in lines:
        parts = line.split(maxsplit=_PATH)
        bound = len(parts) > _PATH and parts[_PATH].startswith("/")
        if bound and int(parts[_FLAGS], 16) & _LISTENS:
            yield os.path.realpath(parts[_PATH])


def _named(environ: Mapping[str, str]) -> Iterator[str]:
    """What the environment names, and where container engines listen."""
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
