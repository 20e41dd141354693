"""What whoever runs an agent records of its work: calls, notes, and what a turn used."""

from __future__ import annotations

from dataclasses import replace

from signoff.agents.sessions.desk import Desk
from signoff.agents.sessions.opening import citable_id
from signoff.domain.ledger import Draft, Kind
from signoff.domain.session import ToolCall

LONGEST_NOTE = 4_000


def record_call(desk: Desk, call: ToolCall) -> str:
    """One call, its files named one way; returns the id by which evidence can cite it."""
    call_id, name = citable_id(call.id, desk.look()), desk.files.name
    named = replace(
        call,
        id=call_id,
        reads={name(p): digest for p, digest in call.reads.items()},
        writes={name(p): digest for p, digest in call.writes.items()},
        touched=tuple(name(p) for p in call.touched),
    )
    # A call that a power cut takes cannot be cited: a proof less, never one too many.
    desk.append(Draft(Kind.TOOL_CALLED, named.to_data()), durable=False)
    return call_id


def record_note(desk: Desk, key: str, text: str) -> None:
    """A note of the agent; its beginning, if it is long."""
    desk.append(Draft(Kind.NOTE_KEPT, {"key": key, "text": text[:LONGEST_NOTE]}))


def record_usage(desk: Desk, tokens: int, usd: float, model: str) -> None:
    """What a turn used; a power cut may take it."""
    data = {"tokens": tokens, "usd": usd, "model": model}
    desk.append(Draft(Kind.SESSION_USAGE, data), durable=False)
