"""The door for clients' hooks: `signoff hook CLIENT EVENT`, the client's JSON on stdin.

    answer_hook(arguments) → nothing to do here? → session-start · before-tool · stop · session-end

Whatever happens the exit code is 0: clients read others as a block, or as a broken hook. What goes
wrong is told on stderr, and the agent may go on; a hook is feedback, never the proof. The way to
"nothing to do here" is the standard library alone.
"""

from __future__ import annotations

import os
import sys

from signoff import load_structs
from signoff.domain.clients import CLIENTS, HookKind
from signoff.domain.text import escape_line

# Not `typing.TYPE_CHECKING`: loading `typing` takes longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["answer_hook"]

LARGEST_INPUT = 64_000_000
LIMIT_OPTION = "--limit"
LONGEST_LIMIT_S = 86_400.0
_LONGEST_NOTE = 2_000


def answer_hook(arguments: list[str]) -> int:
    """Answer one event; always 0, and always output that the client can read."""
    try:
        answer = _answer(arguments)
        if answer is not None:
            import json  # noqa: PLC0415 - most hooks have nothing to say, and start-up pays

            _put(json.dumps(answer))
    except BaseException as failure:
        # Ctrl-C and SystemExit too: a client must never be stopped by its hook.
        told = getattr(failure, "message", "") or f"{type(failure).__name__}: {failure}"
        hint = getattr(failure, "hint", "signoff doctor")
        tell(f"{told}; the agent may go on; next: {hint}")
    return 0


def tell(text: str) -> None:
    """A line for people on stderr."""
    try:
        shown = escape_line(text)[:_LONGEST_NOTE].encode("utf-8", "replace")
        sys.stderr.buffer.write(b"signoff hook: " + shown + b"\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        return  # nobody reads it


def _answer(arguments: list[str]) -> dict[str, Any] | None:
    words = [word for word in arguments if word != "--json"]
    limit_s = None
    if LIMIT_OPTION in words[:-1]:
        at = words.index(LIMIT_OPTION)
        limit_s = _limit(words[at + 1])
        del words[at : at + 2]
    data = _read_input()
    kinds = {kind.value: kind for kind in HookKind}
    if len(words) != 2 or words[0] not in CLIENTS or words[1] not in kinds:
        known = f"{'|'.join(CLIENTS)} {'|'.join(kinds)}"
        tell(
            f"`{' '.join(words)}` is not known, so nothing was checked; next: signoff hook {known}"
        )
        return None
    from signoff.hooks.quick import nothing_here  # noqa: PLC0415 - after what can fail at once

    if nothing_here(data):
        return None
    load_structs()
    from signoff.hooks.events import answer_event  # noqa: PLC0415 - loads JSON, and more

    return answer_event(CLIENTS[words[0]], kinds[words[1]], data, limit_s)


def _limit(word: str) -> float | None:
    """Seconds; a slip of the pen in a configuration must not switch the hook off."""
    try:
        limit_s = float(word)
    except ValueError:
        limit_s = 0.0
    if 0 < limit_s <= LONGEST_LIMIT_S:
        return limit_s
    tell(f"`{LIMIT_OPTION} {word}` is not a number of seconds, so the usual limit holds")
    return None


def _read_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    return sys.stdin.buffer.read(LARGEST_INPUT)


def _put(text: str) -> None:
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
