"""Rules for calls that went wrong: in the wrong shape, blocked again, with nothing new in them."""

from __future__ import annotations

from dataclasses import replace

from signoff.toolbatch.calls import Call, Nature, NextAction, OutcomeKind
from signoff.toolbatch.events import Steered
from signoff.toolbatch.recovery.categories import Category
from signoff.toolbatch.steering.drifting import beyond_the_set
from signoff.toolbatch.steering.step import (
    Step,
    answer,
    next_step,
    open_work,
    openly,
    repair_step,
    writer,
)
from signoff.toolbatch.steering.wording import brief, listed_briefly, steered
from signoff.toolbatch.view import View

_TWO_SIDES = 2  # of an edit: what is replaced, and by what
# An empty text replaces a passage by nothing, or makes an empty file; nobody else can say it.
_MAY_BE_EMPTY = frozenset({"new", "content"})


def unknown_tool(view: View) -> Steered | None:
    """A tool was called that is not there: the next step with one that is."""
    if view.outcome is None or view.call.tool in view.actions:
        return None
    why = f"There is no tool {brief(view.call.tool)}."
    return steered("unknown_tool", view, why, next_step(view))


def missing_payload(view: View) -> Steered | None:
    """A change came without its target or its text: send it whole, in the right shape."""
    call, outcome = view.call, view.outcome
    if outcome is None or outcome.ok or call.shape.nature is not Nature.MUTATE:
        return None
    without = lacking(call)
    if not without and not call.malformed:
        return None
    usage = brief(call.shape.usage)
    what = f"without {listed_briefly(without)}" if without else "in a form that cannot be read"
    why = f"The {brief(call.tool)} call came {what}. Send it whole, as {usage}."
    return steered("missing_payload", view, why, _same_target(view))


def edit_mismatch(view: View) -> Steered | None:
    """An edit did not match: copy the text exactly; after some failures write the whole file."""
    call, outcome = view.call, view.outcome
    if outcome is None or outcome.ok or outcome.category != Category.EDIT_MISMATCH:
        return None
    if not call.target or (view.repair is not None and not view.repair.allows(call.target)):
        return None
    failed = max(view.counts.failed_edits, _failed_in_repair(view))
    if failed >= view.limits.failed_edits:
        why = f"{failed} edits of {brief(call.target)} failed: write the whole file instead."
        return steered("edit_mismatch", view, why, Step(NextAction(writer(view), call.target)))
    target = brief(call.target)
    why = f"The edit of {target} did not fit: mend the old text exactly as its result says."
    return steered("edit_mismatch", view, why, Step(NextAction(_same_tool(view), call.target)))


def shell_rewrite(view: View) -> Steered | None:
    """A text file was to be rewritten through the shell: the file tools do that."""
    outcome = view.outcome
    if outcome is None or outcome.rule != "shell_rewrite" or outcome.next_action is None:
        return None
    instead = outcome.next_action
    shape = view.shapes.get(instead.tool)
    if outcome.kind is not OutcomeKind.BLOCKED or instead.tool not in view.tools:
        return None
    if shape is None or shape.nature is not Nature.MUTATE:
        return None
    if view.repair is not None and not view.repair.allows(instead.target):
        return None
    why = f"Text files are not rewritten through {brief(view.call.tool)}: use the file tool."
    # It did as it was told and is at it again: one file over and over leads nowhere else.
    told = "shell_rewrite" in view.heard and instead.target == view.last_written
    by_tool = view.shapes.get(view.changed_by)
    followed = told and by_tool is not None and by_tool.nature is Nature.MUTATE
    step = next_step(view) if followed and view.repair is None else None
    return steered("shell_rewrite", view, why, step or Step(instead))


def lacking(call: Call) -> tuple[str, ...]:
    """The arguments that a change or a command cannot do without, and that did not come."""
    wanted = [call.shape.path] if call.shape.path and not call.target else []
    for name in call.shape.payload:
        value = call.arguments.get(name)
        if value is None or (value == "" and name not in _MAY_BE_EMPTY):
            wanted.append(name)
    return tuple(wanted)


def _same_target(view: View) -> Step | None:
    """Stay on the file that was meant, where it may be written; else the next step."""
    target, tool = view.call.target, _same_tool(view)
    if view.repair is not None:
        allowed = target and view.repair.allows(target)
        return Step(NextAction(tool, target)) if allowed else repair_step(view)
    if target in {artifact.path for artifact in view.missing}:
        return Step(NextAction(writer(view), target), whole=True)
    beyond = beyond_the_set(view, target) and target not in view.definition.touched
    return Step(NextAction(tool, target)) if target and not beyond else next_step(view)


def _same_tool(view: View) -> str:
    return view.call.tool if view.call.tool in view.tools else writer(view)


def _failed_in_repair(view: View) -> int:
    if view.repair is None:
        return 0
    return max(
        (t.failed_edits for t in view.repair.targets if t.path == view.call.target), default=0
    )


def must_stop(view: View) -> bool:
    """Whether the same blocked call came so often that no further advice will help."""
    return _blocked(view) and view.counts.blocked_alike > view.limits.repeats


def blocked_again(view: View) -> Steered | None:
    """The same call was blocked before: sterner words, then another way, then stop."""
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
    """A write or edit that changed nothing: go on to the next open thing."""
    if view.call.shape.nature is not Nature.MUTATE or not _changes_nothing(view):
        return None
    why = f"Nothing changed: {brief(view.call.target)} already holds this."
    return steered("duplicate_mutation", view, why, _without(view, next_step(view)))


def duplicate_observation(view: View) -> Steered | None:
    """A look at what was seen and did not change: use the earlier result and go on."""
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
