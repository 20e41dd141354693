"""Every tool behind a text: through make targets, package scripts, just, tox and shell scripts.

The caller passes a reader of the project's files. What cannot be followed is told in `hidden`.
"""

from __future__ import annotations

import configparser
import json
import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from signoff.commands.analysis import analyse, invocations_of
from signoff.commands.launchers import Invocation, inside, is_plain
from signoff.commands.makefile import MAKEFILES, read_makefile
from signoff.commands.proofs import package_scripts

Read = Callable[[str], bytes | None]
"""The content of a file of the project by its path; None where there is none."""

_MOST_TEXTS = 200
_JUSTFILES = ("justfile", ".justfile", "Justfile")
_JUST_RECIPE = re.compile(r"@?([\w-]+)((?:\s+[^:=\s]\S*)*)\s*:(?!=)(.*)")
_POSITIONAL = re.compile(r"\{posargs(?::([^{}]*))?\}")
_SHELL_FIRST_LINE = re.compile(rb"#!.*\b(?:ba|da|k|z)?sh\b|(?!#!)")
_SHELL_SUFFIXES = ("", ".sh", ".bash")
_FOLDER_OPTIONS = ("-C", "--directory")
_FILE_OPTIONS = ("-f", "--file", "--makefile")
_VALUED = ("-I", "--include-dir", "-o", "--old-file", "-W", "--what-if", "-E", "--eval", "-O")
_SET = re.compile(r"([\w.-]+)\s*[:?+!]*=(.*)", re.DOTALL)


@dataclass(frozen=True)
class ToolsBehind:
    """The tools that a text starts in the end, outermost first, and what could not be seen."""

    calls: tuple[Invocation, ...]
    hidden: tuple[str, ...]


def tools_behind(text: str, read: Read, folder: str = "") -> ToolsBehind:
    """Follow a text as far as its words and the project's files say what it runs."""
    calls: dict[Invocation, None] = {}
    hidden: dict[str, None] = {}
    waiting = [(text, folder)]
    seen: set[tuple[str, str]] = set()
    while waiting:
        here = waiting.pop(0)
        if here in seen or len(seen) >= _MOST_TEXTS:
            continue
        seen.add(here)
        facts = analyse(here[0])
        hidden |= dict.fromkeys(unseen.what for unseen in facts.unseen)
        waiting += _scripts([script.path for script in facts.scripts], here[1], read)
        for call in invocations_of(facts, here[1]):
            calls[call] = None
            follow = _FOLLOWED.get(call.tool)
            found = list(follow(call, read)) if follow is not None else []
            # `npm ci` and `pnpm vitest` run no script: that is no secret.
            if follow not in (None, _package) and not found:
                hidden[f"what `{call.tool} {' '.join(call.args)}` runs"] = None
            waiting += found
    return ToolsBehind(tuple(calls), tuple(hidden))


def _text(read: Read, folder: str, *names: str) -> str:
    contents = (read(posixpath.join(folder, name)) for name in names)
    return next(filter(None, contents), b"").decode("utf-8", "replace")


def _scripts(paths: list[str], folder: str, read: Read) -> Iterator[tuple[str, str]]:
    for path in paths:
        place = inside(folder, path)
        content = read(place) if place else None
        is_shell = posixpath.splitext(path)[1] in _SHELL_SUFFIXES
        if content and is_shell and b"\0" not in content and _SHELL_FIRST_LINE.match(content):
            yield content.decode("utf-8", "replace"), folder


def _make(call: Invocation, read: Read) -> Iterator[tuple[str, str]]:
    request = make_call(call)
    if request is None or not request.clear:
        return
    text = _text(read, "", *request.files) if request.files else ""
    makefile = read_makefile(text or _text(read, request.folder, *MAKEFILES))
    makefile.variables.update(request.variables)
    for rules in makefile.reached_from(request.targets or [makefile.goal or ""]).values():
        for rule in rules:
            lines = (makefile.expand(line.lstrip("@-+ \t")) for line in rule.recipe)
            yield "\n".join(lines).replace("$$", "$"), request.folder


def _package(call: Invocation, read: Read) -> Iterator[tuple[str, str]]:
    try:
        manifest = json.loads(_text(read, call.folder, "package.json") or "{}")
    except (ValueError, RecursionError):
        return
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    for name in package_scripts(call):
        for script in (f"pre{name}", name, f"post{name}"):
            text = scripts.get(script) if isinstance(scripts, dict) else None
            if isinstance(text, str):
                yield text, call.folder


def _just(call: Invocation, read: Read) -> Iterator[tuple[str, str]]:
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
            yield re.sub(r"\{\{.*?\}\}", "$just", "\n".join(recipes[name][1])), call.folder


def _tox(call: Invocation, read: Read) -> Iterator[tuple[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(_text(read, call.folder, "tox.ini"))
    except configparser.Error:
        return
    named = call.value_of("-e").split(",")
    sections = [f"testenv:{name}" for name in named if f"testenv:{name}" in parser] or ["testenv"]
    for section in sections:
        commands = parser.get(section, "commands", fallback="")
        if commands.strip():
            lines = (line.strip().lstrip("- ") for line in commands.splitlines())
            yield _POSITIONAL.sub(r"\1", "\n".join(lines)).strip(), call.folder


def _unread(_call: Invocation, _read: Read) -> Iterator[tuple[str, str]]:
    """`nox` runs a program of Python, `task` and `rake` files of their own kind."""
    return iter(())


_FOLLOWED: dict[str, Callable[[Invocation, Read], Iterator[tuple[str, str]]]] = {
    "make": _make,
    "just": _just,
    "tox": _tox,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "npm-run-all", "run-s", "run-p"), _package),
    **dict.fromkeys(("nox", "task", "rake"), _unread),
}


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
