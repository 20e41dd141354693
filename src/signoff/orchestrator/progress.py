"""The progress file of a plan: lines that the ledger's entries become, appended and never changed.

Each line carries the number of its entry, so that after a kill the next driver goes on where the
file ends.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field

from signoff.domain.ledger import Entry, Kind
from signoff.errors import SignoffError
from signoff.storage.ledger import Ledger
from signoff.storage.progress import progress_line
from signoff.storage.vault import Vault

AUTHOR = "signoff"
_TAIL_BYTES = 256 * 1024
_NUMBER = re.compile(rb" signoff run=\S+ step=\S+ #(\d+) ")


@dataclass
class ProgressProjection:
    """Appends what happened since it last looked; a file that cannot be written stops nothing."""

    ledger: Ledger
    plan_id: str
    vault: Vault
    name: str
    _seq: int | None = field(default=None, init=False)

    def bring_up_to_date(self) -> None:
        """Append a line for every entry that people want to read about."""
        with suppress(SignoffError, OSError):
            if self._seq is None:
                self._seq = self._last_written()
            entries = list(self.ledger.entries(self.plan_id, after=self._seq))
            lines = [_line(entry, text) for entry in entries if (text := said(entry))]
            if lines:
                self.vault.append_progress(self.name, *lines)
            if entries:
                self._seq = entries[-1].seq

    def _last_written(self) -> int:
        """The newest entry that the file tells of; 0 for a file that was removed or never was."""
        try:
            # Never waited for: somebody may have put a pipe there.
            fd = os.open(self.vault.progress_path(self.name), os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return 0
        with open(fd, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
        found = _NUMBER.findall(tail)
        return max(map(int, found)) if found else 0


def said(entry: Entry) -> str:
    """What an entry is to somebody who reads along; empty for what only the harness needs."""
    data = entry.data
    match entry.kind:
        case Kind.RUN_FINISHED:
            return f"run finished: {data['outcome']}"
        case Kind.STEP_FAILED:
            return f"step failed: {data.get('message', '')}"
        case Kind.STEP_CLEARED:
            return f"put back for the other steps: {', '.join(data['paths'])}"
        case Kind.STEP_WAIVED:
            return f"step waived by {data['by']}: {data['note']}"
        case Kind.ESCALATION_OPENED:
            return f"question {data['id']}: {data['question']}"
        case Kind.ESCALATION_ANSWERED:
            return f"answer to {data['id']} by {data['by']}: {data['choice']}"
        case Kind.PLAN_MERGED:
            return f"merged into {data['base']} as {data['commit'][:12]}"
        case _:
            return _FIXED.get(entry.kind, "")


_FIXED = {
    Kind.RUN_STARTED: "run started",
    Kind.RUN_RESUMED: "run resumed",
    Kind.STEP_DONE: "step done",
    Kind.STEP_REOPENED: "step reopened: a later change broke it",
    Kind.STEP_RESTORED: "step kept again",
}


def _line(entry: Entry, text: str) -> str:
    return progress_line(entry.at, AUTHOR, entry.run, entry.step, f"#{entry.seq} {text}")
