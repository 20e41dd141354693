"""`check-artifact`: files are what they claim to be; no plan, no ledger, nothing is written."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from signoff.errors import UsageError
from signoff.toolbatch.checkers import FilesReport, Thresholds, check


def check_artifacts(
    cwd: Path, paths: Sequence[str], root: Path | None, thresholds: Thresholds
) -> FilesReport:
    """Check what was named, relative to where the user is; all of it lies below the root."""
    top = Path(os.path.normpath(cwd / root)) if root is not None else cwd
    if not top.is_dir():
        raise UsageError(f"`{top}` is no folder", "name a folder with --root")
    return check([_below(cwd, top, path) for path in paths], top, thresholds)


def _below(cwd: Path, top: Path, path: str) -> str:
    # As it is written: what links lead out of the root is a finding, not another name.
    place = Path(os.path.normpath(cwd / path))
    for base, found in ((top, place), (top.resolve(), place.parent.resolve() / place.name)):
        if found.is_relative_to(base):
            return found.relative_to(base).as_posix()
    hint = f"signoff check-artifact --root {shlex.quote(str(place.parent))} {shlex.quote(path)}"
    raise UsageError(f"`{path}` is not below `{top}`", hint)
