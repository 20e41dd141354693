"""Paths in plain words: which files and folders a text names, and which of them it wants made.

Create these pages in site/:          site/ is made, and what the list below it names
- index.html                          in site/
Write tests for app.py in test_a.py   test_a.py is made, app.py only spoken of
Do not create b.py                    nothing is made
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from signoff.toolbatch.wordings import (
    ARTICLES,
    ASKS,
    LONGEST_READ,
    MAKES,
    MOSTLY_NOUNS,
    VERBS,
    WORD,
    words,
)

_REFERS = words(
    "from of for about using like via per after before than against without except instead"
)
_PARTS = words("all each both any some rest")  # of what follows, which is meant itself
_TARGETS = words("in to into as at called named with under inside containing")
_PLACES = words("in inside under into within")  # before a folder: what came before lies in it
_HOLDS = words("with containing holding")  # behind a folder: what comes lies in it
_NO_STOPS = words("e.g. i.e. etc. vs.")
_NEGATES = words("not never don't dont don’t doesn't no")

_SUFFIXES = words(
    "html htm css scss js mjs cjs ts tsx jsx json md mdx rst txt py pyi ipynb rb rs go java kt c h"
    " cc cpp hpp cs sh bash toml yaml yml ini cfg conf xml svg csv tsv sql php vue svelte tex pdf"
    " png jpg jpeg gif webp ico lock proto swift scala lua jl pl ps1 bat gradle tf log docx xlsx"
)
_WITHOUT_SUFFIX = words("Makefile Dockerfile Procfile .gitignore")
# Products with the name of a file.
_NOT_FILES = words(
    "node.js next.js vue.js nuxt.js express.js react.js three.js d3.js chart.js alpine.js ember.js"
)
_TOKEN = re.compile(
    r"`(?P<ticked>[^`\n]{1,400})`"
    r"|\"(?P<quoted>[^\"\n]{1,400})\""
    r"|(?P<plain>[^\s`\"();,!?:<>|\[\]]+)"
    r"|(?P<stop>[;!?])"
)
_SUFFIX = re.compile(r".*[^./]\.([A-Za-z][A-Za-z0-9]{0,9})")
_LIST_LINE = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|\[[ xX]\])\s")


def paths_in(text: str) -> Iterator[str]:
    """Everything in a text that reads like a file or folder."""
    for token in _TOKEN.finditer(text[:LONGEST_READ]):
        path = _path_of(token)
        if path:
            yield path


def paths_to_make(text: str) -> Iterator[str]:
    """The files and folders that a text says are to be made, not those it only speaks of."""
    head = _Sentence()
    for line in text[:LONGEST_READ].split("\n"):
        if not line.strip():
            continue
        in_list = _LIST_LINE.match(line) is not None
        sentence = _Sentence(head.makes, head.makes, head.folder) if in_list else _Sentence()
        yield from sentence.read(_LIST_LINE.sub("", line, count=1))
        if line.rstrip().endswith(":"):
            head = _Sentence(sentence.makes, sentence.verb_makes, sentence.folder)
        elif not in_list:
            head = _Sentence()


@dataclass
class _Sentence:
    """What the words read so far do with the paths that come."""

    makes: bool = False
    verb_makes: bool = False
    folder: str = ""  # what comes lies in it
    found: list[str] = field(default_factory=list)
    negated: bool = False
    before: str = ""  # the word before
    last: str = ""  # the folder named last

    def read(self, line: str) -> Iterator[str]:
        """The paths of a line that are to be made."""
        for token in _TOKEN.finditer(line):
            path = _path_of(token)
            plain = token["plain"] or ""
            if path:
                self._name(path)
            elif plain:
                for word in WORD.findall(plain.casefold()):
                    self._word(word)
            if token["stop"] or (plain.endswith(".") and plain not in _NO_STOPS):
                yield from self.found
                self._end()
        yield from self.found

    def _end(self) -> None:
        """The next sentence knows nothing of this one."""
        self.makes = self.verb_makes = self.negated = False
        self.folder = self.before = self.last = ""
        self.found = []

    def _name(self, path: str) -> None:
        if path.endswith("/"):
            if self.makes and self.before in _PLACES:
                self.found = [_below(path, name) for name in self.found]
                self.folder = path
            self.last = path
        if self.makes:
            whole = path if path.endswith("/") else _below(self.folder, path)
            self.found.append(whole)
        self.before = ""

    def _word(self, word: str) -> None:
        noun = self.before in ARTICLES
        asked = not self.before or self.before in ASKS
        if word in _NEGATES:
            self.negated = True
        elif word in VERBS and not noun and (asked or word not in MOSTLY_NOUNS):
            self.makes = self.verb_makes = word in MAKES and not self.negated
            self.negated = False
            self.folder = ""
        elif word in _REFERS and self.before not in _PARTS:
            self.makes = False
        elif word in _TARGETS:
            self.makes = self.verb_makes
            if word in _HOLDS and self.last:
                self.folder = self.last
        self.before = word


def _below(folder: str, path: str) -> str:
    """A bare name lies in the folder; a path that has one of its own stays."""
    return path if not folder or path.startswith((folder, "/", ".")) else f"{folder}{path}"


def _path_of(token: re.Match[str]) -> str:
    """The path in a token, or nothing; what is in ticks or has a slash may have any suffix."""
    marked = token["ticked"] or token["quoted"] or ""
    text = marked.strip() or (token["plain"] or "").rstrip(".'’-")
    name = text.rstrip("/").rpartition("/")[2]
    if not name or any(c.isspace() or c in "|<>;&()=" for c in text):
        return ""
    if text.casefold() in _NOT_FILES or "//" in text:
        return ""
    if (text.endswith("/") and name.strip(".")) or name in _WITHOUT_SUFFIX:
        return text
    suffix = _SUFFIX.fullmatch(name)
    if suffix is None:
        return ""
    return text if marked or "/" in text or suffix[1].lower() in _SUFFIXES else ""
