"""`list` and `next`: every plan in a line, and the next one that is ready handed out."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.names import name_of_file, progress_file, shown_name
from signoff.domain.text import decode_output, escape_line, shortened
from signoff.errors import PlanNotFound, SignoffError
from signoff.gate.ready import PlanReadiness, PlanStanding, ReasonKind
from signoff.storage.active import STAGED_FOLDER
from signoff.storage.claims import CLAIM_S, Offer, claim_first, give_back_claim, renew_claim
from signoff.storage.standings import read_standing
from signoff.storage.vault import Vault, checked_slug
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.marks import note_standing
from signoff.usecases.person import Worker
from signoff.usecases.ready import (
    PlanFacts,
    ReadyReport,
    find_ready,
    presumed_dead,
    read_written,
    take_census,
)
from signoff.workspace.folders import open_regular

PROGRESS_CHARACTERS = 120
_TAIL_BYTES = 16 * 1024
STAGED = "staged"  # where a plan stands that nobody activated yet


class QueueLine(Struct, frozen=True):
    """One plan; `total` is None where its steps cannot be counted."""

    name: str
    state: str
    standing: str
    holder: str
    done: int
    total: int | None
    progress: str
    age_s: float | None
    why: str = ""
    problem: str = ""


def queue_status(harness: Harness) -> tuple[QueueLine, ...]:
    """Every plan of the vault, then every staged one."""
    report = find_ready(harness)
    folder = report.census.place.folder
    lines = [_line(harness, report, plan, answer) for plan, answer in report.plans]
    return (*lines, *_staged(folder / STAGED_FOLDER))


def _line(
    harness: Harness, report: ReadyReport, plan: PlanFacts, answer: PlanReadiness
) -> QueueLine:
    folder = report.census.place.folder
    done, total, problem = 0, None, plan.problem
    if not problem:
        try:
            done, total = _steps(harness, report, plan)
        except SignoffError as error:
            problem = error.message
    # Since something was last written about it in the ledger, else in its file.
    age_s, entries = _file_age_s(plan.path), plan.history.entries
    with suppress(ValueError):
        if entries:
            said = datetime.fromisoformat(entries[-1].at)
            age_s = max(0.0, time.time() - said.timestamp())
    return QueueLine(
        name=plan.name,
        state=answer.state,
        standing=plan.standing,
        holder=plan.holder,
        done=done,
        total=total,
        progress=last_line(folder / progress_file(plan.name)),
        age_s=age_s,
        why="; ".join(
            "not merged yet" if r.kind is ReasonKind.MERGE and r.plans == (plan.name,) else str(r)
            for r in answer.reasons
            if r.kind is not ReasonKind.HELD
        ),
        problem=problem,
    )


def _steps(harness: Harness, report: ReadyReport, plan: PlanFacts) -> tuple[int, int]:
    """Done and all steps, from the last note if nothing happened since; else folded once more."""
    if not plan.begun and plan.plan is not None:
        return 0, len(plan.plan.steps)
    known = read_standing(harness.ledger, plan.record.id)
    if known is None:
        vault = report.census.place
        place = PlanLocation(plan.path, plan.record, vault.worktree, Vault(vault.folder))
        known = note_standing(harness, place)
    return known.done, known.total


def _staged(folder: Path) -> Iterator[QueueLine]:
    try:
        files = sorted(folder.iterdir())
    except OSError:
        return
    for path in files:
        name = name_of_file(path.name)
        if name is not None:
            written = read_written(path)
            total = len(written.plan.steps) if written.plan else None
            line = QueueLine(name, STAGED, STAGED, "", 0, total, "", _file_age_s(path))
            yield replace(line, problem=written.problem)


def last_line(path: Path) -> str:
    """The last line of a progress file, escaped and capped; empty for anything but a file."""
    try:
        with open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            data = file.read(_TAIL_BYTES)
    except OSError:
        return ""
    lines = [line for line in decode_output(data).split("\n") if line.strip()]
    return shortened(escape_line(lines[-1].strip()), PROGRESS_CHARACTERS) if lines else ""


def _file_age_s(path: Path) -> float | None:
    try:
        return max(0.0, time.time() - path.lstat().st_mtime)
    except OSError:
        return None


# Each further look means that somebody else was faster; there is no need to look for ever.
_LOOKS = 20


class NextReport(Struct, frozen=True):
    """The plan that was handed out, if any, and the state of all plans when it was decided."""

    worker: str
    handed: PlanFacts | None
    term_s: float
    ready: ReadyReport


def hand_out(
    harness: Harness,
    worker: Worker,
    term_s: float = CLAIM_S,
    *,
    unapproved: bool = False,
    left_out: frozenset[str] = frozenset(),
) -> NextReport:
    """Choose without holding anybody up, then claim what still stands; look again if nothing does.

    A worker with a name that was given a plan and has not begun is given it again.
    """
    gone = presumed_dead(harness)
    ready = find_ready(harness)
    for _ in range(_LOOKS):
        own = _own_claim(harness, worker, ready, term_s, unapproved)
        if own is not None:
            return NextReport(worker.name, own, term_s, ready)
        offers = tuple(o for o in _offers(ready, unapproved) if o.name not in left_out)
        answer = claim_first(
            harness.ledger,
            ready.census.scope,
            offers,
            lambda offer: worker.claimant(harness, offer.name),
            term_s,
            gone,
        )
        if answer.offer is not None:
            handed = ready.census.by_name[answer.offer.name]
            return NextReport(worker.name, handed, term_s, ready)
        if not answer.outdated:
            break
        ready = find_ready(harness)
    return NextReport(worker.name, None, term_s, ready)


def give_back(harness: Harness, worker: Worker, name: str) -> bool:
    """Let somebody else have a plan; whether it was this worker's."""
    census = take_census(harness)
    slug = "" if name == shown_name("") else checked_slug(name)
    facts = census.by_name.get(slug)
    if facts is None:
        raise PlanNotFound(f"plan `{name}` is not in `{census.place.folder}`", "signoff ready")
    return give_back_claim(harness.ledger, facts.record.id, worker.owns)


def _own_claim(
    harness: Harness, worker: Worker, ready: ReadyReport, term_s: float, unapproved: bool
) -> PlanFacts | None:
    if not worker.named:
        return None
    wanted = {PlanStanding.APPROVED, PlanStanding.INTERRUPTED}
    wanted |= {PlanStanding.NOT_APPROVED} if unapproved else set()
    for plan in ready.census.plans:
        if plan.claim is None or plan.claim.holder.worker != worker.name:
            continue
        claimant = worker.claimant(harness, plan.name)
        if plan.standing in wanted and renew_claim(
            harness.ledger, ready.census.scope, plan.record.id, claimant, term_s
        ):
            return plan
    return None


def _offers(ready: ReadyReport, unapproved: bool) -> Iterator[Offer]:
    """Plans that nobody keeps back, the most urgent first, with those that may run beside them."""
    known, answers = ready.census.by_name, ready.answer.by_name
    for name in (name for group in ready.answer.together for name in group):
        plan, answer = known[name], answers[name]
        if not plan.listed or not (answer.approved or unapproved):
            continue
        others = {p.record.id for p in known.values() if p.name not in answer.kept_back_by}
        yield Offer(plan.record.id, name, plan.seq, plan.touches, frozenset(others))
