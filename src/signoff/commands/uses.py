"""What a script touches: the tools it calls, the files it names, the files it writes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from signoff.commands.interpreters import scripts_run
from signoff.commands.launchers import see_through, starter_of
from signoff.commands.operands import (
    FABRICATORS,
    looks_like_path,
    operands_of,
    repairs,
    written_by,
)
from signoff.commands.references import ComparedFiles, Named, of_call, of_node, piped
from signoff.commands.tree import TESTS, NodeKind, Redirect, ShellNode, Word
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
class CommandCall:
    """A command that the script runs, as far as it can be seen."""

    name: str
    args: tuple[str, ...]
    line: int

    @property
    def prints_nothing(self) -> bool:
        """Whether it leaves standard output empty, whatever the workspace holds."""
        quiet = _QUIET.get(self.name)
        if quiet is not None:
            return any(map(quiet.fullmatch, self.args))
        return self.name in _SILENT and "-" not in self.args


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


class Collector:
    """One walk in textual order."""

    def __init__(self) -> None:
        self.calls: list[CommandCall] = []
        self.reads: list[FileUse] = []
        self.writes: list[FileWrite] = []
        self.references: list[ComparedFiles] = []
        self.scripts: list[FileUse] = []
        self.unseen: list[Unseen] = []
        self.functions: set[str] = set()
        self.readers: list[
            tuple[ShellNode, tuple[FileUse, ...]]
        ] = []  # commands, by what they read
        self.declares = False
        self._order = self._base = self._depth = 0
        self._folder: str | None = ""
        self._fed_constant = False

    def visit(self, node: ShellNode) -> None:
        """Note what this part of the script does."""
        before, read = self._folder, len(self.reads)
        self._words((*node.assigned, *node.words))
        self._refer(of_node(node), node.line)
        if node.kind is NodeKind.COMMAND:
            if node.words:
                self._command(node)
        elif node.kind is NodeKind.PIPELINE:
            self._pipeline(node)
        else:
            self._compound(node)
        if node.kind in (NodeKind.SUBSHELL, NodeKind.PIPELINE):
            self._folder = before
        if node.redirects:
            self._redirects(node.redirects, constant=_prints_constant(node))
        if node.kind is NodeKind.COMMAND and len(self.reads) > read:
            self.readers.append((node, tuple(self.reads[read:])))

    def _compound(self, node: ShellNode) -> None:
        if node.kind is NodeKind.DEFINE:
            self.functions.add(node.text)
        elif node.kind is NodeKind.OPAQUE:
            self._see_not(node.line, f"the shell text at `{node.text.strip()}`")
        self.declares = self.declares or node.kind is NodeKind.DECLARE
        for part in node.parts:
            self.visit(part)

    def _pipeline(self, pipeline: ShellNode) -> None:
        outer, self._fed_constant = self._fed_constant, False
        for source, into in pairwise(pipeline.parts):
            self._refer(piped(source, into), source.line)
        for i, stage in enumerate(pipeline.parts):
            self.visit(stage)
            self._fed_constant = (self._fed_constant or i == 0) and _prints_constant(stage)
        self._fed_constant = outer

    def _words(self, words: tuple[Word, ...]) -> None:
        for word in words:
            for block in word.inner:
                self.visit(block)

    def _see_not(self, line: int, what: str) -> None:
        self.unseen.append(Unseen(self._base + line, what))

    def _command(self, command: ShellNode) -> None:
        seen = see_through(command, self._depth)
        if seen.hidden:
            self._see_not(command.line, seen.hidden)
            if command.name in ("source", ".") and len(command.words) > 1:
                self._script(command.words[1])
        elif seen.script is not None:
            before = self._base, self._folder
            self._base, self._depth = self._base + command.line, self._depth + 1
            self.visit(seen.script)
            self._base, self._depth = before[0], self._depth - 1
            if not seen.same_shell:
                self._folder = before[1]
        elif seen.command is not None and seen.command.words:
            inner = seen.command
            if not inner.name.startswith("["):
                self.calls.append(CommandCall(inner.name, inner.args, self._base + command.line))
            self._program(inner.words, command.line)

    def _program(self, words: tuple[Word, ...], line: int) -> None:
        """Note the files that a program is given; behind `uv run` that is the one it starts."""
        name, args = words[0].text, words[1:]
        start = starter_of(name, [a.text for a in args])
        if start is not None:
            before = self._folder
            if start.folder:
                self._change_folder((Word(start.folder, line),))
            self._program(args[start.at :], line)
            self._folder = before
            return
        if "/" in name:
            self._script(words[0])
        else:
            run = scripts_run("python" if name == "python3" else name, [a.text for a in args])
            for word in args if run else ():
                if word.text in run and looks_like_path(word.text):
                    self._script(word)
        self._refer(of_call(name, args), line)
        if name == "cd":
            self._change_folder(args)
        elif name in TESTS:
            self._tested(tuple(a for a in args if a.text not in ("]", "]]")))
        else:
            self._operands(name, args, line)

    def _operands(self, name: str, args: tuple[Word, ...], line: int) -> None:
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

    def _change_folder(self, args: tuple[Word, ...]) -> None:
        target = next((a for a in args if not a.text.startswith("-")), None)
        if target is None or not target.literal or target.text.startswith(("/", "~")):
            self._folder = None
        elif self._folder is not None:
            self._folder = _join(self._folder, target.text)

    def _tested(self, words: tuple[Word, ...]) -> None:
        for before, word in pairwise(words):
            if before.text in FILE_TESTS and before.literal:
                self._read(word)
        for left, middle, right in zip(words, words[1:], words[2:], strict=False):
            if middle.text in FILE_COMPARISONS:
                self._read(left)
                self._read(right)

    def _redirects(self, redirects: tuple[Redirect, ...], constant: bool) -> None:
        for redirect in redirects:
            if redirect.target is None:
                continue
            self._words((redirect.target,))
            if redirect.operator == "<":
                self._read(redirect.target)
            elif redirect.operator != "<<" and not redirect.operator.startswith("<&"):
                self._write(redirect.target, redirect.operator, constant)

    def _use(self, word: Word) -> FileUse | None:
        path = self._path(word)
        if not path:
            return None
        self._order += 1
        return FileUse(path, self._base + word.line, self._order)

    def _read(self, word: Word) -> None:
        if use := self._use(word):
            self.reads.append(use)

    def _script(self, word: Word) -> None:
        if not word.text.startswith(("/", "~")) and (use := self._use(word)):
            self.scripts.append(use)

    def _write(self, word: Word, how: str, made_up: bool) -> None:
        if not word.literal and not word.inner:
            self._see_not(word.line, f"where `{how} {word.text}` writes")
        elif use := self._use(word):
            self.writes.append(FileWrite(use.path, use.line, use.order, how, made_up))

    def _refer(self, named: Named | None, line: int) -> None:
        if named is None:
            return
        found = [path for path in map(self._path, named.words) if path]
        with_itself = named.compares and len(found) == 2 and found[0] == found[1]
        paths = tuple(path for path in found if not path.startswith(("/", "~")))
        if paths and not with_itself:
            line = self._base + line
            self.references.append(ComparedFiles(paths, line, named.how, named.compares))

    def _path(self, word: Word) -> str:
        known = word.literal and word.text and self._folder is not None
        if not known or _NO_FILE.fullmatch(word.text):
            return ""
        return _join(self._folder or "", word.text)


def _join(folder: str, path: str) -> str:
    """A path as the workspace sees it."""
    if path.startswith(("/", "~")):
        return path
    return plain_path(f"{folder}/{path}" if folder else path)


def _prints_constant(node: ShellNode) -> bool:
    """Whether the output is the script's own words and nothing the workspace said."""
    if node.kind is not NodeKind.COMMAND:
        return False
    if not node.words:
        return True
    if node.name == "cat":
        documents = [r.target for r in node.redirects if r.operator == "<<"]
        return len(node.words) == 1 and any(d is not None and not d.inner for d in documents)
    if node.name not in _CONSTANT_PRINTERS:
        return False
    inner = [part for word in node.words for block in word.inner for part in block.parts]
    # As many expansions as commands in them: no variable beside.
    stated = all(w.literal or w.text.count("$") == len(w.inner) > 0 for w in node.words)
    return stated and all(map(_prints_constant, inner))
