"""Files that influence a check and are not its subject: pinned at approval, compared later.

A rule is for some tools, and pins what they obey; what they run is followed in turn.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection

from signoff.commands.analysis import analyse, invocations_of
from signoff.commands.launchers import SHELLS, Invocation, inside, is_plain, started_by
from signoff.commands.makefile import MAKEFILES, Makefile, MakeRule, read_makefile
from signoff.commands.proofs import MakeCall, make_call, package_scripts, recipe_texts
from signoff.commands.settings import SETTINGS, Section, command_in
from signoff.commands.uses import INTERPRETERS, scripts_run
from signoff.domain.plan import Contract
from signoff.domain.snapshot import Manifest
from signoff.process.environment import STANDARD_PATH, activated_in
from signoff.process.shell import find_tool
from signoff.verification.ignored import Ignored
from signoff.verification.influences.gathered import (
    GatheredInfluences,
    ManifestIndex,
    ShellText,
    pin_settings,
    upwards,
)
from signoff.verification.influences.packages import pin_environments
from signoff.verification.influences.python import (
    follow_installed_command,
    follow_pytest,
    follow_python,
    follow_python_path,
    pin_startup,
)

_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(.*))?")
_NOT_SHELL = (".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".awk", ".sed", ".jq")


def follow_interpreter(call: Invocation, known: GatheredInfluences) -> None:
    """`bash x`, `node x`, `awk -f x`: the script is pinned, and read when it is shell."""
    for word in scripts_run(call.tool, call.args):
        path = inside(call.folder, word) if word and is_plain(word) else None
        for suffix in INTERPRETERS[call.tool].suffixes if path is not None else ():
            for found in known.content.matching(f"{path}{suffix}"):
                end = known.pin_called(found)
                if call.tool in SHELLS:
                    _follow_shell(end, call.folder, known)


def follow_executed(call: Invocation, known: GatheredInfluences) -> None:
    """`./check.sh`: pinned, and read as what its first line says it is."""
    path = inside(call.folder, call.path)
    if path is not None and is_plain(call.path):
        for found in known.content.matching(path):
            execute(found, call.folder, known)


def execute(path: str, folder: str, known: GatheredInfluences) -> None:
    """Pin an executed or sourced file and look at what it runs."""
    end = known.pin_called(path)
    data = known.content.read(end) if known.content.is_source(end) else None
    if data is None or b"\0" in data:
        return
    shebang = _SHEBANG.match(data)
    if shebang is None:
        if not end.endswith(_NOT_SHELL):
            _follow_shell(end, folder, known)
        return
    words = [shebang[1], *(shebang[2] or b"").split()]
    if posixpath.basename(words[0]) == b"env":
        words = [w for w in words[1:] if not w.startswith(b"-") and b"=" not in w]
    named = [w.decode("utf-8", "surrogateescape") for w in words]
    if named:
        # The path is given from the workspace, so that is where the interpreter is said to run.
        back = posixpath.relpath(end, folder or ".")
        for call in started_by(posixpath.basename(named[0]), (*named[1:], back), folder):
            known.follow(call)


def _follow_shell(end: str, folder: str, known: GatheredInfluences) -> None:
    data = known.content.read(end) if known.content.is_source(end) else None
    if data is not None:
        known.follow(ShellText(data.decode("utf-8", "replace"), folder))


_SHELL_CALL = re.compile(r"\$[({]shell\s+([^)}]*)")
_MOST_INCLUDED = 100
# make rebuilds its own makefiles first, by built-in rules too: from `Makefile.sh`, or RCS and SCCS.
_REBUILT_FROM = ("{}.sh", "{},v", "RCS/{},v", "RCS/{}", "s.{}", "SCCS/s.{}")


def follow_make(call: Invocation, known: GatheredInfluences) -> None:
    """Pin what `make` with these words will do, and look at the recipes it will run."""
    request = make_call(call)
    if request is None:
        return
    names = [posixpath.join(request.folder, name) for name in MAKEFILES]
    files = request.files or [name for name in names if known.content.has(name)][:1]
    for path in files:
        _follow_file(path, request, known)


def _follow_file(path: str, request: MakeCall, known: GatheredInfluences) -> None:
    data = known.content.read(known.pin_links(path))
    if data is None or b"RECIPEPREFIX" in data or not request.clear:
        known.pin(path)
    if data is None:
        return
    own = read_makefile(data.decode("utf-8", "surrogateescape"))
    if own.preamble:
        preamble = "\n".join(own.preamble)
        known.pin_text(path, "preamble", preamble)
        commands = "\n".join(_SHELL_CALL.findall(own.expand(preamble)))
        known.follow(ShellText(commands, request.folder))
    own_rules = set(map(id, own.rules))
    included = _pin_included(own, request, known)
    own.variables.update(request.variables)
    goals = request.targets or [own.goal or ""]
    makefiles = [path, posixpath.basename(path), *included]
    for target, rules in own.reached_from([*goals, *makefiles]).items():
        mine = [rule for rule in rules if id(rule) in own_rules]
        if mine:
            text = "\n".join(line for rule in mine for line in rule.lines)
            phony = "\n.PHONY" if target in own.phony else ""
            known.pin_text(path, f"target:{target}", text + phony)
        _follow_target(target, rules, own, makefiles, request.folder, known)
    for makefile in (path, *included):
        folder, name = posixpath.split(makefile)
        for source in _REBUILT_FROM:
            known.pin(posixpath.join(folder, source.format(name)))


def _pin_included(makefile: Makefile, request: MakeCall, known: GatheredInfluences) -> list[str]:
    """Pin every included file as a whole and take its rules in; returns their paths."""
    found: dict[str, None] = {}
    waiting = list(makefile.includes)
    while waiting and len(found) < _MOST_INCLUDED:
        name = waiting.pop(0)
        pattern = inside(request.folder, name) if is_plain(name) else None
        for path in known.content.matching(pattern) if pattern else ():
            # Lists of dependencies that the compiler writes are the build's own business.
            if path in found or (path.endswith(".d") and not known.content.is_source(path)):
                continue
            found[path] = None
            data = known.content.read(known.pin(path))
            if data is not None:
                more = read_makefile(data.decode("utf-8", "surrogateescape"))
                makefile.rules += more.rules
                makefile.phony |= more.phony
                makefile.variables = {**more.variables, **makefile.variables}
                waiting += more.includes
    return list(found)


def _without_prefix(line: str) -> str:
    """A line of a recipe as the shell gets it, and forgiven as make forgives it."""
    command = line.lstrip("@-+ \t")
    return f"{command} || true" if "-" in line.removesuffix(command) else command


def _follow_target(
    target: str,
    rules: list[MakeRule],
    makefile: Makefile,
    makefiles: list[str],
    folder: str,
    known: GatheredInfluences,
) -> None:
    recipe = [line for rule in rules for line in rule.recipe]
    if not recipe:
        return
    lines = [*map(_without_prefix, map(makefile.expand, recipe))]
    text = "\n".join(lines if len(lines) == 1 else ("set -e", *lines))
    known.follow(ShellText(text.replace("$$", "$"), folder))
    path = inside(folder, target)
    if path is None or path in makefiles or target in makefile.phony:
        return
    if "$@" in text or "$(@" in text or target in re.split(r"[\s'\"=;&|<>]+", text):
        return
    # A recipe that does not make its target is skipped for good once something has its name.
    if known.content.has(path) or known.content.is_folder(path):
        known.pin_presence(path, "in-place-of-target")


_PACKAGE = "package.json"
_PROGRAMS = "node_modules/.bin"
_EVERY_PACKAGE = frozenset(
    ("-w", "--workspace", "--workspaces", "-ws", "-r", "--recursive", "--filter", "-F", "workspace")
)
# What npm itself starts for a script, and what the first line of most programs there asks for.
_STARTED_BY_NPM = ("sh", "bash", "env", "node")
_FOLDER_OPTIONS = ("--prefix", "-C", "--cwd", "--dir")


def follow_package_script(call: Invocation, known: GatheredInfluences) -> None:
    """`npm test`, `yarn lint`, `pnpm run x`: the scripts by name, `pre` and `post` included."""
    folder = inside(call.folder, call.value_of(*_FOLDER_OPTIONS) or ".")
    names = package_scripts(call)
    if folder is None or not names:
        return
    folders = {folder: None}
    if any(arg.partition("=")[0] in _EVERY_PACKAGE for arg in call.args):
        for path in known.content.anywhere(_PACKAGE):
            folders[posixpath.dirname(path)] = None
    for place in folders:
        for name in names:
            for script in (f"pre{name}", name, f"post{name}"):
                _pin_script(place, script, known)


def follow_several_scripts(call: Invocation, known: GatheredInfluences) -> None:
    """`run-s lint test`: every word is a script."""
    for name in package_scripts(call):
        known.follow(Invocation("npm", ("run", name), call.folder))


def pin_in_front(known: GatheredInfluences) -> None:
    """Programs of activated environments and node packages, which go before the machine's.

    One that an install brings may appear, unless the machine had a program of this name already:
    then it stands in for the one that was approved. What tests start by themselves is not seen, so
    in an activated folder every name counts that the system has.
    """
    if not known.in_front:
        return
    root = known.content.on_disk("")
    activated = activated_in(known.search_path, root)
    entries = known.search_path.split(":")
    machine = ":".join(e for e in entries if e and not activated_in(e, root))
    for folder in known.in_front:
        names = {*known.called, *_STARTED_BY_NPM}
        if folder in activated:
            listed = known.content.listed(folder)
            names.update(n for n in listed if find_tool(n, STANDARD_PATH) is not None)
        for name in sorted(names):
            path = f"{folder}/{name}"
            if not known.content.has(path):
                continue
            if find_tool(name, machine) is not None:
                known.pin(path)
                continue
            links, end = known.content.trace(path)
            for part in (*links, end):
                known.pin_installed(part)


def _pin_script(folder: str, name: str, known: GatheredInfluences) -> None:
    wanted = Section(_PACKAGE, ("scripts", name))
    text = command_in(wanted, known.pin_section(folder, wanted))
    if text:
        for above in upwards(folder):
            known.put_in_front(posixpath.join(above, _PROGRAMS))
        known.follow(ShellText(text, folder))


Pin = Callable[[Invocation, GatheredInfluences], None]


def _follow_recipes(call: Invocation, known: GatheredInfluences) -> None:
    """just, tox and nox run what their files say; where that is not seen, as a rule pytest."""
    found = list(recipe_texts(call, known.content.read))
    for text in found:
        known.follow(ShellText(text, call.folder))
    if not found and call.tool != "just":
        known.follow(Invocation("pytest", (), call.folder))


def _follow_hatch(call: Invocation, known: GatheredInfluences) -> None:
    """`hatch test` runs pytest."""
    if "test" in call.args:
        known.follow(Invocation("pytest", (), call.folder))


_TASK_TABLES = {
    "pdm": ("pyproject.toml", ("tool", "pdm", "scripts")),
    "poe": ("pyproject.toml", ("tool", "poe", "tasks")),
    "pipenv": ("Pipfile", ("scripts",)),
    "pixi": ("pixi.toml", ("tasks",)),
}


def _follow_tasks(call: Invocation, known: GatheredInfluences) -> None:
    """Named tasks of a settings file: `pdm run test`."""
    file, table = _TASK_TABLES[call.tool]
    for word in call.args:
        if not word.startswith("-"):
            wanted = Section(file, (*table, word))
            text = command_in(wanted, known.pin_section(call.folder, wanted))
            if text:
                known.follow(ShellText(text, call.folder))


# Each row is for some tools, and pins what influences a call of one of them.
RULES: tuple[tuple[Collection[str], Pin], ...] = (
    (SETTINGS, pin_settings),
    (INTERPRETERS, follow_interpreter),
    (("python",), follow_python),
    (("pytest",), follow_pytest),
    (("uv", "poetry", "pdm", "rye", "pipenv"), follow_installed_command),
    (("make",), follow_make),
    (("npm", "yarn", "pnpm", "bun"), follow_package_script),
    (("run-s", "run-p", "npm-run-all"), follow_several_scripts),
    (("just", "tox", "nox"), _follow_recipes),
    (("hatch",), _follow_hatch),
    (_TASK_TABLES, _follow_tasks),
)


MOST_LOOKED_AT = 400
_PINS_BY_TOOL: dict[str, list[Pin]] = {}
for _tools, _pin in RULES:
    for _tool in _tools:
        _PINS_BY_TOOL.setdefault(_tool, []).append(_pin)


def influences_of(
    contract: Contract,
    manifest: Manifest,
    read: Callable[[str], bytes],
    ignored: Ignored | None = None,
    search_path: str = "",
) -> dict[str, str]:
    """Name → digest of everything in the content that influences the contract's command.

    Names are paths, or `path#section` where only a part of the file counts. Scripts, recipes and
    package scripts that the command runs are looked into in turn. What the shell analysis cannot
    see through (`eval "$X"`, `$TOOL`, a program that starts others) adds nothing: `verify` says
    "cannot tell" about it, and `**protects:**` is the way to name it.
    """
    known = GatheredInfluences(ManifestIndex(manifest, read, ignored), search_path)
    for folder in activated_in(search_path, known.content.on_disk("")):
        known.put_in_front(folder)
    _followed(contract, known)
    pin_in_front(known)
    pin_startup(known)
    pin_environments(known)
    return dict(sorted(known.pinned.items()))


def texts_of(
    contract: Contract, manifest: Manifest, read: Callable[[str], bytes]
) -> tuple[ShellText, ...]:
    """The command itself and all shell text that it runs: scripts, recipes, package scripts."""
    return tuple(_followed(contract, GatheredInfluences(ManifestIndex(manifest, read))).texts)


def _followed(contract: Contract, known: GatheredInfluences) -> GatheredInfluences:
    known.follow(ShellText(contract.command, ""))
    seen: set[ShellText | Invocation] = set()
    while known.ahead and len(seen) < MOST_LOOKED_AT:
        what = known.ahead.pop(0)
        if what not in seen:
            seen.add(what)
            _look_at(what, known)
    return known


def _look_at(what: ShellText | Invocation, known: GatheredInfluences) -> None:
    if isinstance(what, Invocation):
        known.tools.add(what.tool)
        for pin in _PINS_BY_TOOL.get(what.tool, ()):
            pin(what, known)
        if what.path:
            follow_executed(what, known)
        return
    known.texts.append(what)
    facts = analyse(what.text)
    for script in facts.scripts:
        path = inside(what.folder, script.path)
        if path is not None:
            for found in known.content.matching(path):
                execute(found, what.folder, known)
    known.note_called(*(call.name for call in facts.calls))
    for call in invocations_of(facts, what.folder):
        if call.tool not in facts.functions:
            known.follow(call)
            known.note_called(call.path or call.tool)
    follow_python_path(what.text, what.folder, known)
