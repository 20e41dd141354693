"""The few pieces that every steering message is put together from."""

from __future__ import annotations

import posixpath

from signoff.domain.text import escape_line
from signoff.toolbatch.events import Steered
from signoff.toolbatch.steering.step import Step, open_work
from signoff.toolbatch.view import View

MOST_CHARACTERS = 500  # of one message: a weak model reads the first lines
_MOST_FACTS = 2
_LONGEST_NAME, _BRIEF = 120, 56  # characters; the second where a text has little room
_FACT, _WHY = 70, 190
# Results of some computation: a first version of them would be made up.
_DATA = frozenset(
    (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".db", ".sqlite", ".png", ".jpg", ".pdf")
)


def steered(rule: str, view: View, why: str, step: Step | None) -> Steered | None:
    """The message of a rule: why it speaks, the facts a forgetful model needs, the next step.

    Where no step is known there is no message: words without a way on only worry.
    """
    if step is None or not step.possible:
        return None
    parts = (clipped(escape_line(why), _WHY), _facts(view), step_text(view, step))
    text = clipped(" ".join(part for part in parts if part), MOST_CHARACTERS)
    return Steered(rule, text, step.action, lasting=lasts(view))


def lasts(view: View) -> bool:
    """A message stands until it is followed while nothing substantive exists; else for one turn."""
    return view.substantive == 0 and open_work(view)


def step_text(view: View, step: Step) -> str:
    """The next step in words."""
    item = f"item {brief(step.item.text)}: " if step.item is not None else ""
    if step.answers:
        return f"Next: {item}{step.reason}."
    what = f"{brief(step.action.tool)} {brief(step.action.target)}".strip()
    data = step.whole and posixpath.splitext(step.action.target)[1].lower() in _DATA
    words = [f"Next: {item}{step.reason}{what}{', or run what makes it' if data else ''}."]
    if step.whole and view.substantive == 0 and not data:
        words.append("A compact but real first version is enough; refine it later.")
    if step.makes_parents:
        words.append("The same call makes its folders.")
    return " ".join(words)


def _facts(view: View) -> str:
    facts = view.facts[: min(view.limits.facts, _MOST_FACTS)]
    if not facts:
        return ""
    return "Known: " + "; ".join(clipped(escape_line(fact), _FACT) for fact in facts) + "."


def quoted(text: str, most: int = _LONGEST_NAME) -> str:
    """In backticks, on one line and not endless; nothing stays nothing."""
    plain = escape_line(text).replace("`", "'")
    return f"`{clipped(plain, most)}`" if plain else ""


def listed(names: tuple[str, ...], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    return ", ".join(map(quoted, names[:most])) + _more(names, most)


def brief(text: str) -> str:
    """The same for a message that has to stay short."""
    return quoted(text, _BRIEF)


def listed_briefly(names: tuple[str, ...], most: int = 2) -> str:
    """The same for a message that has to stay short."""
    return ", ".join(map(brief, names[:most])) + _more(names, most)


def clipped(text: str, most: int) -> str:
    """At most so many characters; the middle goes, because names differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def _more(names: tuple[str, ...], most: int) -> str:
    return f" and {len(names) - most} more" if len(names) > most else ""
