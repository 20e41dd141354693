"""`install` and `uninstall`: our hooks, MCP entry and commands in a client, and nothing else."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.clients import Client, HookKind
from signoff.domain.digests import digest_bytes
from signoff.errors import ExtraMissing, SignoffError, how_to_install
from signoff.storage.home import Home
from signoff.usecases.clients.config import (
    SERVER,
    Wanted,
    add_to_json,
    add_to_toml,
    doubts_about,
    take_from_json,
    take_from_toml,
    toml_doubts,
)
from signoff.usecases.clients.files import (
    ClientConfig,
    ClientFile,
    ClientFileChange,
    FileOutcome,
    Scope,
    Syntax,
    apply_all,
    backups_of,
    remove_empty_folders,
)
from signoff.usecases.clients.phases import is_ours, is_untouched
from signoff.usecases.person import require_person

SERVER_NEEDS = "mcp"  # the module, and the optional part that brings it
CODEX_TRUST = (
    "codex skips hooks that nobody trusted, without a word: start codex here, type /hooks, and"
    " trust the four of signoff; again after each change of them"
)
TRUST = {
    "claude": "start Claude Code here once: trust the folder, and the servers of .mcp.json",
    "codex": f"{CODEX_TRUST}. Hooks of a project also need the project to be trusted",
    "gemini": "gemini-cli reads hooks of a project only in folders you trust: /permissions",
    "qwen": "qwen-code reads hooks of a project only in folders you trust",
}


class InstallReport(Struct, frozen=True):
    """Changes that were made, or with `dry_run` would be; `warnings` are for a person to act on."""

    client: Client
    scope: Scope
    dry_run: bool
    files: tuple[ClientFileChange, ...]
    warnings: tuple[str, ...]

    @property
    def changed(self) -> bool:
        return any(file.outcome is not FileOutcome.KEPT for file in self.files)


def install(config: ClientConfig, home: Path, *, dry_run: bool = False) -> InstallReport:
    """Add what is missing to the client's configuration; a second time there is nothing to do."""
    require_person(config.environ, home)
    if find_spec(SERVER_NEEDS) is None:
        raise ExtraMissing(
            f"the client would start `signoff mcp`, which needs `{SERVER_NEEDS}`; nothing was"
            " written",
            how_to_install(SERVER_NEEDS),
        )
    program = find_program(config.environ)
    changes: list[ClientFileChange] = []
    warnings: list[str] = []
    for file in config.files():
        text, after = config.read(file.path), file.text
        if file.syntax is not Syntax.WHOLE:
            wanted = Wanted(config.client, program, file.hooks, file.mcp)
            editor = _EDITORS[file.syntax]
            after = editor.add(text, wanted, str(file.path))
            warnings += editor.doubts(after, wanted, str(file.path))
        elif text is not None and not is_untouched(text):
            changes.append(ClientFileChange(file.path, text, text))
            whose = "was changed since it was installed" if is_ours(text) else "is your own"
            warnings.append(f"`{file.path}` {whose}; left as it is")
            continue
        if after != text:
            changes.append(ClientFileChange(file.path, text, after))
    warnings += _remarks(config, program)
    return _finish(config, home, changes, warnings, dry_run)


def uninstall(config: ClientConfig, home: Path, *, dry_run: bool = False) -> InstallReport:
    """Take out exactly what install added, also after somebody edited around it."""
    require_person(config.environ, home)
    program = find_program(config.environ)
    changes: list[ClientFileChange] = []
    warnings: list[str] = []
    for file in config.files():
        text = config.read(file.path)
        if text is None:
            continue
        wanted = Wanted(config.client, program, file.hooks, file.mcp)
        if file.syntax is not Syntax.WHOLE:
            after = _without_ours(file, wanted, text)
            if after != text:
                changes.append(ClientFileChange(file.path, text, after))
            editor = _EDITORS[file.syntax]
            left = editor.doubts(after, wanted, str(file.path)) if after and file.mcp else ()
            # An entry of our name that is not as we write it may be somebody's own.
            if any(editor.server in doubt for doubt in left):
                said = f"`{editor.server}` was changed or is your own; left as it is"
                warnings.append(f"`{file.path}`: {said}")
        elif is_untouched(text):
            changes.append(ClientFileChange(file.path, text, None))
        elif is_ours(text):
            changes.append(ClientFileChange(file.path, text, text))
            warnings.append(f"`{file.path}` was changed since it was installed; left as it is")
    return _finish(config, home, changes, warnings, dry_run)


def hook_doubts(config: ClientConfig) -> list[str]:
    """Settings that keep installed hooks from working, by the client's own files."""
    program, found = find_program(config.environ), list[str]()
    for file in config.files():
        text = config.read(file.path)
        if file.syntax is not Syntax.WHOLE and text is not None:
            wanted = Wanted(config.client, program, file.hooks, file.mcp)
            found += _EDITORS[file.syntax].doubts(text, wanted, str(file.path))
    return found


