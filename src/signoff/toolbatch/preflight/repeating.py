"""Calls of which nothing can come: seen already, done already."""

from __future__ import annotations

from signoff.toolbatch.calls import Nature
from signoff.toolbatch.rules import PreflightRule, Skip
from signoff.toolbatch.steering.step import next_action
from signoff.toolbatch.view import View


def duplicate_mutation(view: View) -> Skip | None:
    """A change that would change nothing is not made."""
    if not view.repeated or view.call.shape.nature is not Nature.MUTATE:
        return None
    return Skip(f"nothing to change: {view.repeated}", next_action(view))


def duplicate_observation(view: View) -> Skip | None:
    """What was shown and did not change is not shown again."""
    if not view.repeated or view.call.shape.nature not in (Nature.OBSERVE, Nature.SHELL):
        return None
    return Skip(f"already shown: {view.repeated}; see above", next_action(view))


RULES = (
    PreflightRule(
        "duplicate_mutation",
        "A write or edit that would not change the file, or was made already.",
        duplicate_mutation,
    ),
    PreflightRule(
        "duplicate_observation",
        "A look at what was shown before, with nothing changed that it shows.",
        duplicate_observation,
    ),
)
