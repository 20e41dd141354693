"""`queue-status`: one line per plan, whatever state it is in; informs, decides nothing."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from signoff.domain.names import name_of_file, progress_file
from signoff.domain.text import decode_output, escape_line
from signoff.errors import SignoffError
from signoff.gate.ready import NotReadyReason, PlanReadiness, ReasonKind
from signoff.storage.location import STAGED_FOLDER
from signoff.storage.standings import read_standing
from signoff.storage.vault import Vault
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.marks import note_standing
from signoff.usecases.ready import PlanFacts, ReadyReport, find_ready, read_written

PROGRESS_CHARACTERS = 120
_TAIL_BYTES = 16 * 1024
STAGED = "staged"  # where a plan stands that nobody activated yet


@dataclass(frozen=True)
class QueueLine:
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
    return QueueLine(
        name=plan.name,
        state=answer.state,
        standing=plan.standing,
        holder=plan.holder,
        done=done,
        total=total,
        progress=last_line(folder / progress_file(plan.name)),
        age_s=_age_s(plan),
        why="; ".join(_why(plan, r) for r in answer.reasons if r.kind is not ReasonKind.HELD),
        problem=problem,
    )


def _why(plan: PlanFacts, reason: NotReadyReason) -> str:
    own = reason.kind is ReasonKind.MERGE and reason.plans == (plan.name,)
    return "not merged yet" if own else str(reason)


def _steps(harness: Harness, report: ReadyReport, plan: PlanFacts) -> tuple[int, int]:
    """From what was last written down, if nothing happened since; else folded once more."""
    if not plan.begun and plan.plan is not None:
        return 0, len(plan.plan.steps)
    known = read_standing(harness.ledger, plan.record.id)
    if known is None:
        vault = report.census.place
        place = PlanLocation(plan.path, plan.record, vault.worktree, Vault(vault.folder))
        known = note_standing(harness, place)
    return known.done, known.total


def _staged(folder: Path) -> list[QueueLine]:
    try:
        files = sorted(path for path in folder.iterdir() if name_of_file(path.name) is not None)
    except OSError:
        return []
    return [_staged_line(path) for path in files]


def _staged_line(path: Path) -> QueueLine:
    written = read_written(path)
    return QueueLine(
        name=name_of_file(path.name) or "",
        state=STAGED,
        standing=STAGED,
        holder="",
        done=0,
        total=len(written.plan.steps) if written.plan else None,
        progress="",
        age_s=_file_age_s(path),
        problem=written.problem,
    )


def last_line(path: Path) -> str:
    """The last line of a progress file, escaped and capped; empty for anything but a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            return ""
        data = os.pread(descriptor, _TAIL_BYTES, max(0, state.st_size - _TAIL_BYTES))
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    lines = [line for line in decode_output(data).split("\n") if line.strip()]
    shown = escape_line(lines[-1].strip()) if lines else ""
    return shown if len(shown) <= PROGRESS_CHARACTERS else shown[: PROGRESS_CHARACTERS - 1] + "…"


def _age_s(plan: PlanFacts) -> float | None:
    """Since something was last written about it in the ledger, else in its file."""
    entries = plan.history.entries
    if not entries:
        return _file_age_s(plan.path)
    try:
        return max(0.0, time.time() - datetime.fromisoformat(entries[-1].at).timestamp())
    except ValueError:
        return None


def _file_age_s(path: Path) -> float | None:
    try:
        return max(0.0, time.time() - path.lstat().st_mtime)
    except OSError:
        return None
