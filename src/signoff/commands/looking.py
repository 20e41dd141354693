"""Find contracts that run nothing: they ask for a file, count its lines or search a word."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from functools import lru_cache

from msgspec import Struct

from signoff.commands.launchers import Invocation, inside, python_words, see_through, started_by
from signoff.commands.operands import looks_like_path
from signoff.commands.programs import runner_of
from signoff.commands.reading import lower
from signoff.commands.tree import TESTS, Link, NodeKind, ShellNode, Word
from signoff.commands.uses import FILE_TESTS, scripts_run


class Look(IntEnum):
    """Things that a look at files can ask; the greatest is the most that a contract asks."""

    EXISTS = 1
    COUNTS = 2
    SEARCHES = 3


Looks = frozenset[Look] | None
"""The looks of a piece of shell text; None where it runs or compares something, or is unclear."""

_NOTHING: frozenset[Look] = frozenset()
_IS_THERE = frozenset((Look.EXISTS,))
_SEARCHING = frozenset(("grep", "egrep", "fgrep", "zgrep", "rg", "ag"))
_SHOWING = frozenset(
    (
        *("ls", "stat", "file", "du", "find", "cat", "head", "tail", "sort", "uniq", "cut", "tr"),
        *("nl", "tac", "tee", "readlink", "realpath", "basename", "dirname"),
    )
)
_LEAVING = frozenset(("exit", "return", "false"))
_SILENT = _LEAVING.union(("cd", "pushd", "popd", "echo", "printf", "true", ":", "set", "mkdir"))
_ALL_OF = frozenset((NodeKind.BLOCK, NodeKind.SUBSHELL, NodeKind.PIPELINE, NodeKind.LOOP))
# What must be gone, whole lines, and patterns of a file are content, which is more than a word.
_ASKS_MORE = re.compile(r"-[A-Za-z]*[vLxf][A-Za-z]*|--(?:invert|files-without|line-re|file).*")
_COUNTING = re.compile(r"-[A-Za-z]*c[A-Za-z]*|--count")
_AS_TEXT = frozenset(("=", "==", "!=", "<", ">"))
_COMPARING = _AS_TEXT | {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
_ABSENCE_OR_ORDER = frozenset(("!", "-z", "-nt", "-ot", "-ef", "=~"))
_DOES_MORE = frozenset(("-exec", "-execdir", "-ok", "-delete", "-c", "-C", "--check"))
_WHOLE_LINE = re.compile(r"\^.*\$", re.DOTALL)


@lru_cache(maxsize=4096)
def looks_of(text: str) -> frozenset[Look]:
    """The looks of a text that does nothing else; empty where it does, or cannot be read."""
    block, clear = lower(text)
    return (_looks(block) or _NOTHING) if clear else _NOTHING


def _all(found: Iterable[Looks]) -> Looks:
    together = _NOTHING
    for looks in found:
        if looks is None:
            return None
        together |= looks
    return together


def _looks(node: ShellNode, depth: int = 0) -> Looks:
    if node.kind is NodeKind.COMMAND:
        return _of_command(node, depth)
    if node.kind is NodeKind.CHAIN:
        linked = zip(node.links, node.parts[1:], strict=True)
        # `grep x f && exit 1` asks that it is gone.
        gone = any(link is Link.AND and part.name in _LEAVING for link, part in linked)
        return None if gone else _all(_looks(part, depth) for part in node.parts)
    if node.kind is NodeKind.DECLARE:
        return _inside(node.words)
    if node.kind is NodeKind.ARITHMETIC:
        return None if "$(" in node.text else _NOTHING
    if node.kind not in _ALL_OF:
        return None
    return _all((_inside(node.words), *(_looks(part, depth) for part in node.parts)))


def _inside(words: Iterable[Word]) -> Looks:
    return _all(_looks(block) for word in words for block in word.inner)


def _of_command(command: ShellNode, depth: int) -> Looks:
    kept, inside = _inside(command.assigned), _inside((*command.assigned, *command.words))
    if inside is None or kept == _IS_THERE:  # a content, to be compared with something
        return None
    if not command.words:
        return inside
    seen = see_through(command, depth)
    if seen.script is not None:
        return _all((inside, _looks(seen.script, depth + 1)))
    if seen.command is None or not seen.command.words:
        return None
    name, words = seen.command.name, seen.command.words[1:]
    own = _of_test(words) if name in TESTS else _of_program(name, tuple(w.text for w in words))
    return _all((inside, own))


def _of_program(name: str, args: tuple[str, ...]) -> Looks:
    if name in _SEARCHING:
        if any(_ASKS_MORE.fullmatch(arg) or _WHOLE_LINE.fullmatch(arg) for arg in args):
            return None
        return frozenset({Look.COUNTS if any(map(_COUNTING.fullmatch, args)) else Look.SEARCHES})
    if name == "wc":
        return frozenset({Look.COUNTS})
    if name in _SHOWING and _DOES_MORE.isdisjoint(args):
        return _IS_THERE
    return _NOTHING if name in _SILENT else None


def _of_test(words: tuple[Word, ...]) -> Looks:
    """`-s f` asks if it is there; a number of lines is a count, what is in it is content."""
    texts = [word.text for word in words]
    if _ABSENCE_OR_ORDER.intersection(texts):
        return None
    if _COMPARING.intersection(texts):
        asked = [_looks(block) for word in words for block in word.inner]
        counts = all(looks is not None and Look.COUNTS in looks for looks in asked)
        # A variable was read before it is compared: there it is seen what it holds.
        known = bool(asked) or not _AS_TEXT.intersection(texts)
        return _NOTHING if counts and known else None
    return _IS_THERE if FILE_TESTS.intersection(texts) else _NOTHING


_PYTHON_RUNNERS = frozenset(("unittest", "pytest", "doctest", "hypothesis", "nose2"))
_RELATIVE = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'](\.{1,2}/[^"'\n]+)["']"""
)
_JS_RUNNER = re.compile(r"""["'](?:node:test|vitest|jest|@jest/globals|mocha|ava|tape|uvu)["']""")
_JS_DECIDES = re.compile(r"\bassert\b|\bprocess\.exit|\bthrow\b")
_SUFFIXES = ("", ".js", ".mjs", ".cjs", ".ts", "/index.js", "/index.ts")
_JS_TOOLS = frozenset(("node", "tsx", "ts-node"))


