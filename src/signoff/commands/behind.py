"""What recipes run: the shell text of just, tox and nox, and what a call asks of make.

The caller passes a reader of the project's files.
"""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from signoff.commands.launchers import Invocation, inside, is_plain

Read = Callable[[str], bytes | None]
"""The content of a file of the project by its path; None where there is none."""

_JUSTFILES = ("justfile", ".justfile", "Justfile")
_JUST_RECIPE = re.compile(r"@?([\w-]+)((?:\s+[^:=\s]\S*)*)\s*:(?!=)(.*)")
_POSITIONAL = re.compile(r"\{posargs(?::([^{}]*))?\}")
_FOLDER_OPTIONS = ("-C", "--directory")
_FILE_OPTIONS = ("-f", "--file", "--makefile")
_VALUED = ("-I", "--include-dir", "-o", "--old-file", "-W", "--what-if", "-E", "--eval", "-O")
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
    """What sessions run whose words are written out: `session.run("pytest", "-q")`."""
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


@dataclass
class MakeCall:
    """What a command line asks of make; `clear` when every target is written out."""

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
        if word in (*_FOLDER_OPTIONS, *_FILE_OPTIONS, *_VALUED):
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
