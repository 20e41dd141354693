"""What kind of work an item of a list, or a word of a task, asks for.

Words only ever plan: they decide what is asked for and what is shown next, never what is done.
"""

from __future__ import annotations

import re
from itertools import pairwise

from signoff.domain.definition import ItemKind

LONGEST_READ = 200_000  # characters of a text that are looked at
WORD = re.compile(r"[^\W\d_][\w'’-]*")


def words(text: str) -> frozenset[str]:
    """A list of words, written as one text."""
    return frozenset(text.split())


def forms(verbs: str) -> frozenset[str]:
    """Verbs as lists and tasks use them: `make`, `making`."""
    stems = {verb: verb.removesuffix("e") for verb in verbs.split()}
    doubled = {f"{verb}{verb[-1]}ing" for verb in stems}
    return frozenset(stems) | {f"{stem}ing" for stem in stems.values()} | doubled


MAKES = forms(
    "create make write generate produce build add draft save export compose author put render"
    " scaffold prepare provide develop implement populate emit"
)
CHANGES = forms(
    "update edit fix modify change patch replace correct rewrite refactor improve rename move"
    " extend adjust convert migrate optimize optimise integrate configure install delete remove"
    " drop erase purge append insert simplify translate avoid touch"
)
_LOOKS = forms(
    "read look inspect explore analyze analyse examine study understand investigate find list"
    " search identify gather research open view browse survey check locate learn determine"
    " compare see"
)
_VERIFIES = forms("verify validate test lint confirm prove typecheck")
_REVIEWS = forms("review ensure polish proofread audit double-check cross-check revise recheck")
_RUNS = words("run execute rerun re-run running")
_TESTS = words(
    "test tests testing pytest suite lint linter checks verification validation build npm cargo"
    " tox typecheck mypy ruff"
)
_EVERY = words("all every each remaining rest whole entire both other others")
_OUGHT = words("pass passes passing work works succeed succeeds builds green")
# Before one of these, a word is a noun whatever it could do elsewhere.
ARTICLES = words("a an the this that these those its their our your my new")
# Verbs that are as often nouns: they count only where a sentence asks for something.
MOSTLY_NOUNS = (
    _LOOKS | _VERIFIES | _REVIEWS | _RUNS | words("link style copy use update change patch move")
)
ASKS = words("and then to or also first please not never don't dont now finally next must should")

_KINDS = (
    (_VERIFIES, ItemKind.VERIFY),
    (_REVIEWS, ItemKind.REVIEW),
    (MAKES | CHANGES, ItemKind.BUILD),
    (_LOOKS, ItemKind.LOOK),
)
VERBS = frozenset().union(*(verbs for verbs, _ in _KINDS)) | MOSTLY_NOUNS


def kind_of(text: str) -> ItemKind:
    """What it takes to complete an item, by its first verb."""
    said = [w.casefold() for w in WORD.findall(text[:LONGEST_READ])]
    present = frozenset(said)
    for word, behind in pairwise((*said, "")):
        if word in _RUNS and _TESTS & present:
            return ItemKind.VERIFY
        if word == "make" and behind == "sure":
            return ItemKind.VERIFY if _OUGHT & present else ItemKind.REVIEW
        if word == "check" and (_OUGHT | _TESTS) & present:
            return ItemKind.VERIFY
        for verbs, kind in _KINDS:
            if word in verbs:
                return _building(present) if kind is ItemKind.BUILD else kind
    return ItemKind.VERIFY if _TESTS & present else _building(present)


def has_verb(text: str) -> bool:
    """Whether it says at all what is to be done."""
    return any(w.casefold() in VERBS for w in WORD.findall(text[:LONGEST_READ]))


def _building(present: frozenset[str]) -> ItemKind:
    return ItemKind.AGGREGATE if _EVERY & present else ItemKind.BUILD
