"""Seeing through commands that only run another command; where that fails, saying so."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from signoff.commands.reading import lower
from signoff.commands.tree import Block, Command, Word

MAX_NESTING = 4


@dataclass(frozen=True)
class _Wrapper:
    """How a wrapper's own arguments end and the command begins."""

    flags: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()
    positionals: int = 0
    assignments: bool = False


_WRAPPERS = {
    "env": _Wrapper(("-i", "-", "--ignore-environment", "-0"), ("-u", "-C"), 0, True),
    "timeout": _Wrapper(
        ("--foreground", "--preserve-status", "-v", "--verbose"), ("-k", "-s"), positionals=1
    ),
    "nice": _Wrapper(valued=("-n",)),
    "ionice": _Wrapper(valued=("-c", "-n")),
    "stdbuf": _Wrapper(valued=("-i", "-o", "-e")),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(("-w", "--wait")),
    "time": _Wrapper(("-p", "-v")),
    "command": _Wrapper(("-p",)),
    "builtin": _Wrapper(),
    "exec": _Wrapper(("-c", "-l"), ("-a",)),
    "sudo": _Wrapper(("-n", "-E", "-H"), ("-u", "-g")),
    "xargs": _Wrapper(
        ("-0", "-r", "-t", "--null", "--no-run-if-empty"),
        ("-n", "-P", "-I", "-d", "-L", "-s", "-a", "-E"),
    ),
}
SYSTEM = re.compile(r"/(?:usr/)?bin/(?=[^/]+$)")
"""The folders of the system's own programs: `/usr/bin/env` is `env`."""
_SHELLS = frozenset(("bash", "sh", "dash", "ksh", "zsh"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SELF_CONTAINED = re.compile(r"-\d+|--[a-z-]+=.*")
_QUERIES = frozenset(("-v", "-V"))


@dataclass(frozen=True)
class Nested:
    """The script inside `bash -c '…'` or `eval '…'`."""

    block: Block
    line: int
    clear: bool
    errexit: bool = False
    pipefail: bool = False
    same_shell: bool = False


@dataclass(frozen=True)
class Hidden:
    """A command that cannot be seen before it runs."""

    line: int
    what: str


Seen = Command | Nested | Hidden


def see_through(command: Command, depth: int = 0) -> tuple[Seen, tuple[str, ...]]:
    """What a command really runs, and the wrappers around it."""
    wrappers: list[str] = []
    while command.words:
        name = command.words[0]
        if not name.literal:
            return Hidden(name.line, f"`{name.text}` names its command only when it runs"), ()
        tool = SYSTEM.sub("", name.text)
        spec = _WRAPPERS.get(tool)
        if spec is None or (tool == "command" and _asks(command)):
            break
        inner = _peel(command, spec)
        if isinstance(inner, Hidden):
            return inner, tuple(wrappers)
        if not inner.words:
            break
        wrappers.append(tool)
        command = inner
    return _inside(command, depth), tuple(wrappers)


def _asks(command: Command) -> bool:
    return any(w.text in _QUERIES for w in command.words[1:2])


def _is_own(option: str, spec: _Wrapper) -> bool:
    joined = bool(spec.valued) and option.startswith(spec.valued)
    return option in spec.flags or joined or _SELF_CONTAINED.fullmatch(option) is not None


def _peel(command: Command, spec: _Wrapper) -> Command | Hidden:
    words = command.words
    i, positionals = 1, spec.positionals
    while i < len(words):
        text = words[i].text
        if text == "--":
            i += 1
            break
        if spec.assignments and _ASSIGNMENT.match(text):
            i += 1
        elif text in spec.valued:
            i += 2
        elif _is_own(text, spec):
            i += 1
        elif text.startswith("-"):
            return Hidden(command.line, f"`{words[0].text} {text}` hides what it runs")
        elif positionals:
            positionals -= 1
            i += 1
        else:
            break
    return replace(command, words=words[i:])


def _inside(command: Command, depth: int) -> Seen:
    if not command.words:
        return command
    name = SYSTEM.sub("", command.words[0].text)
    if name in _SHELLS:
        return _shell_script(command, depth)
    if name == "eval":
        if not all(w.literal for w in command.words[1:]):
            return Hidden(command.line, "`eval` runs text that only exists when it runs")
        return _nested(" ".join(w.text for w in command.words[1:]), command, depth, same_shell=True)
    if name in ("source", "."):
        shown = command.words[1].text if len(command.words) > 1 else ""
        return Hidden(command.line, f"`{name} {shown}` runs what that file says")
    return command


def _shell_script(command: Command, depth: int) -> Seen:
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
            return _dash_c(command, words[i + 1 : i + 2], depth, errexit, pipefail)
        i += 1
    if i >= len(words):
        return Hidden(command.line, f"`{words[0].text}` reads its commands from standard input")
    return command


def _dash_c(
    command: Command, script: tuple[Word, ...], depth: int, errexit: bool, pipefail: bool
) -> Seen:
    if not script or not script[0].literal:
        return Hidden(command.line, f"`{command.words[0].text} -c` runs text made when it runs")
    return _nested(script[0].text, command, depth, errexit=errexit, pipefail=pipefail)


def _nested(
    text: str,
    command: Command,
    depth: int,
    *,
    errexit: bool = False,
    pipefail: bool = False,
    same_shell: bool = False,
) -> Nested | Hidden:
    if depth >= MAX_NESTING:
        return Hidden(command.line, "shells nest too deeply to read")
    block, clear = lower(text)
    return Nested(block, command.line, clear, errexit, pipefail, same_shell)
