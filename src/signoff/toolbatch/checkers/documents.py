"""The checkers of pictures, PDFs and notebooks, opened by libraries of the extra `checkers`."""

from __future__ import annotations

import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from signoff.toolbatch.checkers.data import json_error
from signoff.toolbatch.checkers.subject import BuiltInChecker, CheckedFile, FileFinding, of_text
from signoff.toolbatch.checkers.tree import FileTree

MOST_PIXELS = 64_000_000
MOST_FRAMES = 200
_FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".gif": "GIF", ".webp": "WEBP", ".png": "PNG"}
_RUN_ALL = "restart the kernel and run all cells"


def _image(subject: CheckedFile, _tree: FileTree) -> Iterator[FileFinding]:
    """Decode every point of every frame."""
    from PIL import Image, ImageSequence, UnidentifiedImageError  # noqa: PLC0415 - optional

    data, form = io.BytesIO(subject.content), _FORMATS[subject.suffix]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(data, formats=[form]) as picture:
                if picture.width * picture.height > MOST_PIXELS:
                    raise Image.DecompressionBombError(f"{picture.size} points")
                for number, frame in enumerate(ImageSequence.Iterator(picture)):
                    frame.load()
                    if number >= MOST_FRAMES:
                        break
    except Image.DecompressionBombError as error:
        said = f"more than {MOST_PIXELS} points are too many to decode: {error}"
        yield subject.finding("too-large", said, "make it smaller")
    except Exception as error:  # a decoder raises whatever a damaged file makes it raise
        said = f"it is no {form}" if isinstance(error, UnidentifiedImageError) else str(error)
        yield _bad_image(subject, said or type(error).__name__)


def _bad_image(subject: CheckedFile, said: str) -> FileFinding:
    return subject.finding("bad-image", f"it cannot be shown: {said}", "make the picture again")


def _svg(subject: CheckedFile, _tree: FileTree) -> Iterator[FileFinding]:
    """Well-formed XML whose outermost element is `<svg>` with something in it."""
    try:
        top = ElementTree.fromstring(subject.content)
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        yield _bad_image(subject, str(error))
        return
    if top.tag.rpartition("}")[2] != "svg":
        yield _bad_image(subject, "its outermost element is not `<svg>`")
    elif not len(top):
        yield _bad_image(subject, "nothing is drawn in it")


def _pdf(subject: CheckedFile, _tree: FileTree) -> Iterator[FileFinding]:
    """Open it as viewers do: small faults are repaired, and pages must be there."""
    from pypdf import PdfReader, errors  # noqa: PLC0415 - optional, and slow to load

    # What it repairs on the way is nothing for the terminal.
    logging.getLogger("pypdf").addHandler(_QUIET)
    try:
        if b"%PDF-" not in subject.content[:1024]:
            raise ValueError("it does not begin like a PDF")
        reader = PdfReader(io.BytesIO(subject.content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise errors.FileNotDecryptedError("a password locks it")
        if not len(reader.pages):
            raise ValueError("it has no pages")
    except (errors.FileNotDecryptedError, errors.LimitReachedError) as error:
        yield subject.too_complex(str(error), "open it by hand")
    except Exception as error:  # a reader raises whatever a damaged file makes it raise
        said = f"it cannot be opened: {error or type(error).__name__}"
        yield subject.finding("bad-pdf", said, "make the document again")


_QUIET = logging.NullHandler()


def _notebook(subject: CheckedFile, text: str, _tree: FileTree) -> Iterator[FileFinding]:
    """Format first; then order, errors and outputs of what was run. Nothing is run here."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        yield json_error(subject, error)
        return
    wrong = _not_a_notebook(notebook)
    if wrong:
        yield subject.finding("bad-notebook", wrong, "save it from Jupyter again")
        return
    expected = 1
    for index, cell in enumerate(notebook["cells"]):
        lines = (line.strip() for line in "".join(cell["source"]).split("\n"))
        has_code = any(line and not line.startswith("#") for line in lines)
        if cell["cell_type"] == "code" and has_code:
            yield from _executed(subject, cell, f"cell {index + 1}", expected)
            number = cell["execution_count"]
            expected = expected if number is None else number + 1


def _not_a_notebook(notebook: Any) -> str:
    """The reason why it is no notebook of format 4; empty when it is one."""
    import nbformat  # noqa: PLC0415 - optional, and slow to load

    if not isinstance(notebook, dict) or notebook.get("nbformat") != 4:
        return "`nbformat` is not 4"
    if not notebook.get("cells"):
        return "there are no `cells`"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        place = " ".join(map(str, getattr(error, "path", ())))
        return f"{str(error).partition(chr(10))[0]} ({place or 'notebook'})"
    except Exception as error:  # the validator looks into what it has not validated yet
        return f"it cannot be validated: {error}"
    return ""


def _executed(
    subject: CheckedFile, cell: dict[str, Any], name: str, expected: int
) -> Iterator[FileFinding]:
    number, outputs = cell["execution_count"], cell["outputs"]
    if number is None:
        yield subject.finding("not-executed", f"{name} was never run", _RUN_ALL, about=name)
    elif number != expected:
        said = f"{name} was run as number {number}, {expected} was its turn"
        yield subject.finding("cell-order", said, _RUN_ALL, about=name)
    errors = [output for output in outputs if output["output_type"] == "error"]
    # Authors say so of a cell that is meant to fail, and Jupyter goes on behind it.
    for output in errors if "raises-exception" not in cell["metadata"].get("tags", ()) else ():
        said = f"{name} ended in {output['ename']}: {output['evalue'][:160]}"
        hint = "correct the cell and run all cells again"
        yield subject.finding("cell-error", said, hint, about=name)


IMAGE = BuiltInChecker("image", frozenset(_FORMATS), 50_000_000, _image, library="PIL")
SVG = BuiltInChecker("svg", frozenset({".svg"}), 10_000_000, _svg)
PDF = BuiltInChecker("pdf", frozenset({".pdf"}), 64_000_000, _pdf, library="pypdf")
NOTEBOOK = BuiltInChecker(
    "notebook", frozenset({".ipynb"}), 50_000_000, of_text(_notebook), library="nbformat"
)
