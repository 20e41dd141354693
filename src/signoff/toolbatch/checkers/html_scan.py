"""HTML cut into tags and text in one pass over it, however broken it is.

Not `html.parser`: before 3.11.14 it takes minutes for 200 kB of unclosed comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape

_NAME = re.compile(r"[a-zA-Z][^\s/>]*")
_ATTRIBUTE = re.compile(
    r"""[\s/]*(=?[^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|(["'])|([^\s>]*)))?""", re.DOTALL
)
# Elements whose content is text up to their own end tag, whatever it looks like.
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes")
}


@dataclass(frozen=True)
class Tag:
    """A start or end tag, names in lower case, character references resolved."""

    name: str
    offset: int
    closing: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Text:
    """What stands between tags; `raw` is the inside of a script, a style or the like."""

    text: str
    offset: int
    raw: bool = False


@dataclass(frozen=True)
class Cut:
    """The page ends inside something, so that browsers show nothing of what follows."""

    what: str
    offset: int


def scan_html(text: str) -> Iterator[Tag | Text | Cut]:
    """Every tag and every text, in order."""
    at, end = 0, len(text)
    while at < end:
        opening = text.find("<", at)
        if opening < 0:
            yield Text(unescape(text[at:]), at)
            return
        if opening > at:
            yield Text(unescape(text[at:opening]), at)
        found, at = _markup(text, opening)
        if found is None:
            continue
        yield found
        if isinstance(found, Tag) and not found.closing and found.name in _RAW:
            close = _RAW[found.name].search(text, at)
            stop = close.start() if close else end
            yield Text(text[at:stop], at, raw=True)
            if close is None:
                yield Cut(f"<{found.name}>", found.offset)
            at = stop


def _markup(text: str, at: int) -> tuple[Tag | Text | Cut | None, int]:
    """What begins at a `<`, and where it ends."""
    if text.startswith("<!--", at):
        close = text.find("-->", at + 2)
        return (Cut("<!--", at), len(text)) if close < 0 else (None, close + 3)
    if text.startswith(("<!", "<?"), at):
        close = text.find(">", at)
        return (Cut(text[at : at + 2], at), len(text)) if close < 0 else (None, close + 1)
    closing = text.startswith("/", at + 1)
    name = _NAME.match(text, at + 2 if closing else at + 1)
    if name is None:
        return Text("<", at), at + 1
    return _tag(text, at, name.group().lower(), closing, name.end())


def _tag(text: str, start: int, name: str, closing: bool, at: int) -> tuple[Tag | Cut, int]:
    attributes: dict[str, str] = {}
    while True:
        found = _ATTRIBUTE.match(text, at)
        assert found is not None  # every part of the pattern is optional
        key, double, single, unclosed, bare = found.groups()
        if unclosed or found.end() >= len(text):
            # The end of the file inside a tag: browsers drop it.
            return Cut(f"<{name}", start), len(text)
        at = found.end()
        if key:
            # Of two attributes with one name the first counts.
            attributes.setdefault(key.lower(), unescape(double or single or bare or ""))
        if text[at] == ">":
            return Tag(name, start, closing, attributes), at + 1
        if not key and not found.group():
            at += 1
