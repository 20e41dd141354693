"""Whether a recipe of a project proves anything: a script of npm, the lines of a make target.

It does when a program that is known to judge is run, and its failing is the recipe's failing. What
cannot be understood proves nothing by itself; a person can declare it as a contract.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import cached_property

from signoff.commands.analysis import analyse
from signoff.commands.launchers import SHELLS, Invocation, RealCommand, started_by
from signoff.commands.makefile import MAKEFILES, Makefile, Unread, read_makefile
from signoff.commands.programs import BUILTINS, idle_word, is_installed, judges
from signoff.commands.reading import lower
from signoff.commands.runners import PACKAGE_TOOLS
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
_SCRIPTS = {"node": (".js", ".mjs", ".cjs", ".ts"), "python": (".py",)}
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
NODE_SETTINGS = tuple(
    f"{name}.{suffix}"
    for name in ("jest.config", "vitest.config", "vite.config", ".mocharc")
    for suffix in ("js", "cjs", "mjs", "ts", "json", "yml", "yaml")
)
_FORGIVES = re.compile(r"pass-?with-?no-?tests\W{1,9}true|\bdry-?run\W{1,9}true", re.IGNORECASE)
_SHELL_FILES = frozenset({"", ".sh", ".bash"})
# By what a program of the project can fail at all.
_NODE_FAILS = re.compile(
    r"\bassert\b|\bexpect\s*\(|\bthrow\b|\bexit\s*\((?!\s*0?\s*\))|exitCode|node:test"
)
_PYTHON_FAILS = re.compile(
    r"\bassert\b|\braise\b|\bunittest\b|\bdoctest\b|\bexit\s*\((?!\s*0?\s*\))|\bcheck_call\b"
)
_CAN_FAIL = dict.fromkeys(_SCRIPTS["node"], _NODE_FAILS) | {".py": _PYTHON_FAILS}


class Proof(IntEnum):
    """What a recipe is worth; of commands that all have to hold the best one counts."""

    CANNOT_FAIL = 0
    CANNOT_TELL = 1
    PROVES = 2


Follow = Callable[[str, str], Proof]
"""What a script (`npm`), a target (`make`) or a file (`file`) of the project proves."""


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

    `read` gives the content of a file of the project, None where there is none; what was read is
    kept in mind.
    """

    def __init__(self, read: Callable[[str], bytes | None]):
        self._content = read
        self._under_way: list[tuple[str, str]] = []
        self._read: dict[str, None] = {}

    @cached_property
    def scripts(self) -> Mapping[str, str]:
        """Those of npm."""
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
        """What a script, a target or a file proves; one that runs itself is not understood."""
        if (kind, name) in self._under_way or len(self._under_way) >= DEEPEST:
            return Proof.CANNOT_TELL
        self._under_way.append((kind, name))
        try:
            return {"npm": self._script, "make": self._target}.get(kind, self._file)(name)
        finally:
            self._under_way.pop()

    def _script(self, name: str) -> Proof:
        self._read |= dict.fromkeys(("package.json", ".npmrc", *NODE_SETTINGS))
        settings = self._text(".npmrc").lower()
        forgives = any(_FORGIVES.search(self._text(path)) for path in self._read)
        script = self.scripts.get(name)
        if forgives or script is None or "script-shell" in settings or "if-present" in settings:
            return Proof.CANNOT_TELL
        return proof_of(script, self.proof)

    def _target(self, name: str) -> Proof:
        self._read |= dict.fromkeys(MAKEFILES)
        if not self.makefile.has(name):
            return Proof.CANNOT_TELL
        try:
            texts, needs = self.makefile.recipe(name), self.makefile.needs(name)
        except Unread:
            return Proof.CANNOT_TELL
        found = [proof_of(text, self.proof) for text in texts]
        found += [self.proof("make", need) for need in needs]
        return max(found, default=Proof.CANNOT_FAIL)

    def _file(self, name: str) -> Proof:
        path = posixpath.normpath(name)
        if path.startswith(("/", "..")):
            return Proof.CANNOT_TELL
        self._read[path] = None
        text, suffix = self._text(path), posixpath.splitext(path)[1]
        if not text:
            return Proof.CANNOT_TELL
        if suffix in _CAN_FAIL:
            return Proof.PROVES if _CAN_FAIL[suffix].search(text) else Proof.CANNOT_TELL
        first = text.partition("\n")[0]
        is_shell = suffix in _SHELL_FILES and re.search(r"\b(?:ba|da)?sh\b|^(?!#!)", first)
        if not is_shell:
            return Proof.CANNOT_TELL
        stops = re.search(r"^#!.*\s-[a-z]*e", first) is not None
        return proof_of(f"set -e\n{text}" if stops else text, self.proof)


def proof_of(text: str, follow: Follow) -> Proof:
    """What a text proves that a shell would run."""
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
    """What one command proves by itself."""
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
    file = _file(call)
    if file:
        return follow("file", file)
    return Proof.PROVES if judges(call) else Proof.CANNOT_TELL


def _steers(text: str) -> bool:
    """Whether a word changes what the commands around it mean."""
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


def _file(call: Invocation) -> str:
    """The file of the project that is run, with a program for it or by itself."""
    if call.path and not is_installed(call.path):
        return call.path if "/" in call.path and not call.path.startswith("/") else ""
    suffixes = _SCRIPTS.get(call.tool, ())
    first = call.args[0] if call.args else "-"
    if first.startswith("-") or not (suffixes or call.tool in SHELLS):
        return ""
    return first if not suffixes or posixpath.splitext(first)[1] in suffixes else ""
