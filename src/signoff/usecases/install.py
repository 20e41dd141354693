"""`install` and `uninstall`: our hooks, MCP entry and commands in a client, and nothing else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from signoff.domain.clients import Client
from signoff.errors import SignoffError
from signoff.planfile.diff import unified
from signoff.storage.location import find_vault
from signoff.usecases.clients.files import (
    Change,
    ClientFile,
    Scope,
    Syntax,
    apply_all,
    backups_of,
    base_folder,
    files_of,
    read_text,
    remove_empty_folders,
)
from signoff.usecases.clients.jsonconfig import add_to_json, doubts_about, take_from_json
from signoff.usecases.clients.parts import Wanted
from signoff.usecases.clients.phases import is_ours, is_untouched
from signoff.usecases.clients.tomlconfig import add_to_toml, take_from_toml, toml_doubts
from signoff.usecases.person import require_person

CODEX_TRUST = (
    "codex skips hooks that nobody trusted, without a word: start codex here, type /hooks, and"
    " trust the four of signoff; again after each change of them"
)
_TRUST = {
    "claude": "Claude Code asks once whether it may start the servers of .mcp.json: say yes",
    "codex": f"{CODEX_TRUST}. Hooks of a project also need the project to be trusted",
    "gemini": "gemini-cli reads hooks of a project only in folders you trust: /permissions",
    "qwen": "qwen-code reads hooks of a project only in folders you trust",
}


class Outcome(Enum):
    """What happened to a file, or would."""

    CREATED = "created"
    CHANGED = "changed"
    REMOVED = "removed"
    KEPT = "kept"


@dataclass(frozen=True)
class FileReport:
    """One file that is another one now, or was left because somebody changed it."""

    path: Path
    outcome: Outcome
    diff: str = ""
    backup: Path | None = None

    @property
    def is_ours(self) -> bool:
        """Whether the whole file is ours, so that nobody needs to read its difference."""
        return self.path.parent.name == "commands" or self.path.name == "SKILL.md"


@dataclass(frozen=True)
class InstallReport:
    """What was done, or with `dry_run` would be; `warnings` are for a person to act on."""

    client: Client
    scope: Scope
    dry_run: bool
    files: tuple[FileReport, ...]
    warnings: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Whether there was anything to do."""
        return any(file.outcome is not Outcome.KEPT for file in self.files)


@dataclass(frozen=True)
class Order:
    """Which client, whose configuration, and whether to write."""

    client: Client
    scope: Scope
    dry_run: bool
    cwd: Path
    environ: Mapping[str, str]

    @property
    def top(self) -> Path:
        """The checkout we are in, or the folder."""
        return find_vault(self.cwd, self.environ).worktree

    @property
    def base(self) -> Path:
        """What the client's files lie below."""
        return base_folder(self.scope, self.top, self.environ)


def install(order: Order, home: Path) -> InstallReport:
    """Add what is missing to the client's configuration; a second time there is nothing to do."""
    require_person(order.environ, home)
    program = find_program(order.environ)
    changes, kept, warnings = [], [], []
    for file in files_of(order.client, order.scope, order.top, order.environ):
        text = read_text(file.path, order.scope, order.base)
        wanted = Wanted(order.client, program, file.hooks, file.mcp)
        if file.syntax is Syntax.WHOLE and text is not None and not is_untouched(text):
            kept.append(FileReport(file.path, Outcome.KEPT))
            whose = "was changed since it was installed" if is_ours(text) else "is your own"
            warnings.append(f"`{file.path}` {whose}; left as it is")
            continue
        after = _with_ours(file, wanted, text)
        warnings += _doubts(file, wanted, after)
        if after != text:
            changes.append(_change(file.path, text, after))
    warnings += _about_program(program, order)
    warnings += _installed_twice(order, program)
    if order.scope is Scope.PROJECT or order.client.name == "codex":
        warnings.append(_TRUST[order.client.name])
    if order.client.name == "gemini":
        own = "workspace" if order.scope is Scope.PROJECT else "user"
        warnings.append(f"gemini-cli has a /plan of its own; ours is /{own}.plan")
    return _finish(order, changes, kept, warnings)


def uninstall(order: Order, home: Path) -> InstallReport:
    """Take out exactly what install added, also after somebody edited around it."""
    require_person(order.environ, home)
    program = find_program(order.environ)
    changes, kept, warnings = [], [], []
    for file in files_of(order.client, order.scope, order.top, order.environ):
        text = read_text(file.path, order.scope, order.base)
        if text is None:
            continue
        wanted = Wanted(order.client, program, file.hooks, file.mcp)
        if file.syntax is Syntax.WHOLE:
            if is_untouched(text):
                changes.append(_change(file.path, text, None))
            elif is_ours(text):
                kept.append(FileReport(file.path, Outcome.KEPT))
                warnings.append(f"`{file.path}` was changed since it was installed; left as it is")
            continue
        after = _without_ours(file, wanted, text)
        if after != text:
            changes.append(_change(file.path, text, after))
        warnings += _left_over(file, wanted, after)
    return _finish(order, changes, kept, warnings)


