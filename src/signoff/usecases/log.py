"""`log`: the ledger of a plan, entry by entry."""

from __future__ import annotations

from collections.abc import Iterator

from signoff.domain.ledger import Entry
from signoff.usecases.site import PlanPlace, Site


def read_log(
    site: Site, place: PlanPlace, *, after: int = 0, run: str | None = None
) -> Iterator[Entry]:
    """Stream the entries in order."""
    return site.ledger.entries(place.record.id, after=after, run=run)
