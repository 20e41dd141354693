"""Small real files in formats that cannot be typed, made with the libraries that read them."""

from __future__ import annotations

import io
from typing import Any

import nbformat
from PIL import Image
from pypdf import PdfWriter

MAKE: Any = nbformat.v4  # its functions say nothing about types
SVG = b'<svg xmlns="http://www.w3.org/2000/svg">\n<rect width="1" height="1"/></svg>'


def picture(form: str = "PNG", **options: object) -> bytes:
    """A picture with some content."""
    out = io.BytesIO()
    Image.radial_gradient("L").resize((64, 64)).convert("RGB").save(out, form, **options)
    return out.getvalue()


def animation() -> bytes:
    """Two frames."""
    frames = [Image.new("L", (8, 8), shade) for shade in (0, 255)]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    return out.getvalue()


def document(pages: int = 1, password: str | None = None) -> bytes:
    """A PDF with empty pages; a password, even an empty one, encrypts it."""
    writer, out = PdfWriter(), io.BytesIO()
    for _ in range(pages):
        writer.add_blank_page(100, 100)
    if password is not None:
        writer.encrypt(password, "owner")
    writer.write(out)
    return out.getvalue()


def cell(source: str, number: int | None, *outputs: Any, **metadata: Any) -> Any:
    """A code cell of a notebook."""
    return MAKE.new_code_cell(
        source, execution_count=number, outputs=list(outputs), metadata=metadata
    )


def shown(text: str = "1") -> Any:
    """What a cell printed."""
    return MAKE.new_output("stream", text=text)


def failed() -> Any:
    """The error that a cell ended in."""
    return MAKE.new_output("error", ename="ValueError", evalue="no\nnumber")


def notebook(*cells: Any) -> str:
    """A notebook as Jupyter stores it."""
    return str(MAKE.writes(MAKE.new_notebook(cells=list(cells))))
