"""`install` and `uninstall`: our hooks, MCP entry and commands in a client, and nothing else."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from signoff.domain.clients import Client
from signoff.errors import SignoffError
from signoff.storage.location import find_vault
from signoff.usecases.clients.files import (
    ClientFile,
    ClientFileChange,
    FileOutcome,
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
from signoff.usecases.clients.parts import SERVER, Wanted
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


@dataclass(frozen=True)
class InstallReport:
    """What was done, or with `dry_run` would be; `warnings` are for a person to act on."""

    client: Client
    scope: Scope
    dry_run: bool
    files: tuple[ClientFileChange, ...]
    warnings: tuple[str, ...]

    @property
    def changed(self) -> bool:
        """Whether there was anything to do."""
        return any(file.outcome is not FileOutcome.KEPT for file in self.files)


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
    changes: list[ClientFileChange] = []
    warnings: list[str] = []
    for file in files_of(order.client, order.scope, order.top, order.environ):
        text = read_text(file.path, order.scope, order.base)
        if file.syntax is Syntax.WHOLE and text is not None and not is_untouched(text):
            changes.append(ClientFileChange(file.path, text, text))
            whose = "was changed since it was installed" if is_ours(text) else "is your own"
            warnings.append(f"`{file.path}` {whose}; left as it is")
            continue
        after = file.text
        if file.syntax is not Syntax.WHOLE:
            wanted = Wanted(order.client, program, file.hooks, file.mcp)
            editor = _EDITORS[file.syntax]
            after = editor.add(text, wanted, str(file.path))
            warnings += editor.doubts(after, wanted, str(file.path))
        if after != text:
            changes.append(ClientFileChange(file.path, text, after))
    warnings += _about_program(program, order)
    warnings += _installed_twice(order)
    if order.scope is Scope.PROJECT or order.client.name == "codex":
        warnings.append(_TRUST[order.client.name])
    if order.client.name == "gemini":
        own = "workspace" if order.scope is Scope.PROJECT else "user"
        warnings.append(f"gemini-cli has a /plan of its own; ours is /{own}.plan")
    return _finish(order, changes, warnings)


def uninstall(order: Order, home: Path) -> InstallReport:
    """Take out exactly what install added, also after somebody edited around it."""
    require_person(order.environ, home)
    program = find_program(order.environ)
    changes: list[ClientFileChange] = []
    warnings: list[str] = []
    for file in files_of(order.client, order.scope, order.top, order.environ):
        text = read_text(file.path, order.scope, order.base)
        if text is None:
            continue
        wanted = Wanted(order.client, program, file.hooks, file.mcp)
        if file.syntax is not Syntax.WHOLE:
            after = _without_ours(file, wanted, text)
            if after != text:
                changes.append(ClientFileChange(file.path, text, after))
            warnings += _left_over(file, wanted, after)
        elif is_untouched(text):
            changes.append(ClientFileChange(file.path, text, None))
        elif is_ours(text):
            changes.append(ClientFileChange(file.path, text, text))
            warnings.append(f"`{file.path}` was changed since it was installed; left as it is")
    return _finish(order, changes, warnings)


def hooks_file(client: Client, scope: Scope, top: Path, environ: Mapping[str, str]) -> Path | None:
    """The configuration that has our hooks; what cannot be read there has none of them."""
    wanted = Wanted(client, (), hooks=True, mcp=False)
    try:
        base = base_folder(scope, top, environ)
        for file in files_of(client, scope, top, environ):
            text = read_text(file.path, scope, base) if file.hooks else None
            if text is not None and take_from_json(text, wanted, str(file.path)) != text:
                return file.path
    except SignoffError:
        return None
    return None


def find_program(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The words that start signoff in anybody's shell: its name where that is enough."""
    if shutil.which("signoff", path=environ.get("PATH", os.defpath)):
        return ("signoff",)
    for place in (Path(sys.argv[0]), Path(sys.executable).parent / "signoff"):
        if place.name == "signoff" and place.is_file() and os.access(place, os.X_OK):
            return (str(place.absolute()),)
    return (sys.executable, "-m", "signoff")


class _Editor(NamedTuple):
    """How a syntax is edited: what adds ours, takes it out, and tells what is wrong with it."""

    add: Callable[[str | None, Wanted, str], str]
    take: Callable[[str, Wanted, str], str]
    doubts: Callable[[str, Wanted, str], Iterator[str]]
    server: str  # how our MCP entry is called


_EDITORS = {
    Syntax.JSON: _Editor(add_to_json, take_from_json, doubts_about, f"mcpServers.{SERVER}"),
    Syntax.TOML: _Editor(add_to_toml, take_from_toml, toml_doubts, f"mcp_servers.{SERVER}"),
}


def _without_ours(file: ClientFile, wanted: Wanted, text: str) -> str | None:
    """As it was before, if nobody edited it since; else without what is ours."""
    path, editor = str(file.path), _EDITORS[file.syntax]
    taken = editor.take(text, wanted, path)
    if taken == text:
        return text
    for backup in backups_of(file.path):
        try:
            old = backup.read_bytes().decode("utf-8") if not backup.is_symlink() else ""
            # A backup that has some of ours in it is not from before.
            if editor.take(old, wanted, path) == old and editor.add(old, wanted, path) == text:
                return old
        except (SignoffError, OSError, UnicodeDecodeError):
            continue
    return None if editor.add(None, wanted, path) == text else taken


def _left_over(file: ClientFile, wanted: Wanted, text: str | None) -> Iterator[str]:
    """An entry of our name that is not as we write it may be somebody's own."""
    editor, path = _EDITORS[file.syntax], str(file.path)
    doubts = editor.doubts(text, wanted, path) if text is not None and file.mcp else ()
    if any(editor.server in doubt for doubt in doubts):
        yield f"`{file.path}`: `{editor.server}` was changed or is your own; left as it is"


def _about_program(program: tuple[str, ...], order: Order) -> Iterator[str]:
    found = shutil.which(program[0], path=order.environ.get("PATH", os.defpath))
    if found is not None and Path(found).is_relative_to(order.top):
        yield (
            f"`{found}` lies in the project, where an agent can change it;"
            " install signoff outside of it"
        )


def _installed_twice(order: Order) -> Iterator[str]:
    """Clients run the hooks of both configurations, and each would count the agent's attempts."""
    other = Scope.USER if order.scope is Scope.PROJECT else Scope.PROJECT
    if path := hooks_file(order.client, other, order.top, order.environ):
        yield (
            f"`{path}` has the hooks too, so they run twice:"
            f" signoff uninstall {order.client.name} --{other.value}"
        )


def _finish(order: Order, changes: list[ClientFileChange], warnings: list[str]) -> InstallReport:
    to_make = [change for change in changes if change.outcome is not FileOutcome.KEPT]
    done = to_make if order.dry_run else apply_all(to_make)
    for change in () if order.dry_run else done:
        if change.after is None:
            remove_empty_folders(change.path, order.base)
    kept = [change for change in changes if change.outcome is FileOutcome.KEPT]
    return InstallReport(order.client, order.scope, order.dry_run, (*done, *kept), tuple(warnings))
