"""Rules for changes that were sent in the wrong shape: no payload, no match, through the shell."""

from __future__ import annotations

from signoff.toolbatch.calls import Call, Nature, NextAction, OutcomeKind
from signoff.toolbatch.events import Steered
from signoff.toolbatch.quoting import brief, listed_briefly
from signoff.toolbatch.recovery.categories import Category
from signoff.toolbatch.rules import SteeringRule
from signoff.toolbatch.steering.drifting import beyond_the_set
from signoff.toolbatch.steering.step import Step, next_step, repair_step, writer
from signoff.toolbatch.steering.wording import steered
from signoff.toolbatch.view import View

# An empty text replaces a passage by nothing, or makes an empty file; nobody else can say it.
_MAY_BE_EMPTY = frozenset({"new", "content"})


def unknown_tool(view: View) -> Steered | None:
    """A tool that is not there: what it was meant for is done by another."""
    if view.outcome is None or view.call.tool in view.actions:
        return None
    why = f"There is no tool {brief(view.call.tool)}."
    return steered("unknown_tool", view, why, next_step(view))


def missing_payload(view: View) -> Steered | None:
    """A change without its target or its text cannot be made."""
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
    """The text to replace is not in the file as it is."""
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
    """The file tools keep what was there, and see what does not match."""
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


RULES = (
    SteeringRule(
        "unknown_tool",
        "A tool was called that is not there: the next step with one that is.",
        unknown_tool,
    ),
    SteeringRule(
        "missing_payload",
        "A change came without its target or its text: send it whole, in the right shape.",
        missing_payload,
    ),
    SteeringRule(
        "edit_mismatch",
        "An edit did not match: copy the text exactly; after some failures write the whole file.",
        edit_mismatch,
    ),
    SteeringRule(
        "shell_rewrite",
        "A text file was to be rewritten through the shell: the file tools do that.",
        shell_rewrite,
    ),
)
