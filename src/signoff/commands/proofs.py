"""Decide if a recipe of a project proves anything: a script of npm, the lines of a make target.

It does when a program that is known to judge is run, and its failing is the recipe's failing. What
cannot be understood proves nothing by itself; a person can declare it as a contract. Beside that,
what recipes run: just, tox and nox, and what a call asks of make; the caller reads the files.
"""

from __future__ import annotations

import ast
import configparser
import json
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from functools import cached_property

from msgspec import Struct, field

from signoff.commands.analysis import analyse
from signoff.commands.launchers import Invocation, RealCommand, inside, is_plain, started_by
from signoff.commands.makefile import MAKEFILES, Makefile, Unread, read_makefile
from signoff.commands.programs import BUILTINS, PACKAGE_TOOLS, idle_word, is_installed, judges
from signoff.commands.reading import lower
from signoff.commands.statuses import FAILED, ZERO, ShellEvaluation, Statuses
from signoff.commands.tree import ShellNode

DEEPEST = 8  # recipes that run other recipes

# They turn a program that judges into one that does not, from outside of its arguments.
_STEERS = re.compile(
    r"(?:PATH|ENV|BASH_ENV|SHELLOPTS|LD_PRELOAD|NODE_OPTIONS|PYTHONPATH|PYTHONHOME|PYTEST_ADDOPTS"
    r"|PYTEST_PLUGINS|(?:GNU)?MAKEFLAGS|GOFLAGS|MAVEN_\w+|CARGO_\w+|npm_config_\w+)\+?="
)
_CHANGES = frozenset({"unset", "shopt", "alias", "enable"})
_SOURCED = re.compile(r"`(?:source|\.) (?!\S*bin/activate`)")
_TRANSPARENT = frozenset(
    ("env", "time", "command", "nice", "timeout", "stdbuf", "nohup", "ionice", "exec")
)
_RUN = frozenset(("run", "run-script", "rum", "urn"))
_INSTALLING = ("install", "prepare", "prepublish")
_BY_WORD: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("test", "t", "tst"), ("test",)),
    "start": ("start",),
    "stop": ("stop",),
    "restart": ("restart", "stop", "start"),
    **dict.fromkeys(("install", "i", "ci", "clean-install", "add"), _INSTALLING),
    **dict.fromkeys(("install-test", "it"), (*_INSTALLING, "test")),
}
_VALUED = frozenset(("-w", "--workspace", "--filter", "-F", "--prefix", "-C", "--cwd", "--dir"))
_SEVERAL = frozenset({"npm-run-all", "run-s", "run-p"})
_QUIET = frozenset({"--silent", "-s", "--no-print-directory", "--quiet", "-q", "--"})
_NODE_SETTINGS = (
    "package.json",
    *(
        f"{name}.{suffix}"
        for name in ("jest.config", "vitest.config", "vite.config", ".mocharc")
        for suffix in ("js", "cjs", "mjs", "ts", "json", "yml", "yaml")
    ),
)
_FORGIVES = re.compile(r"pass-?with-?no-?tests\W{1,9}true|\bdry-?run\W{1,9}true", re.IGNORECASE)


class Proof(IntEnum):
    """Worth of a recipe; of commands that all have to hold the best one counts."""

    CANNOT_FAIL = 0
    CANNOT_TELL = 1
    PROVES = 2


Follow = Callable[[str, str], Proof]
"""Worth of a script (`npm`) or a target (`make`) of the project."""


def package_scripts(call: Invocation) -> tuple[str, ...]:
    """The scripts of `package.json` that a call of npm and its kin runs, without `pre` and `post`.

    `run-s lint test` runs one for every word.
    """
    words: list[str] = []
    args = iter(call.args)
    for arg in args:
        if arg in _VALUED:
            next(args, None)
        elif arg == "--":
            break
        elif not arg.startswith("-"):
            words.append(arg)
    if call.tool in _SEVERAL:
        return tuple(words)
    words = words[2:] if words[:1] == ["workspace"] else words
    if not words:
        return ("install",) if call.tool == "yarn" else ()
    if words[0] in _RUN:
        return tuple(words[1:2])
    return _BY_WORD.get(words[0], () if call.tool == "npm" else (words[0],))


