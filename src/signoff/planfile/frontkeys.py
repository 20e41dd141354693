"""What the block at the top of a plan says, once it is read."""

from __future__ import annotations

from dataclasses import dataclass

NULLS = {"", "~", "null", "Null", "NULL"}
Value = str | tuple[str, ...] | None


@dataclass(frozen=True)
class StatusSpan:
    """Where the value of `status:` stands in the document, and how it is written."""

    line: int
    start: int
    end: int
    quote: str = ""


@dataclass(frozen=True)
class Key:
    """One entry of the block; `nested` values are deeper than we read."""

    name: str
    value: Value
    line: int
    nested: bool = False


@dataclass(frozen=True)
class Frontmatter:
    """Lines 0 to `end` (exclusive) of the document."""

    end: int
    keys: tuple[Key, ...] = ()
    status: StatusSpan | None = None
    # Column of the keys, for a status line that has to be added; None where none can be.
    column: int | None = None
    refused: str = ""
    refused_line: int = 0

    def values(self, name: str) -> tuple[str, ...]:
        """A list of strings, whether written as a list or as one comma-separated value."""
        value = next((key.value for key in self.keys if key.name == name), None)
        if value is None:
            return ()
        items = value.split(",") if isinstance(value, str) else value
        return tuple(item.strip() for item in items if item.strip())

    def key(self, name: str) -> Key | None:
        """The first entry with this name."""
        return next((key for key in self.keys if key.name == name), None)
