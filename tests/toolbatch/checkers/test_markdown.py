"""Links, images and anchors of Markdown lead somewhere, as GitHub makes them."""

from __future__ import annotations

import pytest

from signoff.toolbatch.checkers.pages import heading_anchors
from tests.toolbatch.checkers.kit import Artifacts


def test_pages_whose_links_lead_somewhere_have_no_findings(artifacts: Artifacts) -> None:
    artifacts.file("img/a.png", "x").file("docs/guide.md", "# Guide\n\n## Set-up & run\n\nText.\n")
    text = (
        "---\ntitle: x\n---\n# Top\n\n[g](docs/guide.md#set-up--run) ![a](img/a.png)\n"
        "[ref] [text][ref] [up](#top) <a name='here'></a> [h](#here) [d](docs)\n"
        "[esc](<docs/guide.md>) [e](https://example.com) `[code](missing.md)` \\[no](missing.md)\n"
        "\n    [indented](missing.md)\n\n```\n[fenced](missing.md)\n```\n\n"
        "[ref]: docs/guide.md 'T'\n"
    )
    assert artifacts.of("README.md", text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a\n\n[x](missing.md)", ["3 broken-link"]),
        ("a\nb [x](missing.md)\nc", ["2 broken-link"]),
        ("> - a\n>   b ![x](missing.png)", ["2 broken-asset"]),
        ("[x][r]\n\n[r]: missing.md", ["1 broken-link"]),
        ("[r]\n\n[r]: missing.md", ["1 broken-link"]),
        ("`code` rows[i][j] [^1][^2]", []),
        ("| a |\n| - |\n| [x](missing.md) |", ["3 broken-link"]),
        ("[x](#missing)", ["1 broken-anchor"]),
        ("# Start\n[x](#Start)", ["2 broken-anchor"]),
        ("[x](other.md#two-1)", []),
        ("[x](other.md#two-2)", ["1 broken-anchor"]),
        ("word\n\n<img src='missing.png'>", ["3 broken-asset"]),
        ("word <a href='missing.md'>x</a>", ["1 broken-link"]),
        ("[x](../outside.html)", ["1 leaves-root"]),
        ("[x](/other.md)", []),
        ("[![a](missing.png)](missing.md)", ["1 broken-link", "1 broken-asset"]),
        ("line one\r\n[x](missing.md)\r\n", ["2 broken-link"]),
    ],
)
def test_each_kind_of_reference_is_followed(
    artifacts: Artifacts, text: str, found: list[str]
) -> None:
    artifacts.file("other.md", "# Two\n\n## Two\n\ntext\n")
    assert artifacts.of("page.md", text) == found


@pytest.mark.parametrize(
    ("titles", "anchors"),
    [
        (["Hello, World!"], {"hello-world"}),
        (["foo", "foo", "foo-1", "foo"], {"foo", "foo-1", "foo-1-1", "foo-2"}),
        (["Привет non-latin 你好"], {"привет-non-latin-你好"}),
        (["😄 emoji"], {"-emoji"}),
        (["`code` & more_less"], {"code--more_less"}),
        (["ü"], {"ü"}),
        (["1.2.3"], {"123"}),
    ],
)
def test_anchors_are_made_as_github_makes_them(titles: list[str], anchors: set[str]) -> None:
    assert heading_anchors(titles) == anchors


def test_a_link_to_markdown_from_html_checks_its_anchor_too(artifacts: Artifacts) -> None:
    artifacts.file("a.md", "# One\n\ntext")
    html = "<p>w</p><a href='a.md#one'>x</a>\n<a href='a.md#two'>y</a>"
    assert artifacts.of("index.html", html) == ["2 broken-anchor"]


def test_embedded_pictures_do_not_make_a_paragraph_too_long(artifacts: Artifacts) -> None:
    text = f"![x](data:image/png;base64,{'A' * 300_000})\n\n[x](missing.md)\n"
    assert artifacts.of("a.md", text) == ["3 broken-link"]
