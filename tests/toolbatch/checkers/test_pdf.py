"""A PDF opens when a reader finds its way from its end to a page."""

from __future__ import annotations

import io

import pytest
from matplotlib.figure import Figure

from tests.toolbatch.checkers.kit import Artifacts
from tests.toolbatch.checkers.pictures import document


def plotted() -> bytes:
    """A document from a program that people use."""
    out = io.BytesIO()
    figure = Figure(figsize=(2, 2))
    figure.subplots().plot([1, 2])
    figure.savefig(out, format="pdf")
    return out.getvalue()


def test_documents_with_pages_have_no_findings(
    artifacts: Artifacts, capfd: pytest.CaptureFixture[str]
) -> None:
    repaired = document().replace(b"endobj\n2 0", b"endobj\n\n\n2 0")
    for content in (document(), document(3), document(password=""), plotted(), repaired):
        assert artifacts.of("a.pdf", content) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"%PDF-1.4\n",
        b"%PDF-1.4\n%%EOF\n",
        b"%PDF-1.4\nstartxref\n0\n%%EOF\n",
        b"A report. (placeholder)",
        document()[: len(document()) // 2],
        document()[:-8],
        document()[9:],
        document().replace(b"startxref", b"startxxxx"),
        document().replace(b"trailer", b"trailxx"),
        document(pages=0),
    ],
)
def test_a_document_that_no_reader_could_open_is_found(
    artifacts: Artifacts, content: bytes
) -> None:
    assert artifacts.of("a.pdf", content) == ["1 bad-pdf"]


def test_a_document_behind_a_password_is_unknown(artifacts: Artifacts) -> None:
    assert artifacts.of("a.pdf", document(password="secret")) == ["1 ~too-complex"]
