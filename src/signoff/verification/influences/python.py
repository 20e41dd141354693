"""Pin what influences Python itself: modules found before the standard library or a tool's own."""

from __future__ import annotations

import posixpath
import re
import sys
from functools import lru_cache

from signoff.commands.launchers import Invocation, inside, is_plain, python_words
from signoff.commands.settings import SETTINGS, Section
from signoff.domain.snapshot import FileKind
from signoff.verification.influences.gathered import GatheredInfluences
from signoff.verification.influences.packages import borrowed_modules, environments, is_used

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


def follow_python(call: Invocation, known: GatheredInfluences) -> None:
    """`python` looks for modules beside its script, or where it runs when it has none."""
    words = python_words(call.args)
    if not words or words[0].startswith("-"):
        pin_shadows(call.folder, known)
        return
    script = inside(call.folder, words[0])
    if not is_plain(words[0]) or script is None:
        return
    for found in known.content.matching(script):
        end = known.pin_called(found)
        main = posixpath.join(end, "__main__.py")
        if known.content.has(main):
            known.pin(main)
            pin_shadows(end, known)
        else:
            pin_shadows(posixpath.dirname(end), known)


def follow_pytest(call: Invocation, known: GatheredInfluences) -> None:
    """Plugins named on the command line, and modules in place of pytest's own."""
    pin_shadows(call.folder, known)
    for i, arg in enumerate(call.args):
        plugin = call.args[i + 1 : i + 2] if arg == "-p" else (arg[2:],) if arg[:2] == "-p" else ()
        for name in plugin:
            path = inside(call.folder, name.replace(".", "/"))
            if path:
                known.pin(f"{path}.py")
                known.pin(f"{path}/__init__.py")
        arguments = inside(call.folder, arg[1:]) if arg.startswith("@") else None
        if arguments:
            known.pin(arguments)


def follow_installed_command(call: Invocation, known: GatheredInfluences) -> None:
    """A project that installs a command of its own under the name of the tool that is run."""
    tool = next((a for a in call.args if a in SETTINGS or a in ("python", "make")), None)
    if tool is not None:
        for table in _COMMAND_TABLES:
            known.pin_section(call.folder, Section("pyproject.toml", (*table, tool)))


def follow_python_path(text: str, folder: str, known: GatheredInfluences) -> None:
    """Folders that the shell text itself puts in front of Python's own."""
    for value in _PYTHON_PATH.findall(text):
        for part in filter(None, value.split(":")):
            path = inside(folder, part)
            if path is not None:
                pin_shadows(path, known)


def pin_shadows(folder: str, known: GatheredInfluences) -> None:
    """Pin what an import would find in the folder instead of what it should find.

    Runner and start-up modules are pinned with their content. A module with a name of the standard
    library, or of what the runner brings along, is pinned as being there: it can be the very thing
    a project is about.
    """
    if not known.first_time("shadows", folder):
        return
    known.starts_python = True
    for name in (*_RUNNER_MODULES, *_tool_modules()):
        for path in _modules_named(name, folder, known):
            known.pin(path)
    for name in sys.stdlib_module_names | borrowed_modules(known.search_path):
        for path in _modules_named(name, folder, known):
            known.pin_presence(path)
    _pin_patterned(folder, known)


def pin_startup(known: GatheredInfluences) -> None:
    """Pin what every interpreter runs at its start, wherever it lies, if the check starts one.

    Among the packages of an environment that an agent makes for itself, it says nothing to any
    other interpreter; elsewhere in it, a search path may still lead there.
    """
    if not known.starts_python:
        return
    unused = tuple(f"{folder}/" for folder in environments(known) if not is_used(folder, known))
    paths = [p for name in _STARTUP_MODULES for p in known.content.anywhere(name)]
    paths += [p for p in known.content.anywhere("*.pth") if _is_for_packages(p)]
    for path in paths:
        if not (path.startswith(unused) and _is_for_packages(path)):
            known.pin(path)


def _is_for_packages(path: str) -> bool:
    return posixpath.basename(posixpath.dirname(path)) in ("site-packages", "dist-packages")


def _pin_patterned(folder: str, known: GatheredInfluences) -> None:
    """Compiled modules, and modules of installed pytest plugins, by the look of their names."""
    depth = folder.count("/") + 1 if folder else 0
    for path in known.content.in_folder(folder, "*.so"):
        if posixpath.basename(path).partition(".")[0] in _shadowable(known.search_path):
            known.pin(path)
    for pattern in _PLUGIN_PATTERNS:
        for path in known.content.in_folder(folder, f"{pattern}.py"):
            known.pin_presence(path)
        for path in known.content.below(posixpath.join(folder, pattern.rstrip("*"))):
            if path.endswith("/__init__.py") and path.count("/") == depth + 1:
                known.pin_presence(path)
        for package in known.content.ignored_folders(folder, pattern):
            if known.content.has(f"{package}/__init__.py"):
                known.pin_presence(f"{package}/__init__.py")


def _modules_named(name: str, folder: str, known: GatheredInfluences) -> list[str]:
    base = f"{folder}/{name}" if folder else name
    found = [p for p in (f"{base}.py", f"{base}/__init__.py") if known.content.has(p)]
    state = known.content.state(base)
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
