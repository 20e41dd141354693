"""Commands that only run another command, and what that one is; where it is hidden, saying so.

`env A=1 timeout 5 pytest` is seen through on the words of the script, because such wrappers change
neither the status nor what is looked for. `uv run`, `npx`, `python -m` and their kind are peeled
one by one: what they start is a tool of its own (`started_by`).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from signoff.commands.reading import lower
from signoff.commands.tree import ShellNode

MAX_NESTING = 4
SHELLS = frozenset(("bash", "sh", "dash", "ksh", "zsh"))
SYSTEM = re.compile(r"/(?:usr/)?bin/(?=[^/]+$)")
"""The folders of the system's own programs: `/usr/bin/env` is `env`."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SELF_CONTAINED = re.compile(r"-\d+|--[a-z-]+=.*")
_MODULE_OPTIONS = ("-m", "--module")
_VERSIONED = re.compile(r"(python|pypy|perl|ruby|node|lua|php)[\d.]+")
_ALIASES = {
    **dict.fromkeys(("python3", "pypy", "pypy3"), "python"),
    **dict.fromkeys(("pnpx", "bunx"), "npx"),
    "py.test": "pytest",
    "gmake": "make",
    "gradlew": "gradle",
    "mvnw": "mvn",
    "nodejs": "node",
    "basedpyright": "pyright",
}


class _Start(Struct, frozen=True):
    """Index of the inner command's first word, and the folder that an option names."""

    at: int
    folder: str = ""
    is_module: bool = False


class _Unclear(Exception):
    """An option of which nobody knows whether a value follows."""


class _Launcher(Struct, frozen=True):
    """Shape of a launcher's own words, up to the command; without `flags` any option is one."""

    subcommands: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    flags: tuple[str, ...] | None = None
    positionals: int = 0
    assignments: bool = False

    def start(self, args: Sequence[str]) -> _Start | None:
        """Index of the inner command; None where there is none."""
        i, folder = 0, ""
        waiting, positionals = bool(self.subcommands), self.positionals
        while i < len(args):
            arg = args[i]
            if not waiting and arg in _MODULE_OPTIONS and self.flags is None:
                return _Start(i + 1, folder, True) if i + 1 < len(args) else None
            if arg in self.folders:
                folder = args[i + 1] if i + 1 < len(args) else ""
            if arg in self.valued or arg in self.folders:
                i += 1
            elif arg == "--":
                waiting = False
                if self.flags is not None:
                    return _Start(i + 1, folder) if i + 1 < len(args) else None
            elif arg.startswith("-"):
                self._pass(arg)
            elif waiting:
                if arg not in self.subcommands:
                    return None
                waiting = False
            elif positionals:
                positionals -= 1
            elif not (self.assignments and _ASSIGNMENT.match(arg)):
                return _Start(i, folder)
            i += 1
        return None

    def _pass(self, option: str) -> None:
        if self.flags is None or option in self.flags or _SELF_CONTAINED.fullmatch(option):
            return
        if not (self.valued and option.startswith(self.valued)):
            raise _Unclear(option)


# They run the command as it is, so that its status and its files are the contract's own.
_WRAPPERS = {
    "env": _Launcher(
        valued=("-u", "-C"), flags=("-i", "-", "--ignore-environment", "-0"), assignments=True
    ),
    "timeout": _Launcher(
        valued=("-k", "-s"),
        flags=("--foreground", "--preserve-status", "-v", "--verbose"),
        positionals=1,
    ),
    "nice": _Launcher(valued=("-n",), flags=()),
    "ionice": _Launcher(valued=("-c", "-n"), flags=()),
    "stdbuf": _Launcher(valued=("-i", "-o", "-e"), flags=()),
    "nohup": _Launcher(flags=()),
    "setsid": _Launcher(flags=("-w", "--wait")),
    "time": _Launcher(flags=("-p", "-v")),
    "command": _Launcher(flags=("-p",)),
    "builtin": _Launcher(flags=()),
    "exec": _Launcher(valued=("-a",), flags=("-c", "-l")),
    "sudo": _Launcher(valued=("-u", "-g"), flags=("-n", "-E", "-H")),
    "xargs": _Launcher(
        valued=("-n", "-P", "-I", "-d", "-L", "-s", "-a", "-E"),
        flags=("-0", "-r", "-t", "--null", "--no-run-if-empty"),
    ),
}
_RUN = _Launcher(("run",), ("-n", "-p", "--name", "--env", "-e", "-v"), ("-C", "--directory"))
_VARIABLES = _Launcher(assignments=True)
_STARTERS = {
    "uv": _Launcher(
        ("run",),
        (
            *("--with", "--with-editable", "--with-requirements", "--python", "-p", "--package"),
            *("--extra", "--group", "--only-group", "--no-group", "--env-file", "--config-file"),
            *("--index", "--index-url", "--default-index", "--cache-dir", "--color", "--link-mode"),
        ),
        ("--directory", "--project"),
    ),
    "uvx": _Launcher(valued=("--from", "--with", "--python", "-p", "--index-url")),
    "pipx": _Launcher(("run",), ("--spec", "--python", "--index-url")),
    "npx": _Launcher(valued=("-p", "--package", "-w", "--workspace", "-c", "--call")),
    "npm": _Launcher(("exec", "x"), ("-w", "--workspace"), ("--prefix", "-C")),
    "pnpm": _Launcher(("exec", "dlx"), ("--filter", "-F"), ("--dir", "-C")),
    "yarn": _Launcher(("exec", "dlx"), (), ("--cwd",)),
    "bun": _Launcher(("x",), (), ("--cwd",)),
    "bundle": _Launcher(("exec",)),
    # `$(shell tool …)` of a makefile reads like a command substitution.
    "shell": _Launcher(),
    "xvfb-run": _Launcher(valued=("-n", "-s", "-e", "-f", "-w")),
    **dict.fromkeys(("poetry", "pdm", "hatch", "pipenv", "rye", "pixi", "conda", "dotenv"), _RUN),
    **dict.fromkeys(("cross-env", "cross-env-shell", "c8", "nyc"), _VARIABLES),
}


