"""Everything static verification knows about one shell command, analysed once per text."""

from __future__ import annotations

import re
from functools import lru_cache

from signoff.planfile.verify.facts import ShellFacts, shape_of, with_numbers
from signoff.planfile.verify.grammar import SyntaxProblem, find_problem
from signoff.planfile.verify.lower import lower
from signoff.planfile.verify.outcome import Evaluator
from signoff.planfile.verify.script import (
    Background,
    Block,
    Chain,
    Command,
    If,
    Link,
    Node,
    Opaque,
    Pipeline,
)
from signoff.planfile.verify.statuses import ANY, ZERO, Statuses, is_filter, nonzero
from signoff.planfile.verify.uses import Collector, Unseen

MAX_ANALYSED_CHARS = 20_000
_MOST_UNSEEN = 5
_SETUP = frozenset(["rm", "mkdir", "export", "set", "sleep", "echo", "printf", "trap", "umask"])
_QUOTED_ITEM = re.compile(r"'[^']*\{item\}[^']*'|\"(?:[^\"\\]|\\.)*\{item\}(?:[^\"\\]|\\.)*\"")


@lru_cache(maxsize=4096)
def analyse(text: str) -> ShellFacts:
    """The facts about a command; never raises, whatever the text."""
    shape, numbers = shape_of(text)
    if not numbers:
        return _analyse(text)
    facts = _analyse(shape)
    return _analyse(text) if facts.problem or facts.unseen else with_numbers(facts, numbers)


@lru_cache(maxsize=4096)
def _analyse(text: str) -> ShellFacts:
    if len(text) > MAX_ANALYSED_CHARS:
        return _unread(None, f"a command of {len(text)} characters")
    problem = find_problem(text)
    if problem is not None:
        return _unread(problem, "")
    block, clear = lower(text)
    collector = Collector()
    collector.visit(block)
    unseen = tuple(dict.fromkeys(collector.unseen))[:_MOST_UNSEEN]
    if not clear and not unseen:
        unseen = (*unseen, Unseen(0, "all of the shell syntax used here"))
    evaluator = Evaluator()
    statuses = evaluator.final(block) if clear else ANY
    return ShellFacts(
        problem=None,
        unseen=unseen,
        calls=tuple(collector.calls),
        reads=tuple(collector.reads),
        writes=tuple(collector.writes),
        scripts=tuple(collector.scripts),
        functions=frozenset(collector.functions),
        statuses=statuses,
        certain=not unseen,
        reason=_reason(block) if len(statuses) == 1 else "",
        last_line=block.items[-1].line if block.items else 0,
        ignored_lines=_ignored(block),
        skips_line=_skips(block),
        prints=_prints(block, evaluator.errexit),
        empty=not block.items,
    )


def is_readable(text: str) -> bool:
    """Whether all syntax of valid shell text was understood; what it runs may still be hidden."""
    return len(text) <= MAX_ANALYSED_CHARS and (find_problem(text) is not None or lower(text)[1])


def quotes_item(text: str) -> bool:
    """Whether `{item}`, which arrives quoted already, stands inside quotes."""
    return "{item}" in text and _QUOTED_ITEM.search(text) is not None


def _unread(problem: SyntaxProblem | None, what: str) -> ShellFacts:
    unseen = (Unseen(0, what),) if what else ()
    return ShellFacts(
        problem, unseen, (), (), (), (), frozenset(), ANY, False, "", 0, (), None, (), False
    )


def _reason(block: Block) -> str:
    """Why the status is always the same, in the words of the text."""
    if not block.items:
        return "there is no command, only blank lines or comments"
    last = block.items[-1]
    what = f"`{_name(last)}` always ends the same way"
    if isinstance(last, Background):
        what = "the last command runs in the background, so its status is never seen"
    elif isinstance(last, Pipeline) and is_filter(last.stages[-1]):
        what = f"the pipeline ends in `{_name(last.stages[-1])}`, which succeeds on any input"
    elif isinstance(last, Chain) and last.rest[-1][0] is Link.OR:
        what = f"`|| {_name(last.rest[-1][1])}` turns every failure into a success"
    elif isinstance(last, If):
        what = "every branch of the last `if` ends in success"
    elif len(block.items) > 1:
        what = f"the last command is `{_name(last)}`, and only the last one counts"
    return what


def _name(node: Node) -> str:
    if isinstance(node, Command) and node.words:
        return " ".join(w.text for w in node.words[:2])
    if isinstance(node, Pipeline):
        return _name(node.stages[-1])
    if isinstance(node, Block) and node.items:
        return _name(node.items[-1])
    return "…"


def _ignored(block: Block) -> tuple[int, ...]:
    """Lines of commands whose failure nobody would notice."""
    evaluator = Evaluator()
    lines: list[int] = []
    last: Statuses = ZERO
    for item in block.items[:-1]:
        outcome = evaluator.run(item, last)
        last = outcome.falls
        stops = evaluator.errexit and evaluator.stops(item) is not False
        if nonzero(outcome.falls) and not stops and not _is_setup(item):
            lines.append(item.line)
        if not last:
            return ()
    return tuple(lines)


def _is_setup(node: Node) -> bool:
    if isinstance(node, Command):
        return not node.words or node.words[0].text in _SETUP
    return isinstance(node, Background | Opaque)


def _skips(block: Block) -> int | None:
    """The line of a last `if` without `else`: a false condition counts as success."""
    last = block.items[-1] if block.items else None
    return last.line if isinstance(last, If) and last.otherwise is None else None


def _prints(block: Block, errexit: bool) -> tuple[str, ...]:
    """Texts that are printed whatever the workspace holds."""
    if errexit and len(block.items) > 2:
        return ()
    found: list[str] = []
    evaluator = Evaluator()
    for item in block.items:
        if isinstance(item, Command) and not item.redirects and all(w.literal for w in item.words):
            words = [w.text for w in item.words]
            if words[:1] == ["echo"] or words[:1] == ["printf"]:
                found.append(" ".join(words[1:]))
        outcome = evaluator.run(item)
        if outcome.exits or outcome.returns:
            break
    return tuple(found)
