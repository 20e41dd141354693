"""The files of a client that install changes: where they lie, read with care, swapped as a set.

files_of(client, …) → ClientFile … · read_text · apply_all(changes): all of them, or none.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from signoff.domain.clients import Client
from signoff.domain.digests import digest_bytes
from signoff.errors import (
    ConfigInvalid,
    PlanConflict,
    PlanNotFound,
    PlanUnreadable,
    SignoffError,
    UsageError,
)
from signoff.planfile.diff import unified
from signoff.storage.files import read_plan_file, swap_file
from signoff.usecases.clients.phases import Form, command_files

BACKUP = ".signoff-backup-"
# Where a client's own folder lies, if a variable says so; the variable names what holds it.
_FOLDER_VARIABLES = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
_HOME_VARIABLES = {"gemini": "GEMINI_CLI_HOME"}
_FORMS = {"codex": Form.SKILL, "gemini": Form.TOML}
_ANY_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class Scope(Enum):
    """Whose configuration: the repository's, or the user's own."""

    PROJECT = "project"
    USER = "user"


class Syntax(Enum):
    """How a file is edited."""

    JSON = "json"
    TOML = "toml"
    WHOLE = "whole"


@dataclass(frozen=True)
class ClientFile:
    """One file: what of ours belongs into it."""

    path: Path
    syntax: Syntax
    hooks: bool = False
    mcp: bool = False
    text: str = ""  # a command's text, where the whole file is ours


class FileOutcome(Enum):
    """What happened to a file, or would."""

    CREATED = "created"
    CHANGED = "changed"
    REMOVED = "removed"
    KEPT = "kept"


@dataclass(frozen=True)
class ClientFileChange:
    """A file before and after (None: there is none), or left because somebody changed it."""

    path: Path
    before: str | None
    after: str | None
    backup: Path | None = None

    @property
    def outcome(self) -> FileOutcome:
        """What it comes to."""
        if self.before == self.after:
            return FileOutcome.KEPT
        if self.before is None:
            return FileOutcome.CREATED
        return FileOutcome.REMOVED if self.after is None else FileOutcome.CHANGED

    @property
    def diff(self) -> str:
        """The difference, for people."""
        return unified(self.before or "", self.after or "", str(self.path))

    @property
    def is_ours(self) -> bool:
        """Whether the whole file is ours, so that nobody needs to read its difference."""
        return self.path.parent.name == "commands" or self.path.name == "SKILL.md"


def base_folder(scope: Scope, top: Path, environ: Mapping[str, str]) -> Path:
    """What the client's files lie below."""
    if scope is Scope.PROJECT:
        return top
    if not environ.get("HOME"):
        raise UsageError("`HOME` is not set, so there is no configuration of yours", "--project")
    return Path(environ["HOME"])


def files_of(
    client: Client, scope: Scope, top: Path, environ: Mapping[str, str]
) -> Iterator[ClientFile]:
    """Every file that install may change."""
    base = base_folder(scope, top, environ)
    folder = base / f".{client.name}"
    if scope is Scope.USER:
        folder = _own_folder(client, folder, environ)
    if client.name == "claude":
        yield ClientFile(folder / "settings.json", Syntax.JSON, hooks=True)
        yield ClientFile(_claude_servers(scope, base, folder), Syntax.JSON, mcp=True)
    elif client.name == "codex":
        yield ClientFile(folder / "hooks.json", Syntax.JSON, hooks=True)
        yield ClientFile(folder / "config.toml", Syntax.TOML, mcp=True)
    else:
        yield ClientFile(folder / "settings.json", Syntax.JSON, hooks=True, mcp=True)
    for name, text in command_files(_FORMS.get(client.name, Form.MARKDOWN)):
        yield ClientFile(folder / name, Syntax.WHOLE, text=text)


def _own_folder(client: Client, folder: Path, environ: Mapping[str, str]) -> Path:
    chosen = environ.get(_FOLDER_VARIABLES.get(client.name, ""))
    if chosen:
        return Path(chosen)
    home = environ.get(_HOME_VARIABLES.get(client.name, ""))
    return Path(home) / folder.name if home else folder


