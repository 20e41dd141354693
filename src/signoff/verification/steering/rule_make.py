"""What steers `make`: the called targets, what they need, and what holds for all targets."""

from __future__ import annotations

import posixpath
import re

from signoff.commands.behind import MakeCall, make_call
from signoff.commands.launchers import Invocation, inside, is_plain
from signoff.commands.makefile import MAKEFILES, Makefile, MakeRule, read_makefile
from signoff.verification.steering.trail import ShellText, Trail

_SHELL_CALL = re.compile(r"\$[({]shell\s+([^)}]*)")
_MOST_INCLUDED = 100
# make rebuilds its own makefiles first, by built-in rules too: from `Makefile.sh`, or RCS and SCCS.
_REBUILT_FROM = ("{}.sh", "{},v", "RCS/{},v", "RCS/{}", "s.{}", "SCCS/s.{}")


def steer_make(call: Invocation, trail: Trail) -> None:
    """Pin what `make` with these words will do, and look at the recipes it will run."""
    request = make_call(call)
    if request is None:
        return
    names = [posixpath.join(request.folder, name) for name in MAKEFILES]
    files = request.files or [name for name in names if trail.content.has(name)][:1]
    for path in files:
        _steer_file(path, request, trail)


def _steer_file(path: str, request: MakeCall, trail: Trail) -> None:
    data = trail.content.read(trail.pin_links(path))
    if data is None or b"RECIPEPREFIX" in data or not request.clear:
        trail.pin(path)
    if data is None:
        return
    own = read_makefile(data.decode("utf-8", "surrogateescape"))
    if own.preamble:
        preamble = "\n".join(own.preamble)
        trail.pin_text(path, "preamble", preamble)
        commands = "\n".join(_SHELL_CALL.findall(own.expand(preamble)))
        trail.follow(ShellText(commands, request.folder))
    own_rules = set(map(id, own.rules))
    included = _pin_included(own, request, trail)
    own.variables.update(request.variables)
    goals = request.targets or [own.goal or ""]
    makefiles = [path, posixpath.basename(path), *included]
    for target, rules in own.reached_from([*goals, *makefiles]).items():
        mine = [rule for rule in rules if id(rule) in own_rules]
        if mine:
            text = "\n".join(line for rule in mine for line in rule.lines)
            phony = "\n.PHONY" if target in own.phony else ""
            trail.pin_text(path, f"target:{target}", text + phony)
        _steer_target(target, rules, own, makefiles, request.folder, trail)
    for makefile in (path, *included):
        folder, name = posixpath.split(makefile)
        for source in _REBUILT_FROM:
            trail.pin(posixpath.join(folder, source.format(name)))


def _pin_included(makefile: Makefile, request: MakeCall, trail: Trail) -> list[str]:
    """Pin every included file as a whole and take its rules in; returns their paths."""
    found: dict[str, None] = {}
    waiting = list(makefile.includes)
    while waiting and len(found) < _MOST_INCLUDED:
        name = waiting.pop(0)
        pattern = inside(request.folder, name) if is_plain(name) else None
        for path in trail.content.matching(pattern) if pattern else ():
            # Lists of dependencies that the compiler writes are the build's own business.
            if path in found or (path.endswith(".d") and not trail.content.is_source(path)):
                continue
            found[path] = None
            data = trail.content.read(trail.pin(path))
            if data is not None:
                more = read_makefile(data.decode("utf-8", "surrogateescape"))
                makefile.rules += more.rules
                makefile.phony |= more.phony
                makefile.variables = {**more.variables, **makefile.variables}
                waiting += more.includes
    return list(found)


def _steer_target(
    target: str,
    rules: list[MakeRule],
    makefile: Makefile,
    makefiles: list[str],
    folder: str,
    trail: Trail,
) -> None:
    recipe = [line for rule in rules for line in rule.recipe]
    if not recipe:
        return
    text = "\n".join(makefile.expand(line.lstrip("@-+ \t")) for line in recipe)
    trail.follow(ShellText(text.replace("$$", "$"), folder))
    path = inside(folder, target)
    if path is None or path in makefiles or target in makefile.phony:
        return
    if _makes_itself(target, text):
        return
    # A recipe that does not make its target is skipped for good once something has its name.
    if trail.content.has(path) or trail.content.is_folder(path):
        trail.pin_presence(path, "in-place-of-target")


def _makes_itself(target: str, recipe: str) -> bool:
    words = re.split(r"[\s'\"=;&|<>]+", recipe)
    return "$@" in recipe or "$(@" in recipe or target in words
