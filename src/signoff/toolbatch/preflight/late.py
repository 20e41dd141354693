"""Calls that come too late: when most is built, or everything is and only judging is left."""

from __future__ import annotations

from signoff.domain.definition import DefinitionStatus
from signoff.toolbatch.calls import ANSWER, Nature, NextAction
from signoff.toolbatch.rules import Block, PreflightRule
from signoff.toolbatch.shellwork import command_of, only_looks
from signoff.toolbatch.steering.drifting import declared
from signoff.toolbatch.steering.step import completes_look, next_step, open_work
from signoff.toolbatch.view import View

_OPEN_AGAIN = frozenset({DefinitionStatus.FIXING, DefinitionStatus.FAILED})


def looks(view: View) -> bool:
    """Whether the call only looks."""
    nature = view.call.shape.nature
    return nature is Nature.OBSERVE or (
        nature is Nature.SHELL and only_looks(command_of(view.call))
    )


def only_judging_left(view: View) -> bool:
    """Whether everything planned was built in this task, and no finding is open."""
    if not view.built or open_work(view) or view.repair is not None:
        return False
    # Files that were there before anything was done are not a thing that was built.
    return bool(view.definition.touched) and view.definition.status not in _OPEN_AGAIN


def late_question(view: View) -> Block | None:
    """Once everything is built, the files are the answer."""
    if view.call.shape.nature is not Nature.ASK or not only_judging_left(view):
        return None
    text = "everything planned is built: there is nothing left to ask; it is judged now"
    return Block(text, NextAction(ANSWER), guidance=True)


def late_drift(view: View) -> Block | None:
    """Most is done, and reference material was read enough."""
    if not looks(view) or not view.late or view.repair is not None:
        return None
    if view.counts.reference_reads < view.limits.late_reads or not refers(view):
        return None
    planned = len(view.definition.artifacts)
    text = f"{planned - len(view.missing)} of {planned} planned are made: make the rest now"
    return Block(text, next_step(view).action, guidance=True)


def audit_loop(view: View) -> Block | None:
    """Looking on proves nothing; judging does."""
    # The look that an open item asks for is the one thing that is left to look at.
    if not looks(view) or not only_judging_left(view) or completes_look(view):
        return None
    if view.counts.audits < view.limits.audits:
        return None
    text = "everything planned exists and was looked at: it is judged now"
    return Block(text, NextAction(ANSWER), guidance=True)


def refers(view: View) -> bool:
    """Whether the call is about material beside the planned outputs."""
    paths = [path for path in view.call.paths if path not in ("", ".")]
    return bool(paths) and not any(declared(view, path) for path in paths)


RULES = (
    PreflightRule(
        "late_question",
        "A question to the person when everything is built.",
        late_question,
    ),
    PreflightRule(
        "late_drift",
        "Reading reference material when most of the artifacts are done.",
        late_drift,
    ),
    PreflightRule(
        "audit_loop",
        "Looking again and again when everything exists.",
        audit_loop,
    ),
)
