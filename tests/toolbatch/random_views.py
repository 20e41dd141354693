"""Views of every kind from a seed, also of states that no sane session reaches."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from signoff.domain.session import Artifact
from signoff.gate.task import Item, Round, RoundStatus, Task
from signoff.toolbatch.calls import ANSWER, STANDARD_SHAPES, CallResult, NextAction, ResultKind
from signoff.toolbatch.view import CallView, Counts, RepairFocus, RepairTarget, Target
from tests.toolbatch.steering_kit import (
    TOOLS,
    artifacts,
    blocked,
    call,
    duplicate,
    executed,
    mismatch,
)

PLANNED = ("docs/index.md", "docs/one.md", "docs/two.md", "assets/", "x" * 300 + ".md")
PATHS = ("ref.md", "docs/tow.md", "docs/`odd`\n name.md", *PLANNED)
TEXTS = ("", "write page one", "y" * 900, "`\n`\x1b[2J", "\u202e\u200bümlaut" * 20)
NAMES = (*sorted(TOOLS), ANSWER, "some_other_tool")


def some_view(random: Random) -> CallView:
    """A view after a call."""
    task, outcome = _task(random), _outcome(random)
    missing = tuple(a for a in task.planned if random.random() < 0.4)
    repair = _repair(random) if random.random() < 0.3 else None
    return CallView(
        task,
        outcome.call,
        outcome,
        missing=missing,
        substantive=max(0, len(task.planned) - len(missing) - 1),
        completed_now=random.choice((None, *task.items)),
        next_target=_target(missing[0]) if missing else None,
        repair=repair,
        counts=Counts(*(random.choice((0, 0, 1, 2, 9)) for _ in range(6))),
        failed_edit=random.choice(("", "", outcome.call.target)),
        open_steps=random.choice((0, 0, 0, 2)),
        tools=random.choice((TOOLS, TOOLS, TOOLS - {"write"}, TOOLS - {"edit"}, frozenset())),
    )


def _outcome(random: Random) -> CallResult:
    tool = random.choice(NAMES)
    names = STANDARD_SHAPES[tool].payload if tool in STANDARD_SHAPES else ()
    of = call(
        tool,
        random.choice(("", *PATHS)),
        **{name: random.choice((None, "", "same", "text")) for name in names},
    )
    kind = random.choice(list(ResultKind))
    if kind is ResultKind.EXECUTED:
        if tool == "bash" and random.random() < 0.5:
            return executed(call("bash", command="mkdir -p docs"))
        if tool == "edit" and random.random() < 0.5:
            return mismatch(random.choice(PATHS))
        return executed(of, ok=random.random() < 0.7)
    if kind is ResultKind.BLOCKED:
        instead = NextAction(random.choice(("write", "read", "gone")), random.choice(PATHS))
        rule = random.choice(("", "shell_rewrite", "out_of_scope"))
        return replace(blocked(of, random.choice((None, instead))), rule=rule)
    return replace(duplicate(of), kind=kind)


def _target(first: Artifact) -> Target:
    if first.directory:
        return Target(f"{first.path}/first.md", str(first))
    return Target(first.path)


def _task(random: Random) -> Task:
    last = Round(random.choice(list(RoundStatus)), changed=random.random() < 0.5)
    items = tuple(
        Item(f"{number}", random.choice(TEXTS), random.random() < 0.4)
        for number in range(random.randint(0, 3))
    )
    planned = random.sample(PLANNED, random.randint(0, len(PLANNED)))
    return Task(
        random.choice(TEXTS),
        artifacts(*planned),
        items=items,
        touched=_paths(random),
        round=random.choice((None, last)),
        failed_rounds=random.randint(0, 3),
    )


def _repair(random: Random) -> RepairFocus:
    targets = tuple(
        RepairTarget(
            path,
            _texts(random),
            visited=random.random() < 0.5,
            failed_edits=random.randint(0, 3),
        )
        for path in _paths(random)
    )
    allowed = (*(t.path for t in targets), *_paths(random))
    return RepairFocus(1, targets, allowed, _texts(random), changed=random.random() < 0.5)


def _paths(random: Random) -> tuple[str, ...]:
    return tuple(random.sample(PATHS, random.randint(0, 3)))


def _texts(random: Random) -> tuple[str, ...]:
    return tuple(random.sample(TEXTS, random.randint(0, 3)))
