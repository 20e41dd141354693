"""Verbs that must answer at once: the standard library alone, before click is imported.

answer_at_once(arguments) → the exit code, or None where click has to read them
resolve(plan) · list_plans() · session_start(): the answers themselves, for click's verbs too
"""

from __future__ import annotations

import os
import sys

from signoff.errors import Exit
from signoff.fastpath.answers import (
    SCHEMA_VERSION,
    failure_text,
    list_names,
    list_plans,
    resolve,
    show_failure,
)

# Not `typing.TYPE_CHECKING`: loading `typing` and `pathlib` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "SCHEMA_VERSION",
    "answer_at_once",
    "failure_text",
    "list_names",
    "list_plans",
    "resolve",
    "session_start",
    "show_failure",
]


def answer_at_once(arguments: list[str]) -> int | None:
    """Answer one of the fast commands in its simple forms; None for everything else."""
    words = [word for word in arguments if word != "--json"]
    as_json = len(words) < len(arguments)
    match words:
        case ["resolve-active-plan"]:
            return _to_a_reader(lambda: resolve(None, as_json))
        case ["resolve-active-plan", "--plan", name]:
            return _to_a_reader(lambda: resolve(name, as_json))
        case ["list-plans"]:
            return _to_a_reader(lambda: list_plans(as_json))
        case ["list-plans", "--staged"]:
            return _to_a_reader(lambda: list_plans(as_json, staged=True))
        case ["list-plans", "--names"]:
            return _to_a_reader(list_names)
        case ["session-start"]:
            return _to_a_reader(lambda: session_start(as_json))
    return None


def session_start(as_json: bool = False) -> int:
    """`session-start`: the text block a session begins with."""
    from signoff.fastpath.session import session_start  # noqa: PLC0415 - the others need it not

    return session_start(as_json)


def _to_a_reader(answer: Callable[[], int]) -> int:
    try:
        code = int(answer())
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output went away; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.YES)
    return code