class Invocation(Struct, frozen=True):
    """One tool that a text calls, by its plain name, and the folder it runs in.

    `path` is the name as written when it names a file and not just a tool; `behind` is the launcher
    that starts it.
    """

    tool: str
    args: tuple[str, ...]
    folder: str = ""
    path: str = ""
    behind: str = ""

    def value_of(self, *options: str) -> str:
        """The value of the first of these options that is given: `-c x`, `-cx`, `--config=x`."""
        for i, arg in enumerate(self.args):
            if arg in options:
                return self.args[i + 1] if i + 1 < len(self.args) else ""
            for option in options:
                glued = f"{option}=" if option.startswith("--") else option
                if arg.startswith(glued) and not (len(option) == 2 and arg.startswith("--")):
                    return arg[len(glued) :].removeprefix("=")
        return ""


def invocation_of(
    name: str, args: tuple[str, ...], folder: str = "", behind: str = ""
) -> Invocation:
    """A call by the plain name of its tool."""
    tool = posixpath.basename(name)
    versioned = _VERSIONED.fullmatch(tool)
    tool = versioned[1] if versioned else tool
    path = name if "/" in name or tool.endswith((".py", ".sh", ".js")) else ""
    return Invocation(_ALIASES.get(tool, tool), args, folder, path, behind)


@lru_cache(maxsize=1024)
def started_by(name: str, args: tuple[str, ...], folder: str = "") -> tuple[Invocation, ...]:
    """The call and those inside it, outermost first, such as `uv`, `python` and `pytest`."""
    found = []
    current: Invocation | None = invocation_of(name, args, folder)
    while current is not None:
        found.append(current)
        current = _inner(current)
    return tuple(found)


def _inner(call: Invocation) -> Invocation | None:
    args = call.args
    if call.tool == "python":
        words = python_words(args)
        return _module(call, words[1:]) if words[:1] == ("-m",) else None
    if call.tool == "coverage":
        return _covered(call)
    start = starter_of(call.tool, args)
    if start is None:
        return None
    folder = inside(call.folder, start.folder) or "" if start.folder else call.folder
    if start.is_module:
        return _module(replace(call, folder=folder), args[start.at :])
    name = args[start.at]
    name = name.rpartition(":")[2] if call.tool == "hatch" else name
    name = name.partition("@")[0] or name
    return invocation_of(name, args[start.at + 1 :], folder, call.tool)


def starter_of(tool: str, args: Sequence[str]) -> _Start | None:
    """Find the word at which `uv run …`, `npx …` and their kind start another command."""
    starter = _STARTERS.get(tool)
    return starter.start(args) if starter is not None else None


def _module(call: Invocation, words: tuple[str, ...]) -> Invocation | None:
    """The call that `python -m` makes; a dotted module is named by its first part."""
    if not words:
        return None
    name = words[0].partition(".")[0]
    return replace(invocation_of(name, words[1:], call.folder, "python"), path="")


