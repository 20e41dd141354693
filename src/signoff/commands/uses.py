"""Find the tools and interpreters that a script calls, and the files that it names and writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from signoff.commands.launchers import SHELLS, python_words, see_through, starter_of
from signoff.commands.operands import (
    FABRICATORS,
    ComparedFiles,
    Named,
    looks_like_path,
    of_call,
    of_node,
    operands_of,
    piped,
    values_of,
    written_by,
)
from signoff.commands.tree import TESTS, NodeKind, Redirect, ShellNode, Word
from signoff.domain.globs import plain_path


class Interpreter(Struct, frozen=True):
    """Shape of an interpreter's own words, up to its script."""

    valued: tuple[str, ...] = ()
    inline: str = ""  # letters of options after which the program is on the command line
    loading: tuple[str, ...] = ()  # options that name a script to run first
    subcommands: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ("",)
    syntax_only: tuple[str, ...] = ()  # options with which the script is read and not run


_NODE = Interpreter(
    ("-C", "--conditions", "--env-file", "--test-reporter", "--test-name-pattern", "--tsconfig"),
    "ep",
    ("-r", "--require", "--import", "--loader", "--experimental-loader"),
    suffixes=("", ".js", ".mjs", ".cjs", "/index.js"),
)
_SHELL = Interpreter(
    ("-o", "+o", "-O", "+O"), "c", ("--rcfile", "--init-file"), syntax_only=("-n",)
)
_PROGRAM_FILE = Interpreter(inline="*", loading=("-f", "--file", "--from-file"))
INTERPRETERS: dict[str, Interpreter] = {
    **dict.fromkeys(SHELLS, _SHELL),
    **dict.fromkeys(("tsx", "ts-node"), _NODE),
    "node": replace(_NODE, syntax_only=("-c", "--check")),
    **dict.fromkeys(("awk", "gawk", "mawk", "sed", "jq"), _PROGRAM_FILE),
    "perl": Interpreter(("-I",), "eE"),
    "ruby": Interpreter(("-I", "-C"), "e", ("-r",), suffixes=("", ".rb")),
    "php": Interpreter(("-c", "-d"), "r", ("-f",), syntax_only=("-l",)),
    "Rscript": Interpreter(inline="e"),
    "lua": Interpreter(inline="e"),
    "deno": Interpreter(("-c", "--config"), subcommands=("run", "test")),
}


def scripts_run(tool: str, args: Sequence[str]) -> tuple[str, ...]:
    """The words that name files which an interpreter runs: `bash -e x`, `awk -f x`, `node -r x y`.

    A script that is only checked for its syntax is not run.
    """
    if tool == "python":
        words = python_words(tuple(args))
        return words[:1] if words and not words[0].startswith("-") else ()
    spec = INTERPRETERS.get(tool)
    ahead = list(args)
    if spec is None or (len(ahead) == 2 and ahead[0] in spec.syntax_only):
        return ()
    found: list[str] = []
    while ahead:
        word = ahead.pop(0)
        if word in spec.loading:
            found += ahead[:1]
            del ahead[:1]
        elif word in spec.valued:
            del ahead[:1]
        elif word.startswith(("-", "+")) and len(word) > 1:
            option, equals, value = word.partition("=")
            found += [value] if equals and option in spec.loading else []
            if not word.startswith("--") and set(spec.inline) & set(word[1:]):
                break
        elif spec.inline != "*" and word not in spec.subcommands:
            return (*found, word)
    return tuple(found)


FILE_TESTS = frozenset(f"-{c}" for c in "aefsdrwxLhbcpSgukOGN")
FILE_COMPARISONS = frozenset(("-nt", "-ot", "-ef"))
# Their words are their own, or the machine's: nothing in them comes from the workspace.
_CONSTANT_PRINTERS = frozenset(
    (
        *("echo", "printf", "true", ":", "date", "hostname", "whoami", "pwd", "id", "uname"),
        *("seq", "yes", "uuidgen", "nproc", "arch", "sleep"),
    )
)
_VARIABLE = re.compile(r"\$\{?(\w+)")
_NO_FILE = re.compile(r"/(?:dev|tmp|proc|var/tmp)(?:/.*)?|\d+|-|&\d+")


class CommandCall(Struct, frozen=True):
    """A command that the script runs, as far as it can be seen."""

    name: str
    args: tuple[str, ...]
    line: int


class FileUse(Struct, frozen=True):
    """A file that is looked at; `order` is its place in the text."""

    path: str
    line: int
    order: int


class FileWrite(Struct, frozen=True):
    """A change to a file; `made_up` where the content is the script's own words."""

    path: str
    line: int
    order: int
    how: str
    made_up: bool


class Unseen(Struct, frozen=True):
    """Something that the analysis cannot see through, with its line."""

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
        self._order = self._base = self._depth = 0
        self._folder: str | None = ""
        self._values: dict[str, tuple[ShellNode, ...]] = {}  # what prints each variable's value

    def visit(self, node: ShellNode) -> None:
        """Note what this part of the script does."""
        before, read = self._folder, len(self.reads)
        self._words((*node.assigned, *node.words))
        self._refer(of_node(replace(node, words=self._filled(node.words))), node.line)
        self._values.update(values_of(node))
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
        for part in node.parts:
            self.visit(part)

    def _pipeline(self, pipeline: ShellNode) -> None:
        for source, into in pairwise(pipeline.parts):
            self._refer(piped(source, into), source.line)
        for stage in pipeline.parts:
            self.visit(stage)

    def _words(self, words: tuple[Word, ...]) -> None:
        for word in words:
            for block in word.inner:
                self.visit(block)

    def _filled(self, words: tuple[Word, ...]) -> tuple[Word, ...]:
        """The words with what prints the variables in them, as if it stood there."""
        if not self._values:
            return words
        return tuple(
            word
            if word.literal
            else replace(word, inner=(*word.inner, *self._printers_in(word.text)))
            for word in words
        )

    def _printers_in(self, text: str) -> Iterator[ShellNode]:
        for name in _VARIABLE.findall(text):
            yield from self._values.get(name, ())

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
        self._refer(of_call(name, self._filled(args)), line)
        if name == "cd":
            self._change_folder(args)
        elif name in TESTS:
            self._tested(tuple(a for a in args if a.text not in ("]", "]]")))
        else:
            self._operands(name, args)

    def _operands(self, name: str, args: tuple[Word, ...]) -> None:
        written, how = written_by(name, args)
        for word in operands_of(name, args):
            if word not in written:
                self._read(word)
        for word in written:
            self._write(word, how, name in FABRICATORS or how == "sed -i")

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
    """True when the output is the script's own words and nothing that the workspace said."""
    if node.kind is not NodeKind.COMMAND or not all(word.literal for word in node.words):
        return False
    here = any(r.operator == "<<" and r.target and not r.target.inner for r in node.redirects)
    return not node.words or node.name in _CONSTANT_PRINTERS or (node.args == () and here)
