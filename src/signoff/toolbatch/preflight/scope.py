"""Changes outside of what the work is about now: beside the repair, beyond the declared set."""

from __future__ import annotations

from signoff.toolbatch.calls import Nature, NextAction
from signoff.toolbatch.quoting import listed, quoted
from signoff.toolbatch.rules import Block, PreflightRule
from signoff.toolbatch.shellwork import command_of, rewritten
from signoff.toolbatch.steering.drifting import beyond_the_set, is_summary, nearest, of_a_set
from signoff.toolbatch.steering.step import next_action, writer
from signoff.toolbatch.view import View

__all__ = ["RULES", "expanding", "of_a_set", "out_of_scope"]

_CHANGES = frozenset({Nature.MUTATE, Nature.SHELL})


def out_of_scope(view: View) -> Block | None:
    """While a round's finding is open, changes stay on the files it is about; reads go anywhere."""
    focus, call = view.repair, view.call
    if focus is None or call.shape.nature not in _CHANGES:
        return None
    named = call.paths if call.shape.nature is Nature.MUTATE else rewritten(command_of(call))
    outside = tuple(path for path in named if path not in ("", ".") and not focus.allows(path))
    if not outside:
        return None
    text = (
        f"{quoted(outside[0])} is outside of the repair that round {focus.round} asks for; "
        f"what may be changed until it is made: {listed(focus.allowed)}. A person can widen it"
    )
    return Block(text, next_action(view), guidance=True)


def expanding(view: View) -> Block | None:
    """One more file beside a declared set of its kind is declared first."""
    call, target = view.call, view.call.target
    if call.shape.nature is not Nature.MUTATE or not target or view.repair is not None:
        return None
    if view.exists or view.named_first or _is_next(view, target):
        return None
    if not beyond_the_set(view, target):
        return None
    near = nearest(view, target)
    action = NextAction(writer(view), near) if near else next_action(view)
    root = next((path for path in _files(view) if is_summary(path)), "")
    first = f"name it in {quoted(root)}" if root else "name it in the todo list"
    instead = f", or write the nearest declared one, {quoted(near)}" if near else ""
    text = f"{quoted(target)} is not in the declared set: {first} first{instead}"
    return Block(text, action, guidance=True)


def _files(view: View) -> list[str]:
    return [a.path for a in view.definition.artifacts if not a.directory]


def _is_next(view: View, path: str) -> bool:
    items = {artifact.path for item in view.definition.items for artifact in item.artifacts}
    return path in items or (view.next_target is not None and view.next_target.path == path)


RULES = (
    PreflightRule(
        "out_of_scope",
        "A change beside the files that an open repair is about; reads go anywhere.",
        out_of_scope,
    ),
    PreflightRule(
        "expanding",
        "A new page beside a declared set of its kind, which nothing declares.",
        expanding,
    ),
)
