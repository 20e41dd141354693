"""What is still open while the scanner goes down a document: containers and one leaf block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


class Leaf:
    """The open leaf block; the first two let any line start something new."""

    NONE: Final = 0
    PARAGRAPH: Final = 1
    FENCE: Final = 2
    HTML: Final = 3
    CODE: Final = 4


@dataclass
class Container:
    """A quote or a list item."""

    # 0 for a quote, else the columns that a line must be indented to stay in the list item.
    width: int
    empty: bool = True


@dataclass
class OpenFence:
    """A fence whose end was not met yet."""

    start: int
    marker: str
    indent: int
    info: str
    content: list[str]


def fence_cut(text: str, column: int, fence: OpenFence) -> int:
    """How many columns of a content line are indentation of the fence and what it lies in."""
    if not fence.indent:
        return column
    rest = text[column:].expandtabs(4) if not column else text[column:]
    return column + min(fence.indent, len(rest) - len(rest.lstrip(" ")))
