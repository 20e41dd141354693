"""Plan-execution mismatch: files that change outside what the step in progress declares."""

from __future__ import annotations

import re
from collections.abc import Iterable

from signoff.agents.sessions.desk import Desk
from signoff.domain.globs import matches_any
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Author, Step
from signoff.domain.session import ClaimStatus, shown_list
from signoff.domain.text import escape_line, storable_path

# A word with a dot or slash inside, as people name files in prose and commands.
_NAMED = re.compile(r"[\w~-][\w.~+-]*(?:/[\w.~+-]+)+|[\w-][\w-]*\.[A-Za-z]\w{0,9}")


def note_strays(desk: Desk, paths: Iterable[str], call_id: str) -> str:
    """What changed although no step in progress declares it; an empty text when all is well."""
    state = desk.look()
    changed = sorted({desk.files.name(path) for path in paths})
    if state.plan is None or state.author is Author.DERIVED or not changed:
        return ""
    at_work = [
        s for s in state.plan.steps if state.record(s.id).claim.status is ClaimStatus.IN_PROGRESS
    ]
    allowed = [glob for step in at_work for glob in _declared(desk, step)]
    outside = [p for p in changed if state.plan.touches and not _in(state.plan.touches, p)]
    if not at_work:
        stray, why = changed, "no step is in progress"
    elif allowed:
        stray = [p for p in changed if not _in(allowed, p)]
        why = f"the step in progress ({', '.join(s.id for s in at_work)}) does not name them"
    else:
        stray, why = outside, "the plan does not touch them"
    if not stray:
        return ""
    names = [storable_path(p) for p in stray]
    step = at_work[0].id if len(at_work) == 1 else None
    data = {"paths": names, "call": call_id, "why": why}
    desk.append(Draft(Kind.STEP_STRAYED, data, step=step))
    return (
        f"note: {shown_list(escape_line(n) for n in names)} changed, but {why}. If that is right,"
        " update the plan or the step's status; the report names it either way"
    )


def _declared(desk: Desk, step: Step) -> tuple[str, ...]:
    """What the step says it touches, and files that its task and contract name."""
    declared = desk.state.session.declared.get(step.id)
    text = f"{step.task}\n{step.contract.command if step.contract else ''}"
    named = tuple(found.removeprefix("./") for found in _NAMED.findall(text))
    return (*(declared.touches if declared else ()), *step.produces, *named)


def _in(globs: Iterable[str], path: str) -> bool:
    """Under a glob, the path itself, or in a folder that was named."""
    every = tuple(globs)
    return matches_any(every, path) or any(
        path == glob or path.startswith(f"{glob.rstrip('/')}/") for glob in every
    )
