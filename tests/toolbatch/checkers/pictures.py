"""Small real files in formats that cannot be typed: pictures, documents, notebooks."""

from __future__ import annotations

import json
import struct
import zlib
from base64 import b64decode
from collections.abc import Iterable
from typing import Any

# One point each, made by encoders.
GIF = b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
WEBP = b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg">\n<rect width="1" height="1"/></svg>'


def chunk(kind: bytes, body: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int = 2, height: int = 2, points: bytes | None = None, interlaced: int = 0) -> bytes:
    """A grey picture; `points` are its lines, each with a filter byte before it."""
    lines = points if points is not None else (b"\0" + b"\x80" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, interlaced)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def pdf(objects: Iterable[bytes], *, root: int = 1, version: bytes = b"1.4") -> bytes:
    """A document of these objects, with a table of cross references."""
    data, places = b"%PDF-" + version + b"\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += b"trailer\n<< /Size %d /Root %d 0 R >>\n" % (len(places) + 1, root)
    return data + b"startxref\n%d\n%%%%EOF\n" % start


CATALOGUE = b"<< /Type /Catalog /Pages 2 0 R >>"
PAGES = b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
PAGE = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"


def packed_pdf() -> bytes:
    """The same in the newer form: objects in a compressed stream, cross references too."""
    texts = (CATALOGUE, PAGES, PAGE)
    offsets, body = [], b""
    for text in texts:
        offsets.append(len(body))
        body += text + b" "
    head = b" ".join(b"%d %d" % (i + 1, place) for i, place in enumerate(offsets)) + b" "
    inner = zlib.compress(head + body)
    data = b"%PDF-1.5\n"
    data += (
        b"4 0 obj\n<< /Type /ObjStm /N 3 /First %d /Filter /FlateDecode /Length %d >>\nstream\n"
        % (len(head), len(inner))
    )
    data += inner + b"\nendstream\nendobj\n"
    start, rows = len(data), zlib.compress(b"\0" * 30)
    data += (
        b"5 0 obj\n<< /Type /XRef /Size 6 /W [1 4 1] /Root 1 0 R /Filter /FlateDecode"
        b" /Length %d >>\nstream\n" % len(rows)
    )
    return data + rows + b"\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n" % start


def cell(source: str, number: int | None, *outputs: dict[str, Any]) -> dict[str, Any]:
    """A code cell of a notebook."""
    return {
        "cell_type": "code",
        "execution_count": number,
        "metadata": {},
        "outputs": list(outputs),
        "source": source.splitlines(keepends=True),
    }


def shown(text: str = "1") -> dict[str, Any]:
    """An output of a cell."""
    return {"output_type": "stream", "name": "stdout", "text": text}


def notebook(*cells: dict[str, Any], **more: Any) -> str:
    """A notebook as Jupyter stores it."""
    whole = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    return json.dumps(whole, indent=1)
