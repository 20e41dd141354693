"""`log`: the ledger of a plan or a session, entry by entry."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from signoff.domain.definition import Definition
from signoff.domain.ledger import Entry, Kind
from signoff.domain.session import session_id_of
from signoff.errors import NoSuchRun
from signoff.gate.definition import UNSTATED, apply, from_data
from signoff.gate.timeline import notes
from signoff.usecases.ground.site import PlanPlace, Site


@dataclass(frozen=True)
class Line:
    """An entry, and what it changed in the definition of done of its task."""

    entry: Entry
    timeline: tuple[str, ...] = ()


def read_log(
    site: Site, place: PlanPlace, *, after: int = 0, run: str | None = None
) -> Iterator[Entry]:
    """Stream the entries in order; NoSuchRun when there is no such run."""
    if run is not None and next(site.ledger.entries(place.record.id, run=run), None) is None:
        hint = f"signoff log {shlex.quote(str(place.path))}"
        raise NoSuchRun(f"plan `{place.name}` has no run `{run}`", hint)
    return site.ledger.entries(place.record.id, after=after, run=run)


def read_session_log(site: Site, session: str, *, after: int = 0) -> Iterator[Line]:
    """Stream a session's entries in order, with the timeline of its rounds."""
    chain = session_id_of(session)
    if site.ledger.head(chain)[0] == 0:
        raise NoSuchRun(f"no session has the id `{session}`", "signoff sessions")
    # What an entry changed depends on all those before it.
    return (line for line in _with_timeline(site.ledger.entries(chain)) if line.entry.seq > after)


def _with_timeline(entries: Iterable[Entry]) -> Iterator[Line]:
    tasks: dict[str, Definition] = {}
    for entry in entries:
        if entry.kind is not Kind.DEFINITION_CHANGED:
            yield Line(entry)
            continue
        task = str(entry.data.get("task", ""))
        before = tasks.get(task, UNSTATED)
        try:
            fact = from_data(entry.data)
        except ValueError as error:
            yield Line(entry, (str(error),))
            continue
        tasks[task] = after = apply(before, fact)
        yield Line(entry, tuple(note.text for note in notes(before, fact, after)))
