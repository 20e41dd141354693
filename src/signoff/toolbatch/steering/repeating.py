"""Rules for calls that were made before: blocked again, nothing new to see, nothing changed."""

from __future__ import annotations

from dataclasses import replace

from signoff.toolbatch.calls import Nature, NextAction, OutcomeKind
from signoff.toolbatch.events import Steered
from signoff.toolbatch.quoting import brief
from signoff.toolbatch.rules import SteeringRule
from signoff.toolbatch.steering.step import Step, answer, next_step, open_work, openly, writer
from signoff.toolbatch.steering.wording import steered
from signoff.toolbatch.view import View

_TWO_SIDES = 2  # of an edit: what is replaced, and by what


def must_stop(view: View) -> bool:
    """Whether the same blocked call came so often that no further advice will help."""
    return _blocked(view) and view.counts.blocked_alike > view.limits.repeats


def blocked_again(view: View) -> Steered | None:
    """First the wording escalates, then the strategy changes, then it stops."""
    times = view.counts.blocked_alike
    if not _blocked(view) or times < 1:
        return None
    call = f"This very {brief(view.call.tool)} call was blocked {times + 1} times"
    if must_stop(view):
        return steered("blocked_again", view, f"{call} and always will be.", openly())
    if times >= view.limits.repeats:
        why = f"{call}: leave it and go another way."
        return steered("blocked_again", view, why, _another_way(view))
    why = f"{call}. Sending it again cannot work: change it as the last result says."
    return steered("blocked_again", view, why, next_step(view))


def duplicate_mutation(view: View) -> Steered | None:
    """A change that changes nothing is no progress, whatever the tool answered."""
    if view.call.shape.nature is not Nature.MUTATE or not _changes_nothing(view):
        return None
    why = f"Nothing changed: {brief(view.call.target)} already holds this."
    return steered("duplicate_mutation", view, why, _without(view, next_step(view)))


def duplicate_observation(view: View) -> Steered | None:
    """What was seen and did not change is known."""
    outcome = view.outcome
    if outcome is None or outcome.kind is not OutcomeKind.DUPLICATE:
        return None
    if view.call.shape.nature not in (Nature.OBSERVE, Nature.SHELL):
        return None
    seen = brief(view.call.target) or "what it shows"
    why = f"You have seen {seen}, and nothing in it changed: use the earlier result."
    return steered("duplicate_observation", view, why, _not_looking(view, next_step(view)))


def _blocked(view: View) -> bool:
    return view.outcome is not None and view.outcome.kind is OutcomeKind.BLOCKED


def _changes_nothing(view: View) -> bool:
    if view.outcome is None or view.outcome.changed:
        return False
    if view.outcome.kind is OutcomeKind.DUPLICATE:
        return True
    sides = [view.call.arguments.get(name) for name in view.call.shape.payload]
    return len(sides) == _TWO_SIDES and sides[0] is not None and sides[0] == sides[1]


def _without(view: View, step: Step | None) -> Step | None:
    """No step where this one would only repeat the call that changed nothing."""
    same = step is not None and step.action == NextAction(view.call.tool, view.call.target)
    return step if not same or open_work(view) or view.repair is not None else answer(view)


def _not_looking(view: View, step: Step | None) -> Step | None:
    """Not the same look again."""
    same = step is not None and step.action == NextAction(view.call.tool, view.call.target)
    return answer(view) if same else step


def _another_way(view: View) -> Step | None:
    """The next step by other means: the whole file, another missing file, or an honest end."""
    step = next_step(view)
    blocked = NextAction(view.call.tool, view.call.target)
    if step is None or step.answers or step.action != blocked:
        return step
    if step.action.tool != writer(view):
        return replace(step, action=NextAction(writer(view), step.action.target))
    others = [str(a) for a in view.missing if str(a) != blocked.target]
    if others and view.repair is None:
        return replace(step, action=NextAction(step.action.tool, others[0]), item=None)
    return openly()


RULES = (
    SteeringRule(
        "blocked_again",
        "The same call was blocked before: sterner words, then another way, then stop.",
        blocked_again,
    ),
    SteeringRule(
        "duplicate_mutation",
        "A write or edit that changed nothing: go on to the next open thing.",
        duplicate_mutation,
    ),
    SteeringRule(
        "duplicate_observation",
        "A look at what was seen and did not change: use the earlier result and go on.",
        duplicate_observation,
    ),
)