def _covered(call: Invocation) -> Invocation | None:
    """The call that `coverage run` makes: a module, or a script of Python."""
    if call.args[:1] != ("run",):
        return None
    for i, arg in enumerate(call.args[1:], start=1):
        if arg in _MODULE_OPTIONS:
            return _module(call, call.args[i + 1 :])
        if arg.endswith(".py"):
            return invocation_of("python", call.args[i:], call.folder, call.tool)
    return None


def python_words(args: tuple[str, ...]) -> tuple[str, ...]:
    """Python's arguments without its own options: `-m module …`, `-c …` or `script …`."""
    i = 0
    while i < len(args):
        arg = args[i]
        if not arg.startswith("-") or arg == "-":
            return args[i:]
        ends = re.match(r"-[A-Za-z]*?([mcWX])(.*)", arg, re.DOTALL)
        if ends and not arg.startswith("--"):
            rest = (ends[2],) if ends[2] else ()
            if ends[1] in "mc":
                return (f"-{ends[1]}", *rest, *args[i + 1 :])
            i += 0 if rest else 1
        elif arg == "--check-hash-based-pycs":
            i += 1
        i += 1
    return ()


def is_plain(word: str) -> bool:
    """True when the shell expands nothing in the word."""
    return "$" not in word and "`" not in word


def inside(folder: str, path: str) -> str | None:
    """A path named from a folder, as a workspace path; None when it leads outside."""
    if path.startswith(("/", "~")):
        return None
    joined = posixpath.normpath(posixpath.join(folder, path))
    if joined == ".." or joined.startswith("../"):
        return None
    return "" if joined == "." else joined


class RealCommand(Struct, frozen=True):
    """The thing that a command really runs: a plain command, a script, or something hidden."""

    command: ShellNode | None = None
    script: ShellNode | None = None  # inside `bash -c '…'` or `eval '…'`
    hidden: str = ""
    wrappers: tuple[str, ...] = ()
    errexit: bool = False
    pipefail: bool = False
    same_shell: bool = False


def see_through(command: ShellNode, depth: int = 0) -> RealCommand:
    """Find the command that really runs, and the wrappers around it."""
    wrappers: list[str] = []
    while command.words:
        name = command.words[0]
        if not name.literal:
            return RealCommand(hidden=f"`{name.text}` names its command only when it runs")
        tool = SYSTEM.sub("", name.text)
        wrapper = _WRAPPERS.get(tool)
        # `command -v x` only asks.
        if wrapper is None or (tool == "command" and command.args[:1] in (("-v",), ("-V",))):
            break
        try:
            start = wrapper.start(command.args)
        except _Unclear as unclear:
            return RealCommand(hidden=f"`{name.text} {unclear}` hides what it runs")
        if start is None:
            break
        wrappers.append(tool)
        command = replace(command, words=command.words[start.at + 1 :])
    return replace(_inside(command, depth), wrappers=tuple(wrappers))


def _inside(command: ShellNode, depth: int) -> RealCommand:
    name = SYSTEM.sub("", command.name)
    if name in SHELLS:
        return _shell_script(command, depth)
    if name == "eval":
        if not all(w.literal for w in command.words[1:]):
            return RealCommand(hidden="`eval` runs text that only exists when it runs")
        return replace(_nested(" ".join(command.args), depth), same_shell=True)
    if name in ("source", "."):
        return RealCommand(hidden=f"`{name} {''.join(command.args[:1])}` runs what that file says")
    return RealCommand(command)


def _shell_script(command: ShellNode, depth: int) -> RealCommand:
    """`bash -euo pipefail -c 'text'`; a shell that runs a file stays an ordinary command."""
    errexit = pipefail = False
    words = command.words
    i = 1
    while i < len(words) and words[i].text.startswith(("-", "+")):
        text = words[i].text
        short = text[1:] if not text.startswith("--") else ""
        errexit = errexit or "e" in short
        if short.endswith("o") and i + 1 < len(words):
            i += 1
            pipefail = pipefail or words[i].text == "pipefail"
            errexit = errexit or words[i].text == "errexit"
        if "c" in short:
            script = words[i + 1 : i + 2]
            if not script or not script[0].literal:
                return RealCommand(hidden=f"`{words[0].text} -c` runs text made when it runs")
            return replace(_nested(script[0].text, depth), errexit=errexit, pipefail=pipefail)
        i += 1
    if i >= len(words):
        return RealCommand(hidden=f"`{words[0].text}` reads its commands from standard input")
    return RealCommand(command)


def _nested(text: str, depth: int) -> RealCommand:
    if depth >= MAX_NESTING:
        return RealCommand(hidden="shells nest too deeply to read")
    block, clear = lower(text)
    return (
        RealCommand(script=block) if clear else RealCommand(hidden="the shell text inside quotes")
    )
