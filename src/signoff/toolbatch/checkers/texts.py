"""Bytes as text with line numbers, and how many words a reader would see in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from signoff.toolbatch.checkers.finding import Finding
from signoff.toolbatch.checkers.subject import Subject

# Scripts without spaces between words: every character counts as one.
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}][^\W{_UNSPACED}]*")
_BREAK = re.compile("\n")


class Lines:
    """Offsets of a text as line numbers, from 1."""

    def __init__(self, text: str):
        self._breaks = [found.start() for found in _BREAK.finditer(text)]

    def at(self, offset: int) -> int:
        """The line an offset is on."""
        return bisect_right(self._breaks, offset - 1) + 1


@dataclass(frozen=True)
class WordCount:
    """Words that differ in nothing but their repetition are counted apart."""

    words: int
    different: int


def count_words(blocks: Iterable[str]) -> WordCount:
    """Blocks of text that occur twice count once: padding is not content."""
    words, different = 0, set[str]()
    for block in dict.fromkeys(" ".join(block.split()) for block in blocks):
        found = _WORD.findall(block.lower())
        words += len(found)
        different.update(found)
    return WordCount(words, len(different))


def decode_text(subject: Subject) -> str | Finding:
    """UTF-8, with or without a mark at its beginning; otherwise what is wrong, and where."""
    try:
        text = subject.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = subject.content.count(b"\n", 0, error.start) + 1
        return subject.finding(
            "encoding",
            f"byte {error.start + 1} (0x{subject.content[error.start]:02x}) is not UTF-8",
            "save the file as UTF-8",
            line=line,
        )
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return subject.finding(
            "encoding",
            "there is a NUL character in what should be text",
            "save the file as UTF-8 text without NUL",
            line=line,
        )
    return text
