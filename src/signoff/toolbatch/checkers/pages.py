"""HTML and Markdown read as pages: references, places with names, and what a reader sees."""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from html.parser import HTMLParser
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import Struct, field
from msgspec.structs import replace

from signoff.toolbatch.checkers.subject import CheckedFile, FileFinding

# The parser's time grows with the square of a hostile paragraph; no honest one is this long.
LONGEST_PARAGRAPH = 20_000
READING_S = 10.0

# Scripts without spaces between words: every character counts as one.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}][^\W{_UNSPACED}]*")

# Text that another program fills in before anybody reads it (`{{ … }}`, `{% … %}`). What holds
# tags is none: a page must not hide its own links between braces.
_SIGNS = (
    *((r"\{\{", r"\}\}"), (r"\{%", r"%\}"), (r"\{#(?![\w-]+\})", r"#\}")),
    *(("<%", "%>"), (r"<\?(?:php|=)", r"\?>"), (r"\$\{", r"\}")),
)
_FILLED_IN = re.compile(
    "|".join(rf"{a}(?:(?!{b}|<[a-zA-Z/!])[\s\S]){{0,400}}{b}" for a, b in _SIGNS)
)
_FILLER = "\ue000"
_FILLED_TARGET = re.compile(r"\{\{|\{%|<%|\$\{|" + _FILLER)

# element → attributes that name a part of the page; `<a>` and the like name another page
_ASSETS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("script", "img", "source", "audio", "track", "embed", "input"), ("src",)),
    **dict.fromkeys(("image", "use"), ("href", "xlink:href")),
    "link": ("href",),
    "video": ("src", "poster"),
    "object": ("data",),
}
_LINKS = {"a": ("href",), "area": ("href",), "iframe": ("src",), "frame": ("src",)}
# Relations of <link> that name a part of the page.
_FETCHED = frozenset(
    {"stylesheet", "icon", "apple-touch-icon", "mask-icon", "manifest", "preload", "modulepreload"}
)
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
# Read by nobody as the page's own content: inert, or the same on every page.
_UNSEEN = frozenset({"template", "noscript", "nav", "footer", "datalist"})
_SHOWING = frozenset(
    {"img", "svg", "canvas", "video", "audio", "iframe", "object", "embed", "form", "script"}
)
_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})
_HIDING = re.compile(
    r"(?:^|;)(?:display:none|visibility:hidden|opacity:0(?:\.0*)?(?:;|$|!)|font-size:0(?!\.?\d))"
)
_REFRESH = re.compile(r"^[\s\d.]*[;,]?\s*(?:url\s*=\s*)?[\"']?([^\"']*)", re.IGNORECASE)

_EMBEDDED = re.compile(r"data:[\w/+.-]{1,60};base64,[A-Za-z0-9+/=]+")
_FRONTMATTER = re.compile(
    r"\A---[ \t]*\n(?:(?!---[ \t]*$|\.\.\.[ \t]*$).*\n)*(?:---|\.\.\.)[ \t]*$", re.MULTILINE
)
# To CommonMark `[^1]: note` defines a link to `note`.
_FOOTNOTE = re.compile(r"^([ \t>]{0,20})\[(\^[^\[\]\n]{1,200}\]:)", re.MULTILINE)
_OF_WORDS = ("L", "M", "Nd", "Nl", "Pc")
_OWN_ANCHOR = re.compile(r"\{\s*#([\w.:-]{1,200})[^{}\n]{0,200}\}\s*$")


class PageLink(NamedTuple):
    """A target as it is written, and where; an asset is a part of the page."""

    target: str
    line: int
    is_asset: bool = False


class Page(Struct):
    """A parsed page; `shows` says if there is anything to see, words or not."""

    links: list[PageLink] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    remarks: list[FileFinding] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # what a reader sees, piece by piece
    sections: list[bool] = field(default_factory=list)  # below the title; whether text follows
    shows: bool = False
    base: str = ""
    template: bool = False  # something in it is filled in before anybody reads it

    def words(self) -> list[str]:
        """The words of all texts; those that occur twice count once: padding is no content."""
        texts = dict.fromkeys(" ".join(text.split()) for text in self.texts)
        return [word for text in texts for word in _WORD.findall(text.lower())]


