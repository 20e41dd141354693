"""Views as a rule sees them, put together in one line of a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from signoff.domain.session import Artifact
from signoff.gate.task import Item, Round, RoundStatus, Task
from signoff.toolbatch.calls import (
    STANDARD_SHAPES,
    Call,
    CallResult,
    Nature,
    NextAction,
    ResultKind,
    ToolShape,
)
from signoff.toolbatch.recovery import Category
from signoff.toolbatch.view import CallView, Counts, RepairFocus, RepairTarget, Target

TOOLS = frozenset(STANDARD_SHAPES)
GUIDE = ("docs/index.md", "docs/one.md", "docs/two.md", "docs/three.md")
OTHER = ToolShape(Nature.OTHER)


def artifacts(*paths: str) -> tuple[Artifact, ...]:
    """Planned things; a trailing `/` is a folder."""
    return tuple(Artifact(p.rstrip("/"), p.endswith("/")) for p in paths)


def item(text: str) -> Item:
    """An open item."""
    return Item(text, text)


def call(tool: str, path: str = "", **arguments: Any) -> Call:
    """A call of a standard tool, with its payload unless the test leaves it out."""
    shape = STANDARD_SHAPES.get(tool, OTHER)
    given: dict[str, Any] = {name: f"some {name}" for name in shape.payload}
    if path and shape.path:
        given[shape.path] = path
    given |= arguments
    given = {name: value for name, value in given.items() if value is not None}
    return Call("c1", tool, given, shape, (path,) if path else ())


def executed(of: Call, *, ok: bool = True, writes: Mapping[str, str] | None = None) -> CallResult:
    """It was executed; a change that went well wrote its target."""
    if writes is None:
        changes = ok and of.shape.nature is Nature.MUTATE and of.target
        writes = {of.target: "d1"} if changes else {}
    return CallResult("text", ok, writes=writes, call=of)


def mismatch(path: str) -> CallResult:
    """An edit whose old text is not in the file."""
    return replace(executed(call("edit", path), ok=False), category=Category.EDIT_MISMATCH)


def duplicate(of: Call) -> CallResult:
    """There was nothing new in it."""
    return CallResult("text", True, kind=ResultKind.DUPLICATE, call=of)


def blocked(of: Call, instead: NextAction | None = None, rule: str = "") -> CallResult:
    """A pre-flight rule was against it."""
    kind = ResultKind.BLOCKED
    return CallResult(
        "text", False, kind=kind, call=of, rule=rule, guidance=True, next_action=instead
    )


def view(
    outcome: CallResult,
    *,
    planned: tuple[str, ...] = GUIDE,
    missing: tuple[str, ...] = (),
    round: Round | None = None,
    items: tuple[Item, ...] = (),
    touched: tuple[str, ...] = (),
    **more: Any,
) -> CallView:
    """The state after a call; what is missing decides the next target and what is substantive."""
    failed = 1 if round is not None and round.status is RoundStatus.BROKEN else 0
    task = Task("write the guide", artifacts(*planned), items, (), touched, round, failed)
    absent = artifacts(*missing)
    # A turn of one call: of a list alone, it kept books only.
    books = Counts(bookkeeping_turns=1) if outcome.call.shape.nature is Nature.LIST else Counts()
    there = [a for a in task.planned if a not in absent and "index" not in a.path]
    seen = CallView(
        task,
        outcome.call,
        outcome,
        missing=absent,
        substantive=len(there),
        next_target=Target(absent[0].path) if absent else None,
        counts=books,
        tools=TOOLS,
    )
    return replace(seen, **more)


def focus(*paths: str, allowed: tuple[str, ...] = (), **more: Any) -> RepairFocus:
    """A repair of these files."""
    targets = tuple(RepairTarget(path, (f"{path}:3: link to nowhere",)) for path in paths)
    return replace(RepairFocus(1, targets, (*paths, *allowed)), **more)


def broken(number: int = 1) -> Round:
    """A round that found something."""
    return Round(RoundStatus.BROKEN, number)
