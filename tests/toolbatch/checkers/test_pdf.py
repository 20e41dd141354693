"""A PDF opens when a reader finds its way from its end to a page."""

from __future__ import annotations

import io

import pytest
from matplotlib.figure import Figure

from signoff.toolbatch.checkers.pdf import count_pages
from tests.toolbatch.checkers.kit import Artifacts
from tests.toolbatch.checkers.pictures import CATALOGUE, PAGE, PAGES, packed_pdf, pdf

PLAIN = pdf([CATALOGUE, PAGES, PAGE])


def plotted() -> bytes:
    """A document from a program that people use."""
    out = io.BytesIO()
    figure = Figure(figsize=(2, 2))
    figure.subplots().plot([1, 2])
    figure.savefig(out, format="pdf")
    return out.getvalue()


def test_documents_with_pages_have_no_findings(artifacts: Artifacts) -> None:
    for content in (PLAIN, packed_pdf(), plotted()):
        assert count_pages(content) == 1
        assert artifacts.of("a.pdf", content) == []


def test_pages_are_counted_through_the_whole_tree() -> None:
    kids = b"<< /Type /Pages /Kids [3 0 R 4 0 R 3 0 R] >>"
    inner = b"<< /Type /Pages /Kids [5 0 R 6 0 R 2 0 R] >>"
    assert count_pages(pdf([CATALOGUE, kids, PAGE, inner, PAGE, PAGE])) == 3


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"%PDF-1.4\n",
        b"%PDF-1.4\n%%EOF\n",
        b"%PDF-1.4\nstartxref\n0\n%%EOF\n",
        PLAIN[: len(PLAIN) // 2],
        PLAIN[:-8],
        PLAIN[9:],
        PLAIN.replace(b"startxref", b"startxxxx"),
        PLAIN.replace(b"endobj\n2 0", b"endobj\n\n\n2 0"),
        PLAIN.replace(b"trailer", b"trailxx"),
        PLAIN.replace(b"/Root 1", b"/Root 9"),
        pdf([CATALOGUE, b"<< /Type /Pages /Kids [] /Count 7 >>"]),
        pdf([CATALOGUE, b"<< /Type /Pages /Count 7 >>"]),
        pdf([CATALOGUE, b"<< /Type /Pages /Kids [9 0 R] /Count 1 >>"]),
        pdf([b"<< /Type /Catalog >>"]),
        b"A report. (placeholder)",
        packed_pdf()[:-30],
    ],
)
def test_a_document_that_no_reader_could_open_is_found(
    artifacts: Artifacts, content: bytes
) -> None:
    assert artifacts.of("a.pdf", content) == ["1 bad-pdf"]


def test_an_encrypted_document_whose_pages_are_packed_is_unknown(artifacts: Artifacts) -> None:
    locked = packed_pdf().replace(b"/Root 1 0 R", b"/Root 1 0 R /Encrypt 9 0 R")
    assert artifacts.of("a.pdf", locked) == ["1 ~too-complex"]
