"""Steering: at most one message a turn, with the next action beside it; the first rule wins.

What was wrong with a single call its own result says. To add a rule: write a function
`View -> Steered | None` with one line about it as its docstring, and put it into `STEERING`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from signoff.domain.task import ROUND_BUDGET
from signoff.gate.task import RoundStatus
from signoff.toolbatch.calls import ANSWER, BOOKKEEPING, Nature, NextAction, OutcomeKind
from signoff.toolbatch.events import Steered
from signoff.toolbatch.sets import declared
from signoff.toolbatch.shellwork import looks, made_folders
from signoff.toolbatch.steps import (
    artifact_step,
    brief,
    lasts,
    listed,
    next_step,
    open_work,
    quoted,
    repair_step,
    steered,
)
from signoff.toolbatch.view import SteeringRule, View, steering_rules

_FINDING = 90
_BRIEF = 56


def repair_updated(view: View) -> Steered | None:
    """A file was changed in a repair: the next one that is at fault, else judging is due again."""
    focus, outcome = view.repair, view.outcome
    if focus is None or outcome is None or not outcome.ok or not outcome.changed:
        return None
    why = f"{brief(outcome.changed[0])} is changed, so it has to be judged again."
    sure = [target for target in focus.targets if target.sure]
    if len(sure) > 1:
        done = sum(target.visited for target in sure)
        why += f" {done} of {len(sure)} files with faults were changed."
    return steered("repair_updated", view, why, repair_step(view))


def verification_failed(view: View) -> Steered | None:
    """A round is broken and nothing was changed since: the finding and the file to change."""
    last, focus = view.task.round, view.repair
    if last is None or view.outcome is None or view.outcome.changed or view.task.is_over:
        return None
    if (focus is not None and focus.worked_on) or last.changed:
        return None
    if last.status is not RoundStatus.BROKEN and focus is None:
        return None
    target = focus.next_target if focus is not None else None
    findings = (target.findings if target is not None else ()) or (focus.findings if focus else ())
    found = f": {quoted(findings[0], _FINDING)}" if findings else ""
    why = f"Round {view.task.failed_rounds} of {ROUND_BUDGET} is broken{found}."
    return steered("verification_failed", view, why, next_step(view))


def verification_stale(view: View) -> Steered | None:
    """Something changed after a kept round: it has to be judged again."""
    last = view.task.round
    if view.outcome is None or last is None or last.status is not RoundStatus.STALE:
        return None
    if open_work(view) or view.repair is not None:
        return None
    why = "The last round was kept, and files changed since. It proves nothing any more."
    return steered("verification_stale", view, why, next_step(view))


def audit_loop(view: View) -> Steered | None:
    """Everything exists and is read again and again: hand over to judging."""
    if not (_observes(view) or idles(view)) or not view.built:
        return None
    if open_work(view) or view.repair is not None:
        return None
    counts, limits = view.counts, view.limits
    if counts.audits < limits.audits and counts.looks < limits.looks:
        return None
    why = "Everything planned is there. Reading it again proves nothing; judging does."
    return steered("audit_loop", view, why, next_step(view))


def late_drift(view: View) -> Steered | None:
    """Reference material is read although most is done: make what is missing."""
    if not _observes(view) or not view.late or view.repair is not None:
        return None
    if view.call.target and declared(view, view.call.target):
        return None
    if view.counts.reference_reads < view.limits.late_reads:
        return None
    left, all_of_it = len(view.missing), len(view.task.planned)
    why = f"Only {left} of {all_of_it} planned are open: read what they need and make the next."
    return steered("late_drift", view, why, next_step(view))


def long_look(view: View) -> Steered | None:
    """Look after look and nothing made: begin with the first file."""
    if not (_observes(view) or idles(view)) or not open_work(view) or view.repair is not None:
        return None
    if view.counts.looks < view.limits.looks:
        return None
    why = f"{view.counts.looks} calls in a row changed nothing: begin once you know enough."
    return steered("long_look", view, why, next_step(view))


def edit_looked_at(view: View) -> Steered | None:
    """A file is looked at because an edit of it did not fit: that edit is next, nothing else."""
    outcome = view.outcome
    if outcome is None or not looks(view.call) or not view.failed_edit:
        return None
    if view.failed_edit != view.call.target or outcome.kind is OutcomeKind.BLOCKED:
        return None
    why = f"You looked at {brief(view.failed_edit)} because an edit of it did not fit."
    return steered("edit_looked_at", view, why, next_step(view))


def reread_written(view: View) -> Steered | None:
    """The file just written is read again: go on to the next one."""
    outcome, target = view.outcome, view.call.target
    if outcome is None or not outcome.ok or view.call.shape.nature is not Nature.OBSERVE:
        return None
    if not target or target != view.wrote_whole or view.repair is not None:
        return None
    step = next_step(view)
    if step is None or step.action == NextAction(view.call.tool, target):
        return None
    why = f"You wrote {brief(target)} yourself just now and know what is in it."
    return steered("reread_written", view, why, step)


def empty_directory(view: View) -> Steered | None:
    """A folder was made and nothing is in it: write its first file."""
    makes_things = view.call.shape.nature in (Nature.MUTATE, Nature.SHELL)
    if not _went_well(view) or not makes_things or _wrote_a_file(view):
        return None
    folder = _bare_folder(view)
    if not folder or view.repair is not None or not _made_folder(view, folder):
        return None
    why = f"{brief(folder)} is there, and none of its planned files: a folder is no progress."
    return steered("empty_directory", view, why, artifact_step(view))


def bookkeeping(view: View) -> Steered | None:
    """A turn, or several, of notes only: do the next thing."""
    if view.call.shape.nature not in BOOKKEEPING or not _went_well(view):
        return None
    # One turn for the list alone has a rule of its own, with more to say.
    own_rule = view.call.shape.nature is Nature.LIST
    turns = view.counts.bookkeeping_turns
    if turns < view.limits.bookkeeping + own_rule:
        return None
    if not view.task.planned and view.next_item is None and not view.task.touched:
        return None
    times = "For a turn" if turns <= 1 else f"For {turns} turns"
    why = f"{times} only notes were kept; {_left(view)}."
    return steered("bookkeeping", view, why, next_step(view))


def todo_updated(view: View) -> Steered | None:
    """The list was updated and work is open: do the next thing on it."""
    if view.call.shape.nature is not Nature.LIST or not _went_well(view):
        return None
    if not view.counts.bookkeeping_turns:
        return None  # something else was done in the same turn
    if open_work(view):
        why = f"The list is up to date; {_left(view)}. A list does no work."
    elif view.task.planned or view.task.touched:
        why = "The list is up to date and everything planned is there. A list proves nothing."
    else:
        return None
    return steered("todo_updated", view, why, next_step(view))


def next_item(view: View) -> Steered | None:
    """An item was completed: the next one, unless a planned artifact goes before it."""
    if not _went_well(view) or view.next_item is None or view.repair is not None or view.missing:
        return None
    if view.completed_now is None and not _ended(view):
        return None
    done = view.completed_now
    why = f"Done: {brief(done.text)}." if done is not None else f"Not done: {_left(view)}."
    return steered("next_item", view, why, next_step(view))


def missing_artifact(view: View) -> Steered | None:
    """Something planned is missing after a change: the concrete next file."""
    outcome = view.outcome
    if outcome is None or not view.missing or view.repair is not None:
        return None
    if not (_ended(view) or (_wrote_a_file(view) and _went_well(view))):
        return None
    why = f"{_left(view)}: {listed(tuple(str(a) for a in view.missing), 2, _BRIEF)}."
    return steered("missing_artifact", view, why[0].upper() + why[1:], next_step(view))


def everything_built(view: View) -> Steered | None:
    """Nothing planned is missing any more after a change: hand over to judging."""
    if not _wrote_a_file(view) or not _went_well(view) or open_work(view):
        return None
    if not view.built or view.repair is not None or not view.task.touched:
        return None
    return steered("everything_built", view, "Everything planned is there.", next_step(view))


def standing(view: View) -> Steered | None:
    """An earlier message asked for the first file and was not followed: it is said again."""
    outcome = view.outcome
    if view.lasting is None or outcome is None or not outcome.ok or not lasts(view):
        return None
    return steered("standing", view, f"As before, {_left(view)}.", next_step(view))


# The order is precedence.
STEERING: tuple[SteeringRule, ...] = steering_rules(
    # About judging: nothing goes on before what a round found.
    repair_updated,
    verification_failed,
    verification_stale,
    # About a habit: the call went well and led nowhere.
    edit_looked_at,
    audit_loop,
    late_drift,
    long_look,
    reread_written,
    empty_directory,
    bookkeeping,
    todo_updated,
    # About the work: what comes next after progress.
    next_item,
    missing_artifact,
    everything_built,
    # About an earlier message that lasts.
    standing,
)
PRECEDENCE = tuple(rule.name for rule in STEERING)
_RANK = {name: rank for rank, name in enumerate(PRECEDENCE)}


def choose(view: View) -> Steered | None:
    """What the first rule that speaks has to say about one call."""
    outcome = view.outcome
    if outcome is not None and outcome.next_action is not None and not outcome.changed:
        return None  # its result said what comes next, and nothing is said twice
    for rule in STEERING:
        said = rule.speak(view)
        if said is not None:
            # A model that says it is finished is told why it is not, as often as it says so.
            return None if rule.name in view.heard and not _ended(view) else said
    return None


def most_specific(views: Iterable[View]) -> Steered | None:
    """The one message of a turn, from the views of its calls at the end of the batch.

    A call that a later one of the batch made good needs no words. Among equals the last call
    wins: it is the one that the model remembers.
    """
    turn = tuple(views)
    spoken = [choose(view) for place, view in enumerate(turn) if not _made_good(turn, place)]
    said = [one for one in spoken if one is not None]
    return min(reversed(said), key=lambda one: _RANK[one.rule], default=None)


def _made_good(turn: tuple[View, ...], place: int) -> bool:
    outcome = turn[place].outcome
    if outcome is None or outcome.ok or not outcome.call.target:
        return False
    later = (view.outcome for view in turn[place + 1 :])
    return any(o is not None and o.ok and outcome.call.target in o.changed for o in later)


def idles(view: View) -> bool:
    """Whether a command changed nothing."""
    outcome, nature = view.outcome, view.call.shape.nature
    return outcome is not None and nature is Nature.SHELL and not outcome.changed


def _observes(view: View) -> bool:
    return view.outcome is not None and looks(view.call)


def _went_well(view: View) -> bool:
    outcome = view.outcome
    return outcome is not None and outcome.ok and outcome.kind is not OutcomeKind.DUPLICATE


def _ended(view: View) -> bool:
    """Whether the model meant to be finished."""
    return view.call.tool == ANSWER


def _wrote_a_file(view: View) -> bool:
    return view.outcome is not None and bool(view.outcome.changed)


def _bare_folder(view: View) -> str:
    """The folder of the next target, where it exists and nothing planned is in it."""
    target = view.next_target
    if target is None or not target.parent_exists or "/" not in target.path:
        return ""
    folder = f"{posixpath.dirname(target.path)}/"
    inside = {a.path for a in view.task.planned if a.path.startswith(folder)}
    return folder if inside <= {a.path for a in view.missing} else ""


def _made_folder(view: View, folder: str) -> bool:
    """Whether this very call made it."""
    result = view.outcome.result if view.outcome is not None else None
    touched = [path.rstrip("/") for path in result.touched] if result is not None else []
    name = folder.rstrip("/")
    return name in touched or any(
        name == word.rstrip("/") or word.startswith(folder) for word in made_folders(view.call)
    )


def _left(view: View) -> str:
    missing, planned = len(view.missing), len(view.task.planned)
    if missing:
        return f"{missing} of {planned} planned are not made yet"
    open_items = len(view.task.pending)
    if open_items:
        return f"{open_items} items are open" if open_items > 1 else "1 item is open"
    return "nothing is proved"
