"""The page on what goes wrong quotes messages that signoff really prints."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.docs.book import TOP, prose

PAGE = TOP / "docs" / "how-to" / "when-something-goes-wrong.md"
GAP = "…"
_ROW = re.compile(r"^\| (?P<ticks>`+)(?P<message>.+?)(?P=ticks) \|", re.M)
# Rows about a command, not about a message.
QUOTED = [m["message"].strip() for m in _ROW.finditer(prose(PAGE)) if "signoff " not in m[0][:12]]


def _texts() -> Iterator[str]:
    """Every text of the source, with a gap where a value is filled in."""
    for file in (TOP / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else GAP for p in node.values)
                yield "".join(map(str, parts))


TEXTS = "\n".join(_texts())


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_is_one_of_the_source(message: str) -> None:
    pieces = [p.strip(" ,") for p in message.split(GAP) if len(p.strip(" `.:;,()[]")) > 2]
    assert pieces, message
    for piece in pieces:
        assert _is_said(piece), piece


def _is_said(piece: str) -> bool:
    """As it is, or with one word of it filled in from another text."""
    words = piece.split(" ")
    cuts = ((" ".join(words[:i]), " ".join(words[i:])) for i in range(1, len(words)))
    return piece in TEXTS or any(a in TEXTS and b in TEXTS for a, b in cuts)


def test_the_page_quotes_many_messages_and_an_invented_one_would_be_noticed() -> None:
    assert len(QUOTED) > 25
    assert not _is_said("the moon keeps it from reading")
