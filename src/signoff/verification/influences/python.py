"""What influences Python itself: modules that come before the standard library or a tool's own."""

from __future__ import annotations

import posixpath
import re
import sys
from functools import lru_cache

from signoff.commands.launchers import Invocation, inside, is_plain, python_words
from signoff.domain.snapshot import FileKind
from signoff.verification.influences.gathered import GatheredInfluences
from signoff.verification.influences.packages import borrowed_modules, environments, is_used
from signoff.verification.influences.settings import SETTINGS, Section

_STARTUP_MODULES = ("sitecustomize.py", "usercustomize.py")
_RUNNER_MODULES = ("pytest", "_pytest", "pluggy", "iniconfig", "xdist", "hypothesis", "unittest")
_PLUGIN_PATTERNS = ("pytest_*", "_hypothesis_pytestplugin*")
_PYTHON_PATH = re.compile(r"\bPYTHONPATH=[\"']?([\w./:-]+)")
_COMMAND_TABLES = (
    ("project", "scripts"),
    ("project", "gui-scripts"),
    ("tool", "poetry", "scripts"),
    ("tool", "pdm", "scripts"),
)


def follow_python(call: Invocation, trail: GatheredInfluences) -> None:
    """`python` looks for modules beside its script, or where it runs when it has none."""
    words = python_words(call.args)
    if not words or words[0].startswith("-"):
        pin_shadows(call.folder, trail)
        return
    script = inside(call.folder, words[0])
    if not is_plain(words[0]) or script is None:
        return
    for found in trail.content.matching(script):
        end = trail.pin_called(found)
        main = posixpath.join(end, "__main__.py")
        if trail.content.has(main):
            trail.pin(main)
            pin_shadows(end, trail)
        else:
            pin_shadows(posixpath.dirname(end), trail)


def follow_pytest(call: Invocation, trail: GatheredInfluences) -> None:
    """Plugins named on the command line, and modules in place of pytest's own."""
    pin_shadows(call.folder, trail)
    for i, arg in enumerate(call.args):
        plugin = call.args[i + 1 : i + 2] if arg == "-p" else (arg[2:],) if arg[:2] == "-p" else ()
        for name in plugin:
            path = inside(call.folder, name.replace(".", "/"))
            if path:
                trail.pin(f"{path}.py")
                trail.pin(f"{path}/__init__.py")
        arguments = inside(call.folder, arg[1:]) if arg.startswith("@") else None
        if arguments:
            trail.pin(arguments)


def follow_installed_command(call: Invocation, trail: GatheredInfluences) -> None:
    """A project that installs a command of its own under the name of the tool that is run."""
    tool = next((a for a in call.args if a in SETTINGS or a in ("python", "make")), None)
    if tool is not None:
        for table in _COMMAND_TABLES:
            trail.pin_section(call.folder, Section("pyproject.toml", (*table, tool)))


def follow_python_path(text: str, folder: str, trail: GatheredInfluences) -> None:
    """Folders that the shell text itself puts in front of Python's own."""
    for value in _PYTHON_PATH.findall(text):
        for part in filter(None, value.split(":")):
            path = inside(folder, part)
            if path is not None:
                pin_shadows(path, trail)


def pin_shadows(folder: str, trail: GatheredInfluences) -> None:
    """Pin what an import would find in the folder instead of what it should find.

    Runner and start-up modules are pinned with their content. A module with a name of the standard
    library, or of what the runner brings along, is pinned as being there: it can be the very thing
    a project is about.
    """
    if not trail.first_time("shadows", folder):
        return
    trail.starts_python = True
    for name in (*_RUNNER_MODULES, *_tool_modules()):
        for path in _modules_named(name, folder, trail):
            trail.pin(path)
    for name in sys.stdlib_module_names | borrowed_modules(trail.search_path):
        for path in _modules_named(name, folder, trail):
            trail.pin_presence(path)
    _pin_patterned(folder, trail)


def pin_startup(trail: GatheredInfluences) -> None:
    """What every interpreter runs at its start, wherever it lies, if one of these is started.

    Among the packages of an environment that an agent makes for itself, it says nothing to any
    other interpreter; elsewhere in it, a search path may still lead there.
    """
    if not trail.starts_python:
        return
    unused = tuple(f"{folder}/" for folder in environments(trail) if not is_used(folder, trail))
    paths = [p for name in _STARTUP_MODULES for p in trail.content.anywhere(name)]
    paths += [p for p in trail.content.anywhere("*.pth") if _is_for_packages(p)]
    for path in paths:
        if not (path.startswith(unused) and _is_for_packages(path)):
            trail.pin(path)


def _is_for_packages(path: str) -> bool:
    return posixpath.basename(posixpath.dirname(path)) in ("site-packages", "dist-packages")


def _pin_patterned(folder: str, trail: GatheredInfluences) -> None:
    """Compiled modules, and modules of installed pytest plugins, by the look of their names."""
    depth = folder.count("/") + 1 if folder else 0
    for path in trail.content.in_folder(folder, "*.so"):
        if posixpath.basename(path).partition(".")[0] in _shadowable(trail.search_path):
            trail.pin(path)
    for pattern in _PLUGIN_PATTERNS:
        for path in trail.content.in_folder(folder, f"{pattern}.py"):
            trail.pin_presence(path)
        for path in trail.content.below(posixpath.join(folder, pattern.rstrip("*"))):
            if path.endswith("/__init__.py") and path.count("/") == depth + 1:
                trail.pin_presence(path)
        for package in trail.content.ignored_folders(folder, pattern):
            if trail.content.has(f"{package}/__init__.py"):
                trail.pin_presence(f"{package}/__init__.py")


def _modules_named(name: str, folder: str, trail: GatheredInfluences) -> list[str]:
    base = f"{folder}/{name}" if folder else name
    found = [p for p in (f"{base}.py", f"{base}/__init__.py") if trail.content.has(p)]
    state = trail.content.state(base)
    if state is not None and state.kind is FileKind.LINK:
        found.append(base)
    return found


@lru_cache(maxsize=1)
def _tool_modules() -> tuple[str, ...]:
    return tuple(tool for tool in SETTINGS if tool.isidentifier() and tool != "task")


@lru_cache(maxsize=16)
def _shadowable(search_path: str) -> frozenset[str]:
    named = {*_RUNNER_MODULES, *_tool_modules()}
    return sys.stdlib_module_names | borrowed_modules(search_path) | named
