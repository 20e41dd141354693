"""A contract's shell text as a small tree: only what static verification needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Word:
    """One word; `text` is its value when `literal`, otherwise the text as written."""

    text: str
    line: int
    literal: bool = True
    quoted: bool = False
    inner: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Redirect:
    """`< file`, `>> file`, a here-document; `target` is None where no file is named."""

    operator: str
    target: Word | None
    line: int


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: name and arguments, with the assignments and redirections around it.

    `[ … ]` and `[[ … ]]` are such commands too, with a flat list of operators and operands.
    """

    words: tuple[Word, ...]
    line: int
    assigned: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Declare:
    """`export`, `local`, `unset` and the like: the builtin's own status hides what it expands."""

    keyword: str
    words: tuple[Word, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`(( … ))`."""

    text: str
    line: int


TESTS = frozenset(("test", "[", "[["))
"""The names of commands that only answer a question."""


class Link(StrEnum):
    """What joins two commands of a chain."""

    AND = "&&"
    OR = "||"


@dataclass(frozen=True, slots=True)
class Chain:
    """`a && b || c`, evaluated from the left."""

    first: Node
    rest: tuple[tuple[Link, Node], ...]
    line: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`a | b | c`."""

    stages: tuple[Node, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Not:
    """`! a`."""

    body: Node
    line: int


@dataclass(frozen=True, slots=True)
class Background:
    """`a &`."""

    body: Node
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """Commands one after the other; in a shell of its own when `subshell`."""

    items: tuple[Node, ...]
    line: int
    subshell: bool = False


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with their branches in order; `otherwise` is None without an `else`."""

    branches: tuple[tuple[Block, Block], ...]
    otherwise: Block | None
    line: int


class LoopKind(StrEnum):
    """Which loop it is."""

    FOR = "for"
    WHILE = "while"
    UNTIL = "until"


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop; `words` is the list of a `for`."""

    kind: LoopKind
    condition: Block | None
    body: Block
    words: tuple[Word, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Case:
    """`case … esac`; `exhaustive` when one pattern is `*`."""

    words: tuple[Word, ...]
    branches: tuple[Block, ...]
    exhaustive: bool
    line: int


@dataclass(frozen=True, slots=True)
class Define:
    """A function definition."""

    name: str
    body: Node
    line: int


@dataclass(frozen=True, slots=True)
class Redirected:
    """A compound command with redirections of its own."""

    body: Node
    redirects: tuple[Redirect, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """Something the analysis does not understand."""

    text: str
    line: int


Node: TypeAlias = (
    Command
    | Declare
    | Arithmetic
    | Chain
    | Pipeline
    | Not
    | Background
    | Block
    | If
    | Loop
    | Case
    | Define
    | Redirected
    | Opaque
)
