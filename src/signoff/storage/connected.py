"""Notes of connected clients: process, workspace, and the sessions that are its own.

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
from signoff.places import CLIENT_SUFFIX, CLIENTS_FOLDER
from signoff.process.proctable import (
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
    """The process that started us, shells apart; None where the system does not say.

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


def connect_client(
    home: Path, workspace: Path, client: ProcessIdentity | None = None
) -> ConnectedClient | None:
    """Note that a client works in this workspace, unless it is noted; by default the client
    above us."""
    client = client if client is not None else client_process()
    if client is None:
        return None
    with _alone(home) as folder:
        path = _path(folder, client, workspace)
        note = _read(path)
        if note is None or not note.base:
            known = note.sessions if note is not None else ()
            note = ConnectedClient(client, str(workspace), os.urandom(16).hex(), known)
            _write(path, note)
            _clear_away(folder)
        return note


def find_client(home: Path, workspace: Path) -> ConnectedClient | None:
    """The note about the client above us, if it is connected here."""
    client = client_process()
    note = _read(_path(home / CLIENTS_FOLDER, client, workspace)) if client else None
    return note if note is not None and note.base else None


def own_workspaces(home: Path) -> tuple[str, ...]:
    """Workspaces of the client above us, wherever its agent went since."""
    client = client_process()
    return tuple(note.workspace for note in _notes(home) if note.client == client and note.base)


def note_session(home: Path, note: ConnectedClient, session: str) -> None:
    """Remember that a session is this client's."""
    with _alone(home) as folder:
        path = _path(folder, note.client, Path(note.workspace))
        now = _read(path) or note
        if session not in now.sessions:
            _write(path, replace(now, sessions=(*now.sessions, session)[-_MOST_SESSIONS:]))


def end_conversation(home: Path, note: ConnectedClient) -> None:
    """End a client's conversation: its next act begins another; the client stays connected."""
    with _alone(home) as folder:
        path = _path(folder, note.client, Path(note.workspace))
        _write(path, replace(_read(path) or note, base=""))


def living_client(home: Path, session: str) -> ProcessIdentity | None:
    """The client of a session, while it lives."""
    for note in _notes(home):
        if session in note.sessions and is_alive(note.client):
            return note.client
    return None


def client_above(home: Path) -> ProcessIdentity | None:
    """The connected client among our own ancestors: then we are part of its session.

    A terminal between us and it changes nothing: an agent can open one.
    """
    above = ancestors()
    return next((note.client for note in _notes(home) if note.client in above), None)


def end_notes(home: Path, workspace: Path, session: str | None) -> tuple[ConnectedClient, ...]:
    """Remove the notes of a session, or all of a workspace: a person says that they are over."""
    with _alone(home) as folder:
        ended = []
        for path in folder.glob(f"*{CLIENT_SUFFIX}"):
            note = _read(path)
            if note is None:
                continue
            if session in note.sessions if session else note.workspace == str(workspace):
                path.unlink()
                ended.append(note)
        return tuple(ended)


def count_block(home: Path, key: str) -> int:
    """Count one more block of this kind, and return the new number."""
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
    folder = home / CLIENTS_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield folder
    finally:
        os.close(descriptor)


def _path(folder: Path, client: ProcessIdentity, workspace: Path) -> Path:
    whole = f"{client.pid}\n{client.started}\n{workspace}".encode("utf-8", "surrogateescape")
    return folder / f"{digest_bytes(whole)[:32]}{CLIENT_SUFFIX}"


def _notes(home: Path) -> Iterator[ConnectedClient]:
    for path in (home / CLIENTS_FOLDER).glob(f"*{CLIENT_SUFFIX}"):
        note = _read(path)
        if note is not None:
            yield note


def _read(path: Path) -> ConnectedClient | None:
    try:
        data: dict[str, Any] = json.loads(path.read_text())
        client = ProcessIdentity(int(data["pid"]), str(data["started"]))
        sessions = tuple(str(session) for session in data["sessions"])
        return ConnectedClient(client, str(data["workspace"]), str(data["base"]), sessions)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, note: ConnectedClient) -> None:
    data = {
        "pid": note.client.pid,
        "started": note.client.started,
        "workspace": note.workspace,
        "base": note.base,
        "sessions": list(note.sessions),
    }
    _replace(path, json.dumps(data))


def _replace(path: Path, text: str) -> None:
    # Losing it in a power cut ends every client too, so it need not reach the disk.
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)


def _clear_away(folder: Path) -> None:
    """Remove notes of clients that are gone, and counts that nobody added to for a while."""
    for path in folder.glob(f"*{CLIENT_SUFFIX}"):
        note = _read(path)
        if note is None or not is_alive(note.client):
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
