"""Commands whose answer is in their own arguments, such as `seq 3` or `python3 -c ''`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from signoff.planfile.verify.script import Command, Word

_PYTHON = re.compile(r"python3?(?:\.\d+)?")
_SYSTEM = re.compile(r"/(?:usr/)?bin/([\w.\[]+)")
# Programs that answer as the command of the same name does.
_PROGRAMS = frozenset(
    (
        *("true", "false", "test", "[", "echo", "printf", "sleep", "date", "pwd", "hostname"),
        *("whoami", "id", "seq", "cat", "diff", "cmp", "env", "timeout", "nice", "nohup", "setsid"),
        *("stdbuf", "bash", "sh", "python3"),
    )
)
_NUMBER = re.compile(r"-?\d{1,9}")
_ALWAYS_FOLDERS = frozenset(("/", ".", "./", "/tmp"))
_NOTHING = "/dev/null"
# Loaded before anything of a program runs, so that importing them cannot fail.
_LOADED = frozenset(("sys", "os"))
_LEAVES = frozenset(("exit", "quit", "sys.exit"))


def plainly_named(command: Command) -> Command:
    """`/bin/true` is `true`."""
    found = _SYSTEM.fullmatch(command.words[0].text) if command.words[0].literal else None
    if found is None or found[1] not in _PROGRAMS:
        return command
    first = command.words[0]
    words = (Word(found[1], first.line, True, first.quoted), *command.words[1:])
    return Command(words, command.line, command.assigned, command.redirects)


def answer_of(name: str, args: tuple[Word, ...]) -> int | None:
    """The only status that a command can have by what is written; None when that is not said."""
    if not all(word.literal for word in args):
        return None
    texts = [word.text for word in args]
    if _PYTHON.fullmatch(name):
        return _python(texts)
    asked = _ANSWERS.get(name)
    return asked(texts) if asked is not None else None


def _cd(texts: list[str]) -> int | None:
    return 0 if len(texts) == 1 and texts[0] in _ALWAYS_FOLDERS else None


def _seq(texts: list[str]) -> int | None:
    return 0 if texts and len(texts) < 3 and all(map(_NUMBER.fullmatch, texts)) else None


def _let(texts: list[str]) -> int | None:
    if len(texts) != 1 or not _NUMBER.fullmatch(texts[0]) or texts[0].lstrip("-").startswith("0"):
        return None
    return 0


def _id(texts: list[str]) -> int | None:
    return None if texts else 0


def _compared(texts: list[str]) -> int | None:
    return 0 if texts == [_NOTHING, _NOTHING] else None


def _shown(texts: list[str]) -> int | None:
    return 0 if texts and set(texts) == {_NOTHING} else None


_ANSWERS: dict[str, Callable[[list[str]], int | None]] = {
    "cd": _cd,
    "seq": _seq,
    "let": _let,
    "id": _id,
    "diff": _compared,
    "cmp": _compared,
    "cat": _shown,
}


def _python(texts: list[str]) -> int | None:
    """A program of constants: it prints, and ends as it says."""
    if len(texts) != 2 or texts[0] != "-c":
        return None
    try:
        program = ast.parse(texts[1])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for statement in program.body:
        if isinstance(statement, ast.Import):
            if not all(n.name in _LOADED and n.asname is None for n in statement.names):
                return None
        elif not isinstance(statement, ast.Pass):
            if not isinstance(statement, ast.Expr):
                return None
            status = _expression(statement.value)
            if status is None or status >= 0:
                return status
    return 0


_GOES_ON = -1


def _expression(value: ast.expr) -> int | None:
    """The status with which an expression ends the program, or that it goes on; else None."""
    if isinstance(value, ast.Constant):
        return _GOES_ON
    constant = (
        isinstance(value, ast.Call)
        and not value.keywords
        and all(isinstance(a, ast.Constant) for a in value.args)
    )
    if not constant or not isinstance(value, ast.Call):
        return None
    called = ast.unparse(value.func)
    if called == "print":
        return _GOES_ON
    given = [a.value for a in value.args if isinstance(a, ast.Constant)]
    if called not in _LEAVES or len(given) > 1:
        return None
    code = given[0] if given else 0
    return code % 256 if type(code) is int else (0 if code is None else None)
