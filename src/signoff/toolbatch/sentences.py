"""What a text asks for, file by file: which are to be made, which to be changed, which only named.

Create these pages in site/:          site/ is made, and what the list below it names
- index.html                          in site/
Write tests for app.py in test_a.py   test_a.py is made, app.py only spoken of
Add type hints to app.py              app.py is changed
Fix the bug in app.py                 nobody knows which file that takes
Do not create b.py                    nothing is made

Where it is not plain, nothing is wanted: a file that nobody asked for would be asked of the model
again and again, and one that is missed is only not asked for.
"""

from __future__ import annotations

import re

from signoff.toolbatch.clauses import Sentence, Wanted, Wish
from signoff.toolbatch.pathwords import tokens_in
from signoff.toolbatch.wordings import LONGEST_READ

__all__ = ["Wanted", "Wish", "wanted_in"]

_LIST_LINE = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|\[[ xX]\])\s+(?:\[[ xX]\]\s+)?")
_BARE_PATH = re.compile(r"\s*\S{1,400}\s*")
_FENCE = re.compile(r"\s*(?:```|~~~)")


def wanted_in(text: str) -> tuple[Wanted, ...]:
    """Everything that a text asks for, in its order; what it says is not to be touched is not."""
    found: list[Wanted] = []
    spared: set[str] = set()
    head, fenced = Sentence(), False
    for line in text[:LONGEST_READ].split("\n"):
        if _FENCE.match(line):
            fenced = not fenced
        if fenced or not line.strip() or line.lstrip().startswith((">", "```", "~~~")):
            continue
        mark = _LIST_LINE.match(line)
        in_list = mark is not None or _is_bare_path(line)
        sentence = head.for_its_list() if in_list else Sentence()
        found += sentence.read(line[mark.end() :] if mark else line)
        spared |= sentence.spared
        if line.rstrip(" *_").endswith(":"):
            head = sentence.as_head(line)
        elif not in_list:
            head = Sentence()
    return tuple(wanted for wanted in found if wanted.path not in spared)


def _is_bare_path(line: str) -> bool:
    if not _BARE_PATH.fullmatch(line):
        return False
    tokens = list(tokens_in(line))
    return bool(tokens) and bool(tokens[0].path) and not tokens[0].ends
