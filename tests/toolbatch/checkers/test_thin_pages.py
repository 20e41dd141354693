"""A page must show something, and as much as was asked for; padding does not help."""

from __future__ import annotations

import pytest

from tests.toolbatch.checkers.kit import Artifacts

PROSE = " ".join(f"w{number}" for number in range(60))


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<div></div>",
        "<!-- real content here -->",
        "<title>Only a title</title>",
        "<style>p{color:red}</style>",
        "<p hidden>secret words</p>",
        '<div style="display: none"><div>secret</div> words</div>',
        "<nav>Home About</nav><footer>Imprint</footer>",
        "<template><p>words</p></template>",
    ],
)
def test_a_page_on_which_a_reader_sees_nothing_is_an_error(artifacts: Artifacts, body: str) -> None:
    assert artifacts.of("index.html", body) == ["1 empty-page"]


@pytest.mark.parametrize(
    "body",
    ["<p>word</p>", "<canvas></canvas>", '<div id="root"></div><script>start()</script>', "字"],
)
def test_a_page_with_anything_to_see_is_not_empty(artifacts: Artifacts, body: str) -> None:
    assert artifacts.of("index.html", body) == []


@pytest.mark.parametrize(
    ("body", "thin"),
    [
        (f"<p>{PROSE}</p>", False),
        (f"<p>{PROSE[:100]}</p>", True),
        (f"<p>{PROSE[:100]}</p><p hidden>{PROSE}</p>", True),
        (f"<p>{PROSE[:100]}</p>" * 5, True),
        (f"<p>a</p><nav>{PROSE}</nav>", True),
        ("<p>" + "lorem " * 60 + "</p>", True),
        ("<p>" + "中文内容页面" * 10 + "</p>", True),
        ("<p>" + "".join(chr(0x4E00 + n) for n in range(60)) + "</p>", False),
    ],
)
def test_thin_pages_are_found_however_they_are_padded(
    artifacts: Artifacts, body: str, thin: bool
) -> None:
    artifacts.file("index.html", body)
    assert artifacts.found(words=50) == (["index.html:1 thin-page"] if thin else [])


def test_sections_count_only_with_text_under_their_heading(artifacts: Artifacts) -> None:
    artifacts.file("a.html", "<h1>T</h1><h2>A</h2><p>x</p><h3>B</h3><p>y</p>")
    artifacts.file("b.html", "<h1>T</h1><h2>A</h2><h2>B</h2><p>y</p>")
    artifacts.file("c.md", "# T\n\n## A\n\nx\n\n### B\n\ny\n")
    artifacts.file("d.md", "# T\n\n## A\n\n## B\n\ny\n")
    assert artifacts.found(sections=2) == ["b.html:1 thin-page", "d.md:1 thin-page"]


def test_markdown_pages_are_measured_too(artifacts: Artifacts) -> None:
    artifacts.file("a.md", f"# T\n\n{PROSE}\n").file("b.md", f"# T\n\n```\n{PROSE}\n```\n")
    artifacts.file("c.md", f"<!-- {PROSE} -->\n")
    assert artifacts.found(words=50) == ["b.md:1 thin-page", "c.md:1 empty-page"]
