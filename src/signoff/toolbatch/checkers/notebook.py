"""The checker of notebooks: format 4, run from top to bottom, no errors, something shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from signoff.toolbatch.checkers.data import Number, json_trouble, parse_json
from signoff.toolbatch.checkers.finding import Finding, Severity
from signoff.toolbatch.checkers.json_scan import scan_json
from signoff.toolbatch.checkers.subject import Subject
from signoff.toolbatch.checkers.texts import decode_text
from signoff.toolbatch.checkers.tree import Tree

_KINDS = ("code", "markdown", "raw")
_RUN_ALL = "restart the kernel and run all cells"


@dataclass(frozen=True)
class _Cell:
    """A cell, its number from 1, and its line in the file."""

    number: int
    line: int
    data: dict[str, Any]

    @property
    def source(self) -> str:
        """Its text, however it is stored."""
        source = self.data["source"]
        return "".join(source) if isinstance(source, list) else source

    @property
    def may_fail(self) -> bool:
        """Whether its author says that it ends in an error, as Jupyter lets them."""
        metadata = self.data.get("metadata")
        tags = metadata.get("tags") if isinstance(metadata, dict) else None
        return isinstance(tags, list) and "raises-exception" in tags

    @property
    def has_code(self) -> bool:
        """Whether there is anything to run: comments and magic help are not."""
        lines = [line.strip() for line in self.source.split("\n")]
        return self.data["cell_type"] == "code" and any(
            line and not line.startswith("#") for line in lines
        )


@dataclass(frozen=True)
class NotebookChecker:
    """Looks at what is stored; nothing is run."""

    name: str = "notebook"
    files: frozenset[str] = frozenset({".ipynb"})
    max_bytes: int = 50_000_000

    def check(self, subject: Subject, tree: Tree) -> Iterator[Finding]:  # noqa: ARG002 - alone
        """Format first; then order, errors and outputs."""
        text = decode_text(subject)
        if isinstance(text, Finding):
            yield text
            return
        try:
            notebook = parse_json(text)
        except (ValueError, RecursionError) as error:
            yield json_trouble(subject, error)
            return
        lines = scan_json(text).items.get("cells", [])
        wrong = _wrong_shape(notebook)
        if wrong:
            line = lines[wrong[0]] if wrong[0] < len(lines) else 1
            yield subject.finding("bad-notebook", wrong[1], "save it from Jupyter again", line=line)
            return
        cells = [
            _Cell(number + 1, lines[number] if number < len(lines) else 1, data)
            for number, data in enumerate(notebook["cells"])
        ]
        yield from _executed(subject, [cell for cell in cells if cell.has_code])


NOTEBOOK = NotebookChecker()


def _wrong_shape(notebook: Any) -> tuple[int, str] | None:
    """The index of the cell, and what is wrong with it; None when it is a notebook."""
    if not isinstance(notebook, dict) or not _is_four(notebook.get("nbformat")):
        return 0, "`nbformat` is not 4"
    if not isinstance(notebook.get("metadata"), dict):
        return 0, "there is no `metadata`"
    cells = notebook.get("cells")
    if not isinstance(cells, list) or not cells:
        return 0, "there are no `cells`"
    for index, cell in enumerate(cells):
        if not isinstance(cell, dict) or cell.get("cell_type") not in _KINDS:
            return index, f"cell {index + 1} is none of {', '.join(_KINDS)}"
        source = cell.get("source")
        pieces = source if isinstance(source, list) else [source]
        if not all(isinstance(piece, str) for piece in pieces):
            return index, f"cell {index + 1} has no `source`"
        if cell["cell_type"] == "code" and not _is_run_record(cell):
            return index, f"cell {index + 1} has no `outputs` and `execution_count`"
    return None


def _is_four(value: Any) -> bool:
    return isinstance(value, Number) and value == "4"


def _is_run_record(cell: dict[str, Any]) -> bool:
    outputs, number = cell.get("outputs"), cell.get("execution_count")
    plain = number is None or (isinstance(number, Number) and number.isdecimal())
    return (
        isinstance(outputs, list)
        and plain
        and "execution_count" in cell
        and all(isinstance(output, dict) and "output_type" in output for output in outputs)
    )


def _executed(subject: Subject, cells: list[_Cell]) -> Iterator[Finding]:
    expected = 1
    for cell in cells:
        where = f"cell {cell.number}"
        number = cell.data["execution_count"]
        if number is None:
            yield subject.finding(
                "not-executed", f"{where} was never run", _RUN_ALL, line=cell.line, about=where
            )
        elif number != str(expected):
            said = f"{where} was run as number {number[:20]}, {expected} was its turn"
            yield subject.finding("cell-order", said, _RUN_ALL, line=cell.line, about=where)
        expected = int(number[:9]) + 1 if number is not None else expected
        yield from _outputs(subject, cell, where)


def _outputs(subject: Subject, cell: _Cell, where: str) -> Iterator[Finding]:
    outputs = cell.data["outputs"]
    for output in outputs if not cell.may_fail else ():
        if output["output_type"] == "error":
            said = f"{output.get('ename', 'error')}: {output.get('evalue', '')}"[:160]
            yield subject.finding(
                "cell-error",
                f"{where} ended in {' '.join(said.split())}",
                "correct the cell and run all cells again",
                line=cell.line,
                about=where,
            )
    if not any(_shows(output) for output in outputs):
        yield subject.finding(
            "cell-without-output",
            f"{where} shows nothing",
            "print or display the result, if the cell has one",
            line=cell.line,
            severity=Severity.WARNING,
            about=where,
        )


def _shows(output: dict[str, Any]) -> bool:
    return bool(output.get("text") or output.get("data") or output["output_type"] == "error")
