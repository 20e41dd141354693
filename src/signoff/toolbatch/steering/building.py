"""Rules that keep the work going: the next item, the next file, no turn for the books alone."""

from __future__ import annotations

import posixpath

from signoff.toolbatch.calls import ANSWER, BOOKKEEPING, Nature, OutcomeKind
from signoff.toolbatch.events import Steered
from signoff.toolbatch.shellwork import made_folders
from signoff.toolbatch.steering.step import (
    artifact_step,
    item_is_of_target,
    next_step,
    open_work,
)
from signoff.toolbatch.steering.wording import brief, lasts, listed_briefly, steered
from signoff.toolbatch.view import View


def empty_directory(view: View) -> Steered | None:
    """A folder was made and nothing is in it: write its first file."""
    if not _went_well(view) or not _makes_things(view) or _wrote_a_file(view):
        return None
    folder = _bare_folder(view)
    if not folder or view.repair is not None or not _made_folder(view, folder):
        return None
    why = f"{brief(folder)} is there, and none of its planned files: a folder is no progress."
    return steered("empty_directory", view, why, artifact_step(view))


def todo_updated(view: View) -> Steered | None:
    """The list was updated and work is open: do the next thing on it."""
    if view.call.shape.nature is not Nature.LIST or not _went_well(view):
        return None
    if not view.counts.bookkeeping_turns:
        return None  # something else was done in the same turn
    if open_work(view):
        why = f"The list is up to date; {_left(view)}. A list does no work."
    elif view.definition.artifacts or view.definition.touched:
        why = "The list is up to date and everything planned is there. A list proves nothing."
    else:
        return None
    return steered("todo_updated", view, why, next_step(view))


def bookkeeping(view: View) -> Steered | None:
    """A turn, or several, of notes only: do the next thing."""
    if view.call.shape.nature not in BOOKKEEPING or not _went_well(view):
        return None
    # One turn for the list alone has a rule of its own, with more to say.
    own_rule = view.call.shape.nature is Nature.LIST
    if view.counts.bookkeeping_turns < view.limits.bookkeeping + own_rule:
        return None
    if not view.definition.artifacts and view.next_item is None and not view.definition.touched:
        return None
    why = f"{_times(view.counts.bookkeeping_turns)} only notes were kept; {_left(view)}."
    return steered("bookkeeping", view, why, next_step(view))


def next_item(view: View) -> Steered | None:
    """An item was completed: the next one, unless a planned artifact goes before it."""
    if not _went_well(view) or view.next_item is None or view.repair is not None:
        return None
    if view.completed_now is None and not _ended(view):
        return None
    if view.missing and not item_is_of_target(view):
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
    why = f"{_left(view)}: {listed_briefly(tuple(str(a) for a in view.missing))}."
    return steered("missing_artifact", view, why[0].upper() + why[1:], next_step(view))


def everything_built(view: View) -> Steered | None:
    """Nothing planned is missing any more after a change: hand over to judging."""
    if not _wrote_a_file(view) or not _went_well(view) or open_work(view):
        return None
    if not view.built or view.repair is not None or not view.definition.touched:
        return None
    why = "Everything planned is there."
    return steered("everything_built", view, why, next_step(view))


def standing(view: View) -> Steered | None:
    """An earlier message asked for the first file and was not followed: it is said again."""
    outcome = view.outcome
    if view.lasting is None or outcome is None or outcome.kind is OutcomeKind.BLOCKED:
        return None
    if not lasts(view):
        return None
    return steered("standing", view, f"As before, {_left(view)}.", next_step(view))


def _went_well(view: View) -> bool:
    outcome = view.outcome
    return outcome is not None and outcome.ok and outcome.kind is not OutcomeKind.DUPLICATE


def _ended(view: View) -> bool:
    """Whether the model meant to be finished."""
    return view.call.tool == ANSWER


def _makes_things(view: View) -> bool:
    return view.call.shape.nature in (Nature.MUTATE, Nature.SHELL)


def _wrote_a_file(view: View) -> bool:
    return view.outcome is not None and bool(view.outcome.changed)


def _bare_folder(view: View) -> str:
    """The folder of the next target, where it exists and nothing planned is in it."""
    target = view.next_target
    if target is None or target.directory or not target.parent_exists or "/" not in target.path:
        return ""
    folder = f"{posixpath.dirname(target.path)}/"
    inside = {a.path for a in view.definition.artifacts if a.path.startswith(folder)}
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
    missing, planned = len(view.missing), len(view.definition.artifacts)
    if missing:
        return f"{missing} of {planned} planned are not made yet"
    open_items = len(view.definition.pending)
    if open_items:
        return f"{open_items} items are open" if open_items > 1 else "1 item is open"
    return "nothing is proved"


def _times(turns: int) -> str:
    return "For a turn" if turns <= 1 else f"For {turns} turns"
