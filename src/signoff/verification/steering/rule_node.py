"""What steers npm and its kin: the scripts of `package.json` that are run, and their settings."""

from __future__ import annotations

import posixpath

from signoff.commands.launchers import Invocation, inside
from signoff.process.shell import find_tool
from signoff.verification.steering.content import upwards
from signoff.verification.steering.sections import Section, lookup
from signoff.verification.steering.trail import ShellText, Trail

_PACKAGE = "package.json"
_PROGRAMS = "node_modules/.bin"
_RUN = frozenset(("run", "run-script", "rum", "urn"))
_BY_WORD: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("test", "t", "tst"), ("test",)),
    "start": ("start",),
    "stop": ("stop",),
    "restart": ("restart", "stop", "start"),
    **dict.fromkeys(
        ("install", "i", "ci", "clean-install", "add"), ("install", "prepare", "prepublish")
    ),
    **dict.fromkeys(("install-test", "it"), ("install", "prepare", "prepublish", "test")),
}
_EVERY_PACKAGE = frozenset(
    ("-w", "--workspace", "--workspaces", "-ws", "-r", "--recursive", "--filter", "-F", "workspace")
)
_VALUED = frozenset(("-w", "--workspace", "--filter", "-F", "--prefix", "-C", "--cwd", "--dir"))
# What npm itself starts for a script, and what the first line of most programs there asks for.
_STARTED_BY_NPM = ("sh", "bash", "env", "node")
_FOLDER_OPTIONS = ("--prefix", "-C", "--cwd", "--dir")


def steer_package_script(call: Invocation, trail: Trail) -> None:
    """`npm test`, `yarn lint`, `pnpm run x`: the scripts by name, `pre` and `post` included."""
    folder = inside(call.folder, call.value_of(*_FOLDER_OPTIONS) or ".")
    names = _script_names(call)
    if folder is None or not names:
        return
    folders = {folder: None}
    if any(arg.partition("=")[0] in _EVERY_PACKAGE for arg in call.args):
        for path in trail.content.anywhere(_PACKAGE):
            folders[posixpath.dirname(path)] = None
    for place in folders:
        for name in names:
            for script in (f"pre{name}", name, f"post{name}"):
                _pin_script(place, script, trail)


def steer_several_scripts(call: Invocation, trail: Trail) -> None:
    """`run-s lint test`: every word is a script."""
    for word in call.args:
        if not word.startswith("-"):
            trail.follow(Invocation("npm", ("run", word), call.folder))


def pin_in_front(trail: Trail) -> None:
    """Programs among the node packages, which go before the machine's while a script runs.

    One that an install brings may appear, unless the machine had a program of this name already:
    then it stands in for the one that was approved.
    """
    for folder in trail.in_front:
        for name in sorted({*trail.called, *_STARTED_BY_NPM}):
            path = f"{folder}/{name}"
            if not trail.content.has(path):
                continue
            if find_tool(name, trail.search_path) is not None:
                trail.pin(path)
                continue
            links, end = trail.content.trace(path)
            for part in (*links, end):
                trail.pin_installed(part)


def _script_names(call: Invocation) -> tuple[str, ...]:
    words: list[str] = []
    args = iter(call.args)
    for arg in args:
        if arg in _VALUED:
            next(args, None)
        elif arg == "--":
            break
        elif not arg.startswith("-"):
            words.append(arg)
    if words[:1] == ["workspace"]:
        words = words[2:]
    if not words:
        return ("install",) if call.tool == "yarn" else ()
    if words[0] in _RUN:
        return tuple(words[1:2])
    return _BY_WORD.get(words[0], () if call.tool == "npm" else (words[0],))


def _pin_script(folder: str, name: str, trail: Trail) -> None:
    wanted = Section(_PACKAGE, ("scripts", name))
    data = trail.pin_section(folder, wanted)
    if data is None:
        return
    try:
        text = lookup(wanted, data)
    except (ValueError, RecursionError):
        return
    if isinstance(text, str):
        for above in upwards(folder):
            trail.put_in_front(posixpath.join(above, _PROGRAMS))
        trail.follow(ShellText(text, folder))
