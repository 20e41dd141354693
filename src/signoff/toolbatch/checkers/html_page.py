"""HTML to `Page`: references, ids, and the words that a reader would see."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from signoff.toolbatch.checkers.finding import Severity
from signoff.toolbatch.checkers.html_scan import Cut, Tag, Text, scan_html
from signoff.toolbatch.checkers.page import Page, Reference, Remark, Use
from signoff.toolbatch.checkers.templates import FILLED_IN, mask
from signoff.toolbatch.checkers.texts import Lines, count_words

# element → attribute → what it is for
_REFERENCES: Mapping[str, Mapping[str, Use]] = {
    "a": {"href": Use.LINK},
    "area": {"href": Use.LINK},
    "iframe": {"src": Use.LINK},
    "frame": {"src": Use.LINK},
    "link": {"href": Use.ASSET},
    "script": {"src": Use.ASSET},
    "img": {"src": Use.ASSET},
    "source": {"src": Use.ASSET},
    "video": {"src": Use.ASSET, "poster": Use.ASSET},
    "audio": {"src": Use.ASSET},
    "track": {"src": Use.ASSET},
    "embed": {"src": Use.ASSET},
    "object": {"data": Use.ASSET},
    "input": {"src": Use.ASSET},
    "image": {"href": Use.ASSET, "xlink:href": Use.ASSET},
    "use": {"href": Use.ASSET, "xlink:href": Use.ASSET},
}
# Relations of <link> that name a page, or nothing that is fetched.
_PAGES = frozenset({"canonical", "alternate", "next", "prev", "author", "license", "help"})
_NOT_FETCHED = frozenset({"preconnect", "dns-prefetch"})
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
_INLINE = frozenset(
    "a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark q s samp small span"  # noqa: SIM905
    " strong sub sup time tt u var wbr".split()
)
# Read by nobody as the page's own content: inert, or the same on every page.
_UNSEEN = frozenset({"template", "noscript", "nav", "footer", "datalist"})
_SHOWING = frozenset(
    {"img", "svg", "canvas", "video", "audio", "iframe", "object", "embed", "form"}
)
_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})
_HIDING = re.compile(
    r"(?:^|;)(?:display:none|visibility:hidden|opacity:0(?:\.0*)?(?:;|$|!)|font-size:0(?!\.?\d))"
)
_REFRESH = re.compile(r"^[\s\d.]*[;,]?\s*(?:url\s*=\s*)?[\"']?([^\"']*)", re.IGNORECASE)


def read_html(text: str) -> Page:
    """The page that browsers would make of it."""
    masked = mask(text)
    reader = _Reader(Lines(masked), FILLED_IN in masked)
    for part in scan_html(masked):
        reader.take(part)
    return reader.page()


class _Reader:
    """Collects what is said tag by tag."""

    def __init__(self, lines: Lines, template: bool):
        self._lines, self._template = lines, template
        self._references: list[Reference] = []
        self._remarks: list[Remark] = []
        self._ids: dict[str, int] = {}
        self._base = ""
        self._shows = False
        self._blocks: list[str] = []
        self._block: list[str] = []
        self._sections: list[int] = []
        self._heading = False
        # The unseen element we are in, and how many of its name are open.
        self._unseen: tuple[str, int] | None = None

    def take(self, part: Tag | Text | Cut) -> None:
        """One tag, text or cut."""
        if isinstance(part, Text):
            self._text(part)
        elif isinstance(part, Cut):
            self._remarks.append(
                Remark(
                    "broken-html",
                    self._lines.at(part.offset),
                    f"`{part.what}` never ends, so nothing behind it is shown",
                    "close it",
                    about=part.what,
                )
            )
        else:
            self._tag(part)

    def page(self) -> Page:
        """What was collected."""
        self._end_block()
        count = count_words(self._blocks)
        return Page(
            tuple(self._references),
            frozenset(self._ids),
            count.words,
            count.different,
            sum(words > 0 for words in self._sections),
            self._shows or self._template or count.words > 0,
            self._base,
            tuple(self._remarks),
            self._template,
        )

    def _text(self, part: Text) -> None:
        if part.raw or self._unseen is not None:
            return
        self._block.append(part.text)
        if self._sections and not self._heading and part.text.strip():
            self._sections[-1] += 1

    def _tag(self, tag: Tag) -> None:
        if tag.name not in _INLINE:
            self._end_block()
        if not tag.closing:
            self._identify(tag)
            self._refer(tag)
        self._hide(tag)
        if tag.name in _HEADINGS and self._unseen is None:
            self._heading = not tag.closing
            if not tag.closing:
                self._sections.append(0)

    def _end_block(self) -> None:
        if self._block:
            self._blocks.append("".join(self._block))
            self._block = []

    def _hide(self, tag: Tag) -> None:
        """Enter and leave what nobody sees; nested elements of the same name are counted."""
        if self._unseen is not None:
            name, depth = self._unseen
            if tag.name == name:
                depth += -1 if tag.closing else 1
                self._unseen = (name, depth) if depth else None
        elif not tag.closing and tag.name not in _VOID and _is_unseen(tag):
            self._unseen = (tag.name, 1)
        elif not tag.closing and (
            tag.name in _SHOWING or (tag.name == "script" and not _is_data(tag))
        ):
            self._shows = True

    def _identify(self, tag: Tag) -> None:
        names = [tag.attributes.get("id", "")]
        if tag.name == "a":
            names.append(tag.attributes.get("name", ""))
        for name in dict.fromkeys(name for name in names if name and FILLED_IN not in name):
            line = self._lines.at(tag.offset)
            if name in self._ids and name == names[0]:
                self._remarks.append(
                    Remark(
                        "duplicate-id",
                        line,
                        f"id `{name}` is taken since line {self._ids[name]}",
                        "give each element an id of its own",
                        Severity.WARNING,
                        name,
                    )
                )
            self._ids.setdefault(name, line)

    def _refer(self, tag: Tag) -> None:
        line = self._lines.at(tag.offset)
        if tag.name == "base" and not self._base:
            self._base = tag.attributes.get("href", "").strip()
        for target, use in _targets(tag):
            self._references.append(Reference(target, line, use))
            # A page that sends readers on at once needs nothing to show.
            self._shows = self._shows or tag.name == "meta"


def _targets(tag: Tag) -> Iterator[tuple[str, Use]]:
    for attribute, use in _REFERENCES.get(tag.name, {}).items():
        if attribute in tag.attributes:
            relations = set(tag.attributes.get("rel", "").lower().split())
            if tag.name == "link" and relations & _NOT_FETCHED:
                continue
            page = tag.name == "link" and relations & _PAGES and "stylesheet" not in relations
            yield tag.attributes[attribute], Use.LINK if page else use
    if tag.name in ("img", "source") and "srcset" in tag.attributes:
        for target in srcset_targets(tag.attributes["srcset"]):
            yield target, Use.ASSET
    if tag.name == "link" and "imagesrcset" in tag.attributes:
        for target in srcset_targets(tag.attributes["imagesrcset"]):
            yield target, Use.ASSET
    if tag.name == "meta" and tag.attributes.get("http-equiv", "").lower() == "refresh":
        found = _REFRESH.match(tag.attributes.get("content", ""))
        if found and found.group(1).strip():
            yield found.group(1), Use.LINK


def srcset_targets(value: str) -> Iterator[str]:
    """The addresses of a `srcset`; commas separate only behind an address or its descriptors."""
    rest = value
    while rest := rest.lstrip(" \t\n\r\f,"):
        target, _, rest = _cut_at_space(rest)
        if target.endswith(","):
            yield target.rstrip(",")
        else:
            yield target
            rest = rest.partition(",")[2]


def _cut_at_space(text: str) -> tuple[str, str, str]:
    parts = text.split(None, 1)
    return parts[0], " ", parts[1] if len(parts) > 1 else ""


def _is_unseen(tag: Tag) -> bool:
    style = "".join(tag.attributes.get("style", "").lower().split())
    return (
        tag.name in _UNSEEN
        or "hidden" in tag.attributes
        or tag.attributes.get("aria-hidden", "").lower() == "true"
        or _HIDING.search(style) is not None
    )


def _is_data(tag: Tag) -> bool:
    kind = tag.attributes.get("type", "").lower()
    return "json" in kind or "template" in kind
