"""The files of a client that install changes: where they lie, read with care, swapped as a set.

ClientConfig.files → ClientFile … · ClientConfig.read · apply_all(changes): all of them, or none.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

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
    """Owner of the configuration: the repository, or the user."""

    PROJECT = "project"
    USER = "user"


class Syntax(Enum):
    JSON = "json"
    TOML = "toml"
    WHOLE = "whole"


class ClientFile(Struct, frozen=True):
    """One file: what of ours belongs into it."""

    path: Path
    syntax: Syntax
    hooks: bool = False
    mcp: bool = False
    text: str = ""  # a command's text, where the whole file is ours


class FileOutcome(Enum):
    CREATED = "created"
    CHANGED = "changed"
    REMOVED = "removed"
    KEPT = "kept"


class ClientFileChange(Struct, frozen=True):
    """A file before and after (None: there is none), or left because somebody changed it."""

    path: Path
    before: str | None
    after: str | None
    backup: Path | None = None

    @property
    def outcome(self) -> FileOutcome:
        if self.before == self.after:
            return FileOutcome.KEPT
        if self.before is None:
            return FileOutcome.CREATED
        return FileOutcome.REMOVED if self.after is None else FileOutcome.CHANGED

    @property
    def diff(self) -> str:
        return unified(self.before or "", self.after or "", str(self.path))

    @property
    def is_ours(self) -> bool:
        """True when the whole file is ours, so that nobody needs to read its difference."""
        return self.path.parent.name == "commands" or self.path.name == "SKILL.md"


class ClientConfig(Struct, frozen=True):
    """A client's configuration around here: the repository's, or the user's own."""

    client: Client
    scope: Scope
    top: Path  # the checkout we are in, or the folder
    environ: Mapping[str, str]

    @property
    def base(self) -> Path:
        """Folder above the client's files."""
        if self.scope is Scope.PROJECT:
            return self.top
        if not self.environ.get("HOME"):
            hint = "--project"
            raise UsageError("`HOME` is not set, so there is no configuration of yours", hint)
        return Path(self.environ["HOME"])

    @property
    def own_folder(self) -> Path:
        """Folder in which the client keeps the user's files, unless a variable says otherwise."""
        name = self.client.name
        chosen = self.environ.get(_FOLDER_VARIABLES.get(name, ""))
        home = self.environ.get(_HOME_VARIABLES.get(name, "")) or self.environ.get("HOME", "/")
        return Path(chosen) if chosen else Path(home) / f".{name}"

    def files(self) -> Iterator[ClientFile]:
        """Every file that install may change."""
        base, name = self.base, self.client.name
        folder = self.own_folder if self.scope is Scope.USER else base / f".{name}"
        if name == "claude":
            yield ClientFile(folder / "settings.json", Syntax.JSON, hooks=True)
            yield ClientFile(_claude_servers(self.scope, base, folder), Syntax.JSON, mcp=True)
        elif name == "codex":
            yield ClientFile(folder / "hooks.json", Syntax.JSON, hooks=True)
            yield ClientFile(folder / "config.toml", Syntax.TOML, mcp=True)
        else:
            yield ClientFile(folder / "settings.json", Syntax.JSON, hooks=True, mcp=True)
        for path, text in command_files(_FORMS.get(name, Form.MARKDOWN)):
            yield ClientFile(folder / path, Syntax.WHOLE, text=text)

    def read(self, path: Path) -> str | None:
        """The file as text; None where there is none; ConfigInvalid for what we must not write."""
        folders: list[Path] = []
        if self.scope is Scope.PROJECT:
            # A link in a repository can lead anywhere; at home people may have their reasons.
            folders = [f for f in path.parents if f.is_relative_to(self.base)][:-1]
        for place in (path, *folders):
            if place.is_symlink():
                raise ConfigInvalid(
                    f"`{place}` is a symbolic link to `{place.readlink()}`",
                    "replace the link by what it points to, or edit that by hand",
                )
            if place.exists() and not place.stat().st_mode & _ANY_WRITE:
                hint = f"chmod u+w {shlex.quote(str(place))}"
                raise ConfigInvalid(f"`{place}` is read-only", hint)
        try:
            data = read_plan_file(path, follow=False)
        except PlanNotFound:
            return None
        except PlanUnreadable as error:
            hint = f"look at `{path}`: no client writes one like that"
            raise ConfigInvalid(error.message, hint) from error
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ConfigInvalid(f"`{path}` is not UTF-8: {error}", f"correct `{path}`") from error


def _claude_servers(scope: Scope, base: Path, folder: Path) -> Path:
    if scope is Scope.PROJECT:
        return base / ".mcp.json"
    return base / ".claude.json" if folder == base / ".claude" else folder / ".claude.json"


def backups_of(path: Path) -> list[Path]:
    """The backups beside a file, the newest first."""
    found = []
    with suppress(OSError):
        for place in path.parent.iterdir():
            number = place.name.removeprefix(path.name + BACKUP)
            if number != place.name and number.isdecimal() and number.isascii():
                found.append((int(number), place))
    return [place for _, place in sorted(found, reverse=True)]


def apply_all(changes: Sequence[ClientFileChange]) -> list[ClientFileChange]:
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
    return done


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
