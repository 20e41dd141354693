"""Which isolation works on this machine: found out by judging something under it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from signoff.domain.verdict import Isolation
from truth.case import Accepted, Case
from truth.corpus import Corpus, Filed
from truth.report import play

ALL = "all"
_PROBE = Filed(Corpus.HONEST, "probe", Case("isolation works here", expect=Accepted()))


def modes(asked: str) -> Iterator[Isolation]:
    """The one asked for, works or not; for `all` those that work, and a word about the others."""
    if asked != ALL:
        yield Isolation(asked)
        return
    for isolation in Isolation:
        missing = play(_PROBE, isolation).complaints
        if isolation is Isolation.NONE or not missing:
            yield isolation
        else:
            print(f"isolation {isolation} does not work here: {missing[0]}", file=sys.stderr)