def _claude_servers(scope: Scope, base: Path, folder: Path) -> Path:
    if scope is Scope.PROJECT:
        return base / ".mcp.json"
    return base / ".claude.json" if folder == base / ".claude" else folder / ".claude.json"


def read_text(path: Path, scope: Scope, base: Path) -> str | None:
    """The file as text; None where there is none; ConfigInvalid for what is not to be written."""
    _refuse_links(path, scope, base)
    try:
        data = read_plan_file(path, follow=False)
    except PlanNotFound:
        return None
    except PlanUnreadable as error:
        hint = f"look at `{path}`: no client writes one like that"
        raise ConfigInvalid(error.message, hint) from error
    if not path.stat().st_mode & _ANY_WRITE:
        raise ConfigInvalid(f"`{path}` is read-only", f"chmod u+w {shlex.quote(str(path))}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigInvalid(f"`{path}` is not UTF-8: {error}", f"correct `{path}`") from error


def _refuse_links(path: Path, scope: Scope, base: Path) -> None:
    """A link in a repository can lead anywhere; in their own home people may have their reasons."""
    checked = [path]
    if scope is Scope.PROJECT:
        checked += [folder for folder in path.parents if folder.is_relative_to(base)][:-1]
    for place in checked:
        if place.is_symlink():
            raise ConfigInvalid(
                f"`{place}` is a symbolic link to `{place.readlink()}`",
                "replace the link by what it points to, or edit that by hand",
            )
        if place.is_dir() and not place.stat().st_mode & _ANY_WRITE:
            raise ConfigInvalid(f"`{place}` is read-only", f"chmod u+w {shlex.quote(str(place))}")


def backups_of(path: Path) -> list[Path]:
    """The backups beside a file, the newest first."""
    found = []
    with suppress(OSError):
        for place in path.parent.iterdir():
            number = place.name.removeprefix(path.name + BACKUP)
            if number != place.name and number.isdecimal() and number.isascii():
                found.append((int(number), place))
    return [place for _, place in sorted(found, reverse=True)]


def apply_all(changes: Sequence[ClientFileChange]) -> tuple[ClientFileChange, ...]:
    """Make every change, with a backup of what was there; after a failure none is left."""
    done: list[ClientFileChange] = []
    try:
        for change in changes:
            backup = _back_up(change)
            _swap(change)
            done.append(replace(change, backup=backup))
    except (SignoffError, OSError):
        for change in reversed(done):
            # Best effort: whoever changed it since then keeps their text.
            with suppress(SignoffError, OSError):
                _swap(ClientFileChange(change.path, change.after, change.before))
        raise
    return tuple(done)


def remove_empty_folders(path: Path, base: Path) -> None:
    """Folders that only a file of ours was in, up to what the client's files lie below."""
    for folder in path.parents:
        if folder == base or not folder.is_relative_to(base):
            return
        try:
            folder.rmdir()
        except OSError:
            return


def _swap(change: ClientFileChange) -> None:
    expected = None if change.before is None else digest_bytes(change.before.encode())
    try:
        if change.after is not None:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            swap_file(change.path, expected, change.after.encode())
            return
        if change.path.is_symlink() or change.path.read_bytes() != (change.before or "").encode():
            raise PlanConflict(f"`{change.path}` changed since it was read")
        change.path.unlink()
    except PlanConflict as conflict:
        raise PlanConflict(conflict.message, "run the same command again", conflict.facts) from None


def _back_up(change: ClientFileChange) -> Path | None:
    """A copy of what was there, as private as the file itself; what is kept already is enough."""
    if change.before is None or change.after is None:
        return None
    there = backups_of(change.path)
    for place in there:
        with suppress(OSError):
            if not place.is_symlink() and place.read_bytes() == change.before.encode():
                return place
    newest = int(there[0].name.rpartition("-")[2]) if there else 0
    backup = change.path.with_name(f"{change.path.name}{BACKUP}{newest + 1}")
    mode = stat.S_IMODE(change.path.stat().st_mode)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(backup, flags, 0o600), "wb") as file:
        file.write(change.before.encode())
        file.flush()
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), mode)
    return backup