def is_template(text: str) -> bool:
    """True when something in it is filled in later."""
    return _FILLED_IN.search(text) is not None


def is_filled_in(target: str) -> bool:
    """True when a link's target is known only once it is filled in."""
    return _FILLED_TARGET.search(target) is not None


def read_html(subject: CheckedFile, text: str) -> Page:
    """Read the page that browsers would make of it."""
    masked = _FILLED_IN.sub(lambda found: re.sub(r"[^\n]", _FILLER, found[0]), text)
    reader = _HtmlReader(subject)
    reader.page.template = reader.page.shows = _FILLER in masked
    reader.read(masked)
    return reader.page


class _HtmlReader(HTMLParser):
    """Collects tag by tag.

    `close()` is never called: before Python 3.11.14 it takes minutes for 200 kB of unclosed
    comments, and what is left without it is what browsers do not show either.
    """

    # Their content is text up to their own end tag, whatever it looks like.
    CDATA_CONTENT_ELEMENTS = tuple(  # type: ignore[misc]
        "script style textarea title xmp iframe noembed noframes".split()  # noqa: SIM905
    )

    def __init__(self, subject: CheckedFile) -> None:
        super().__init__()
        self.page = Page()
        self._subject = subject
        self._in_heading = False
        # The unseen element we are in, and how many of its name are open.
        self._unseen: tuple[str, int] | None = None

    def read(self, text: str) -> None:
        """Take the whole page; what stands behind markup that never ends is lost."""
        cut = ""
        try:
            self.feed(text)
        except AssertionError:  # the parser's answer to a declaration that is none
            cut = "<!["
        left = re.match(r"<(?:!-{0,2}|[?/]?\w+)", self.rawdata)
        if self.cdata_elem:
            cut = f"<{self.cdata_elem}>"
        elif left:
            cut = left[0]
        elif not cut:
            self.handle_data(unescape(self.rawdata))
        if cut:
            said = f"`{cut}` never ends, so nothing behind it is shown"
            found = self._subject.finding("broken-html", said, "close it", self.getpos()[0])
            self.page.remarks.append(replace(found, about=cut))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem or self._unseen:
            return
        self.page.texts.append(data)
        if self.page.sections and not self._in_heading and data.strip():
            self.page.sections[-1] = True

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # Of two attributes with one name the first counts.
        attributes = {name: value or "" for name, value in reversed(attrs)}
        named = (attributes.get("id", ""), attributes.get("name", "") if tag == "a" else "")
        self.page.anchors |= {name for name in named if name and _FILLER not in name}
        line = self.getpos()[0]
        targets = [PageLink(target, line, asset) for target, asset in _targets(tag, attributes)]
        self.page.links += targets
        if tag == "base" and not self.page.base:
            self.page.base = attributes.get("href", "").strip()
        # A page that sends readers on at once needs nothing to show.
        self.page.shows = self.page.shows or (tag == "meta" and bool(targets))
        if self._unseen is not None:
            name, depth = self._unseen
            self._unseen = (name, depth + (tag == name))
        elif tag not in _VOID and _is_unseen(tag, attributes):
            self._unseen = (tag, 1)
        elif tag in _SHOWING and not re.search("json|template", attributes.get("type", "").lower()):
            self.page.shows = True
        if tag in _HEADINGS and self._unseen is None:
            self._in_heading = True
            self.page.sections.append(False)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen is not None:
            name, depth = self._unseen
            depth -= tag == name
            self._unseen = (name, depth) if depth else None
        elif tag in _HEADINGS:
            self._in_heading = False


