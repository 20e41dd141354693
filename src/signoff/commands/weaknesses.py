"""Where a contract sees a failure and goes on: loops, `|| echo`, commands that only print."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Any

from signoff.commands import tree
from signoff.commands.endings import ZERO, Ending, is_safe
from signoff.commands.launchers import see_through

_PRINTERS = frozenset(("echo", "printf"))
_SEARCH_ENDS = frozenset(("break", "continue"))
_FIND_ACTS = frozenset(("-delete", "+"))
_GIT_ANSWERS = frozenset(("--exit-code", "--quiet", "--check", "-q"))
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)\+?=")


class WeaknessKind(StrEnum):
    """How a failure gets lost."""

    ROUNDS = "rounds"
    PRINTED_FAILURE = "printed-failure"
    PRINTED_ANSWER = "printed-answer"


@dataclass(frozen=True, slots=True)
class Weakness:
    """One place where a failure gets lost; `what` are the words of the text for it."""

    kind: WeaknessKind
    line: int
    what: str


class Weaknesses:
    """Collects them while a script's endings are worked out."""

    def __init__(self) -> None:
        self.found: dict[Weakness, None] = {}

    def meet(self, node: tree.Chain | tree.Loop, before: Ending, errexit: bool, base: int) -> None:
        """Look at a loop and its body's ending, or at one link of a chain."""
        if isinstance(node, tree.Loop):
            if forgets_rounds(node, before, errexit):
                self.found[Weakness(WeaknessKind.ROUNDS, base + node.line, node.kind)] = None
        elif only_prints_failure(*node.rest[0]):
            kind = WeaknessKind.PRINTED_FAILURE
            self.found[Weakness(kind, base + node.line, tree.Link.OR)] = None


def texts_of(part: Any) -> Iterator[str]:
    """Every word below a node, as written."""
    if isinstance(part, tree.Word | tree.Arithmetic | tree.Opaque):
        yield part.text
    elif isinstance(part, tuple):
        for each in part:
            yield from texts_of(each)
    elif hasattr(part, "__slots__"):
        for name in part.__slots__:
            yield from texts_of(getattr(part, name))


def asks_for_status(after: tuple[tree.Node, ...]) -> bool:
    """Whether what follows a command looks at its status: `exit`, `[ $? = 0 ]`, `rc=$?`."""
    following = after[0]
    if isinstance(following, tree.Command) and following.words:
        words = [word.text for word in following.words]
        if words in (["exit"], ["return"]):
            return True
    texts = list(texts_of(following))
    if not any("$?" in text or "PIPESTATUS" in text for text in texts):
        return False
    # `[ $? -lt 99 ]` looks, and lets failures pass.
    if any("$?" in text and then in ("-lt", "-le") for text, then in pairwise(texts)):
        return False
    if not isinstance(following, tree.Command) or following.words:
        return True
    found = (_ASSIGNED.match(word.text) for word in following.assigned)
    names = "|".join(name[1] for name in found if name)
    kept = re.compile(rf"\b(?:{names})\b")
    return any(kept.search(text) for text in texts_of(after[1:]))


def forgets_rounds(loop: tree.Loop, body: Ending, errexit: bool) -> bool:
    """Whether a round may fail without ending the loop, and the next one hides it."""
    if not body.falls - ZERO or 0 in body.exits or _runs_once(loop):
        return False
    last = loop.body.items[-1] if loop.body.items else None
    if last is None or keeps_count(last) or not _SEARCH_ENDS.isdisjoint(texts_of(loop.body)):
        return False
    return not errexit or _passes_errexit(last)


def _runs_once(loop: tree.Loop) -> bool:
    words = loop.words
    plain = len(words) == 1 and words[0].literal and not set("*?[{") & set(words[0].text)
    return loop.kind is tree.LoopKind.FOR and plain


def keeps_count(node: tree.Node) -> bool:
    """`test … && n=$((n + 1))`, or a loop of it: the failure is kept in a variable."""
    if isinstance(node, tree.Loop) and node.body.items:
        return keeps_count(node.body.items[-1])
    if not isinstance(node, tree.Chain):
        return False
    last = node.rest[-1][1]
    return isinstance(last, tree.Arithmetic) or (isinstance(last, tree.Command) and not last.words)


def _passes_errexit(node: tree.Node) -> bool:
    """What may fail under `set -e` without ending the shell: `! a`, and `a` in `a && b`."""
    if isinstance(node, tree.Chain):
        return any(link is tree.Link.AND for link, _ in node.rest)
    if isinstance(node, tree.Redirected):
        return _passes_errexit(node.body)
    if isinstance(node, tree.Block) and node.items and not node.subshell:
        return _passes_errexit(node.items[-1])
    return isinstance(node, tree.Not)


def only_prints_failure(link: tree.Link, node: tree.Node) -> bool:
    """`|| echo bad`: the words are there, and the status is 0."""
    items = node.items if isinstance(node, tree.Block) else (node,)
    return link is tree.Link.OR and bool(items) and all(map(_only_prints, items))


def _only_prints(node: tree.Node) -> bool:
    plain = isinstance(node, tree.Command) and bool(node.words) and is_safe(node.redirects)
    return plain and isinstance(node, tree.Command) and node.words[0].text in _PRINTERS


def printed_answers(node: tree.Node) -> Iterator[Weakness]:
    """Commands whose status decides although they only print what they found."""
    if isinstance(node, tree.Command) and not _ANSWERS_NOTHING.keys().isdisjoint(
        texts_of(node.words)
    ):
        seen, _ = see_through(node)
        if isinstance(seen, tree.Command) and seen.words and _succeeds_anyway(seen):
            what = " ".join(w.text for w in seen.words[:2])
            yield Weakness(WeaknessKind.PRINTED_ANSWER, node.line, what)
    elif isinstance(node, tree.Not | tree.Redirected):
        yield from printed_answers(node.body)
    elif isinstance(node, tree.Pipeline):
        yield from printed_answers(node.stages[-1])
    elif isinstance(node, tree.Block):
        yield from printed_answers(node.items[-1]) if node.items else ()
    elif isinstance(node, tree.If):
        for condition, _ in node.branches:
            yield from printed_answers(condition)
    elif isinstance(node, tree.Chain):
        links = [link for link, _ in node.rest]
        parts = (node.first, *(part for _, part in node.rest))
        for part, following in zip(parts, (*links, None), strict=True):
            if following is not tree.Link.AND:
                yield from printed_answers(part)


def _succeeds_anyway(command: tree.Command) -> bool:
    decides = _ANSWERS_NOTHING.get(command.words[0].text)
    return decides is not None and decides([w.text for w in command.words[1:]])


def _find(args: list[str]) -> bool:
    return _FIND_ACTS.isdisjoint(args)


def _git(args: list[str]) -> bool:
    return args[:1] in (["status"], ["diff"]) and _GIT_ANSWERS.isdisjoint(args)


_ANSWERS_NOTHING: dict[str, Callable[[list[str]], bool]] = {"find": _find, "git": _git}
