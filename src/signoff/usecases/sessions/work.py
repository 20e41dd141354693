"""What a session did for a plan: who it was, what it used, what it saw broken before it worked."""

from __future__ import annotations

from collections.abc import Sequence

from signoff.domain.ledger import Entry, Kind
from signoff.domain.sessionwork import SessionWork
from signoff.domain.verdict import Result
from signoff.storage.ledger import Ledger


def read_work(ledger: Ledger, session: str) -> SessionWork:
    """Read it from the session's chain, and from those of the sessions that it delegated to."""
    entries = tuple(ledger.entries(session))
    return work_of(session, entries, _with_children(ledger, entries))


def work_of(session: str, entries: Sequence[Entry], family: Sequence[Entry]) -> SessionWork:
    """The same from entries: the session's own, and those that say what was used."""
    used = [entry.data for entry in family if entry.kind is Kind.SESSION_USAGE]
    models = dict.fromkeys(str(data["model"]) for data in used if data["model"])
    began = next(entry for entry in entries if entry.kind is Kind.SESSION_STARTED)
    return SessionWork(
        id=session,
        agent=str(began.data.get("author", "")),
        model=", ".join(models) or None,
        tokens=sum(int(data["tokens"]) for data in used) if used else None,
        usd=round(sum(float(data["usd"]) for data in used), 9) if used else None,
        seq=entries[-1].seq,
        hash=entries[-1].hash,
        red=_red_first(entries),
    )


def _with_children(ledger: Ledger, entries: Sequence[Entry]) -> list[Entry]:
    found, waiting = list(entries), _children(entries)
    known = set(waiting)
    while waiting:
        below = tuple(ledger.entries(waiting.pop()))
        found += below
        new = [child for child in _children(below) if child not in known]
        known.update(new)
        waiting += new
    return found


def _children(entries: Sequence[Entry]) -> list[str]:
    return [str(e.data["child"]) for e in entries if e.kind is Kind.SESSION_DELEGATED]


def _red_first(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Steps whose contract was broken when the session first had an answer about it."""
    first: dict[str, Result] = {}
    for entry in entries:
        if entry.kind is not Kind.VERDICT or entry.step is None:
            continue
        result = Result(entry.data["result"])
        if entry.data.get("subject") == entry.step and result is not Result.UNKNOWN:
            first.setdefault(entry.step, result)
    return tuple(step for step, result in first.items() if result is Result.BROKEN)
