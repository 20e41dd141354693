"""Rules about the characters of a contract: what a reader cannot see must not be run."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice

from signoff.domain.findings import Finding, Severity
from signoff.planfile.verify.shell import quotes_item
from signoff.planfile.verify.view import ITEM, Subject, SubjectKind, View

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n|\Z)")
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_MOST_SHOWN = 5
_LOOKALIKES = {
    "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "‚": "'",
    "–": "-", "—": "-", "‐": "-", "‑": "-", "−": "-", "＝": "=", "；": ";", "｜": "|", "＆": "&",
}  # fmt: skip


def hidden_characters(view: View) -> Iterator[Finding]:
    """A control, bidi, zero-width or blank character in text that the harness runs."""
    for subject in view.subjects:
        text = subject.command
        if text.isascii() and not _CONTROL.search(text):
            continue
        yield from _hidden_in(view, subject)


def _hidden_in(view: View, subject: Subject) -> Iterator[Finding]:
    text = subject.command
    hidden = (i for i, c in enumerate(text) if is_hidden(c, text[i + 1 : i + 2]))
    for offset in islice(hidden, _MOST_SHOWN):
        char = text[offset]
        line, column = _place(view, subject, offset)
        name = unicodedata.name(char, "control character")
        yield view.finding(
            "hidden-characters",
            Severity.ERROR,
            line,
            f"the {subject.kind} holds U+{ord(char):04X} ({name.lower()}) in column {column}",
            "delete the character and type the text again",
            step=subject.owner,
        )


def is_hidden(char: str, following: str = "") -> bool:
    """Whether a reader of the plan would not see this character for what it is."""
    if char == "\r":
        return following not in ("", "\n")
    if char in "\t\n":
        return False
    if (
        char in _BLANK_LETTERS
        or "\ufe00" <= char <= "\ufe0e"
        or "\U000e0100" <= char <= "\U000e01ef"
    ):
        return True
    category = unicodedata.category(char)
    return category in ("Cc", "Cf", "Cs", "Zl", "Zp") or (category == "Zs" and char != " ")


def _place(view: View, subject: Subject, offset: int) -> tuple[int, int]:
    """File line and column of a character; indentation that the parser removed is counted."""
    before = subject.command[:offset]
    line = subject.line + before.count("\n")
    start = before.rfind("\n") + 1
    rest = subject.command[start:].split("\n", 1)[0].rstrip("\r")
    indent = max(view.text_at(line).find(rest), 0) if rest else 0
    return line, offset - start + indent + 1


def typographic_characters(view: View) -> Iterator[Finding]:
    """Quotes and dashes from a word processor, which bash takes for letters."""
    for subject in view.subjects:
        if subject.command.isascii():
            continue
        found = next((c for c in subject.command if c in _LOOKALIKES), None)
        if found is None:
            continue
        line, column = _place(view, subject, subject.command.index(found))
        yield view.finding(
            "typographic-characters",
            Severity.WARNING,
            line,
            f"the {subject.kind} has `{found}` in column {column}, which bash reads as a letter",
            f"type `{_LOOKALIKES[found]}` if you mean the shell's own character",
            step=subject.owner,
        )


def item_use(view: View) -> Iterator[Finding]:
    """`{item}` where it does nothing, is missing, or is quoted twice."""
    for subject in view.subjects:
        if subject.kind is SubjectKind.LIST:
            continue
        listed = subject.step is not None and subject.step.for_each is not None
        uses = ITEM in subject.command
        if listed and not uses:
            yield view.finding(
                "item-unused",
                Severity.WARNING,
                subject.line,
                "the contract has no `{item}`: every item of the list gets the same check",
                "name `{item}` in the contract, unquoted",
                step=subject.owner,
            )
        elif listed and quotes_item(subject.command):
            yield view.finding(
                "item-quoted",
                Severity.WARNING,
                subject.line,
                "`{item}` stands inside quotes, but it arrives quoted already",
                "write {item} without quotes around it",
                step=subject.owner,
            )
        elif uses and not listed:
            yield view.finding(
                "item-without-list",
                Severity.WARNING,
                subject.line,
                "the contract names `{item}`, but the step has no `for_each`",
                "add `**for_each:**` with a command that prints the items",
                step=subject.owner,
            )
