"""`progress` and `log`: what happened to a plan, in lines for people, and entry by entry."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from signoff.agents.assignment import ATTEMPT_VARIABLE
from signoff.domain.ledger import Entry
from signoff.domain.names import name_of_file
from signoff.domain.redaction import Redactor, secret_variables
from signoff.domain.session import session_id_of
from signoff.errors import NoSuchRun, UsageError
from signoff.storage.progress import progress_line, read_progress
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.person import user_name

AGENT = "agent"


@dataclass(frozen=True)
class ProgressReport:
    """The newest lines, oldest first."""

    place: PlanLocation
    path: Path
    lines: tuple[str, ...]


def progress_of(place: PlanLocation, last: int | None = None) -> ProgressReport:
    """The lines in the order of time, all or the last ones."""
    path = place.vault.progress_path(_name(place))
    lines = read_progress(path).split("\n")[:-1]
    return ProgressReport(place, path, tuple(lines if last is None else lines[-last:]))


def add_progress(place: PlanLocation, text: str, environ: Mapping[str, str]) -> ProgressReport:
    """Append one line that says who wrote it, and within which attempt."""
    if not text.strip():
        raise UsageError("there is nothing to add", "signoff progress --add 'what happened'")
    attempt = environ.get(ATTEMPT_VARIABLE)
    author = user_name() if attempt is None else AGENT
    run, _, rest = (attempt or "").partition(":")
    step, _, _ = rest.rpartition(":")
    at = datetime.now(UTC).isoformat(timespec="microseconds")
    said = Redactor(secret_variables(environ, environ if attempt else ())).text(text)
    line = progress_line(at, author, run or None, step or None, said)
    name = _name(place)
    place.own_vault()
    place.vault.append_progress(name, line)
    return ProgressReport(place, place.vault.progress_path(name), (line,))


def _name(place: PlanLocation) -> str:
    name = name_of_file(place.path.name) if place.path.parent == place.vault.path else None
    if name is None:
        raise UsageError(
            f"`{place.path}` lies outside a vault; only plans of a vault have a progress file",
            f"signoff log {shlex.quote(str(place.path))}",
        )
    return name


def read_log(
    harness: Harness, place: PlanLocation, *, after: int = 0, run: str | None = None
) -> Iterator[Entry]:
    """Stream the entries in order; NoSuchRun when there is no such run."""
    if run is not None and next(harness.ledger.entries(place.record.id, run=run), None) is None:
        hint = f"signoff log {shlex.quote(str(place.path))}"
        raise NoSuchRun(f"plan `{place.name}` has no run `{run}`", hint)
    return harness.ledger.entries(place.record.id, after=after, run=run)


def read_session_log(harness: Harness, session: str, *, after: int = 0) -> Iterator[Entry]:
    """Stream a session's entries in order."""
    chain = session_id_of(session)
    if harness.ledger.head(chain)[0] == 0:
        raise NoSuchRun(f"no session has the id `{session}`", "signoff sessions")
    return harness.ledger.entries(chain, after=after)
