"""Links, assets and anchors of HTML pages lead somewhere below the root."""

from __future__ import annotations

import pytest

from signoff.toolbatch.checkers import check
from tests.toolbatch.checkers.kit import Artifacts, page


def test_a_site_whose_links_all_lead_somewhere_has_no_findings(artifacts: Artifacts) -> None:
    artifacts.file("css/site.css", "p{}").file("app.js", "let a = 1;")
    artifacts.file("about.html", page('<h2 id="team">Team</h2><a href="./">home</a>'))
    artifacts.file("docs/index.html", page('<a href="/about.html?x=1#team">t</a>'))
    artifacts.file(
        "index.html",
        page(
            '<link rel="stylesheet" href="css/site.css"><script src="app.js"></script>'
            '<a href="about.html#team">a</a><a href="docs/">d</a><a href="#top">t</a>'
            '<a href="https://example.com/x">e</a><a href="mailto:a@b.c">m</a>'
            '<img src="data:image/png;base64,AAAA"><a href="//cdn.example.com/x">c</a>'
        ),
    )
    assert artifacts.found() == []


@pytest.mark.parametrize(
    ("markup", "code"),
    [
        ('<a href="missing.html">x</a>', "broken-link"),
        ('<a href="about">x</a>', "broken-link"),
        ('<a href="About.html">x</a>', "broken-link"),
        ("<a href=missing.html>x</a>", "broken-link"),
        ("<A\nHREF = 'missing.html'>x</A>", "broken-link"),
        ('<a href="missing&#46;html">x</a>', "broken-link"),
        ('<area href="missing.html">', "broken-link"),
        ('<iframe src="missing.html"></iframe>', "broken-link"),
        ('<meta http-equiv="refresh" content="0; url=missing.html">', "broken-link"),
        ('<a href="empty-folder/">x</a>', "broken-link"),
        ('<link rel="stylesheet" href="missing.css">', "broken-asset"),
        ('<script src="missing.js"></script>', "broken-asset"),
        ('<img src="missing.png">', "broken-asset"),
        ('<img src="">', "broken-asset"),
        ('<img src="nothing.png">', "broken-asset"),
        ('<img srcset="pixel.gif 1x, missing.png 2x">', "broken-asset"),
        ('<source srcset="data:,a,b 1x,missing.png">', "broken-asset"),
        ('<video poster="missing.png"></video>', "broken-asset"),
        ('<object data="missing.svg"></object>', "broken-asset"),
        ('<svg><use href="missing.svg#a"/></svg>', "broken-asset"),
        ('<a href="#nowhere">x</a>', "broken-anchor"),
        ('<a href="about.html#nowhere">x</a>', "broken-anchor"),
        ('<a href="about.html#Team">x</a>', "broken-anchor"),
        ('<a href="blank.html#team">x</a>', "broken-anchor"),
        ('<a href="../outside.html">x</a>', "leaves-root"),
        ('<a href="%2e%2e/outside.html">x</a>', "leaves-root"),
        ('<a href="/../outside.html">x</a>', "leaves-root"),
        ('<a href="file:///etc/passwd">x</a>', "leaves-root"),
        ('<a href="C:\\pages\\x.html">x</a>', "leaves-root"),
        ('<a href="venv/page.html">x</a>', "unchecked-page"),
    ],
)
def test_a_reference_that_leads_nowhere_is_an_error(
    artifacts: Artifacts, markup: str, code: str
) -> None:
    artifacts.file("about.html", page('<p id="team">x')).file("nothing.png").file("pixel.gif", "x")
    artifacts.file("empty-folder/notes.txt").file("venv/page.html", page("")).file("blank.html")
    assert artifacts.of("index.html", f"\n\n{page(markup)}") == [f"3 {code}"]


