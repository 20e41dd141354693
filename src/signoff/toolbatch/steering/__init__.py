"""Steering: at most one message a turn, with the next action beside it; the most specific wins.

To add a rule: write a function `View -> Steered | None` in the file of its family, give it a
`SteeringRule` with one line about it, and put its name at its place in `PRECEDENCE`.
"""

from __future__ import annotations

from collections.abc import Iterable

from signoff.toolbatch.calls import ANSWER
from signoff.toolbatch.events import Steered
from signoff.toolbatch.rules import SteeringRule
from signoff.toolbatch.steering import building, drifting, repairing, repeating, shaping
from signoff.toolbatch.steering.drifting import is_summary
from signoff.toolbatch.steering.repeating import must_stop
from signoff.toolbatch.steering.spoken import ABOUT_A_CALL
from signoff.toolbatch.steering.wording import MOST_CHARACTERS
from signoff.toolbatch.view import View

__all__ = [
    "MOST_CHARACTERS",
    "PRECEDENCE",
    "STEERING",
    "choose",
    "is_summary",
    "most_specific",
    "must_stop",
]

PRECEDENCE = (
    # About this very call: it went wrong, and how.
    "blocked_again",
    "unknown_tool",
    "out_of_scope",
    "missing_payload",
    "duplicate_mutation",
    "edit_mismatch",
    "shell_rewrite",
    "expanding",
    "late_question",
    # About judging: nothing goes on before what a round found.
    "repair_updated",
    "verification_failed",
    "verification_stale",
    # About a habit: the call went well and led nowhere.
    "audit_loop",
    "late_drift",
    "duplicate_observation",
    "long_look",
    "reread_written",
    "empty_directory",
    "bookkeeping",
    "todo_updated",
    # About the work: what comes next after progress.
    "next_item",
    "missing_artifact",
    "everything_built",
    # About an earlier message that lasts.
    "standing",
)

_BY_NAME = {
    rule.name: rule
    for family in (repeating, shaping, repairing, drifting, building)
    for rule in family.RULES
}
STEERING: tuple[SteeringRule, ...] = tuple(_BY_NAME[name] for name in PRECEDENCE)
_RANK = {name: rank for rank, name in enumerate(PRECEDENCE)}


def choose(view: View) -> Steered | None:
    """What the first rule that speaks has to say about one call."""
    for rule in STEERING:
        steered = rule.speak(view)
        if steered is not None:
            # A model that says it is finished is told why it is not, as often as it says so.
            again = rule.name in view.heard - ABOUT_A_CALL and view.call.tool != ANSWER
            return None if again else steered
    return None


def most_specific(views: Iterable[View]) -> Steered | None:
    """The one message of a turn, from the views of its calls at the end of the batch.

    A call that a later one of the batch made good needs no words. Among equals the last call
    wins: it is the one that the model remembers.
    """
    turn = tuple(views)
    spoken = [choose(view) for place, view in enumerate(turn) if not _made_good(turn, place)]
    said = [steered for steered in spoken if steered is not None]
    return min(reversed(said), key=lambda steered: _RANK[steered.rule], default=None)


def _made_good(turn: tuple[View, ...], place: int) -> bool:
    outcome = turn[place].outcome
    if outcome is None or outcome.ok or not outcome.call.target:
        return False
    later = (view.outcome for view in turn[place + 1 :])
    return any(o is not None and o.ok and outcome.call.target in o.changed for o in later)
