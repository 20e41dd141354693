"""Choose the next step from the state alone, and word it for every message.

an edit did not fit, and the   that file: the same edit, copied exactly, or the whole file
  call is about that file
a repair is under way          its next target; something was changed: the answer, which is judged
something planned is missing   that file
an item is open                do it, and mark it as done in the list
everything known is done       the answer
else                           nothing: where no step is known, none is made up
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from msgspec import Struct

from signoff.domain.text import escape_line
from signoff.gate.task import Item
from signoff.toolbatch.calls import ANSWER, Nature, NextAction, ToolShape
from signoff.toolbatch.view import CallView, RepairTarget

_UNJUDGED = "if nothing is left to do, say so in an answer: it is judged at once"
_JUDGED = "give your final answer"
FAILED_EDITS = 2  # of one file, before all of it is to be written
_TO_EDIT = 2  # payloads: what is replaced, and by what
_LONGEST_NAME, _BRIEF = 120, 56  # characters; the second where a text has little room
# Results of some computation: a first version of them would be made up.
_DATA = frozenset(
    (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".db", ".sqlite", ".png", ".jpg", ".pdf")
)


class NextStep(Struct, frozen=True):
    """One concrete next step; `reason` goes before it in the message."""

    action: NextAction
    reason: str = ""
    item: Item | None = None
    whole: bool = False  # a file is written from nothing
    makes_parents: bool = False
    folder: str = ""  # the file is only one that could lie in it

    @property
    def answers(self) -> bool:
        """True when it hands over to judging."""
        return self.action.tool == ANSWER

    @property
    def possible(self) -> bool:
        """True when there is a tool for it: an answer changes no file."""
        return not (self.answers and self.action.target)


def next_step(view: CallView) -> NextStep | None:
    looked = view.call.shape.nature is Nature.OBSERVE
    if looked and view.failed_edit and view.failed_edit == view.call.target:
        return _edit_again(view)
    if view.repair is not None:
        return _repair_step(view)
    if view.missing:
        return _artifact_step(view)
    if view.next_item is not None:
        # Nobody can see when an item without a file is done: the model says so in its list.
        tool = _first(view, Nature.LIST)
        if not view.task.touched or not tool:
            return None
        return NextStep(NextAction(tool), "do it, and mark it as done with ", view.next_item)
    return answer(view)


def next_action(view: CallView) -> NextAction | None:
    return action_of(next_step(view))


def action_of(step: NextStep | None) -> NextAction | None:
    """The step's action; None where there is no tool for it."""
    return step.action if step is not None and step.possible else None


def answer(view: CallView) -> NextStep | None:
    """Hand over to judging, where nothing that is known is open."""
    done = view.settled and not view.task.is_over
    if view.open_steps or not (done or (view.built and not view.open_work)):
        return None
    return NextStep(NextAction(ANSWER), _JUDGED if done else _UNJUDGED)


def writer(view: CallView) -> str:
    return _mutating(view, lambda shape: -len(shape.payload))


def editor(view: CallView) -> str:
    return _mutating(view, lambda shape: len(shape.payload) == _TO_EDIT)


def looking_tool(view: CallView) -> str:
    """The first tool that only looks; the answer where there is none."""
    return _first(view, Nature.OBSERVE) or ANSWER


def _artifact_step(view: CallView) -> NextStep:
    """Make what is planned and missing; never a folder, but a file in it."""
    target = view.next_target
    if target is None:
        return NextStep(NextAction(writer(view), str(view.missing[0])), whole=True)
    action = NextAction(writer(view), target.path)
    return NextStep(
        action, whole=True, makes_parents=not target.parent_exists, folder=target.folder
    )


def _repair_step(view: CallView) -> NextStep | None:
    """The next target of the repair; the answer when something was changed."""
    focus = view.repair
    assert focus is not None
    target = focus.next_target
    if target is not None:
        return _target_step(view, target)
    if focus.changed:
        return NextStep(NextAction(ANSWER), _UNJUDGED)
    # The findings name no file: if only one was worked on, the repair begins there.
    touched = {path for path in view.task.touched if focus.allows(path)}
    return NextStep(NextAction(editor(view), touched.pop())) if len(touched) == 1 else None


def _target_step(view: CallView, target: RepairTarget) -> NextStep:
    missing = target.path in {str(artifact) for artifact in view.missing}
    rewrite = target.failed_edits >= FAILED_EDITS
    tool = writer(view) if missing or rewrite else editor(view)
    times = f"edits of it failed {target.failed_edits} times, so write all of it anew: "
    return NextStep(NextAction(tool, target.path), reason=times if rewrite else "", whole=missing)


def _edit_again(view: CallView) -> NextStep | None:
    """Repeat the edit that did not fit, after its file was looked at."""
    path = view.failed_edit
    if view.repair is not None and not view.repair.allows(path):
        return _repair_step(view)
    if view.counts.failed_edits >= FAILED_EDITS:
        return NextStep(
            NextAction(writer(view), path), "edits of it keep failing, so write all of it: "
        )
    return NextStep(NextAction(editor(view), path), "copy the old text exactly as it stands: ")


def _mutating(view: CallView, rank: Callable[[ToolShape], int]) -> str:
    usable = [
        (rank(shape), -place, name)
        for place, (name, shape) in enumerate(view.shapes.items())
        if name in view.tools and shape.nature is Nature.MUTATE and shape.path
    ]
    if usable:
        return max(usable)[2]
    return _first(view, Nature.MUTATE) or _first(view, Nature.SHELL) or ANSWER


def _first(view: CallView, nature: Nature) -> str:
    return next(
        (n for n, shape in view.shapes.items() if shape.nature is nature and n in view.tools), ""
    )


def step_text(view: CallView, step: NextStep) -> str:
    item = f"item {brief(step.item.text)}: " if step.item is not None else ""
    if step.answers:
        return f"Next: {item}{step.reason}."
    what = f"{brief(step.action.tool)} {brief(step.action.target)}".strip()
    if step.folder:
        what += f", or another file in {brief(step.folder)}"
    data = step.whole and posixpath.splitext(step.action.target)[1].lower() in _DATA
    words = [f"Next: {item}{step.reason}{what}{', or run what makes it' if data else ''}."]
    if step.whole and view.substantive == 0 and not data:
        words.append("A compact but real first version is enough; refine it later.")
    if step.makes_parents:
        words.append("The same call makes its folders.")
    return " ".join(words)


def quoted(text: str, most: int = _LONGEST_NAME) -> str:
    """The text in backticks, on one line and cut; empty text stays empty."""
    shown = escape_line(text).replace("`", "'")
    return f"`{clipped(shown, most)}`" if shown else ""


def brief(text: str) -> str:
    """The text like `quoted`, for a message that has to stay short."""
    return quoted(text, _BRIEF)


def listed(names: tuple[str, ...], most: int = 3, each: int = _LONGEST_NAME) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(quoted(name, each) for name in names[:most]) + more


def clipped(text: str, most: int) -> str:
    """Cut the text to so many characters, in the middle, because names differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"
