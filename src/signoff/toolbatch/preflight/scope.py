"""Calls outside of what the work is about now: beside the repair, beyond the declared set."""

from __future__ import annotations

import difflib
from pathlib import PurePosixPath

from signoff.domain.definition import Definition
from signoff.toolbatch.calls import Nature, NextAction
from signoff.toolbatch.preflight.wording import listed, quoted
from signoff.toolbatch.rules import Block, PreflightRule
from signoff.toolbatch.shellwork import command_of, rewritten
from signoff.toolbatch.steering.drifting import declared, is_summary
from signoff.toolbatch.steering.step import next_step, repair_step, writer
from signoff.toolbatch.view import View

_LOOKS_OR_CHANGES = frozenset({Nature.OBSERVE, Nature.MUTATE, Nature.SHELL})
_A_SET = 2  # files of one kind in one folder: from here on, another one is one too many


def out_of_scope(view: View) -> Block | None:
    """While a round's finding is open, reads and writes stay on the files it is about."""
    focus, call = view.repair, view.call
    if focus is None or call.shape.nature not in _LOOKS_OR_CHANGES:
        return None
    named = (*call.paths, *rewritten(command_of(call)))
    outside = tuple(path for path in named if path not in ("", ".") and not focus.allows(path))
    if not outside:
        return None
    text = (
        f"{quoted(outside[0])} is outside of the repair that round {focus.round} asks for; "
        f"allowed until it is made: {listed(focus.allowed)}. A person can widen it"
    )
    return Block(text, repair_step(view).action, guidance=True)


def expanding(view: View) -> Block | None:
    """One more file beside a declared set of its kind is declared first."""
    call, target = view.call, view.call.target
    if call.shape.nature is not Nature.MUTATE or not target or view.repair is not None:
        return None
    if view.exists or view.named_first or declared(view, target) or _is_next(view, target):
        return None
    if not of_a_set(view.definition, target):
        return None
    missing = [a.path for a in view.missing if not a.directory]
    near = difflib.get_close_matches(target, missing, n=1, cutoff=0.0)
    action = NextAction(writer(view), near[0]) if near else next_step(view).action
    root = next((path for path in _files(view) if is_summary(path)), "")
    first = f"name it in {quoted(root)}" if root else "name it in the todo list"
    instead = f", or write the nearest declared one, {quoted(near[0])}" if near else ""
    text = f"{quoted(target)} is not in the declared set: {first} first{instead}"
    return Block(text, action, guidance=True)


def of_a_set(definition: Definition, path: str) -> bool:
    """Whether files of its kind are declared beside it."""
    files = (a.path for a in definition.artifacts if not a.directory)
    return sum(_alike(file, path) for file in files) >= _A_SET


def _files(view: View) -> list[str]:
    return [a.path for a in view.definition.artifacts if not a.directory]


def _alike(path: str, other: str) -> bool:
    one, two = PurePosixPath(path), PurePosixPath(other)
    return one.parent == two.parent and one.suffix == two.suffix and not is_summary(path)


def _is_next(view: View, path: str) -> bool:
    items = {artifact.path for item in view.definition.items for artifact in item.artifacts}
    return path in items or (view.next_target is not None and view.next_target.path == path)


RULES = (
    PreflightRule(
        "out_of_scope",
        "A read or write beside the files that an open repair is about.",
        out_of_scope,
    ),
    PreflightRule(
        "expanding",
        "A new file beside a declared set of its kind, which nothing declares.",
        expanding,
    ),
)
