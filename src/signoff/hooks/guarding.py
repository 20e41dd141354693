"""Files that an agent should not write, by their place alone, and what a command may write.

Advisory: nobody can tell from a command's text what it will write. What counts is pinned and
compared when a contract is judged.
"""

from __future__ import annotations

import os

from signoff.commands.glance import seems_to_write
from signoff.domain.clients import HookEvent
from signoff.domain.names import name_of_file
from signoff.errors import SignoffError
from signoff.places import home_folder, user_file
from signoff.storage.active import MARKER_RULE, find_vault
from signoff.storage.glance import open_glance

# Not `typing.TYPE_CHECKING`: loading `typing` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from signoff.storage.active import VaultPlace

ADVICE = (
    "This is advice: signoff notices in any case what was edited. Say what a"
    " person should change instead"
)
_REPOSITORY_FILE = "signoff.toml"
_CLIENT_FILES = (
    ".claude/settings.json", ".claude/settings.local.json", ".claude.json", ".mcp.json",
    ".codex/hooks.json", ".codex/config.toml", ".gemini/settings.json", ".qwen/settings.json",
)  # fmt: skip
_CLIENT_FOLDERS = {
    "CLAUDE_CONFIG_DIR": ("settings.json", ".claude.json"),
    "CODEX_HOME": ("hooks.json", "config.toml"),
    "GEMINI_CLI_HOME": (".gemini/settings.json",),
}
_DRAFTS = frozenset({"draft", "verified"})


def written_paths(event: HookEvent) -> tuple[str, ...]:
    """Absolute paths that a tool call says, or seems, to write."""
    named = [*event.paths, *seems_to_write(event.command)]
    return tuple(dict.fromkeys(_absolute(path, event.cwd) for path in named))


def own_file_reason(paths: tuple[str, ...], cwd: str, environ: Mapping[str, str]) -> str:
    """The reason why one of these is signoff's own and must not be written; empty when none is."""
    place = find_vault(cwd, environ)
    guarded = dict(_guarded(place, environ))
    home = os.path.realpath(home_folder(environ))
    for path in paths:
        if _is_within(path, home):
            return f"`{path}` belongs to signoff itself"
        if path in guarded:
            return f"`{path}` {guarded[path]}"
        reason = _vault_reason(path, place, environ)
        if reason:
            return f"`{path}` {reason}"
    return ""


def _guarded(place: VaultPlace, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    hooks = "is configuration of a client, which holds signoff's hooks"
    yield os.path.realpath(user_file(environ)), "is a person's own configuration of signoff"
    yield os.path.realpath(os.path.join(place.top, _REPOSITORY_FILE)), "configures signoff"
    for base in (place.top, place.main, environ.get("HOME")):
        for name in _CLIENT_FILES if base else ():
            yield os.path.realpath(os.path.join(str(base), name)), hooks
    for variable, names in _CLIENT_FOLDERS.items():
        for name in names if environ.get(variable) else ():
            yield os.path.realpath(os.path.join(environ[variable], name)), hooks
    marker = os.path.join(place.top, MARKER_RULE.lstrip("/"))
    yield os.path.realpath(marker), "says which plan is bound here; a person binds: signoff bind"


def _vault_reason(path: str, place: VaultPlace, environ: Mapping[str, str]) -> str:
    """Plans may be written while they are drafts: that is how an agent proposes one."""
    vault = os.path.realpath(place.at)
    folder, file_name = os.path.split(path)
    if path == vault:
        return "holds the plans"
    if folder != vault:
        return ""
    name = name_of_file(file_name)
    if name is not None:
        return "" if _is_draft(name, place, environ) else "is a plan that a person approved"
    if file_name.startswith("progress") and file_name.endswith(".md"):
        return "is written by signoff; next: signoff progress PLAN --add 'what was done'"
    return ""


def _is_draft(name: str, place: VaultPlace, environ: Mapping[str, str]) -> bool:
    try:
        with open_glance(environ) as ledger:
            known = ledger.standings_of(place.main, place.at).get(name)
    except (SignoffError, OSError):
        return True
    return known is None or known.status in _DRAFTS


def _absolute(path: str, cwd: str) -> str:
    """Resolve a path, links included; `~` is spelled out as a shell would."""
    return os.path.realpath(os.path.join(cwd or os.getcwd(), os.path.expanduser(path)))


def _is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
