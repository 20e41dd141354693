"""Seats: which client process works in which workspace, and which sessions are its own.

Hooks and the MCP server are started by the same client and know nothing of each other; the client
above them is what they have in common. While it lives, nothing of its sessions is signed.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.digests import digest_bytes
from signoff.domain.session import session_id_of
from signoff.places import SEAT_SUFFIX, SEATS_FOLDER
from signoff.process.ancestry import (
    ProcessIdentity,
    ancestors,
    is_alive,
    is_typed_below,
    leads_terminal,
)

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh", "fish", "busybox"})
_ADOPTS = "systemd"  # as the user's own manager: every program that lost its parent
_COUNT_SUFFIX = ".count"
_COUNTS_KEPT_S = 7 * 24 * 3600
_MOST_SESSIONS = 100


class ConnectedClient(Struct, frozen=True):
    """One client at one workspace; `base` names its present conversation, empty after its end."""

    client: ProcessIdentity
    workspace: str
    base: str
    sessions: tuple[str, ...] = ()

    @property
    def own_session(self) -> str:
        """The session for a plan that the agent makes itself."""
        return session_id_of(self.base)


def client_process() -> ProcessIdentity | None:
    """Who started us, shells apart; None where the system does not say.

    None too for a person who types at a terminal: what is above that shell shows the terminal and
    is no client, and it lives as long as every other pane. And None for a hook whose client is
    gone: what adopted it is above everything that the person does.
    """
    for ancestor in ancestors():
        name = _name_of(ancestor.pid)
        if name and name not in _SHELLS:
            adopted = ancestor.pid == 1 or name == _ADOPTS
            return None if adopted or is_typed_below(ancestor.pid) else ancestor
        if leads_terminal(ancestor.pid):
            return None
    return None


def shells_above() -> tuple[ProcessIdentity, ...]:
    """The shells between us and whoever started us."""
    return tuple(takewhile(lambda one: _name_of(one.pid) in _SHELLS, ancestors()))


def take_seat(
    home: Path, workspace: Path, client: ProcessIdentity | None = None
) -> ConnectedClient | None:
    """The seat of a client in this workspace, made if there is none; of the one above us if none
    is named."""
    client = client if client is not None else client_process()
    if client is None:
        return None
    with _alone(home) as folder:
        path = _path(folder, client, workspace)
        seat = _read(path)
        if seat is None or not seat.base:
            known = seat.sessions if seat is not None else ()
            seat = ConnectedClient(client, str(workspace), os.urandom(16).hex(), known)
            _write(path, seat)
            _clear_away(folder)
        return seat


def find_seat(home: Path, workspace: Path) -> ConnectedClient | None:
    """The seat of the client above us, if it has one here."""
    client = client_process()
    seat = _read(_path(home / SEATS_FOLDER, client, workspace)) if client else None
    return seat if seat is not None and seat.base else None


def own_workspaces(home: Path) -> tuple[str, ...]:
    """Where the client above us sits, wherever its agent went since."""
    client = client_process()
    return tuple(seat.workspace for seat in _seats(home) if seat.client == client and seat.base)


def note_session(home: Path, seat: ConnectedClient, session: str) -> None:
    """Remember that a session is this client's."""
    with _alone(home) as folder:
        path = _path(folder, seat.client, Path(seat.workspace))
        now = _read(path) or seat
        if session not in now.sessions:
            _write(path, replace(now, sessions=(*now.sessions, session)[-_MOST_SESSIONS:]))


def end_conversation(home: Path, seat: ConnectedClient) -> None:
    """What the client does next belongs to a conversation of its own; the seat stays taken."""
    with _alone(home) as folder:
        path = _path(folder, seat.client, Path(seat.workspace))
        _write(path, replace(_read(path) or seat, base=""))


def living_client(home: Path, session: str) -> ProcessIdentity | None:
    """The client of a session, while it lives."""
    for seat in _seats(home):
        if session in seat.sessions and is_alive(seat.client):
            return seat.client
    return None


def client_above(home: Path) -> ProcessIdentity | None:
    """A client with a seat among our own ancestors: whoever asks is part of a session.

    A terminal between us and it changes nothing: an agent can open one.
    """
    above = ancestors()
    return next((seat.client for seat in _seats(home) if seat.client in above), None)


def end_seats(home: Path, workspace: Path, session: str | None) -> tuple[ConnectedClient, ...]:
    """Clear the seats that have a session, or all of a workspace: a person says they are over."""
    with _alone(home) as folder:
        ended = []
        for path in folder.glob(f"*{SEAT_SUFFIX}"):
            seat = _read(path)
            if seat is None:
                continue
            if session in seat.sessions if session else seat.workspace == str(workspace):
                path.unlink()
                ended.append(seat)
        return tuple(ended)


def count_block(home: Path, key: str) -> int:
    """How often this was said before, and once more."""
    with _alone(home) as folder:
        path = folder / f"{digest_bytes(key.encode('utf-8', 'replace'))[:32]}{_COUNT_SUFFIX}"
        try:
            before = int(path.read_text())
        except (OSError, ValueError):
            before = 0
        _replace(path, str(before + 1))
        return before + 1


@contextmanager
def _alone(home: Path) -> Iterator[Path]:
    folder = home / SEATS_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(descriptor)


def _path(folder: Path, client: ProcessIdentity, workspace: Path) -> Path:
    whole = f"{client.pid}\n{client.started}\n{workspace}".encode("utf-8", "surrogateescape")
    return folder / f"{digest_bytes(whole)[:32]}{SEAT_SUFFIX}"


def _seats(home: Path) -> Iterator[ConnectedClient]:
    for path in (home / SEATS_FOLDER).glob(f"*{SEAT_SUFFIX}"):
        seat = _read(path)
        if seat is not None:
            yield seat


def _read(path: Path) -> ConnectedClient | None:
    try:
        data: dict[str, Any] = json.loads(path.read_text())
        client = ProcessIdentity(int(data["pid"]), str(data["started"]))
        sessions = tuple(str(session) for session in data["sessions"])
        return ConnectedClient(client, str(data["workspace"]), str(data["base"]), sessions)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, seat: ConnectedClient) -> None:
    data = {
        "pid": seat.client.pid,
        "started": seat.client.started,
        "workspace": seat.workspace,
        "base": seat.base,
        "sessions": list(seat.sessions),
    }
    _replace(path, json.dumps(data))


def _replace(path: Path, text: str) -> None:
    # Losing it in a power cut ends every client too, so it need not reach the disk.
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)


def _clear_away(folder: Path) -> None:
    """Seats of clients that are gone, and counts that nobody added to for a while."""
    for path in folder.glob(f"*{SEAT_SUFFIX}"):
        seat = _read(path)
        if seat is None or not is_alive(seat.client):
            path.unlink(missing_ok=True)
    oldest = time.time() - _COUNTS_KEPT_S
    for path in folder.glob(f"*{_COUNT_SUFFIX}"):
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
