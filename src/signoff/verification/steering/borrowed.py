"""Modules that pytest brings along: one of the same name in the workspace is loaded instead."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import PathDistribution
from pathlib import Path

from signoff.process.shell import find_tool

# Loaded before any test by the versions in use, wherever they are installed.
_KNOWN = (
    "_distutils_hack",
    "_hypothesis_ftz_detector",
    "_hypothesis_globals",
    "argcomplete",
    "attr",
    "attrs",
    "colorama",
    "coverage",
    "exceptiongroup",
    "execnet",
    "importlib_metadata",
    "packaging",
    "pkg_resources",
    "py",
    "pygments",
    "setuptools",
    "six",
    "sortedcontainers",
    "tomli",
    "typing_extensions",
    "zipp",
)
_PYTHONS = ("python3", "python")
_PROJECT = re.compile(r"[A-Za-z0-9._-]+")
_FOR_EXTRA = re.compile(r"\bextra\s*==")
PLUGINS = b"[pytest11]"


@lru_cache(maxsize=16)
def borrowed_modules(search_path: str) -> frozenset[str]:
    """Names of modules that come with pytest and its plugins, as they are installed there.

    Asked once in a process: what an agent installs meanwhile makes no earlier work a shadow.
    """
    found = set(_KNOWN)
    for folder in _package_folders(search_path):
        found |= _brought_with_pytest(folder)
    return frozenset(found)


@lru_cache(maxsize=16)
def installed_modules(search_path: str) -> frozenset[str]:
    """Names of all modules that the interpreters of the search path have installed."""
    found: set[str] = set()
    for folder in _package_folders(search_path):
        names = (entry.name.partition(".")[0] for entry in os.scandir(folder))
        found.update(name for name in names if name.isidentifier())
    return frozenset(found)


def _package_folders(search_path: str) -> Iterator[str]:
    """Where the interpreters of the search path have their packages."""
    for name in _PYTHONS:
        python = find_tool(name, search_path)
        for prefix in _prefixes(python) if python is not None else ():
            for folder in sorted(prefix.glob("lib*/python3*/*-packages")):
                yield str(folder)


def _prefixes(python: Path) -> Iterator[Path]:
    """A virtual environment has its own beside the interpreter's; a shim may start any version."""
    around = python.parent.parent
    if python.parent.name == "shims":
        yield from around.glob("versions/*")
        yield from around.glob("installs/python/*")
        return
    real = Path(os.path.realpath(python)).parent.parent
    for prefix in dict.fromkeys((around, real)):
        yield prefix
        yield prefix / "local"


@lru_cache(maxsize=64)
def _brought_with_pytest(folder: str) -> frozenset[str]:
    installed = _installed(Path(folder))
    plugins = (name for name, info in installed.items() if _is_plugin(info))
    return brought_with(Path(folder), frozenset(("pytest", *plugins)))


def brought_with(folder: Path, roots: frozenset[str]) -> frozenset[str]:
    """Modules of these distributions and of all that they need, as installed in the folder.

    Only what is needed is read: a folder may hold hundreds of packages.
    """
    installed = _installed(folder)
    ahead = [*roots]
    brought: set[str] = set()
    modules: set[str] = set()
    while ahead:
        name = ahead.pop()
        if name in installed and name not in brought:
            brought.add(name)
            package = PathDistribution(installed[name])
            modules.update(_modules_of(package))
            ahead += _needs(package)
    return frozenset(modules)


def _installed(folder: Path) -> dict[str, Path]:
    return {normal_name(i.stem.partition("-")[0]): i for i in folder.glob("*.dist-info")}


def _is_plugin(info: Path) -> bool:
    try:
        return PLUGINS in (info / "entry_points.txt").read_bytes()
    except OSError:
        return False


def _needs(package: PathDistribution) -> list[str]:
    plain = (line for line in package.requires or () if not _FOR_EXTRA.search(line))
    return [normal_name(found[0]) for line in plain if (found := _PROJECT.match(line))]


def _modules_of(package: PathDistribution) -> Iterator[str]:
    for file in package.files or ():
        name, _, rest = file.parts[0].partition(".")
        is_folder = len(file.parts) > 1 and not rest and name != "__pycache__"
        if name.isidentifier() and (is_folder or rest == "py" or rest.endswith("so")):
            yield name


def normal_name(name: str) -> str:
    """How the name of a distribution is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()
