"""The tools that every model gets unless its user names others; what it keeps in mind, here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from signoff.agents.tools.context import ToolContext
from signoff.agents.tools.definition import tool
from signoff.agents.tools.files import ToolError
from signoff.agents.tools.reading import glob, grep, read
from signoff.agents.tools.shell import bash
from signoff.agents.tools.writing import edit, patch, write

MOST_ITEMS = 200
MOST_KEYS = 200
LONGEST_NOTE = 20_000
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True)
class TodoItem:
    """One line of the list."""

    text: str
    done: bool = False
    dropped: str = ""


@tool(effects={"write"})
def todo(context: ToolContext, items: list[TodoItem]) -> str:
    """Keep a list of small things to do, for yourself. It replaces the list before; it proves
    nothing, and steps of the plan are updated with step_update.

    items: the whole list as it is now. What was planned and is not needed is given up with the
        reason in `dropped`; its text is that of the item, or the path of the planned file.
    """
    if len(items) > MOST_ITEMS:
        raise ToolError(f"a list has at most {MOST_ITEMS} items")
    context.notebook.todo = tuple((item.text, item.done) for item in items if not item.dropped)
    marks = ["-" if item.dropped else "x" if item.done else " " for item in items]
    shown = [f"[{mark}] {item.text}" for mark, item in zip(marks, items, strict=True)]
    return "\n".join(shown) or "the list is empty"


@tool(effects={"write"})
def scratchpad(context: ToolContext, key: str, text: str = "") -> str:
    """Write a note under a key, or read it again by leaving out the text. Notes outlive a
    compaction and can be cited as evidence: `scratchpad:KEY`.

    key: letters, digits, `.`, `_` and `-`.
    text: the note; left out: the note is read.
    """
    if not _KEY.fullmatch(key):
        raise ToolError(f"`{key}` cannot be a key: use letters, digits, `.`, `_` and `-`")
    notes = context.notebook.scratchpad
    if not text:
        known = ", ".join(f"`{name}`" for name in notes) or "none"
        if key not in notes:
            raise ToolError(f"no note `{key}`; there are: {known}")
        return notes[key]
    if len(text) > LONGEST_NOTE or (key not in notes and len(notes) >= MOST_KEYS):
        raise ToolError(f"a note has at most {LONGEST_NOTE} characters, and there are {MOST_KEYS}")
    notes[key] = text
    return f"noted; cite it as scratchpad:{key}"


@tool(effects={"read"})
def ask_user(context: ToolContext, question: str) -> str:
    """Ask the person a question that only they can answer. Use it rarely.

    question: complete by itself.
    """
    if not question.strip():
        raise ToolError("the question is empty")
    answer = context.ask(question) if context.ask is not None else None
    if answer is None:
        raise ToolError(
            "nobody is there to answer. Decide by yourself what is safe to decide; what cannot go "
            "on without the person is `blocked`, with the question as the reason"
        )
    return answer or "(the person gave an empty answer)"


STANDARD_TOOLS = [read, write, edit, patch, glob, grep, bash, todo, scratchpad, ask_user]
