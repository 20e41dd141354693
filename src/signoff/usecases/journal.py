"""`progress`, `log`, `diff`: what happened to a plan, and what changed since it was approved."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from signoff.domain.ledger import Entry, Kind
from signoff.domain.redaction import Redactor, secret_variables
from signoff.domain.session import session_id_of
from signoff.domain.snapshot import Change
from signoff.errors import NoSuchRun, UsageError
from signoff.places import ATTEMPT_VARIABLE
from signoff.planfile.diff import unified
from signoff.planfile.outline import plan_digest
from signoff.storage.vault import progress_line, read_progress
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import PlanHistory, approved_by, read_history, read_pins
from signoff.usecases.person import user_name
from signoff.usecases.status import how_to_take_edit
from signoff.usecases.workspaces import approved_workspace

AGENT = "agent"
LOOK_AGAIN_S = 0.5
_OPENS = (Kind.PLAN_APPROVED, Kind.RUN_STARTED, Kind.RUN_RESUMED, Kind.SESSION_STARTED)
_CLOSES = (Kind.RUN_FINISHED, Kind.SESSION_ENDED, Kind.SESSION_SIGNED)


class ProgressReport(Struct, frozen=True):
    place: PlanLocation
    path: Path
    lines: tuple[str, ...]


def progress_of(place: PlanLocation, last: int | None = None) -> ProgressReport:
    path = place.vault.progress_path(_name(place))
    lines = read_progress(path)
    return ProgressReport(place, path, lines if last is None else lines[-last:])


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
    if place.name_in_vault is None:
        raise UsageError(
            f"`{place.path}` lies outside a vault; only plans of a vault have a progress file",
            f"signoff log {place.quoted}",
        )
    return place.name_in_vault


def read_log(
    harness: Harness, place: PlanLocation, *, after: int = 0, run: str | None = None
) -> Iterator[Entry]:
    """Stream the entries in order; NoSuchRun when there is no such run."""
    if run is not None and next(harness.ledger.entries(place.id, run=run), None) is None:
        hint = f"signoff log {place.quoted}"
        raise NoSuchRun(f"plan `{place.name}` has no run `{run}`", hint)
    return harness.ledger.entries(place.id, after=after, run=run)


def read_session_log(harness: Harness, session: str, *, after: int = 0) -> Iterator[Entry]:
    chain = session_id_of(session)
    if harness.ledger.head(chain)[0] == 0:
        raise NoSuchRun(f"no session has the id `{session}`", "signoff sessions")
    return harness.ledger.entries(chain, after=after)


def follow(harness: Harness, chain: str, seen: int, run: str | None = None) -> Iterator[Entry]:
    """Entries as they are appended, until what was begun is over; only new ones are read.

    What is over already is not waited for. Whoever asks says with `seen` what they have read.
    """
    over = False
    for entry in harness.ledger.entries(chain, run=run):
        if entry.seq > seen:
            break
        over = _is_over(entry, over)
    while True:
        for entry in harness.ledger.entries(chain, after=seen, run=run):
            seen, over = entry.seq, _is_over(entry, over)
            yield entry
        if over:
            return
        time.sleep(LOOK_AGAIN_S)


def _is_over(entry: Entry, before: bool) -> bool:
    return entry.kind in _CLOSES or (before and entry.kind not in _OPENS)


class AttemptWords(Struct, frozen=True):
    """Question and answer of one attempt; None: the ledger has nothing of it."""

    attempt: int
    prompt: str | None
    answer: str | None  # an honest way out that it took instead of done
    printed: str | None  # the end of it


def attempt_of(
    harness: Harness, place: PlanLocation, step: str, attempt: int | None
) -> AttemptWords:
    """The attempt at a step that has this number, or its newest one."""
    mine = [e for e in harness.ledger.entries(place.id) if e.step == step]
    began = [e for e in mine if e.kind is Kind.ATTEMPT_STARTED and attempt in (None, e.attempt)]
    if not began:
        which = f"attempt {attempt}" if attempt else "attempt"
        hint = f"signoff log {place.quoted}"
        raise UsageError(f"there was no {which} at step `{step}`", hint)
    newest = began[-1]
    ended = [e for e in mine if e.kind is Kind.ATTEMPT_FINISHED and e.seq > newest.seq]
    data = ended[0].data if ended else {}
    prompt, answer = newest.data.get("prompt"), data.get("answer")
    return AttemptWords(
        newest.attempt or 0,
        harness.ledger.get_blob(prompt).decode("utf-8", "replace") if prompt else None,
        f"{answer['kind']}: {answer['reason']}" if answer else None,
        data.get("output_tail"),
    )


class DiffReport(Struct, frozen=True):
    """Two texts: the plan against its pin, the content between two snapshots."""

    place: PlanLocation
    plan: str
    old: str
    new: str
    changes: tuple[Change, ...]
    content: str
    next: str = ""  # how an edit of the plan can be taken


def diff_plan(
    harness: Harness, place: PlanLocation, step: str | None = None, attempt: int | None = None
) -> DiffReport:
    """Difference since approval, or what one attempt at a step changed."""
    history = read_history(harness.ledger, place.id)
    newest = history.in_force
    if newest is None:
        raise NoSuchRun(f"plan `{place.name}` was never approved", place.to_approve)
    approved = approved_by(harness.ledger, place, history, newest)
    pins, workspace = approved.pins, approved_workspace(harness, approved)
    if step is None:
        old, new = pins.snapshot, workspace.snapshot().digest
    else:
        began = pins if history.run is None else read_pins(harness.ledger, history.run)
        old, new = _around_attempt(place, history, began.snapshot, step, attempt)
    text = place.read()
    same = plan_digest(text) == pins.plan_digest
    return DiffReport(
        place=place,
        plan="" if same else unified(pins.plan_text, text, place.path.name),
        old=old,
        new=new,
        changes=workspace.diff(old, new),
        content=workspace.text_diff(old, new),
        next="" if same else how_to_take_edit(harness, place, history),
    )


def _around_attempt(
    place: PlanLocation, history: PlanHistory, first: str, step: str, attempt: int | None
) -> tuple[str, str]:
    """The content before and after an attempt; the newest one unless a number is given."""
    before, found = first, None
    for entry in history.entries:
        if entry.run != history.run_id or "snapshot" not in entry.data:
            continue
        if entry.kind is Kind.ATTEMPT_FINISHED:
            if entry.step == step and attempt in (None, entry.attempt):
                found = (before, entry.data["snapshot"])
            before = entry.data["snapshot"]
    if found is None:
        which = f"attempt {attempt} at step `{step}`" if attempt else f"attempt at step `{step}`"
        raise UsageError(f"no finished {which} in the newest run", f"signoff log {place.quoted}")
    return found