def find_program(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words that start signoff in anybody's shell: its name where that is enough."""
    if shutil.which("signoff", path=environ.get("PATH", os.defpath)):
        return ("signoff",)
    for place in (Path(sys.argv[0]), Path(sys.executable).parent / "signoff"):
        if place.name == "signoff" and place.is_file() and os.access(place, os.X_OK):
            return (str(place.absolute()),)
    return (sys.executable, "-m", "signoff")


def _with_ours(file: ClientFile, wanted: Wanted, text: str | None) -> str:
    if file.syntax is Syntax.WHOLE:
        return file.text
    add = add_to_json if file.syntax is Syntax.JSON else add_to_toml
    return add(text, wanted, str(file.path))


def _without_ours(file: ClientFile, wanted: Wanted, text: str) -> str | None:
    """As it was before, if nobody edited it since; else without what is ours."""
    path = str(file.path)
    take = take_from_json if file.syntax is Syntax.JSON else take_from_toml
    taken = take(text, wanted, path)
    if taken == text:
        return text
    for backup in backups_of(file.path):
        try:
            old = backup.read_bytes().decode("utf-8") if not backup.is_symlink() else ""
            # A backup that has some of ours in it is not from before.
            if take(old, wanted, path) == old and _with_ours(file, wanted, old) == text:
                return old
        except (SignoffError, OSError, UnicodeDecodeError):
            continue
    return None if _with_ours(file, wanted, None) == text else taken


def _left_over(file: ClientFile, wanted: Wanted, text: str | None) -> Iterator[str]:
    """An entry of our name that is not as we write it may be somebody's own."""
    if text is None:
        return
    name = "mcpServers.signoff" if file.syntax is Syntax.JSON else "mcp_servers.signoff"
    if file.mcp and any(name in doubt for doubt in _doubts(file, wanted, text)):
        yield f"`{file.path}`: `{name}` was changed or is your own; left as it is"


def _doubts(file: ClientFile, wanted: Wanted, text: str) -> Iterator[str]:
    if file.syntax is Syntax.JSON:
        yield from doubts_about(text, wanted, str(file.path))
    elif file.syntax is Syntax.TOML:
        yield from toml_doubts(text, wanted, str(file.path))


def _about_program(program: tuple[str, ...], order: Order) -> Iterator[str]:
    found = shutil.which(program[0], path=order.environ.get("PATH", os.defpath))
    if found is not None and Path(found).is_relative_to(order.top):
        yield (
            f"`{found}` lies in the project, where an agent can change it;"
            " install signoff outside of it"
        )


def _installed_twice(order: Order, program: tuple[str, ...]) -> Iterator[str]:
    """Clients run the hooks of both configurations, and each would count the agent's attempts."""
    other = Scope.USER if order.scope is Scope.PROJECT else Scope.PROJECT
    if other is Scope.USER and not order.environ.get("HOME"):
        return
    wanted = Wanted(order.client, program, hooks=True, mcp=False)
    for file in files_of(order.client, other, order.top, order.environ):
        if not file.hooks:
            continue
        try:
            text = read_text(file.path, other, base_folder(other, order.top, order.environ))
            twice = text is not None and take_from_json(text, wanted, str(file.path)) != text
        except SignoffError:
            continue  # what cannot be read there is no matter of this command
        if twice:
            yield (
                f"`{file.path}` has the hooks too, so they run twice:"
                f" signoff uninstall {order.client.name} --{other.value}"
            )


def _change(path: Path, before: str | None, after: str | None) -> Change:
    return Change(
        path,
        None if before is None else before.encode(),
        None if after is None else after.encode(),
    )


def _finish(
    order: Order, changes: list[Change], kept: list[FileReport], warnings: list[str]
) -> InstallReport:
    done = tuple(changes) if order.dry_run else apply_all(changes)
    for change in () if order.dry_run else done:
        if change.after is None:
            remove_empty_folders(change.path, order.base)
    reports = (*(_report(change) for change in done), *kept)
    return InstallReport(order.client, order.scope, order.dry_run, reports, tuple(warnings))


def _report(change: Change) -> FileReport:
    before, after = (change.before or b"").decode(), (change.after or b"").decode()
    outcome = Outcome.CHANGED
    if change.before is None:
        outcome = Outcome.CREATED
    elif change.after is None:
        outcome = Outcome.REMOVED
    return FileReport(change.path, outcome, unified(before, after, str(change.path)), change.backup)