def hooks_file(config: ClientConfig) -> Path | None:
    """The configuration that has our hooks; what cannot be read there has none of them."""
    wanted = Wanted(config.client, (), hooks=True, mcp=False)
    with suppress(SignoffError):
        for file in config.files():
            text = config.read(file.path) if file.hooks else None
            if text is not None and take_from_json(text, wanted, str(file.path)) != text:
                return file.path
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
    """Editor for one syntax: it adds our part, takes it out, and tells what is wrong with it."""

    add: Callable[[str | None, Wanted, str], str]
    take: Callable[[str, Wanted, str], str]
    doubts: Callable[[str, Wanted, str], Iterator[str]]
    server: str  # how our MCP entry is called


_EDITORS = {
    Syntax.JSON: _Editor(add_to_json, take_from_json, doubts_about, f"mcpServers.{SERVER}"),
    Syntax.TOML: _Editor(add_to_toml, take_from_toml, toml_doubts, f"mcp_servers.{SERVER}"),
}


def _without_ours(file: ClientFile, wanted: Wanted, text: str) -> str | None:
    """The file as it was before, if nobody edited it since; else without our parts."""
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


def _remarks(config: ClientConfig, program: tuple[str, ...]) -> Iterator[str]:
    """Remarks that a person has to know or act on besides."""
    client, project = config.client.name, config.scope is Scope.PROJECT
    found = shutil.which(program[0], path=config.environ.get("PATH", os.defpath))
    if found is not None and Path(found).is_relative_to(config.top):
        yield (
            f"`{found}` lies in the project, where an agent can change it;"
            " install signoff outside of it"
        )
    # Clients run the hooks of both configurations, and each would count the agent's attempts.
    other = replace(config, scope=Scope.USER if project else Scope.PROJECT)
    if path := hooks_file(other):
        yield (
            f"`{path}` has the hooks too, so they run twice:"
            f" signoff uninstall {client} --{other.scope.value}"
        )
    if project or client == "codex":
        yield TRUST[client]
    if client == "gemini":
        own = "workspace" if project else "user"
        yield f"gemini-cli has a /plan of its own; ours is /{own}.plan"


def _finish(
    config: ClientConfig,
    home: Path,
    changes: list[ClientFileChange],
    warnings: list[str],
    dry_run: bool,
) -> InstallReport:
    kept = [change for change in changes if change.outcome is FileOutcome.KEPT]
    done = [change for change in changes if change.outcome is not FileOutcome.KEPT]
    if done and not dry_run:
        done = apply_all(done)
        for change in done:
            if change.after is None:
                remove_empty_folders(change.path, config.base)
        if home.is_dir():
            # No step is blamed for what a person had installed.
            said = {c.path: digest_bytes(c.after.encode()) if c.after else "" for c in done}
            backups = {c.backup: digest_bytes((c.before or "").encode()) for c in done if c.backup}
            Home(home).note_installed({**said, **backups})
    return InstallReport(config.client, config.scope, dry_run, (*done, *kept), tuple(warnings))


# What codex calls the four in its list of trusted hooks.
_CODEX_EVENTS = {
    HookKind.SESSION_START: "session_start",
    HookKind.BEFORE_TOOL: "pre_tool_use",
    HookKind.STOP: "stop",
    HookKind.SESSION_END: "session_end",
}
_TRUSTED_FOLDERS = "trustedFolders.json"


def trust_problem(config: ClientConfig, hooks: Path) -> str:
    """The reason why the client would silently skip the hooks in this file; empty if none."""
    own, client, scope, top = config.own_folder, config.client, config.scope, config.top
    if client.name == "codex":
        return _codex(_toml(own / "config.toml"), scope, hooks, top)
    if scope is Scope.USER:
        return ""
    if client.name == "claude":
        elsewhere = "CLAUDE_CONFIG_DIR" in config.environ
        known = _json((own if elsewhere else own.parent) / ".claude.json")
        project = _table(_table(known, "projects"), str(top))
        trusted = project.get("hasTrustDialogAccepted") is True
        return "" if trusted else "nobody said yet that this folder is trusted"
    rules = _table(_table(_json(own / "settings.json"), "security"), "folderTrust")
    if rules.get("enabled", client.name == "gemini") is not True:
        return ""
    known = _json(own / _TRUSTED_FOLDERS)
    trusted = known.get(str(top)) in ("TRUST_FOLDER", "TRUST_PARENT") or any(
        known.get(str(folder)) == "TRUST_FOLDER" for folder in top.parents
    )
    return "" if trusted else "this folder is not among its trusted ones"


def _codex(config: Mapping[str, Any], scope: Scope, hooks: Path, top: Path) -> str:
    state = _table(_table(config, "hooks"), "state")
    trusted = [key for key in state if "trusted_hash" in _table(state, key)]
    lacking = [
        kind.value
        for kind, event in _CODEX_EVENTS.items()
        if not any(key.startswith(f"{hooks}:{event}:") for key in trusted)
    ]
    if lacking:
        return f"not trusted: {', '.join(lacking)}"
    project = _table(_table(config, "projects"), str(top))
    if scope is Scope.PROJECT and project.get("trust_level") != "trusted":
        return "the hooks are trusted, the project is not"
    return ""


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(os.fsdecode(path.read_bytes()))
    except (OSError, ValueError):
        return {}
