"""Everything static verification knows about one shell command, analysed once per text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from signoff.commands.facts import ShellFacts, shape_of, with_numbers
from signoff.commands.launchers import Invocation, inside, started_by
from signoff.commands.launchers import is_plain as is_plain_word
from signoff.commands.reading import lower
from signoff.commands.statuses import ANY, PRINTERS, Shell
from signoff.commands.uses import Collector, Unseen
from signoff.commands.weaknesses import (
    ignored,
    is_negated,
    printed_anyway,
    reason_of,
    skipping_line,
)

MAX_ANALYSED_CHARS = 20_000
_MOST_UNSEEN = 5
_MOST_FOLDERS = 8
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
        return ShellFacts(unseen=(Unseen(0, f"a command of {len(text)} characters"),))
    block, clear = lower(text)
    seen = Collector()
    seen.visit(block)
    unseen = tuple(dict.fromkeys(seen.unseen))[:_MOST_UNSEEN]
    if not clear and not unseen:
        unseen = (Unseen(0, "all of the shell syntax used here"),)
    shell = Shell()
    statuses = shell.final(block) if clear else ANY
    lost = ignored(block)
    may_echo = any(call.name in PRINTERS for call in seen.calls)
    # Functions and declarations may print, whatever their names are.
    plain = not (unseen or seen.functions or seen.declares)
    return ShellFacts(
        unchecked="" if is_plain(text) else text,
        unseen=unseen,
        calls=tuple(seen.calls),
        reads=tuple(seen.reads),
        writes=tuple(seen.writes),
        references=tuple(seen.references),
        scripts=tuple(seen.scripts),
        functions=frozenset(seen.functions),
        statuses=statuses,
        reason=reason_of(block) if len(statuses) == 1 else "",
        last_line=block.parts[-1].line if block.parts else 0,
        ignored_lines=tuple(node.line for node in lost),
        negated_lines=tuple(node.line for node in lost if is_negated(node)),
        skips_line=skipping_line(block),
        prints=printed_anyway(block, shell.errexit) if may_echo else (),
        weaknesses=tuple(shell.weaknesses) if clear else (),
        silent=plain and all(call.prints_nothing for call in seen.calls),
    )


def is_readable(text: str) -> bool:
    """Whether all syntax of shell text was understood; what it runs may still be hidden."""
    return len(text) <= MAX_ANALYSED_CHARS and lower(text)[1]


def is_plain(text: str) -> bool:
    """Whether the text is so simple that bash cannot refuse it."""
    return _PLAIN_SCRIPT.fullmatch(text) is not None


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