@pytest.mark.parametrize(
    "markup",
    [
        '<!-- <a href="missing.html">x</a> -->',
        '<script>document.write("<a href=missing.html>")</script>',
        '<textarea><a href="missing.html"></textarea>',
        "<p>a < b, and <3 is no tag</p>",
        '<a href="a%20b.html#%C3%BC">x</a>',
        '<a href="a b.html#:~:text=word">x</a>',
        '<a href=" a%20b.html ">x</a>',
        '<a href="#user-content-x">x</a><p id="user-content-x">',
        '<link rel="preconnect" href="x.example">',
        '<base href="sub/"><a href="deep.html">x</a>',
    ],
)
def test_what_browsers_can_follow_is_no_finding(artifacts: Artifacts, markup: str) -> None:
    artifacts.file("a b.html", page('<p id="ü">x')).file("sub/deep.html", page(""))
    assert artifacts.of("index.html", page(markup)) == []


def test_the_first_of_two_attributes_counts_as_in_browsers(artifacts: Artifacts) -> None:
    twice = page('<a href="missing.html" href="index.html">x</a>')
    assert artifacts.of("index.html", twice) == ["1 broken-link"]


def test_a_base_elsewhere_makes_links_unknown_and_never_kept(artifacts: Artifacts) -> None:
    cheat = page('<base href="https://example.com/"><a href="missing.html">x</a>')
    assert artifacts.of("index.html", cheat) == ["1 ~base-elsewhere"]


@pytest.mark.parametrize("tail", ["<!-- x", '<a href="x', "<script>let a", "<p", "<![CDATA[x"])
def test_a_page_that_ends_inside_markup_is_broken(artifacts: Artifacts, tail: str) -> None:
    assert artifacts.of("index.html", f"<p>word</p>\n{tail}") == ["2 broken-html"]


def test_hints_name_the_nearest_file_and_the_nearest_anchor(artifacts: Artifacts) -> None:
    artifacts.file("about.html", page('<p id="team">x'))
    artifacts.file("index.html", page('<a href="abuot.html">x</a><a href="about.html#tame">y</a>'))
    hints = [finding.hint for finding in artifacts.report("index.html").findings]
    assert hints == ["write `abuot.html` first, or link to `about.html`", "did you mean `#team`?"]


def test_links_that_go_nowhere_on_purpose_are_warnings(artifacts: Artifacts) -> None:
    body = '<a href="#">x</a>\n<a href="javascript:void(0)">y</a>'
    assert artifacts.of("index.html", page(body)) == [
        "1 ?placeholder-link",
        "2 ?placeholder-link",
    ]


def test_a_link_in_the_folder_that_leads_out_of_the_root_is_not_followed(
    artifacts: Artifacts,
) -> None:
    (artifacts.root / "out.html").symlink_to(artifacts.root.parent / "outside.html")
    (artifacts.root / "in.html").symlink_to("real.html")
    artifacts.file("real.html", page('<a href="in.html">x</a>'))
    artifacts.file("index.html", page('<a href="out.html#secret">x</a><a href="in.html">y</a>'))
    assert artifacts.found("index.html") == ["index.html:1 broken-link"]
    assert artifacts.found("out.html") == ["out.html:1 missing-file"]


def test_pages_cannot_hide_in_a_folder_made_to_look_like_an_environment(
    artifacts: Artifacts,
) -> None:
    artifacts.file("pages/pyvenv.cfg", "home = /usr").file("pages/lib/x.txt", "x")
    artifacts.file("pages/a.html", page('<a href="b.html">b</a>')).file("pages/b.html", page(""))
    artifacts.file("index.html", page('<a href="pages/a.html">a</a>'))
    assert artifacts.found() == ["index.html:1 unchecked-page"]
    assert artifacts.found("pages") == []


def test_absolute_links_are_read_from_the_root(artifacts: Artifacts) -> None:
    artifacts.file("site/css/a.css", "p{}")
    artifacts.file("site/index.html", page('<link rel="stylesheet" href="/css/a.css">'))
    assert artifacts.found("site") == ["site/index.html:1 broken-asset"]
    assert check(["."], artifacts.root / "site").kept
