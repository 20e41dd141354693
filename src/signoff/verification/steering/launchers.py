"""From the commands of a shell text to the tools they really run, launchers peeled off."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from signoff.commands.facts import ShellFacts
from signoff.verification.steering.content import inside
from signoff.verification.steering.trail import Invocation

_MOST_FOLDERS = 8
_VERSIONED = re.compile(r"(python|pypy|perl|ruby|node|lua|php)[\d.]+")
_ALIASES = {
    "python3": "python",
    "pypy": "python",
    "pypy3": "python",
    "py.test": "pytest",
    "gmake": "make",
    "nodejs": "node",
    "basedpyright": "pyright",
    "pnpx": "npx",
    "bunx": "npx",
}
_MODULE_OPTIONS = ("-m", "--module")


def invocations_of(facts: ShellFacts, folder: str) -> Iterator[Invocation]:
    """Every tool that a shell text runs, launchers included, outermost first.

    After a `cd` a call may run in the folder before or behind it (a subshell ends one), so it
    counts for both.
    """
    folders = [folder]
    for call in facts.calls:
        if call.name in ("cd", "pushd"):
            target = next((a for a in call.args if not a.startswith("-")), "")
            entered = [inside(f, target) for f in folders if target and is_plain(target)]
            folders += [f for f in entered if f is not None and f not in folders]
            del folders[_MOST_FOLDERS:]
        for here in folders:
            yield from peeled(invocation_of(call.name, call.args, here))


def is_plain(word: str) -> bool:
    """Whether a word says before it runs what it will be."""
    return "$" not in word and "`" not in word


def invocation_of(name: str, args: tuple[str, ...], folder: str) -> Invocation:
    """A call by the plain name of its tool."""
    tool = posixpath.basename(name)
    versioned = _VERSIONED.fullmatch(tool)
    tool = versioned[1] if versioned else tool
    path = name if "/" in name or tool.endswith((".py", ".sh", ".js")) else ""
    return Invocation(_ALIASES.get(tool, tool), args, folder, path)


def peeled(outer: Invocation) -> Iterator[Invocation]:
    """The invocation and those inside it, such as `uv`, `python` and `pytest`."""
    current: Invocation | None = outer
    while current is not None:
        yield current
        peel = _PEELERS.get(current.tool)
        current = peel(current) if peel else None


@dataclass(frozen=True)
class _Launcher:
    """How a launcher's own words end and the command begins."""

    subcommands: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()
    folder_options: tuple[str, ...] = ()

    def __call__(self, call: Invocation) -> Invocation | None:
        args = call.args
        i = 0
        folder = call.folder
        waiting = bool(self.subcommands)
        while i < len(args):
            arg = args[i]
            if not waiting and arg in _MODULE_OPTIONS:
                return module(call, args[i + 1 :])
            if arg in self.folder_options:
                folder = inside(folder, args[i + 1] if i + 1 < len(args) else "") or ""
            if arg in self.valued or arg in self.folder_options:
                i += 1
            elif waiting and not arg.startswith("-"):
                if arg not in self.subcommands:
                    return None
                waiting = False
            elif arg == "--":
                waiting = False
            elif not arg.startswith("-"):
                name = arg.rpartition(":")[2] if call.tool == "hatch" else arg
                return invocation_of(name.partition("@")[0] or name, args[i + 1 :], folder)
            i += 1
        return None


def module(call: Invocation, words: tuple[str, ...]) -> Invocation | None:
    """What `python -m` runs; a dotted module is named by its first part."""
    if not words:
        return None
    return replace(invocation_of(words[0].partition(".")[0], words[1:], call.folder), path="")


def _python(call: Invocation) -> Invocation | None:
    words = python_words(call.args)
    return module(call, words[1:]) if words[:1] == ("-m",) else None


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


def _coverage(call: Invocation) -> Invocation | None:
    if call.args[:1] != ("run",):
        return None
    for i, arg in enumerate(call.args[1:], start=1):
        if arg in _MODULE_OPTIONS:
            return module(call, call.args[i + 1 :])
        if arg.endswith(".py"):
            return invocation_of("python", call.args[i:], call.folder)
    return None


_UV = _Launcher(
    ("run",),
    (
        *("--with", "--with-editable", "--with-requirements", "--python", "-p", "--package"),
        *("--extra", "--group", "--only-group", "--no-group", "--env-file", "--config-file"),
        *("--index", "--index-url", "--default-index", "--cache-dir", "--color", "--link-mode"),
    ),
    ("--directory", "--project"),
)
_RUN = _Launcher(("run",), ("-n", "-p", "--name", "--env", "-e", "-v"), ("-C", "--directory"))

_PEELERS: dict[str, Callable[[Invocation], Invocation | None]] = {
    "python": _python,
    "coverage": _coverage,
    "uv": _UV,
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
}
