"""The environment that contracts and agents get: only what is listed, nothing that steers tools."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

STANDARD_PATH = ":".join(
    (
        "/usr/local/sbin",
        "/usr/local/bin",
        "/usr/sbin",
        "/usr/bin",
        "/sbin",
        "/bin",
        "/run/current-system/sw/bin",
        "/opt/homebrew/bin",
    )
)

_ALLOWED = frozenset({"HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR"})
_ALLOWED_PREFIX = "LC_"
_FIXED = MappingProxyType({"TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1"})
_NOTHING: Mapping[str, str] = MappingProxyType({})
_MAX_LINKS = 40


def clean_environment(
    source: Mapping[str, str],
    *,
    path: str,
    passed: Iterable[str] = (),
    extra: Mapping[str, str] = _NOTHING,
) -> dict[str, str]:
    """A small environment: who and where the user is, our settings, and what was asked for.

    `BASH_ENV`, `LD_PRELOAD`, `PYTHONPATH` and their kind get in only when `passed` names them, and
    `PATH` is always the given one. `extra` has the last word.
    """
    kept = {n: v for n, v in source.items() if n in _ALLOWED or n.startswith(_ALLOWED_PREFIX)}
    kept.update(_FIXED)
    kept.update({name: source[name] for name in passed if name in source})
    kept["PATH"] = path
    kept.update(extra)
    return kept


def safe_search_path(value: str, workspace: Path) -> str:
    """The entries of a search path that nobody working in the workspace can redirect.

    Absolute existing folders stay, in order and once each; an entry goes when any step on the way
    to it, symbolic links included, lies in the workspace. Nothing left: the system's standard path.
    """
    for candidates in (value, STANDARD_PATH):
        entries = [entry.rstrip("/") for entry in candidates.split(":") if entry.strip("/")]
        kept = [entry for entry in dict.fromkeys(entries) if _is_safe_entry(entry, workspace)]
        if kept:
            return ":".join(kept)
    return STANDARD_PATH


def _is_safe_entry(entry: str, workspace: Path) -> bool:
    if not entry.startswith("/"):
        return False
    inside = {Path.cwd() / workspace, workspace.resolve()}
    steps = _steps_to(entry)
    if steps is None or any(step.is_relative_to(root) for step in steps for root in inside):
        return False
    return not any(Path(os.path.normpath(entry)).is_relative_to(root) for root in inside)


def _steps_to(entry: str) -> list[Path] | None:
    """Every place the kernel passes through to reach a folder; None when it does not get there."""
    here, steps = Path("/"), []
    ahead = [part for part in reversed(entry.split("/")) if part not in ("", ".")]
    links = 0
    while ahead:
        part = ahead.pop()
        here = here.parent if part == ".." else here / part
        steps.append(here)
        try:
            mode = here.lstat().st_mode
            target = str(here.readlink()) if stat.S_ISLNK(mode) else None
        except (OSError, ValueError):
            return None
        if target is None:
            if not stat.S_ISDIR(mode):
                return None
            continue
        links += 1
        if links > _MAX_LINKS:
            return None
        here = Path("/") if target.startswith("/") else here.parent
        ahead.extend(part for part in reversed(target.split("/")) if part not in ("", "."))
    return steps
