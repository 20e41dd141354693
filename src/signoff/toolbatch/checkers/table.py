"""The checker of CSV and TSV: one width for all rows, a name for every column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.subject import Subject
from signoff.toolbatch.checkers.texts import decode_text
from signoff.toolbatch.checkers.tree import Tree

MOST_ROWS_SAID = 20
_DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class TableChecker:
    """Reads the table as programs do: the first row names the columns."""

    name: str = "table"
    files: frozenset[str] = frozenset({".csv", ".tsv"})
    max_bytes: int = 50_000_000

    def check(self, subject: Subject, tree: Tree) -> Iterator[Finding]:  # noqa: ARG002 - alone
        """Header first, then row by row."""
        text = decode_text(subject)
        if isinstance(text, Finding):
            yield text
            return
        if not text.strip():
            yield subject.finding("empty-file", "there is no row", "write a header and rows")
            return
        delimiter = "\t" if subject.suffix == ".tsv" else _delimiter(text)
        try:
            yield from _rows(subject, text, delimiter)
        except csv.Error as error:
            yield subject.finding(
                "bad-csv",
                str(error),
                'close every quote, and double a quote inside one (`""`)',
                line=_line_of_error(text, delimiter),
            )


TABLE = TableChecker()


def _delimiter(text: str) -> str:
    """What the first line uses most, outside quotes; a comma where it uses none."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    outside = "".join(first.split('"')[::2])
    return max(_DELIMITERS, key=outside.count)


def _rows(subject: Subject, text: str, delimiter: str) -> Iterator[Finding]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    width, rows, ragged, before = 0, 0, 0, 0
    for row in reader:
        line, before = before + 1, reader.line_num
        if not row:
            continue
        if not width:
            width = len(row)
            yield from _header(subject, row, line)
            continue
        rows += 1
        if len(row) != width:
            ragged += 1
            if ragged <= MOST_ROWS_SAID:
                yield subject.finding(
                    "ragged-row",
                    f"{len(row)} fields, the header has {width}",
                    "quote fields that contain the delimiter; give every row all fields",
                    line=line,
                )
    if ragged > MOST_ROWS_SAID:
        more = f"{ragged - MOST_ROWS_SAID} more rows are wider or narrower than the header"
        yield subject.finding("ragged-row", more, "as above", line=before, about="more")
    if not rows:
        yield subject.finding(
            "no-rows",
            "there is a header, and no row below it",
            "write the rows",
            severity=Severity.WARNING,
        )


def _header(subject: Subject, row: list[str], line: int) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for number, name in enumerate((name.strip() for name in row), 1):
        if not name:
            # Programs that number the rows leave the column of the numbers without a name.
            numbering = number == 1 and len(row) > 1
            yield subject.finding(
                "empty-header",
                f"column {number} has no name",
                "name every column",
                line=line,
                severity=Severity.NOTE if numbering else Severity.ERROR,
                about=str(number),
            )
        elif name in seen:
            yield subject.finding(
                "duplicate-header",
                f"columns {seen[name]} and {number} are both called `{name[:80]}`",
                "give each column a name of its own",
                line=line,
                severity=Severity.WARNING,
                about=name,
            )
        seen.setdefault(name, number)


def _line_of_error(text: str, delimiter: str) -> int:
    """The line on which the row that cannot be read begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = 1
    try:
        for _ in reader:
            begins = reader.line_num + 1
    except csv.Error:
        pass
    return begins
