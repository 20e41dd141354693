"""What steers npm and its kin: the scripts of `package.json` that are run, and their settings."""

from __future__ import annotations

import posixpath

from signoff.commands.launchers import Invocation, inside
from signoff.commands.proofs import package_scripts
from signoff.process.shell import find_tool
from signoff.verification.steering.content import upwards
from signoff.verification.steering.sections import Section, command_in
from signoff.verification.steering.trail import ShellText, Trail

_PACKAGE = "package.json"
_PROGRAMS = "node_modules/.bin"
_EVERY_PACKAGE = frozenset(
    ("-w", "--workspace", "--workspaces", "-ws", "-r", "--recursive", "--filter", "-F", "workspace")
)
# What npm itself starts for a script, and what the first line of most programs there asks for.
_STARTED_BY_NPM = ("sh", "bash", "env", "node")
_FOLDER_OPTIONS = ("--prefix", "-C", "--cwd", "--dir")


def steer_package_script(call: Invocation, trail: Trail) -> None:
    """`npm test`, `yarn lint`, `pnpm run x`: the scripts by name, `pre` and `post` included."""
    folder = inside(call.folder, call.value_of(*_FOLDER_OPTIONS) or ".")
    names = package_scripts(call)
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
    for name in package_scripts(call):
        trail.follow(Invocation("npm", ("run", name), call.folder))


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


def _pin_script(folder: str, name: str, trail: Trail) -> None:
    wanted = Section(_PACKAGE, ("scripts", name))
    text = command_in(wanted, trail.pin_section(folder, wanted))
    if text:
        for above in upwards(folder):
            trail.put_in_front(posixpath.join(above, _PROGRAMS))
        trail.follow(ShellText(text, folder))
