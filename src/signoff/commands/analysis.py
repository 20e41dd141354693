"""Everything static verification knows about one shell command, analysed once per text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from signoff.commands.endings import ANY, ZERO, Shell, Statuses, is_filter
from signoff.commands.facts import ShellFacts, shape_of, with_numbers
from signoff.commands.launchers import Invocation, inside, started_by
from signoff.commands.launchers import is_plain as is_plain_word
from signoff.commands.naming import named
from signoff.commands.reading import lower
from signoff.commands.tree import (
    Background,
    Block,
    Chain,
    Command,
    If,
    Link,
    Node,
    Not,
    Opaque,
    Pipeline,
)
from signoff.commands.uses import Collector, Unseen, prints_nothing
from signoff.commands.weaknesses import (
    Weaknesses,
    asks_for_status,
    keeps_count,
    printed_answers,
)

MAX_ANALYSED_CHARS = 20_000
_MOST_UNSEEN = 5
_MOST_FOLDERS = 8
_SETUP = frozenset(
    (
        *("rm", "mkdir", "export", "set", "sleep", "echo", "printf", "trap", "umask"),
        *("kill", "read", "mapfile", "readarray"),
    )
)
_PRINTERS = frozenset(("echo", "printf"))
# Simple commands of plain and quoted words, with an operator between each two: what most contracts
# are, and nothing of it can be wrong.
_RESERVED = "if|then|elif|else|fi|for|while|until|do|done|case|esac|in|select|function|time|coproc"
_WORD = r"""(?:[A-Za-z0-9_./:,@%^~=+-]|'[^']*+'|"[^"\\`$]*+")++"""
_WORDS = rf"(?:\[(?=[ \t])|(?!(?:{_RESERVED})\b){_WORD})(?:[ \t]++(?:{_WORD}|\](?![^ \t;|&\n])))*+"
_PLAIN_SCRIPT = re.compile(rf"{_WORDS}(?:[ \t]*+(?:&&|\|\|?+|;|\n)[ \t]*+{_WORDS})*+[ \t\n]*+")


@lru_cache(maxsize=4096)
def analyse(text: str) -> ShellFacts:
    """The facts about a command; never raises, whatever the text."""
    shape, numbers = shape_of(text)
    if not numbers:
        return _analyse(text)
    facts = _analyse(shape)
    return _analyse(text) if facts.unseen else with_numbers(facts, numbers)


@lru_cache(maxsize=4096)
def _analyse(text: str) -> ShellFacts:
    if len(text) > MAX_ANALYSED_CHARS:
        return unread((Unseen(0, f"a command of {len(text)} characters"),))
    block, clear = lower(text)
    collector = Collector()
    collector.visit(block)
    unseen = tuple(dict.fromkeys(collector.unseen))[:_MOST_UNSEEN]
    if not clear and not unseen:
        unseen = (*unseen, Unseen(0, "all of the shell syntax used here"))
    ignored = _ignored(block)
    weaknesses = Weaknesses()
    shell = Shell(meet=weaknesses.meet)
    statuses = shell.final(block) if clear else ANY
    return ShellFacts(
        unchecked="" if is_plain(text) else text,
        unseen=unseen,
        calls=tuple(collector.calls),
        reads=tuple(collector.reads),
        writes=tuple(collector.writes),
        references=tuple(collector.references),
        scripts=tuple(collector.scripts),
        functions=frozenset(collector.functions),
        statuses=statuses,
        certain=not unseen,
        reason=_reason(block) if len(statuses) == 1 else "",
        last_line=block.items[-1].line if block.items else 0,
        ignored_lines=tuple(item.line for item in ignored),
        negated_lines=tuple(item.line for item in ignored if _is_negated(item)),
        skips_line=_skips(block),
        prints=_prints(block, shell.errexit) if _may_echo(collector) else (),
        empty=not block.items,
        weaknesses=(*weaknesses.found, *printed_answers(block)) if clear else (),
        silent=not unseen and _is_silent(collector),
    )


def _may_echo(collector: Collector) -> bool:
    return any(call.name in _PRINTERS for call in collector.calls)


def _is_silent(collector: Collector) -> bool:
    """Functions and declarations may print, whatever their names are."""
    plain = not collector.functions and not collector.declares
    return plain and all(map(prints_nothing, collector.calls))


