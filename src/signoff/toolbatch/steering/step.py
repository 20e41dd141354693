"""Which step comes next, from the state alone: the repair, what is open, then judging.

a repair is under way      its next target; all visited: the answer, which is judged
something planned is missing
    the pending item       when it is about the very same target, or nothing exists yet to look at
    else the artifact      also before a review or a verification
an item is open            what it takes; a verification is the answer
nothing is open            the answer
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from signoff.domain.definition import Item, ItemKind
from signoff.toolbatch.calls import ANSWER, Nature, NextAction, ToolShape
from signoff.toolbatch.pathwords import paths_in
from signoff.toolbatch.view import RepairTarget, View

_BUILDING = frozenset({ItemKind.BUILD, ItemKind.AGGREGATE})
_LOOKING = frozenset({ItemKind.LOOK, ItemKind.REVIEW})
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


def next_step(view: View) -> Step:
    """The next step; there always is one."""
    if view.repair is not None:
        return repair_step(view)
    if view.missing:
        return _item_step(view) if item_comes_first(view) else artifact_step(view)
    if view.next_item is not None:
        return _item_step(view)
    return answer()


def open_work(view: View) -> bool:
    """Whether something is left to build, judging apart."""
    item = view.next_item
    return bool(view.missing) or (item is not None and item.kind in _BUILDING)


def item_comes_first(view: View) -> bool:
    """Whether the pending item goes before the missing artifact."""
    item = view.next_item
    if item is None:
        return False
    if item.kind in _BUILDING:
        return missing_target(view) in {artifact.path for artifact in item.artifacts}
    nothing_yet = len(view.missing) == len(view.definition.artifacts)
    return item.kind is ItemKind.LOOK and nothing_yet and not view.definition.touched


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
    return Step(
        NextAction(writer(view), missing_target(view)),
        reason=reason,
        whole=True,
        makes_parents=target is not None and not target.parent_exists,
    )


def repair_step(view: View) -> Step:
    """The next target of the repair; the answer when all were visited."""
    focus = view.repair
    assert focus is not None
    if focus.worked_on:
        return answer("the repair is made: ")
    target = focus.next_target
    if target is None:
        # The findings name no file: whatever was worked on last is where a repair begins.
        candidates = (*reversed(view.definition.touched), *focus.allowed)
        path = next((p for p in candidates if focus.allows(p)), "")
        return Step(NextAction(editor(view), path)) if path else answer()
    return _target_step(view, target)


def answer(reason: str = "") -> Step:
    """Hand over to judging."""
    return Step(NextAction(ANSWER), reason)


def writer(view: View) -> str:
    """The tool that writes a whole file."""
    return _mutating(view, lambda shape: -len(shape.payload))


def editor(view: View) -> str:
    """The tool that changes a part of a file."""
    return _mutating(view, lambda shape: len(shape.payload) == _TO_EDIT)


def observer(view: View) -> str:
    """The tool that reads a file; the answer where nothing can be read."""
    return _first(view, Nature.OBSERVE) or ANSWER


def lister(view: View) -> str:
    """The tool that shows what there is."""
    return "glob" if "glob" in view.tools else observer(view)


def look_of(view: View, item: Item) -> str:
    """The file to look at: the one that the item names; for a review, one that was made."""
    made = [a.path for a in view.definition.artifacts if a not in view.missing and not a.directory]
    named = (*(a.path for a in item.artifacts), *paths_in(item.text))
    return next(iter((*named, *(made if item.kind is ItemKind.REVIEW else ()))), "")


def completes_look(view: View) -> bool:
    """Whether this call is the look that an open item asks for."""
    item = view.next_item
    if item is None or item.kind not in _LOOKING:
        return False
    path = look_of(view, item)
    return not path or path in view.call.paths


def _target_step(view: View, target: RepairTarget) -> Step:
    missing = target.absent or target.path in {str(artifact) for artifact in view.missing}
    rewrite = target.failed_edits >= view.limits.failed_edits
    tool = writer(view) if missing or rewrite else editor(view)
    times = f"edits of it failed {target.failed_edits} times, so write all of it anew: "
    return Step(NextAction(tool, target.path), reason=times if rewrite else "", whole=missing)


def _item_step(view: View) -> Step:
    item = view.next_item
    assert item is not None
    if item.kind is ItemKind.VERIFY:
        return replace(answer(), item=item)
    if item.kind in _LOOKING:
        return replace(_looking(view, item), item=item)
    if view.missing and item_comes_first(view):
        return replace(artifact_step(view), item=item)
    path = item.artifacts[0].path if item.artifacts else view.last_written
    tool = editor(view) if path else writer(view)
    return Step(NextAction(tool, path), item=item)


def _looking(view: View, item: Item) -> Step:
    """The look that completes the item."""
    path = look_of(view, item)
    return Step(NextAction(observer(view), path)) if path else Step(NextAction(lister(view)))


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
