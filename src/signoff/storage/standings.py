"""Notes of each plan's last known state: for a quick look, never for a rule."""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from signoff.errors import SignoffError
from signoff.storage.ledger import Ledger

_WRITE = (
    "INSERT INTO standings (plan, seq, status, done, total, step, title)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (plan) DO UPDATE SET seq = excluded.seq,"
    " status = excluded.status, done = excluded.done, total = excluded.total,"
    " step = excluded.step, title = excluded.title WHERE excluded.seq >= standings.seq"
)
_READ = "SELECT seq, status, done, total, step, title FROM standings WHERE plan = ?"


class StandingNote(Struct, frozen=True):
    """A plan after its entry `seq`; `step` is the first that is not done."""

    seq: int
    status: str
    done: int
    total: int
    step: str | None
    title: str | None


def write_standing(ledger: Ledger, plan: str, note: StandingNote) -> None:
    """Write it down unless something newer is there; whatever fails stops nothing."""
    with suppress(SignoffError), ledger.database.transaction(durable=False):
        ledger.database.execute(
            _WRITE,
            plan,
            note.seq,
            note.status,
            note.done,
            note.total,
            _storable(note.step),
            _storable(note.title),
        )


def read_standing(ledger: Ledger, plan: str) -> StandingNote | None:
    """The note about a plan; None when something happened to the plan since."""
    rows = ledger.database.fetch(_READ, plan)
    if not rows or rows[0][0] != ledger.head(plan)[0]:
        return None
    return StandingNote(*rows[0])


def _storable(text: str | None) -> str | None:
    """The text without what either database refuses."""
    return None if text is None else text.replace("\0", "").encode("utf-8", "replace").decode()