def is_readable(text: str) -> bool:
    """Whether all syntax of shell text was understood; what it runs may still be hidden."""
    return len(text) <= MAX_ANALYSED_CHARS and lower(text)[1]


def is_plain(text: str) -> bool:
    """Whether the text is so simple that bash cannot refuse it."""
    return _PLAIN_SCRIPT.fullmatch(text) is not None


def unread(unseen: tuple[Unseen, ...] = ()) -> ShellFacts:
    """The facts about a text that is not analysed."""
    return ShellFacts(
        "", unseen, (), (), (), (), (), frozenset(), ANY, False, "", 0, (), (), None, (), False, (),
        False,
    )  # fmt: skip


def _reason(block: Block) -> str:
    """Why the status is always the same, in the words of the text."""
    if not block.items:
        return "there is no command, only blank lines or comments"
    last = block.items[-1]
    what = f"`{named(last)}` always ends the same way"
    if isinstance(last, Background):
        what = "the last command runs in the background, so its status is never seen"
    elif isinstance(last, Pipeline) and is_filter(last.stages[-1]):
        what = f"the pipeline ends in `{named(last.stages[-1])}`, which succeeds on any input"
    elif isinstance(last, Chain) and last.rest[-1][0] is Link.OR:
        what = f"`|| {named(last.rest[-1][1])}` turns every failure into a success"
    elif isinstance(last, If):
        what = "every branch of the last `if` ends in success"
    elif len(block.items) > 1:
        what = f"the last command is `{named(last)}`, and only the last one counts"
    return what


def _ignored(block: Block) -> tuple[Node, ...]:
    """Commands whose failure nobody would notice."""
    shell = Shell()
    found: list[Node] = []
    last: Statuses = ZERO
    for i, item in enumerate(block.items[:-1]):
        last = shell.run(Block((item,), 0), last).falls
        stops = shell.errexit and shell.stops(item) is not False
        lost = last - ZERO and not stops and not _is_setup(item)
        if lost and not asks_for_status(block.items[i + 1 :]):
            found.append(item)
        if not last:
            return ()
    return tuple(found)


def _is_negated(node: Node) -> bool:
    """Whether the status comes from `! …`."""
    if isinstance(node, Chain):
        return _is_negated(node.rest[-1][1])
    return isinstance(node, Not)


def _is_setup(node: Node) -> bool:
    if isinstance(node, Command):
        return not node.words or node.words[0].text in _SETUP
    return isinstance(node, Background | Opaque) or keeps_count(node)


def _skips(block: Block) -> int | None:
    """The line of a last `if` without `else`: a false condition counts as success."""
    last = block.items[-1] if block.items else None
    if not isinstance(last, If) or last.otherwise is not None:
        return None
    # `if grep -q FORBIDDEN f; then exit 1; fi` means just that.
    can_hold = any(0 in Shell().run(body).all for _, body in last.branches)
    return last.line if can_hold else None


def _prints(block: Block, errexit: bool) -> tuple[str, ...]:
    """Texts that are printed whatever the workspace holds."""
    if errexit and len(block.items) > 2:
        return ()
    found: list[str] = []
    shell = Shell()
    for item in block.items:
        if isinstance(item, Command) and not item.redirects and all(w.literal for w in item.words):
            words = [w.text for w in item.words]
            if words and words[0] in _PRINTERS:
                found.append(" ".join(words[1:]))
        if shell.run(item).exits:
            break
    return tuple(found)


def invocations_of(facts: ShellFacts, folder: str) -> Iterator[Invocation]:
    """Every tool that a shell text runs, launchers included, outermost first.

    After a `cd` a call may run in the folder before or behind it (a subshell ends one), so it
    counts for both.
    """
    folders = [folder]
    for call in facts.calls:
        if call.name in ("cd", "pushd"):
            target = next((a for a in call.args if not a.startswith("-")), "")
            entered = [inside(f, target) for f in folders if target and is_plain_word(target)]
            folders += [f for f in entered if f is not None and f not in folders]
            del folders[_MOST_FOLDERS:]
        for here in folders:
            yield from started_by(call.name, call.args, here)
