"""Which step comes next, from the state alone: the repair, what is open, then judging.

a repair is under way      its next target; something was changed: the answer, which is judged
something planned is missing
    the pending item       when it is about the very same target, or a look before anything is made
    else the artifact      also before a review or a verification
an item is open            what it takes, if it names a file; a verification is the answer
everything known is done   the answer
else                       nothing: where no step is known, none is made up
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from signoff.domain.definition import DefinitionStatus, Item, ItemKind, RoundStatus
from signoff.toolbatch.calls import ANSWER, Nature, NextAction, ToolShape
from signoff.toolbatch.pathwords import paths_in
from signoff.toolbatch.view import RepairTarget, View

LOOKING = frozenset({ItemKind.LOOK, ItemKind.REVIEW})
_BUILDING = frozenset({ItemKind.BUILD, ItemKind.AGGREGATE})
_UNJUDGED = "if nothing is left to do, say so in an answer: it is judged at once"
_JUDGED = "give your final answer"
_TO_EDIT = 2  # payloads: what is replaced, and by what


@dataclass(frozen=True)
class Step:
    """One concrete next step; `reason` goes before it in the message."""

    action: NextAction
    reason: str = ""
    item: Item | None = None
    whole: bool = False  # a file is written from nothing
    makes_parents: bool = False

    @property
    def answers(self) -> bool:
        """Whether it hands over to judging."""
        return self.action.tool == ANSWER

    @property
    def possible(self) -> bool:
        """Whether there is a tool for it: an answer changes no file."""
        return not (self.answers and self.action.target)


def next_step(view: View) -> Step | None:
    """The next step, as far as one is known."""
    if view.repair is not None:
        return repair_step(view)
    if view.missing:
        return _item_step(view) if item_comes_first(view) else artifact_step(view)
    if view.next_item is not None:
        return _item_step(view)
    return answer(view)


def next_action(view: View) -> NextAction | None:
    """The same for a machine."""
    step = next_step(view)
    return step.action if step is not None and step.possible else None


def open_work(view: View) -> bool:
    """Whether something is left to build, judging apart."""
    item = view.next_item
    open_item = item is not None and item.kind in _BUILDING
    return bool(view.missing) or open_item or view.open_steps > 0


def item_comes_first(view: View) -> bool:
    """Whether the pending item goes before the missing artifact."""
    item = view.next_item
    if item is None:
        return False
    if item.kind in _BUILDING:
        return missing_target(view) in {artifact.path for artifact in item.artifacts}
    nothing_yet = len(view.missing) == len(view.definition.artifacts)
    if item.kind not in LOOKING or not nothing_yet or view.definition.touched:
        return False
    # To review what is there already is a look; to review what is planned comes after it.
    planned = {artifact.path for artifact in view.definition.artifacts}
    return item.kind is ItemKind.LOOK or bool(view.item_path and view.item_path not in planned)


def missing_target(view: View) -> str:
    """The path of the planned thing that is to be made next; a folder's ends in `/`."""
    if view.next_target is not None:
        path = view.next_target.path
        return f"{path.rstrip('/')}/" if view.next_target.directory else path
    return str(view.missing[0]) if view.missing else ""


def artifact_step(view: View) -> Step:
    """Make what is planned and missing."""
    target = view.next_target
    reason = "as in the folder beside it, " if target and target.origin == "sibling" else ""
    path = missing_target(view)
    if path in view.to_change:
        return Step(NextAction(editor(view), path))
    return Step(
        NextAction(writer(view), path),
        reason=reason,
        whole=True,
        makes_parents=target is not None and not target.parent_exists,
    )


def repair_step(view: View) -> Step | None:
    """The next target of the repair; the answer when something was changed."""
    focus = view.repair
    assert focus is not None
    target = focus.next_target
    if target is not None:
        return _target_step(view, target)
    if focus.worked_on:
        return Step(NextAction(ANSWER), _UNJUDGED)
    # The findings name no file: if only one was worked on, the repair begins there.
    touched = {path for path in view.definition.touched if focus.allows(path)}
    return Step(NextAction(editor(view), touched.pop())) if len(touched) == 1 else None


