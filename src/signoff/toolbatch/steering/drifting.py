"""Rules for turns that lead away from the work: looking around, asking, growing, auditing."""

from __future__ import annotations

import difflib
import posixpath

from signoff.domain.definition import Definition
from signoff.toolbatch.calls import Nature, NextAction, OutcomeKind
from signoff.toolbatch.events import Steered
from signoff.toolbatch.shellwork import command_of, only_looks
from signoff.toolbatch.steering.step import (
    Step,
    artifact_step,
    next_step,
    open_work,
    writer,
)
from signoff.toolbatch.steering.wording import brief, steered
from signoff.toolbatch.view import View

# They tell what else there is: written first or last, they are not the work itself.
SUMMARIES = frozenset({"index", "readme"})
# Kinds of files that make a set which somebody declares.
PAGES = frozenset((".html", ".htm", ".md", ".rst", ".adoc", ".tex"))
_A_SET = 2  # of one kind in one folder: from here on, another one is one too many
_LIKENESS = 0.6


def expanding(view: View) -> Steered | None:
    """A file beyond the declared set: declare it at the root first, or take the nearest one."""
    outcome, target = view.outcome, view.call.target
    if outcome is None or outcome.kind is not OutcomeKind.BLOCKED or outcome.rule != "expanding":
        return None
    if view.repair is not None or declared(view, target):
        return None
    root = _root(view)
    first = f"declare it in {brief(root)} first" if root else "name it in the list first"
    near = nearest(view, target)
    instead = ", or take the nearest declared file" if near else ""
    step = Step(NextAction(writer(view), near), whole=True) if near else next_step(view)
    return steered("expanding", view, f"{brief(target)} is not declared: {first}{instead}.", step)


def late_question(view: View) -> Steered | None:
    """A question to the person when everything is built: hand over to judging."""
    if view.call.shape.nature is not Nature.ASK or view.outcome is None or open_work(view):
        return None
    if not view.definition.artifacts and not view.definition.touched:
        return None
    why = "Everything planned is there, so the files are the answer."
    return steered("late_question", view, why, next_step(view))


def late_drift(view: View) -> Steered | None:
    """Reference material is read although most is done: make what is missing."""
    if not _observes(view) or not view.late or view.repair is not None:
        return None
    if view.call.target and declared(view, view.call.target):
        return None
    if view.counts.reference_reads < view.limits.late_reads:
        return None
    left, all_of_it = len(view.missing), len(view.definition.artifacts)
    why = f"Only {left} of {all_of_it} planned are open: read what they need and make the next."
    return steered("late_drift", view, why, next_step(view))


def long_look(view: View) -> Steered | None:
    """Look after look and nothing made: begin with the first file."""
    if not (_observes(view) or idles(view)) or not open_work(view) or view.repair is not None:
        return None
    if view.counts.looks < view.limits.looks:
        return None
    why = f"{view.counts.looks} calls in a row changed nothing: begin once you know enough."
    return steered("long_look", view, why, _made(view))


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


def declared(view: View, path: str) -> bool:
    """Whether a path is a planned artifact or lies in a planned folder."""
    return any(
        path == a.path or (a.directory and path.startswith(f"{a.path.rstrip('/')}/"))
        for a in view.definition.artifacts
    )


def looks(view: View) -> bool:
    """Whether the call only looks."""
    nature = view.call.shape.nature
    return nature is Nature.OBSERVE or (
        nature is Nature.SHELL and only_looks(command_of(view.call))
    )


def _observes(view: View) -> bool:
    return view.outcome is not None and looks(view)


def idles(view: View) -> bool:
    """Whether a command changed nothing."""
    outcome, nature = view.outcome, view.call.shape.nature
    return outcome is not None and nature is Nature.SHELL and not outcome.changed


def _made(view: View) -> Step | None:
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


def beyond_the_set(view: View, path: str) -> bool:
    """Whether pages of its kind are declared beside it, and it is not.

    Code grows helpers wherever it likes; only where readers go from page to page one more matters.
    """
    if posixpath.splitext(path)[1].lower() not in PAGES or is_summary(path) or declared(view, path):
        return False
    return of_a_set(view.definition, path)


def of_a_set(definition: Definition, path: str) -> bool:
    """Whether files of its kind are declared beside it."""
    files = (a.path for a in definition.artifacts if not a.directory)
    return sum(_alike(file, path) for file in files) >= _A_SET


def nearest(view: View, path: str) -> str:
    """What is missing in the same folder and named so much alike that it may have been meant."""
    open_ones = (a.path for a in view.missing if not a.directory)
    names = {_stem(other): other for other in open_ones if _alike(other, path)}
    close = difflib.get_close_matches(_stem(path), names, n=1, cutoff=_LIKENESS)
    return names[close[0]] if close else ""


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]


def _alike(path: str, other: str) -> bool:
    same_folder = posixpath.dirname(path) == posixpath.dirname(other)
    same_kind = posixpath.splitext(path)[1] == posixpath.splitext(other)[1]
    return same_folder and same_kind and not is_summary(path)
