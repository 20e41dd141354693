"""Calls that come too late: everything is built, and only judging is left."""

from __future__ import annotations

from signoff.domain.definition import DefinitionStatus
from signoff.toolbatch.calls import Nature
from signoff.toolbatch.rules import Block, PreflightRule
from signoff.toolbatch.shellwork import command_of, only_looks
from signoff.toolbatch.steering.drifting import declared
from signoff.toolbatch.steering.step import next_action, open_work
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
    return Block(text, next_action(view), guidance=True)


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
)