class ProjectRecipes:
    """Scripts and targets that run each other, read as far as they can be.

    `read` gives the content of a file of the project, None where there is none.
    """

    def __init__(self, read: Callable[[str], bytes | None]):
        self._content = read
        self._under_way: list[tuple[str, str]] = []

    @cached_property
    def scripts(self) -> Mapping[str, str]:
        """Scripts of npm."""
        try:
            manifest = json.loads(self._text("package.json") or "null")
        except (ValueError, RecursionError):
            return {}
        scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
        named = scripts.items() if isinstance(scripts, dict) else ()
        return {name: text for name, text in named if isinstance(text, str)}

    @cached_property
    def makefile(self) -> Makefile:
        """The one that make would take."""
        return read_makefile(next(filter(None, map(self._text, MAKEFILES)), ""))

    def _text(self, path: str) -> str:
        return (self._content(path) or b"").decode("utf-8", "replace")

    def proof(self, kind: str, name: str) -> Proof:
        """Worth of a script or target; one that runs itself is not understood."""
        if (kind, name) in self._under_way or len(self._under_way) >= DEEPEST:
            return Proof.CANNOT_TELL
        self._under_way.append((kind, name))
        try:
            return self._script(name) if kind == "npm" else self._target(name)
        finally:
            self._under_way.pop()

    def _script(self, name: str) -> Proof:
        settings = self._text(".npmrc").lower()
        forgives = any(_FORGIVES.search(self._text(path)) for path in _NODE_SETTINGS)
        script = self.scripts.get(name)
        if forgives or script is None or "script-shell" in settings or "if-present" in settings:
            return Proof.CANNOT_TELL
        return proof_of(script, self.proof)

    def _target(self, name: str) -> Proof:
        if not self.makefile.has(name):
            return Proof.CANNOT_TELL
        try:
            texts, needs = self.makefile.recipe(name), self.makefile.needs(name)
        except Unread:
            return Proof.CANNOT_TELL
        found = [proof_of(text, self.proof) for text in texts]
        found += [self.proof("make", need) for need in needs]
        return max(found, default=Proof.CANNOT_FAIL)


def proof_of(text: str, follow: Follow) -> Proof:
    """Worth of a text that a shell would run."""
    facts = analyse(text)
    if facts.statuses == ZERO:
        return Proof.CANNOT_FAIL
    block, clear = lower(text)
    sourced = any(_SOURCED.match(unseen.what) for unseen in facts.unseen)
    steered = "\0" in text or any(map(_steers, block.texts()))
    if not clear or sourced or steered or facts.functions:
        return Proof.CANNOT_TELL
    worth: dict[ShellNode, Proof] = {}

    def ends_with(failing: ShellNode | None = None) -> Statuses:
        """The statuses of the text when this one command finds fault."""

        def answer(command: ShellNode, seen: RealCommand) -> Statuses | None:
            if command not in worth:
                worth[command] = _worth(command, seen, follow)
            if command == failing:
                return FAILED
            return ZERO if worth[command] is Proof.CANNOT_FAIL else None

        return ShellEvaluation(answer).final(block)

    if ends_with() == ZERO:
        return Proof.CANNOT_FAIL
    # When one of the judges fails, whatever else happens, so does the text.
    judging = [command for command, proof in worth.items() if proof is Proof.PROVES]
    proves = any(0 not in ends_with(judge) for judge in judging)
    return Proof.PROVES if proves else Proof.CANNOT_TELL


def _worth(command: ShellNode, seen: RealCommand, follow: Follow) -> Proof:
    """Worth of one command by itself."""
    assert seen.command is not None
    words = seen.command.words
    steered = any(_STEERS.match(word.text) for word in (*command.assigned, *command.words))
    plain = _TRANSPARENT.issuperset(seen.wrappers) and words[0].text not in BUILTINS
    known = all(word.literal or word.text in ('"$@"', "$@") for word in words)
    if steered or not plain or not known:
        return Proof.CANNOT_TELL
    name, *args = (word.text for word in words if word.literal)
    *_, call = started_by(name, tuple(args))
    others = _recipes_run(call)
    if others:
        return max(follow(kind, name) for kind, name in others)
    is_own = bool(call.path) and not is_installed(call.path)
    return Proof.PROVES if judges(call) and not is_own else Proof.CANNOT_TELL


def _steers(text: str) -> bool:
    """True when a word changes what the commands around it mean."""
    return _STEERS.match(text) is not None or text in _CHANGES


def _recipes_run(call: Invocation) -> tuple[tuple[str, str], ...]:
    """The scripts of npm and targets of make that a command runs, as (`npm` or `make`, name)."""
    rest = [word for word in call.args if word not in _QUIET]
    if call.tool == "make":
        plain = all(not word.startswith("-") and "=" not in word for word in rest)
        return tuple(("make", word) for word in rest) if plain else ()
    if idle_word(call.args) or (call.tool == "bun" and rest[:1] == ["test"]):
        return ()
    if call.tool in _SEVERAL and any(word.startswith("-") or "*" in word for word in rest):
        return ()
    runs = call.tool in PACKAGE_TOOLS | _SEVERAL and rest and not rest[0].startswith("-")
    return tuple(("npm", name) for name in package_scripts(call)) if runs else ()


Read = Callable[[str], bytes | None]
"""The content of a file of the project by its path; None where there is none."""

