"""Find the files that a check loads into its own process: modules that its text imports."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Iterator

from msgspec import Struct

from signoff.commands.launchers import Invocation, inside, python_words, see_through, started_by
from signoff.commands.operands import looks_like_path
from signoff.commands.programs import runner_of
from signoff.commands.reading import lower
from signoff.commands.tree import NodeKind, ShellNode
from signoff.commands.uses import scripts_run

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
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    names: list[str] = []
    decides = False
    for node in ast.walk(tree):
        decides = decides or isinstance(node, ast.Assert | ast.Raise) or _leaves(node)
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    runs_tests = any(name.partition(".")[0] in _PYTHON_RUNNERS for name in names)
    return tuple(dict.fromkeys(names)) if decides and not runs_tests else ()


def _leaves(node: ast.AST) -> bool:
    """`sys.exit(…)`: the text itself says if it holds; one that prints leaves it open."""
    called = node.func if isinstance(node, ast.Call) else None
    name = getattr(called, "attr", getattr(called, "id", ""))
    return name in ("exit", "_exit", "quit")