class HomeMade(Struct, frozen=True):
    """A program that is no test runner: a script of the workspace, or text on the command line."""

    language: str
    line: int
    path: str = ""
    text: str = ""
    folder: str = ""


def deciding_programs(text: str) -> Iterator[HomeMade]:
    """Programs of Python and JavaScript whose exit status counts, and not what they print."""
    block, clear = lower(text)
    for command in _commands(block) if clear else ():
        seen = see_through(command)
        if seen.script is not None:
            commands = tuple(_commands(seen.script))
        else:
            commands = () if seen.command is None else (seen.command,)
        found = (_home_made(one, command.line) for one in commands if one.words)
        yield from (program for program in found if program is not None)


def _commands(node: ShellNode) -> Iterator[ShellNode]:
    """Commands outside of pipelines and substitutions that write to no file."""
    kept = (r.target.text for r in node.redirects if r.operator[:1] == ">" and r.target)
    if node.kind is NodeKind.PIPELINE or any(map(looks_like_path, kept)):
        return
    if node.kind is NodeKind.COMMAND:
        yield node
    for part in node.parts:
        yield from _commands(part)


def _home_made(command: ShellNode, line: int) -> HomeMade | None:
    """The program that an interpreter runs, past launchers; None for a test runner."""
    *_, started = started_by(command.name, command.args)
    if runner_of(started):
        return None
    if started.tool == "python":
        words = python_words(started.args)
        if words[:1] == ("-c",):
            return HomeMade("python", line, text="".join(words[1:2]))
        return _script("python", started, line)
    if started.tool not in _JS_TOOLS:
        return None
    for option, text in zip(started.args, started.args[1:], strict=False):
        if option in ("-e", "-p", "--eval", "--print"):
            return HomeMade("javascript", line, text=text)
    return _script("javascript", started, line)


def _script(language: str, started: Invocation, line: int) -> HomeMade | None:
    run = scripts_run(started.tool, started.args)
    path = inside(started.folder, run[-1]) if run else None
    return HomeMade(language, line, path, folder=posixpath.dirname(path)) if path else None


def files_imported(program: HomeMade, text: str) -> Iterator[tuple[str, ...]]:
    """Paths under which each module may lie that a text imports and judges; none of a runner's."""
    if program.language == "python":
        for module in _modules(text):
            path = module.replace(".", "/")
            parents = (path, posixpath.dirname(path)) if "/" in path else (path,)
            yield tuple(
                posixpath.normpath(posixpath.join(folder, f"{name}{suffix}"))
                for folder in dict.fromkeys((program.folder, "", "src"))
                for name in parents
                for suffix in (".py", "/__init__.py")
            )
    elif _JS_DECIDES.search(text) and not _JS_RUNNER.search(text):
        for found in _RELATIVE.findall(text):
            relative = inside(program.folder, found)
            if relative:
                yield tuple(f"{relative}{suffix}" for suffix in _SUFFIXES)


def _modules(text: str) -> tuple[str, ...]:
    import ast  # noqa: PLC0415 - most plans run no Python of their own

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    names: list[str] = []
    decides = False
    for node in ast.walk(tree):
        # `sys.exit(…)`: the text itself says if it holds; one that prints leaves it open.
        called = getattr(node, "func", None)
        leaves = getattr(called, "attr", getattr(called, "id", "")) in ("exit", "_exit", "quit")
        decides = decides or leaves or isinstance(node, ast.Assert | ast.Raise)
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    runs_tests = any(name.partition(".")[0] in _PYTHON_RUNNERS for name in names)
    return tuple(dict.fromkeys(names)) if decides and not runs_tests else ()
