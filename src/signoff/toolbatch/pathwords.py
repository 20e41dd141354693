"""Paths in plain words: which parts of a text read like a file or folder, and which never are.

calc.py, docs/spec.md, site/          read like one
`json.loads`, example.com, Node.js    do not, also in ticks: a suffix has to be known, or a slash
https://a.example/b.html, me@a.py     never
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from signoff.toolbatch.wordings import LONGEST_READ, words

_SUFFIXES = words(
    "html htm css scss js mjs cjs ts tsx jsx json jsonl md mdx rst txt py pyi ipynb rb rs go java"
    " kt c h cc cpp hpp cs sh bash toml yaml yml ini cfg conf xml svg csv tsv sql php vue svelte"
    " tex pdf png jpg jpeg gif webp ico lock proto swift scala lua jl pl ps1 bat gradle tf log docx"
    " xlsx"
)
_WITHOUT_SUFFIX = words("Makefile Dockerfile Procfile .gitignore")
# Products, functions and attributes with the name of a file.
_NOT_FILES = words(
    "node.js next.js vue.js nuxt.js express.js react.js three.js d3.js chart.js alpine.js ember.js"
    " angular.js backbone.js moment.js p5.js nest.js electron.js discord.py web.py console.log"
    " math.log np.log numpy.log torch.log logger.log logging.log threading.lock asyncio.lock"
    " docs.rs bun.sh"
)
_OWNERS = words("self this cls window document process module exports os sys re json")
_HOST = re.compile(r"(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|app|edu|gov|example|test|ai|co|uk|de)")
_SED = re.compile(r"[sy]/.*/")
_TOKEN = re.compile(
    r"(?P<skip>[A-Za-z][\w+.-]{0,30}://\S+|[\w.+-]{1,100}@[\w.-]{1,200}|\]\([^)\n]{0,400}\)"
    r"|[\w.-]{1,200}:\d{2,5}\b(?:/\S*)?)"
    r"|`(?P<ticked>[^`\n]{1,400})`"
    r"|\"(?P<quoted>[^\"\n]{1,400})\""
    r"|(?P<plain>[^\s`\"();,!?:<>|\[\]]+)"
    r"|(?P<mark>[;!?,:()])"
)
_SUFFIX = re.compile(r".*[^./]\.([A-Za-z][A-Za-z0-9]{0,9})")
_NO_STOPS = words("e.g. i.e. etc. vs. cf.")
_DASHES = frozenset({"-", "--", "–", "—"})


class Token(NamedTuple):
    """A part of a text: a path, other text, or a mark (`, ; ! ? : ( ) -`); `ends`: a full stop."""

    path: str = ""
    text: str = ""
    mark: str = ""
    ends: bool = False


def tokens_in(text: str) -> Iterator[Token]:
    """A text in parts; addresses, and what is quoted and no path, are left out."""
    for found in _TOKEN.finditer(text):
        plain = found["plain"] or ""
        path = "" if found["skip"] else _path_of(found)
        ends = plain.endswith(".") and plain.casefold() not in _NO_STOPS
        if path:
            yield Token(path, ends=ends)
        elif plain in _DASHES:
            yield Token(mark="-")
        elif plain:
            yield Token(text=plain.casefold(), ends=ends)
        elif found["mark"]:
            yield Token(mark=found["mark"])
        else:
            yield Token(text="…")  # something that has a name: no verb, no path


def paths_in(text: str) -> Iterator[str]:
    """Everything in a text that reads like a file or folder."""
    return (token.path for token in tokens_in(text[:LONGEST_READ]) if token.path)


def _path_of(token: re.Match[str]) -> str:
    """The path in a token, or nothing."""
    marked = token["ticked"] or token["quoted"] or ""
    text = marked.strip() or (token["plain"] or "").strip("'’*").rstrip(".'’-*")
    name = text.rstrip("/").rpartition("/")[2]
    if not name or any(c.isspace() or c in "|<>;&()=@" for c in text) or "//" in text:
        return ""
    if (text.endswith("/") and name.strip(".")) or name in _WITHOUT_SUFFIX:
        return text if _may_be_folder(text) else ""
    suffix = _SUFFIX.fullmatch(name)
    if suffix is None or _is_something_else(text):
        return ""
    known = suffix[1].lower() in _SUFFIXES
    return text if known or ("/" in text and suffix[1].islower()) else ""


def _may_be_folder(text: str) -> bool:
    """`w/` and `s/a/b/` only look like folders."""
    return len(text) > 2 and not _SED.fullmatch(text) and not _is_something_else(text)


def _is_something_else(text: str) -> bool:
    """A product, an attribute or the name of a host."""
    owner = text.partition(".")[0]
    if text.casefold() in _NOT_FILES or ("/" not in text and owner in _OWNERS):
        return True
    return _HOST.fullmatch(text.partition("/")[0].casefold()) is not None
