"""Shell text as a small tree of one kind of node: only what static verification needs to know."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, StrEnum, auto

from msgspec import Struct

TESTS = frozenset(("test", "[", "[["))
"""The names of commands that only answer a question."""


class Word(Struct, frozen=True):
    """One word; `text` is its value when `literal`, otherwise the text as written.

    `inner` are the command and process substitutions in it.
    """

    text: str
    line: int
    literal: bool = True
    quoted: bool = False
    inner: tuple[ShellNode, ...] = ()


class Redirect(Struct, frozen=True):
    """`< file`, `>> file`, a here-document; `target` is None where no file is named."""

    operator: str
    target: Word | None


class Link(StrEnum):
    """Operators that join two commands of a chain."""

    AND = "&&"
    OR = "||"


class NodeKind(Enum):
    """Kinds of nodes, and the meaning of their parts."""

    # Words and assignments; `[ … ]` and `[[ … ]]` too, as a flat list of operators and operands.
    COMMAND = auto()
    DECLARE = auto()  # `export`, `unset`: the builtin's own status hides what it expands
    ARITHMETIC = auto()  # `(( … ))`, as `text`
    CHAIN = auto()  # parts joined by `links`, evaluated from the left
    PIPELINE = auto()
    NOT = auto()
    BACKGROUND = auto()
    BLOCK = auto()  # parts one after the other
    SUBSHELL = auto()  # the same in a shell of its own
    IF = auto()  # condition and branch in turn; one more part is the `else`
    LOOP = auto()  # `text` says which; the last part is the body, one before it the condition
    CASE = auto()  # the branches
    DEFINE = auto()  # a function: its name is `text`, its body the part
    OPAQUE = auto()  # something the analysis does not understand


class ShellNode(Struct, frozen=True):
    """One part of a script."""

    kind: NodeKind
    line: int
    parts: tuple[ShellNode, ...] = ()
    words: tuple[Word, ...] = ()
    assigned: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    links: tuple[Link, ...] = ()
    text: str = ""

    @property
    def name(self) -> str:
        """The first word of a command; empty where there is none."""
        return self.words[0].text if self.kind is NodeKind.COMMAND and self.words else ""

    @property
    def args(self) -> tuple[str, ...]:
        """The words behind the first."""
        return tuple(word.text for word in self.words[1:])

    def texts(self) -> Iterator[str]:
        """Every word in and below the node, as written."""
        targets = (r.target for r in self.redirects if r.target is not None)
        for word in (*self.assigned, *self.words, *targets):
            yield word.text
            for inner in word.inner:
                yield from inner.texts()
        yield self.text
        for part in self.parts:
            yield from part.texts()


def commands_in(node: ShellNode) -> Iterator[ShellNode]:
    """Every simple command in and below a node, those in substitutions left out."""
    if node.kind is NodeKind.COMMAND:
        yield node
    for part in node.parts:
        yield from commands_in(part)
