"""What a script touches: the tools it calls, the files it names, the files it writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from signoff.commands import tree
from signoff.commands.interpreters import scripts_run
from signoff.commands.launchers import MAX_NESTING, Hidden, Nested, see_through, starter_of
from signoff.commands.operands import (
    FABRICATORS,
    looks_like_path,
    operands_of,
    repairs,
    written_by,
)
from signoff.commands.references import (
    Named,
    Reference,
    fed_by,
    of_call,
    of_command,
    of_loop,
    piped,
)
from signoff.domain.globs import plain_path

FILE_TESTS = frozenset(f"-{c}" for c in "aefsdrwxLhbcpSgukOGN")
FILE_COMPARISONS = frozenset(("-nt", "-ot", "-ef"))
# Their words are their own, or the machine's: nothing in them comes from the workspace.
_CONSTANT_PRINTERS = frozenset(
    (
        *("echo", "printf", "true", ":", "date", "hostname", "whoami", "pwd", "id", "uname"),
        *("seq", "yes", "uuidgen", "nproc", "arch", "sleep"),
    )
)
_SILENT = frozenset(
    (
        *("true", "false", ":", "test", "[", "exit", "return", "sleep", "cd", "wait"),
        *("break", "continue", "shift"),
    )
)
_QUIET_GREP = re.compile(r"-[acEFGhHilLnoPrRsvwxz]*q[A-Za-z]*|--quiet|--silent")
_QUIET = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), _QUIET_GREP),
    "cmp": re.compile(r"-s|--quiet|--silent"),
}
_NO_FILE = re.compile(r"/(?:dev|tmp|proc|var/tmp)(?:/.*)?|\d+|-|&\d+")


@dataclass(frozen=True, slots=True)
class Call:
    """A command that the script runs, as far as it can be seen."""

    name: str
    args: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class FileUse:
    """A file that is looked at; `order` is its place in the text."""

    path: str
    line: int
    order: int


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A change to files; `path` is empty when not stated.

    `made_up` says that the content is the script's own words.
    """

    path: str
    line: int
    order: int
    how: str
    made_up: bool


@dataclass(frozen=True, slots=True)
class Unseen:
    """What the analysis cannot see through, and where."""

    line: int
    what: str


def prints_nothing(call: Call) -> bool:
    """Whether a call leaves standard output empty, whatever the workspace holds."""
    quiet = _QUIET.get(call.name)
    if quiet is not None:
        return any(map(quiet.fullmatch, call.args))
    return call.name in _SILENT and "-" not in call.args