_JUSTFILES = ("justfile", ".justfile", "Justfile")
_JUST_RECIPE = re.compile(r"@?([\w-]+)((?:\s+[^:=\s]\S*)*)\s*:(?!=)(.*)")
_POSITIONAL = re.compile(r"\{posargs(?::([^{}]*))?\}")
_FOLDER_OPTIONS = ("-C", "--directory")
_FILE_OPTIONS = ("-f", "--file", "--makefile")
_MAKE_VALUED = (
    "-I",
    "--include-dir",
    "-o",
    "--old-file",
    "-W",
    "--what-if",
    "-E",
    "--eval",
    "-O",
)
_SET = re.compile(r"([\w.-]+)\s*[:?+!]*=(.*)", re.DOTALL)


def recipe_texts(call: Invocation, read: Read) -> Iterator[str]:
    """The shell text that a call of just, tox or nox runs, as far as its file says it."""
    return _RECIPES[call.tool](call, read)


def _text(read: Read, folder: str, *names: str) -> str:
    contents = (read(posixpath.join(folder, name)) for name in names)
    return next(filter(None, contents), b"").decode("utf-8", "replace")


def _just(call: Invocation, read: Read) -> Iterator[str]:
    recipes: dict[str, tuple[list[str], list[str]]] = {}
    body: list[str] = []
    for line in _text(read, call.folder, *_JUSTFILES).splitlines():
        head = _JUST_RECIPE.match(line)
        if line[:1] in (" ", "\t"):
            body.append(line.strip().lstrip("@-"))
        elif head:
            body = []
            recipes[head[1]] = (re.findall(r"[\w-]+", head[3].partition("#")[0]), body)
    wanted = [word for word in call.args if not word.startswith("-")] or list(recipes)[:1]
    done: set[str] = set()
    while wanted:
        name = wanted.pop(0)
        if name in recipes and name not in done:
            done.add(name)
            wanted += recipes[name][0]
            # What stands in double braces is a variable: a word that is known only when it runs.
            yield re.sub(r"\{\{.*?\}\}", "$just", "\n".join(recipes[name][1]))


def _tox(call: Invocation, read: Read) -> Iterator[str]:
    """The commands of the environments that are named, or else of the common one."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text(read, call.folder, call.value_of("-c") or "tox.ini"))
    except configparser.Error:
        return
    named = call.value_of("-e").split(",")
    sections = [f"testenv:{name}" for name in named if f"testenv:{name}" in parser] or ["testenv"]
    for section in sections:
        commands = parser.get(section, "commands", fallback="")
        if commands.strip():
            lines = (line.strip().lstrip("- ") for line in commands.splitlines())
            text = _POSITIONAL.sub(r"\1", "\n".join(lines)).strip()
            yield text.replace("{envpython}", "python")


def _nox(call: Invocation, read: Read) -> Iterator[str]:
    """Commands of nox sessions whose words are written out: `session.run("pytest", "-q")`."""
    try:
        module = ast.parse(_text(read, call.folder, "noxfile.py"))
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "run" and node.args:
            words = (getattr(a, "value", None) for a in node.args)
            text = shlex.join(word for word in words if isinstance(word, str))
            if text:
                yield text


_RECIPES = {"just": _just, "tox": _tox, "nox": _nox}


class MakeCall(Struct):
    """Request of a command line to make; `clear` when every target is written out."""

    folder: str
    files: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    clear: bool = True


def make_call(call: Invocation) -> MakeCall | None:
    """The request of a call of make; None where its folder cannot be told."""
    request = MakeCall(call.folder)
    files: list[str] = []
    words = [part for word in call.args for part in _separated(word)]
    while words:
        word = words.pop(0)
        value = words[0] if words else ""
        assigned = _SET.fullmatch(word)
        if word in (*_FOLDER_OPTIONS, *_FILE_OPTIONS, *_MAKE_VALUED):
            del words[:1]
        if word in _FOLDER_OPTIONS:
            folder = inside(request.folder, value) if is_plain(value) else None
            if folder is None:
                return None
            request.folder = folder
        elif word in _FILE_OPTIONS:
            files.append(value)
        elif assigned and not word.startswith("-"):
            request.variables[assigned[1]] = assigned[2]
        elif not word.startswith("-") and not word.isdigit():
            request.targets.append(word)
            request.clear = request.clear and is_plain(word)
    request.files = [p for f in files if (p := inside(request.folder, f))]
    return request


def _separated(word: str) -> tuple[str, ...]:
    """`-Cdir` and `--file=x` as two words."""
    option, equals, value = word.partition("=")
    if equals and option in (*_FOLDER_OPTIONS, *_FILE_OPTIONS):
        return option, value
    if word[:2] in ("-C", "-f") and len(word) > 2:
        return word[:2], word[2:]
    return (word,)
