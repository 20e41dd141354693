"""A page as links see it: what it refers to, which places in it have names, how full it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from signoff.toolbatch.checkers.finding import Severity


class Use(StrEnum):
    """What a reference is for: somewhere to go, or a part of the page."""

    LINK = "link"
    ASSET = "asset"


@dataclass(frozen=True)
class Reference:
    """A target as it is written, and where."""

    target: str
    line: int
    use: Use = Use.LINK


@dataclass(frozen=True)
class Remark:
    """Something wrong with the page itself, found while reading it."""

    code: str
    line: int
    message: str
    hint: str
    severity: Severity = Severity.ERROR
    about: str = ""


@dataclass(frozen=True)
class Page:
    """What reading a page gave; `shows` says whether there is anything to see, words or not."""

    references: tuple[Reference, ...] = ()
    anchors: frozenset[str] = frozenset()
    words: int = 0
    different: int = 0
    sections: int = 0
    shows: bool = False
    base: str = ""
    remarks: tuple[Remark, ...] = field(default=())
    template: bool = False  # something in it is filled in before anybody reads it
