"""Where CommonMark's seven kinds of HTML blocks start and end: headings inside them are hidden."""

from __future__ import annotations

import re
from typing import NamedTuple

_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|"
    "dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|"
    "head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|"
    "p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul"
)
_ATTRIBUTE = (
    r"(?:\s+[A-Za-z_:][A-Za-z0-9:._-]*"
    r"(?:\s*=\s*(?:[^\"'=<>`\x00-\x20]+|'[^']*'|\"[^\"]*\"))?)"
)
_OPEN_TAG = rf"<[A-Za-z][A-Za-z0-9-]*{_ATTRIBUTE}*\s*/?>"
_CLOSE_TAG = r"</[A-Za-z][A-Za-z0-9-]*\s*>"


class HtmlKind(NamedTuple):
    """How one kind of block starts, how it ends, and whether it may end a paragraph."""

    start: re.Pattern[str]
    # None: the block ends before the next blank line.
    end: re.Pattern[str] | None
    interrupts: bool = True


_KINDS = (
    HtmlKind(
        re.compile(r"<(?:script|pre|textarea|style)(?:\s|>|$)", re.I),
        re.compile(r"</(?:script|pre|textarea|style)>", re.I),
    ),
    HtmlKind(re.compile(r"<!--"), re.compile(r"-->")),
    HtmlKind(re.compile(r"<\?"), re.compile(r"\?>")),
    HtmlKind(re.compile(r"<![A-Za-z]"), re.compile(r">")),
    HtmlKind(re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    HtmlKind(re.compile(rf"</?(?:{_BLOCK_TAGS})(?:\s|/?>|$)", re.I), None),
    HtmlKind(re.compile(rf"(?:{_OPEN_TAG}|{_CLOSE_TAG})\s*$"), None, interrupts=False),
)


def html_kind(body: str, in_paragraph: bool) -> HtmlKind | None:
    """The kind of HTML block that a line starts, if it starts one."""
    for kind in _KINDS:
        if kind.start.match(body) and (kind.interrupts or not in_paragraph):
            return kind
    return None
