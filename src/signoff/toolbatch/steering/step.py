"""Which step comes next, from the state alone: the repair, what is open, then judging.

a repair is under way          its next target; something was changed: the answer, which is judged
something planned is missing   that file
an item is open                do it, and mark it as done in the list
everything known is done       the answer
else                           nothing: where no step is known, none is made up
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from signoff.domain.definition import DefinitionStatus, Item, RoundStatus
from signoff.toolbatch.calls import ANSWER, Nature, NextAction, ToolShape
from signoff.toolbatch.view import RepairTarget, View

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
        owner = view.next_item if item_is_of_target(view) else None
        return replace(artifact_step(view), item=owner)
    if view.next_item is not None:
        return _ticking(view, view.next_item)
    return answer(view)


def next_action(view: View) -> NextAction | None:
    """The same for a machine."""
    step = next_step(view)
    return step.action if step is not None and step.possible else None


def open_work(view: View) -> bool:
    """Whether something is left to build, judging apart."""
    return bool(view.missing) or view.next_item is not None or view.open_steps > 0


def item_is_of_target(view: View) -> bool:
    """Whether the next item is the one that makes the missing file."""
    planned = view.next_item.artifacts if view.next_item is not None else ()
    return missing_target(view) in {str(artifact) for artifact in planned}


def missing_target(view: View) -> str:
    """The path of the planned thing that is to be made next; a folder's ends in `/`."""
    if view.next_target is not None:
        path = view.next_target.path
        return f"{path.rstrip('/')}/" if view.next_target.directory else path
    return str(view.missing[0]) if view.missing else ""


def artifact_step(view: View) -> Step:
    """Make what is planned and missing."""
    target = view.next_target
    path = missing_target(view)
    return Step(
        NextAction(writer(view), path),
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


def writer(view: View) -> str:
    """The tool that writes a whole file."""
    return _mutating(view, lambda shape: -len(shape.payload))


def editor(view: View) -> str:
    """The tool that changes a part of a file."""
    return _mutating(view, lambda shape: len(shape.payload) == _TO_EDIT)


def _unverifiable(view: View) -> bool:
    """Whether no check could be derived: then an answer is all that is left."""
    last = view.definition.round
    return last is not None and not last.checks and last.status is RoundStatus.SKIPPED


def _target_step(view: View, target: RepairTarget) -> Step:
    missing = target.absent or target.path in {str(artifact) for artifact in view.missing}
    rewrite = target.failed_edits >= view.limits.failed_edits
    tool = writer(view) if missing or rewrite else editor(view)
    times = f"edits of it failed {target.failed_edits} times, so write all of it anew: "
    return Step(NextAction(tool, target.path), reason=times if rewrite else "", whole=missing)


def _ticking(view: View, item: Item) -> Step | None:
    """Nobody can see when an item without a file is done: the model says so in its list."""
    tool = _first(view, Nature.LIST)
    if view.missing or not view.definition.touched or not tool:
        return None
    return Step(NextAction(tool), "do it, and mark it as done with ", item)


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
