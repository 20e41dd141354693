"""Shell text as a small tree of one kind of node: only what static verification needs to know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

TESTS = frozenset(("test", "[", "[["))
"""The names of commands that only answer a question."""
_SHOWN_WORDS = 2


@dataclass(frozen=True, slots=True)
class Word:
    """One word; `text` is its value when `literal`, otherwise the text as written.

    `inner` are the command and process substitutions in it.
    """

    text: str
    line: int
    literal: bool = True
    quoted: bool = False
    inner: tuple[ShellNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Redirect:
    """`< file`, `>> file`, a here-document; `target` is None where no file is named."""

    operator: str
    target: Word | None


class Link(StrEnum):
    """What joins two commands of a chain."""

    AND = "&&"
    OR = "||"


class NodeKind(Enum):
    """What a node is, and what its parts are."""

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


@dataclass(frozen=True, slots=True)
class ShellNode:
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


def shown(node: ShellNode) -> str:
    """What a part is called in a message: its own words, shortened; never empty."""
    parts, kind = node.parts, node.kind
    name = node.text
    if kind in (NodeKind.COMMAND, NodeKind.DECLARE):
        words = node.words or node.assigned
        if node.name not in TESTS and kind is NodeKind.COMMAND:
            words = words[:_SHOWN_WORDS]
        targets = (f"{r.operator} {r.target.text}" for r in node.redirects if r.target)
        name = " ".join((node.text, *(w.text or "''" for w in words)) if words else targets)
    elif kind is NodeKind.CHAIN:
        name = f"{shown(parts[0])} {node.links[-1]} {shown(parts[-1])}"
    elif kind is NodeKind.NOT:
        name = f"! {shown(parts[0])}"
    elif kind in (NodeKind.IF, NodeKind.CASE, NodeKind.LOOP):
        name = {NodeKind.IF: "if … fi", NodeKind.CASE: "case … esac"}.get(
            kind, f"{node.text} … done"
        )
    elif kind is NodeKind.DEFINE:
        name = f"{node.text}()"
    elif kind not in (NodeKind.ARITHMETIC, NodeKind.OPAQUE):
        name = shown(parts[-1]) if parts else "{ }"
    return name.strip() or "''"