class Collector:
    """One walk in textual order."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.reads: list[FileUse] = []
        self.writes: list[FileWrite] = []
        self.references: list[Reference] = []
        self.scripts: list[FileUse] = []
        self.unseen: list[Unseen] = []
        self.functions: set[str] = set()
        self.declares = False
        self._order = 0
        self._base = 0
        self._depth = 0
        self._folder: str | None = ""
        self._fed_constant = False

    def visit(self, node: tree.Node) -> None:
        """Note what this part of the script does."""
        _VISITS.get(type(node), Collector._nothing)(self, node)

    def _nothing(self, node: tree.Node) -> None:
        """Arithmetic and the like touch no file."""

    def _chain(self, chain: tree.Chain) -> None:
        self.visit(chain.first)
        for _, part in chain.rest:
            self.visit(part)

    def _body(self, node: tree.Not | tree.Background) -> None:
        self.visit(node.body)

    def _declare(self, declare: tree.Declare) -> None:
        self.declares = True
        self._words(declare.words)

    def _define(self, define: tree.Define) -> None:
        self.functions.add(define.name)
        self.visit(define.body)

    def _redirected(self, node: tree.Redirected) -> None:
        self.visit(node.body)
        self._refer(fed_by(node), node.line)
        self._redirects(node.redirects, constant=False)

    def _opaque(self, node: tree.Opaque) -> None:
        self._see_not(node.line, f"the shell text at `{node.text.strip()}`")

    def _block(self, block: tree.Block) -> None:
        before = self._folder
        for item in block.items:
            self.visit(item)
        if block.subshell:
            self._folder = before

    def _pipeline(self, pipeline: tree.Pipeline) -> None:
        before, outer = self._folder, self._fed_constant
        self._fed_constant = False
        for source, into in pairwise(pipeline.stages):
            self._refer(piped(source, into), source.line)
        for i, stage in enumerate(pipeline.stages):
            self.visit(stage)
            self._fed_constant = (self._fed_constant or i == 0) and _prints_constant(stage)
        self._folder, self._fed_constant = before, outer

    def _if(self, node: tree.If) -> None:
        for condition, body in node.branches:
            self.visit(condition)
            self.visit(body)
        if node.otherwise is not None:
            self.visit(node.otherwise)

    def _loop(self, loop: tree.Loop) -> None:
        self._words(loop.words)
        self._refer(of_loop(loop), loop.line)
        if loop.condition is not None:
            self.visit(loop.condition)
        self.visit(loop.body)

    def _case(self, case: tree.Case) -> None:
        self._words(case.words)
        for branch in case.branches:
            self.visit(branch)

    def _words(self, words: tuple[tree.Word, ...]) -> None:
        for word in words:
            for block in word.inner:
                self.visit(block)

    def _see_not(self, line: int, what: str) -> None:
        self.unseen.append(Unseen(self._base + line, what))

    def _command(self, command: tree.Command) -> None:
        self._words(command.assigned)
        self._words(command.words)
        if command.words:
            self._refer(of_command(command), command.line)
            seen, _ = see_through(command, self._depth)
            if isinstance(seen, Hidden):
                self._see_not(seen.line, seen.what)
                self._hidden_script(command)
            elif isinstance(seen, Nested):
                self._nested(seen)
            elif seen.words:
                self._call(seen)
        self._redirects(command.redirects, constant=_prints_constant(command))

    def _hidden_script(self, command: tree.Command) -> None:
        if command.words[0].text in ("source", ".") and len(command.words) > 1:
            self._script(command.words[1])

    def _nested(self, nested: Nested) -> None:
        if not nested.clear or self._depth >= MAX_NESTING:
            self._see_not(nested.line, "the shell text inside quotes")
            return
        before = self._base, self._folder
        self._base, self._depth = self._base + nested.line, self._depth + 1
        self.visit(nested.block)
        self._base, self._depth = before[0], self._depth - 1
        if not nested.same_shell:
            self._folder = before[1]

    def _call(self, command: tree.Command) -> None:
        name, args = command.words[0].text, command.words[1:]
        if not name.startswith("["):
            texts = tuple(a.text for a in args)
            self.calls.append(Call(name, texts, self._base + command.line))
        self._program(command.words, command.line)

    def _program(self, words: tuple[tree.Word, ...], line: int) -> None:
        """Note the files that a program is given; behind `uv run` that is the one it starts."""
        name, args = words[0].text, words[1:]
        start = starter_of(name, [a.text for a in args])
        if start is not None:
            before = self._folder
            if start.folder:
                self._change_folder((tree.Word(start.folder, line),))
            self._program(args[start.at :], line)
            self._folder = before
            return
        if "/" in name:
            self._script(words[0])
        else:
            self._interpreted(name, args)
        self._refer(of_call(name, args), line)
        if name == "cd":
            self._change_folder(args)
        elif name in tree.TESTS:
            self._tested(tuple(a for a in args if a.text not in ("]", "]]")))
        else:
            self._operands(name, args, line)

    def _interpreted(self, name: str, args: tuple[tree.Word, ...]) -> None:
        tool = "python" if name == "python3" else name
        run = scripts_run(tool, [a.text for a in args])
        for word in args if run else ():
            if word.text in run and looks_like_path(word.text):
                self._script(word)

    def _operands(self, name: str, args: tuple[tree.Word, ...], line: int) -> None:
        made_up = name in FABRICATORS or (name == "tee" and self._fed_constant)
        written, how = written_by(name, args)
        for word in operands_of(name, args):
            if word not in written:
                self._read(word)
        for word in written:
            self._write(word, how, made_up or how == "sed -i")
        repair = repairs(name, [a.text for a in args]) if not written else ""
        if repair:
            self._order += 1
            self.writes.append(FileWrite("", self._base + line, self._order, repair, False))

    def _change_folder(self, args: tuple[tree.Word, ...]) -> None:
        target = next((a for a in args if not a.text.startswith("-")), None)
        if target is None or not target.literal or target.text.startswith(("/", "~")):
            self._folder = None
        elif self._folder is not None:
            self._folder = _join(self._folder, target.text)

    def _tested(self, words: tuple[tree.Word, ...]) -> None:
        for before, word in pairwise(words):
            if before.text in FILE_TESTS and before.literal:
                self._read(word)
        for left, middle, right in zip(words, words[1:], words[2:], strict=False):
            if middle.text in FILE_COMPARISONS:
                self._read(left)
                self._read(right)

    def _redirects(self, redirects: tuple[tree.Redirect, ...], constant: bool) -> None:
        for redirect in redirects:
            if redirect.target is None:
                continue
            self._words((redirect.target,))
            if redirect.operator == "<":
                self._read(redirect.target)
            elif redirect.operator != "<<" and not redirect.operator.startswith("<&"):
                self._write(redirect.target, redirect.operator, constant)

    def _read(self, word: tree.Word) -> None:
        path = self._path(word)
        if path:
            self._order += 1
            self.reads.append(FileUse(path, self._base + word.line, self._order))

    def _write(self, word: tree.Word, how: str, made_up: bool) -> None:
        if not word.literal and not word.inner:
            self._see_not(word.line, f"where `{how} {word.text}` writes")
            return
        path = self._path(word)
        if path:
            self._order += 1
            self.writes.append(FileWrite(path, self._base + word.line, self._order, how, made_up))

    def _refer(self, named: Named | None, line: int) -> None:
        if named is None:
            return
        found = [path for path in map(self._path, named.words) if path]
        with_itself = named.compares and len(found) == 2 and found[0] == found[1]
        paths = tuple(path for path in found if not path.startswith(("/", "~")))
        if paths and not with_itself:
            line = self._base + line
            self.references.append(Reference(paths, line, named.how, named.compares))

    def _script(self, word: tree.Word) -> None:
        path = self._path(word)
        if path and not path.startswith(("/", "~")):
            self._order += 1
            self.scripts.append(FileUse(path, self._base + word.line, self._order))

    def _path(self, word: tree.Word) -> str:
        if not word.literal or not word.text or self._folder is None:
            return ""
        if _NO_FILE.fullmatch(word.text):
            return ""
        return _join(self._folder, word.text)


def _join(folder: str, path: str) -> str:
    """A path as the workspace sees it."""
    if path.startswith(("/", "~")):
        return path
    return plain_path(f"{folder}/{path}" if folder else path)


def _prints_constant(node: tree.Node) -> bool:
    """Whether the output is the script's own words and nothing the workspace said."""
    if not isinstance(node, tree.Command):
        return False
    if not node.words:
        return True
    here_document = any(
        r.operator == "<<" and r.target and not r.target.inner for r in node.redirects
    )
    if node.words[0].text == "cat":
        return here_document and len(node.words) == 1
    if node.words[0].text not in _CONSTANT_PRINTERS:
        return False
    inner = [item for word in node.words for block in word.inner for item in block.items]
    # As many expansions as commands in them: no variable beside.
    stated = all(w.literal or w.text.count("$") == len(w.inner) > 0 for w in node.words)
    return stated and all(map(_prints_constant, inner))


_VISITS: dict[type, Callable[[Collector, Any], None]] = {
    tree.Command: Collector._command,
    tree.Block: Collector._block,
    tree.Chain: Collector._chain,
    tree.Pipeline: Collector._pipeline,
    tree.Not: Collector._body,
    tree.Background: Collector._body,
    tree.Declare: Collector._declare,
    tree.Define: Collector._define,
    tree.Redirected: Collector._redirected,
    tree.If: Collector._if,
    tree.Loop: Collector._loop,
    tree.Case: Collector._case,
    tree.Opaque: Collector._opaque,
}
