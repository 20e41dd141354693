"""Single lines of a document: split, stripped and cut without losing a byte of what matters."""

from __future__ import annotations

BOM = "\ufeff"


def split_lines(text: str) -> tuple[str, ...]:
    r"""Lines without their `\n`; joined with `\n` they are the text again, byte for byte."""
    return tuple(text.split("\n"))


def bare(line: str) -> str:
    """The line without byte order mark and carriage return: what the scanner looks at."""
    return line.removeprefix(BOM).removesuffix("\r")


def without_closing_hashes(title: str) -> str:
    """A heading's text less the hashes that may close it, which need a space before them."""
    title = title.strip(" \t")
    if not title.endswith("#"):
        return title
    opened = title.rstrip("#")
    return opened.rstrip(" \t") if not opened or opened[-1] in " \t" else title


def without_columns(raw: str, columns: int) -> str:
    """The line less its first columns; a tab cut in two leaves its other columns as spaces."""
    if columns == 0:
        return raw
    if "\t" not in raw[:columns]:
        return raw[columns:]
    at = position = 0
    while at < columns and position < len(raw):
        at = at // 4 * 4 + 4 if raw[position] == "\t" else at + 1
        position += 1
    return " " * (at - columns) + raw[position:]
