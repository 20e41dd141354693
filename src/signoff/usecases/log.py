"""`log`: the ledger of a plan or a session, entry by entry."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from signoff.domain.ledger import Entry
from signoff.domain.session import session_id_of
from signoff.errors import NoSuchRun
from signoff.usecases.ground.site import PlanPlace, Site


def read_log(
    site: Site, place: PlanPlace, *, after: int = 0, run: str | None = None
) -> Iterator[Entry]:
    """Stream the entries in order; NoSuchRun when there is no such run."""
    if run is not None and next(site.ledger.entries(place.record.id, run=run), None) is None:
        hint = f"signoff log {shlex.quote(str(place.path))}"
        raise NoSuchRun(f"plan `{place.name}` has no run `{run}`", hint)
    return site.ledger.entries(place.record.id, after=after, run=run)


def read_session_log(site: Site, session: str, *, after: int = 0) -> Iterator[Entry]:
    """Stream a session's entries in order."""
    chain = session_id_of(session)
    if site.ledger.head(chain)[0] == 0:
        raise NoSuchRun(f"no session has the id `{session}`", "signoff sessions")
    return site.ledger.entries(chain, after=after)
