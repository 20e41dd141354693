"""Templates: text that another program fills in before anybody reads it (`{{ … }}`, `{% … %}`)."""

from __future__ import annotations

import re

LONGEST = 2_000  # of one expression; what is longer is no expression
FILLED_IN = "\ue000"
"""Stands for every character that is filled in later."""

_CLOSE = {"{{": "}}", "{%": "%}", "{#": "#}", "<%": "%>", "<?": "?>", "${": "}"}
_OPEN = re.compile(r"\{\{|\{%|\{#(?![\w-]+\})|<%|<\?(?:php|=)|\$\{")
_MARKUP = re.compile(r"<[a-zA-Z/!]")
_WRITTEN = re.compile(r"\{\{|\{%|<%|\$\{|" + FILLED_IN)


def mask(text: str) -> str:
    """The text with its expressions blanked, every line where it was.

    What holds tags is left as it is: a page must not hide its own links between braces.
    """
    pieces, done, at, gone = list[str](), 0, 0, set[str]()
    while found := _OPEN.search(text, at):
        sign = found.group()[:2]
        at = found.end()
        end = -1 if sign in gone else text.find(_CLOSE[sign], at)
        if end < 0:
            gone.add(sign)
            continue
        inside = text[at : end if end - at <= LONGEST else at]
        if end - at > LONGEST or _MARKUP.search(inside):
            continue
        at = end + len(_CLOSE[sign])
        pieces += [text[done : found.start()], _blank(text[found.start() : at])]
        done = at
    return "".join((*pieces, text[done:]))


def is_template(text: str) -> bool:
    """Whether something in it is filled in later."""
    return FILLED_IN in mask(text)


def is_filled_in(target: str) -> bool:
    """Whether a link's target is known only once it is filled in."""
    return _WRITTEN.search(target) is not None


def _blank(text: str) -> str:
    return "".join("\n" if sign == "\n" else FILLED_IN for sign in text)