def answer(view: View) -> Step | None:
    """Hand over to judging, where nothing that is known is open."""
    done = view.definition.status is DefinitionStatus.DONE
    if view.open_steps or not (done or (view.built and not open_work(view))):
        return None
    return Step(NextAction(ANSWER), _JUDGED if done or _unverifiable(view) else _UNJUDGED)


def openly() -> Step:
    """End it and say what is not done."""
    return Step(NextAction(ANSWER), "stop, and say openly what is not done and why")


def path_of(item: Item | None) -> str:
    """The first file that an item names."""
    if item is None:
        return ""
    return next(iter((*(a.path for a in item.artifacts), *paths_in(item.text))), "")


def writer(view: View) -> str:
    """The tool that writes a whole file."""
    return _mutating(view, lambda shape: -len(shape.payload))


def editor(view: View) -> str:
    """The tool that changes a part of a file."""
    return _mutating(view, lambda shape: len(shape.payload) == _TO_EDIT)


def observer(view: View) -> str:
    """The tool that reads a file; the answer where nothing can be read."""
    return _first(view, Nature.OBSERVE) or ANSWER


def look_of(view: View, item: Item) -> str:
    """The file to look at: the one that the item names; for a review, one that was made."""
    made = [a.path for a in view.definition.artifacts if a not in view.missing and not a.directory]
    return path_of(item) or next(iter(made if item.kind is ItemKind.REVIEW else ()), "")


def _unverifiable(view: View) -> bool:
    """Whether no check could be derived: then an answer is all that is left."""
    last = view.definition.round
    return last is not None and not last.checks and last.status is RoundStatus.SKIPPED


def _target_step(view: View, target: RepairTarget) -> Step:
    absent = {str(artifact) for artifact in view.missing} - view.to_change
    missing = target.absent or target.path in absent
    rewrite = target.failed_edits >= view.limits.failed_edits
    tool = writer(view) if missing or rewrite else editor(view)
    times = f"edits of it failed {target.failed_edits} times, so write all of it anew: "
    return Step(NextAction(tool, target.path), reason=times if rewrite else "", whole=missing)


def _item_step(view: View) -> Step | None:
    item = view.next_item
    assert item is not None
    if item.kind is ItemKind.VERIFY:
        step = answer(view)
        return None if step is None else replace(step, item=item)
    if item.kind in LOOKING:
        path = look_of(view, item)
        step = Step(NextAction(observer(view), path), item=item) if path else None
        return step or _ticking(view, item)
    if view.missing and item_comes_first(view):
        return replace(artifact_step(view), item=item)
    if not view.item_path:
        return _ticking(view, item)
    tool = editor(view) if view.item_path_there else writer(view)
    return Step(NextAction(tool, view.item_path), item=item)


def _ticking(view: View, item: Item) -> Step | None:
    """Nobody can see when an item without a file is done: the model says so in its list."""
    tool = _first(view, Nature.LIST)
    if view.missing or not view.definition.touched or not tool:
        return None
    # Of an item that means many files nobody can say that it is done before they have names.
    many = item.kind is ItemKind.AGGREGATE
    how = "name each of its files with " if many else "do it, and mark it as done with "
    return Step(NextAction(tool), how, item)


def _mutating(view: View, rank: Callable[[ToolShape], int]) -> str:
    usable = [
        (rank(shape), -place, name)
        for place, (name, shape) in enumerate(view.shapes.items())
        if name in view.tools and shape.nature is Nature.MUTATE and shape.path
    ]
    if usable:
        return max(usable)[2]
    return _first(view, Nature.MUTATE) or _first(view, Nature.SHELL) or ANSWER


def _first(view: View, nature: Nature) -> str:
    return next(
        (n for n, shape in view.shapes.items() if shape.nature is nature and n in view.tools), ""
    )
