"""Steering: at most one message a turn, with the next action beside it; the first rule wins.

What was wrong with a single call its own result says. To add a rule: write a function that says why
it speaks about a view (nothing: it does not), with one line about it as its docstring, and put it
into `STEERING`. The next step is the same whoever speaks, and follows from the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signoff.domain.session import ROUND_BUDGET
from signoff.domain.text import escape_line
from signoff.gate.task import RoundStatus
from signoff.toolbatch.calls import ANSWER, BOOKKEEPING, Nature, ResultKind, Steered
from signoff.toolbatch.shellwork import looks
from signoff.toolbatch.steps import brief, clipped, listed, next_step, quoted, step_text
from signoff.toolbatch.view import CallView

SteeringRule = Callable[[CallView], str]

MOST_CHARACTERS = 500  # of one message: a weak model reads the first lines
_WHY, _FINDING, _BRIEF = 190, 90, 56  # characters of each


def repair_updated(view: CallView) -> str:
    """A file was changed in a repair: the next one that is at fault, else judging is due again."""
    if view.repair is None or not _went_well(view) or not _changed(view):
        return ""
    why = f"{brief(_changed(view)[0])} is changed, so it has to be judged again."
    sure = [target for target in view.repair.targets if target.sure]
    if len(sure) > 1:
        done = sum(target.visited for target in sure)
        why += f" {done} of {len(sure)} files with faults were changed."
    return why


def verification_failed(view: CallView) -> str:
    """A round is broken and nothing was changed since: the finding and the file to change."""
    last, focus = view.task.round, view.repair
    if last is None or _changed(view) or view.task.is_over or last.changed:
        return ""
    if focus.changed if focus is not None else last.status is not RoundStatus.BROKEN:
        return ""
    target = focus.next_target if focus is not None else None
    findings = (target.findings if target is not None else ()) or (focus.findings if focus else ())
    found = f": {quoted(findings[0], _FINDING)}" if findings else ""
    return f"Round {view.task.failed_rounds} of {ROUND_BUDGET} is broken{found}."


def edit_looked_at(view: CallView) -> str:
    """A file is looked at because an edit of it did not fit: that edit is next, nothing else."""
    about = view.failed_edit if view.failed_edit == view.call.target else ""
    blocked = view.result is not None and view.result.kind is ResultKind.BLOCKED
    if not about or blocked or not looks(view.call):
        return ""
    return f"You looked at {brief(about)} because an edit of it did not fit."


def long_look(view: CallView) -> str:
    """Look after look and nothing changed: the first file, or the answer where all is made."""
    unrepaired = view.repair is not None and not view.repair.changed
    idles = view.call.shape.nature is Nature.SHELL and not _changed(view)
    if not (idles or looks(view.call)) or unrepaired or view.counts.looks < view.limits.looks:
        return ""
    return f"{view.counts.looks} calls in a row changed nothing: go on once you know enough."


def bookkeeping(view: CallView) -> str:
    """A turn of lists and notes only: do the next thing."""
    alone = view.counts.bookkeeping_turns > 0 and view.call.shape.nature in BOOKKEEPING
    if not alone or not _went_well(view):
        return ""
    if not view.open_work and not view.task.planned and not view.task.touched:
        return ""
    return f"Noted; {_left(view)}. Lists and notes do no work, and prove nothing."


def next_item(view: CallView) -> str:
    """An item was completed: the next one, unless a planned artifact goes before it."""
    if not _went_well(view) or view.next_item is None or view.repair is not None or view.missing:
        return ""
    if view.completed_now is None and not _ended(view):
        return ""
    done = view.completed_now
    return f"Done: {brief(done.text)}." if done is not None else f"Not done: {_left(view)}."


def missing_artifact(view: CallView) -> str:
    """Something planned is missing after a change: the concrete next file."""
    if not view.missing or view.repair is not None:
        return ""
    if not (_ended(view) or (_changed(view) and _went_well(view))):
        return ""
    why = f"{_left(view)}: {listed(tuple(map(str, view.missing)), 2, _BRIEF)}."
    return why[0].upper() + why[1:]


def everything_built(view: CallView) -> str:
    """Everything planned is there after a change: hand over to judging."""
    if not _changed(view) or not _went_well(view) or view.open_work:
        return ""
    if not view.built or view.repair is not None or not view.task.touched:
        return ""
    return "Everything planned is there."


# The order is precedence.
STEERING: tuple[SteeringRule, ...] = (
    # About judging: nothing goes on before what a round found.
    repair_updated,
    verification_failed,
    # About a habit: the call went well and led nowhere.
    edit_looked_at,
    long_look,
    bookkeeping,
    # About the work: what comes next after progress.
    next_item,
    missing_artifact,
    everything_built,
)
_RANK = {rule.__name__: rank for rank, rule in enumerate(STEERING)}


def speak(rule: SteeringRule, view: CallView) -> Steered | None:
    """The message of a rule: why it speaks, and the next step.

    Where no step is known there is no message: words without a way on only worry.
    """
    why = rule(view)
    step = next_step(view) if why else None
    if step is None or not step.possible:
        return None
    text = f"{clipped(escape_line(why), _WHY)} {step_text(view, step)}"
    return Steered(rule.__name__, clipped(text, MOST_CHARACTERS), step.action)


def choose(view: CallView) -> Steered | None:
    """The message of the first rule that has something to say about one call."""
    result = view.result
    if result is None or (result.next_action is not None and not result.changed):
        return None  # its result said what comes next, and nothing is said twice
    for rule in STEERING:
        said = speak(rule, view)
        if said is not None:
            # A model that says it is finished is told why it is not, as often as it says so.
            return None if said.rule in view.heard and not _ended(view) else said
    return None


def most_specific(views: Iterable[CallView]) -> Steered | None:
    """The one message of a turn, from the views of its calls at the end of the batch.

    A call that a later one of the batch made good needs no words. Among equals the last call
    wins: it is the one that the model remembers.
    """
    turn = tuple(views)
    spoken = [choose(view) for place, view in enumerate(turn) if not _made_good(turn, place)]
    said = [one for one in spoken if one is not None]
    return min(reversed(said), key=lambda one: _RANK[one.rule], default=None)


def _made_good(turn: tuple[CallView, ...], place: int) -> bool:
    target, result = turn[place].call.target, turn[place].result
    if result is None or result.ok or not target:
        return False
    later = (view.result for view in turn[place + 1 :])
    return any(result is not None and result.ok and target in result.changed for result in later)


def _went_well(view: CallView) -> bool:
    result = view.result
    return result is not None and result.ok and result.kind is not ResultKind.DUPLICATE


def _changed(view: CallView) -> tuple[str, ...]:
    return view.result.changed if view.result is not None else ()


def _ended(view: CallView) -> bool:
    """True when the model meant to be finished."""
    return view.call.tool == ANSWER


def _left(view: CallView) -> str:
    missing, planned = len(view.missing), len(view.task.planned)
    if missing:
        return f"{missing} of {planned} planned are not made yet"
    items = len(view.task.pending)
    if items:
        return f"{items} items are open" if items > 1 else "1 item is open"
    return "nothing is proved"
