"""Rules for turns that lead away from the work: looking around, asking, growing, auditing."""

from __future__ import annotations

import difflib
import posixpath

from signoff.toolbatch.calls import Nature, NextAction, OutcomeKind
from signoff.toolbatch.events import Steered
from signoff.toolbatch.rules import SteeringRule
from signoff.toolbatch.shellwork import command_of, only_looks
from signoff.toolbatch.steering.step import (
    Step,
    artifact_step,
    next_step,
    open_work,
    writer,
)
from signoff.toolbatch.steering.wording import quoted, steered
from signoff.toolbatch.view import View

# They tell what else there is: written first or last, they are not the work itself.
SUMMARIES = frozenset({"index", "readme"})


def expanding(view: View) -> Steered | None:
    """A file that nobody declared: declare it at the root first, or take the nearest declared."""
    outcome, target = view.outcome, view.call.target
    if outcome is None or outcome.kind is not OutcomeKind.BLOCKED or view.repair is not None:
        return None
    if view.call.shape.nature is not Nature.MUTATE or not target or declared(view, target):
        return None
    if not view.definition.artifacts:
        return None
    root = _root(view)
    first = f"declare it in {quoted(root)} first" if root else "declare it first"
    nearest = _nearest(view)
    why = f"{quoted(target)} is not declared: {first}, or take the nearest declared file."
    return steered("expanding", view, why, nearest)


def late_question(view: View) -> Steered | None:
    """Once everything is built, a question is answered by judging, not by the person."""
    if view.call.shape.nature is not Nature.ASK or view.outcome is None or open_work(view):
        return None
    if not view.definition.artifacts and not view.definition.touched:
        return None
    why = "Everything planned is built, so there is nothing left to ask: the files are the answer."
    return steered("late_question", view, why, next_step(view))


def late_drift(view: View) -> Steered | None:
    """Most is done; reference material has been read enough."""
    if not _observes(view) or not view.late or view.repair is not None:
        return None
    if view.call.target and declared(view, view.call.target):
        return None
    if view.counts.reference_reads < view.limits.late_reads:
        return None
    left = len(view.missing)
    why = f"Only {left} of {len(view.definition.artifacts)} planned are missing: read no more."
    return steered("late_drift", view, why, next_step(view))


def long_look(view: View) -> Steered | None:
    """Looking around has no end of its own."""
    if not _observes(view) or not open_work(view) or view.repair is not None:
        return None
    if view.counts.looks < view.limits.looks:
        return None
    why = f"{view.counts.looks} looks in a row and nothing made: you know enough to begin."
    return steered("long_look", view, why, _made(view))


def audit_loop(view: View) -> Steered | None:
    """Everything exists and was looked at: looking on proves nothing, judging does."""
    if not _observes(view) or not view.built or open_work(view) or view.repair is not None:
        return None
    if view.counts.audits < view.limits.audits:
        return None
    why = "Everything planned exists. Reading it again proves nothing; judging does."
    return steered("audit_loop", view, why, next_step(view))


def reread_written(view: View) -> Steered | None:
    """What was just written is known."""
    outcome, target = view.outcome, view.call.target
    if outcome is None or not outcome.ok or view.call.shape.nature is not Nature.OBSERVE:
        return None
    if not target or target != view.last_written or view.repair is not None:
        return None
    step = next_step(view)
    if step.action == NextAction(view.call.tool, target):
        return None
    why = f"You wrote {quoted(target)} yourself just now and know what is in it."
    return steered("reread_written", view, why, step)


def declared(view: View, path: str) -> bool:
    """Whether a path is a planned artifact or lies in a planned folder."""
    return any(
        path == a.path or (a.directory and path.startswith(f"{a.path.rstrip('/')}/"))
        for a in view.definition.artifacts
    )


def _observes(view: View) -> bool:
    nature = view.call.shape.nature
    looks = nature is Nature.SHELL and only_looks(command_of(view.call))
    return view.outcome is not None and (nature is Nature.OBSERVE or looks)


def _made(view: View) -> Step:
    """The next step that makes something."""
    return artifact_step(view) if view.missing else next_step(view)


def _root(view: View) -> str:
    """The file that tells what else there is, the one nearest to the root."""
    paths = [a.path for a in view.definition.artifacts if not a.directory]
    summaries = [p for p in paths if is_summary(p)]
    return min(summaries, key=lambda p: (p.count("/"), p), default="")


def is_summary(path: str) -> bool:
    """Whether a file only tells about others: an index or a readme."""
    return posixpath.basename(path).lower().partition(".")[0] in SUMMARIES


def _nearest(view: View) -> Step:
    """What is missing and named most alike; else whatever comes next."""
    missing = [a.path for a in view.missing if not a.directory]
    alike = difflib.get_close_matches(view.call.target, missing, n=1, cutoff=0.0)
    return Step(NextAction(writer(view), alike[0]), whole=True) if alike else next_step(view)


RULES = (
    SteeringRule(
        "expanding",
        "A file beyond the declared set: declare it at the root first, or take the nearest one.",
        expanding,
    ),
    SteeringRule(
        "late_question",
        "A question to the person when everything is built: hand over to judging.",
        late_question,
    ),
    SteeringRule(
        "late_drift",
        "Reference material is read although most is done: make what is missing.",
        late_drift,
    ),
    SteeringRule(
        "long_look",
        "Look after look and nothing made: begin with the first file.",
        long_look,
    ),
    SteeringRule(
        "audit_loop",
        "Everything exists and is read again and again: hand over to judging.",
        audit_loop,
    ),
    SteeringRule(
        "reread_written",
        "The file just written is read again: go on to the next one.",
        reread_written,
    ),
)