def _targets(tag: str, attributes: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Targets of a tag; True beside those that are a part of the page."""
    if tag != "link" or _FETCHED & set(attributes.get("rel", "").lower().split()):
        for name in (*_LINKS.get(tag, ()), *_ASSETS.get(tag, ())):
            if name in attributes:
                yield attributes[name], tag in _ASSETS
    for target in _srcset(attributes.get("srcset", "") if tag in ("img", "source") else ""):
        yield target, True
    if tag == "meta" and attributes.get("http-equiv", "").lower() == "refresh":
        found = _REFRESH.match(attributes.get("content", ""))
        if found and found[1].strip():
            yield found[1], False


def _srcset(value: str) -> Iterator[str]:
    """The addresses of a `srcset`; commas separate only behind an address or its descriptors."""
    rest = value
    while rest := rest.lstrip(" \t\n\r\f,"):
        target, *more = rest.split(None, 1)
        rest = more[0] if more else ""
        yield target.rstrip(",")
        if not target.endswith(","):
            rest = rest.partition(",")[2]


def _is_unseen(tag: str, attributes: Mapping[str, str]) -> bool:
    style = "".join(attributes.get("style", "").lower().split())
    hidden = "hidden" in attributes or attributes.get("aria-hidden", "").lower() == "true"
    return tag in _UNSEEN or hidden or _HIDING.search(style) is not None


def read_markdown(subject: CheckedFile, text: str) -> Page:
    """Read the page that GitHub would make of it, for as long as that takes no more than it may."""
    text = _FRONTMATTER.sub(lambda found: "\n" * found[0].count("\n"), text)
    text = _FOOTNOTE.sub(r"\1\\[\2", _EMBEDDED.sub("data:", text))
    page, titles, environment = Page(), list[str](), dict[str, Any]()
    # Paragraphs are read one by one: a long one must not hold up the others.
    parser = MarkdownIt("commonmark").enable("table").disable("inline")
    line, heading, deadline = 1, "", time.monotonic() + READING_S
    for token in parser.parse(text, environment):
        line = token.map[0] + 1 if token.map else line
        if token.type == "heading_open":
            heading = token.tag
        elif token.type == "html_block":
            _add_html(page, token.content, line)
        elif token.type in ("fence", "code_block"):
            page.shows = True
        elif token.type != "inline":
            continue
        elif time.monotonic() > deadline or len(token.content) > LONGEST_PARAGRAPH:
            said = f"a paragraph is too long to read (more than {LONGEST_PARAGRAPH} characters)"
            page.remarks.append(subject.finding("too-complex", said, "break it up", line))
        else:
            children: list[Token] = []
            parser.inline.parse(token.content, parser, environment, children)
            shown = parser.renderer.render(children, parser.options, environment)
            said = "".join(_add_html(page, shown, line).texts)
            page.texts.append(said)
            titles += [said] if heading else []
            if heading and heading != "h1":
                page.sections.append(False)
            elif not heading and page.sections and said.strip():
                page.sections[-1] = True
            heading = ""
    page.anchors |= heading_anchors(titles)
    page.anchors |= {own[1] for title in titles if (own := _OWN_ANCHOR.search(title))}
    return page


def _add_html(page: Page, text: str, line: int) -> Page:
    """Add what a piece of HTML refers to and shows; the piece as a page of its own."""
    inside = read_html(CheckedFile(""), text)
    page.anchors |= inside.anchors
    page.shows = page.shows or inside.shows
    page.links += [link._replace(line=link.line + line - 1) for link in inside.links]
    return inside


def heading_anchors(titles: Iterable[str]) -> set[str]:
    """The anchors that GitHub makes; the second `intro` is `intro-1`, past those that are taken."""
    taken: dict[str, int] = {}
    for title in titles:
        kinds = ((c, unicodedata.category(c)) for c in title.strip().lower())
        kept = (c for c, kind in kinds if c in " -" or kind.startswith(_OF_WORDS))
        first = slug = "".join(kept).replace(" ", "-")
        while slug in taken:
            taken[first] += 1
            slug = f"{first}-{taken[first]}"
        taken[slug] = 0
    return set(taken)
