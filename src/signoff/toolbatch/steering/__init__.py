"""Steering: at most one message a turn, with the next action beside it; the most specific wins.

To add a rule: write a function `View -> Steered | None` in the file of its family, with one line
about it as its docstring, and put it at its place in `STEERING`.
"""

from __future__ import annotations

from collections.abc import Iterable

from signoff.toolbatch.calls import ANSWER
from signoff.toolbatch.events import Steered
from signoff.toolbatch.steering import building, drifting, failing, repairing
from signoff.toolbatch.steering.drifting import is_summary
from signoff.toolbatch.steering.failing import must_stop
from signoff.toolbatch.steering.wording import MOST_CHARACTERS
from signoff.toolbatch.view import View, steering_rules

__all__ = [
    "MOST_CHARACTERS",
    "PRECEDENCE",
    "STEERING",
    "choose",
    "is_summary",
    "most_specific",
    "must_stop",
]

# It went wrong, and the next call is another: these repeat themselves.
_ABOUT_A_CALL = steering_rules(
    failing.blocked_again,
    failing.unknown_tool,
    repairing.out_of_scope,
    failing.missing_payload,
    failing.duplicate_mutation,
    failing.edit_mismatch,
    failing.shell_rewrite,
    drifting.expanding,
    drifting.late_question,
)
STEERING = (
    *_ABOUT_A_CALL,
    *steering_rules(
        # About judging: nothing goes on before what a round found.
        repairing.repair_updated,
        repairing.verification_failed,
        repairing.verification_stale,
        # About a habit: the call went well and led nowhere.
        drifting.audit_loop,
        drifting.late_drift,
        failing.duplicate_observation,
        drifting.long_look,
        drifting.reread_written,
        building.empty_directory,
        building.bookkeeping,
        building.todo_updated,
        # About the work: what comes next after progress.
        building.next_item,
        building.missing_artifact,
        building.everything_built,
        # About an earlier message that lasts.
        building.standing,
    ),
)
PRECEDENCE = tuple(rule.name for rule in STEERING)
_RANK = {name: rank for rank, name in enumerate(PRECEDENCE)}


def choose(view: View) -> Steered | None:
    """What the first rule that speaks has to say about one call."""
    for rule in STEERING:
        steered = rule.speak(view)
        if steered is not None:
            # A model that says it is finished is told why it is not, as often as it says so.
            again = (
                rule.name in view.heard and rule not in _ABOUT_A_CALL and view.call.tool != ANSWER
            )
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
