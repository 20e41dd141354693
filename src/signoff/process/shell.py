"""The one shell that contracts run in, and where a tool would be found."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from signoff.errors import ProcessFailed
from signoff.process.environment import STANDARD_PATH


def shell_command(text: str) -> tuple[str, ...]:
    """Arguments that run the text in a bash without anybody's start-up files."""
    return (_bash(), "--noprofile", "--norc", "-c", text)


def script_command(path: Path) -> tuple[str, ...]:
    """Arguments that run the text of a file likewise, and do not show it in the process table."""
    return (_bash(), "--noprofile", "--norc", str(path))


def find_tool(name: str, path: str, folder: Path | None = None) -> Path | None:
    """The file that running `name` in this folder would start with this search path, if any.

    Relative entries of the path are skipped, and without a folder a relative name with a slash is
    never found: both would depend on where we are.
    """
    if "\0" in name or name in ("", ".", ".."):
        return None
    if "/" in name:
        return _if_executable(name if folder is None else os.path.normpath(folder / name))
    for entry in path.split(":"):
        found = _if_executable(f"{entry}/{name}")
        if found is not None:
            return found
    return None


@lru_cache(maxsize=1)
def _bash() -> str:
    # The system's own, whatever the caller's search path says.
    found = find_tool("bash", STANDARD_PATH)
    if found is None:
        raise ProcessFailed(
            f"no `bash` in {STANDARD_PATH}", hint="install bash with the system's package manager"
        )
    return str(found)


def _if_executable(path: str) -> Path | None:
    if not path.startswith("/"):
        return None
    found = Path(path)
    return found if found.is_file() and os.access(found, os.X_OK) else None
