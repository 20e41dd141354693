"""What of a batch is written into the ledger of a session, beside the facts of its definition."""

from __future__ import annotations

from signoff.domain.ledger import Draft, Kind
from signoff.storage.ledger import Ledger
from signoff.toolbatch.events import Event, Responded

LONGEST_TEXT = 2_000


class HaltRecord:
    """A subscriber: a turn that the runtime ended is on record as a failure."""

    def __init__(self, ledger: Ledger, session: str):
        self._ledger, self._session = ledger, session

    def __call__(self, event: Event) -> None:
        """Write it down, if it is one."""
        if isinstance(event, Responded) and event.failed:
            data = {"text": event.text[:LONGEST_TEXT]}
            self._ledger.append(self._session, [Draft(Kind.TURN_HALTED, data)])
