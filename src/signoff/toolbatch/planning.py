"""A plan derived from a definition of done: how a task without a plan gets one.

Steps are the planned artifacts and the items, each decided by a check where a file can decide it;
postconditions are the verification commands. From then on it is the plan's gate that decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from signoff.domain.definition import Artifact, Check, CheckSource, Definition, Item, ItemKind
from signoff.domain.text import escape_line
from signoff.toolbatch.deriving import LONGEST_COMMAND, existence_commands, worthless

MOST_STEPS = 200  # of one plan
LONGEST_OBJECTIVE = 500
LONGEST_DESCRIPTION = 1_900

Part = dict[str, Any]


@dataclass(frozen=True)
class DerivedPlan:
    """What a session needs to write a plan down."""

    objective: str
    steps: tuple[Part, ...]
    postconditions: tuple[Part, ...]


def plan_of(definition: Definition, checks: Sequence[Check]) -> DerivedPlan | None:
    """The plan of a task that these checks decide about; None: nothing could be proved by one."""
    objective = _plain(definition.statement.split("\n", 1)[0])[:LONGEST_OBJECTIVE] or "the task"
    # That planned artifacts are there is what the steps say.
    good = [c for c in checks if c.source != CheckSource.EXISTENCE and not worthless(c.command)]
    steps = _steps(definition)
    if not steps and good:
        steps, good = [_step(objective, good[0].command)], good[1:]
    return DerivedPlan(objective, tuple(steps), tuple(_postconditions(good))) if steps else None


def _steps(definition: Definition) -> list[Part]:
    items = [i for i in definition.items if i.kind is not ItemKind.VERIFY]
    covered = {a.path for item in items for a in item.artifacts}
    alone = [a for a in definition.artifacts if a.path not in covered]
    steps = [_made(f"make {artifact}", (artifact,)) for artifact in alone]
    if len(steps) + len(items) > MOST_STEPS:
        steps = [_step(f"make what is planned, part {n}", c) for n, c in _commands(alone)]
    decided = [_made(item.text, item.artifacts) for item in items if item.artifacts]
    # What a call did already needs no proof in words.
    open_ = [item for item in items if not item.artifacts and not item.done]
    plain = _joined(open_, MOST_STEPS - len(steps) - len(decided))
    return [*steps, *decided, *plain][:MOST_STEPS]


def _made(description: str, artifacts: Sequence[Artifact]) -> Part:
    whole = " && ".join(existence_commands(artifacts))
    if len(whole) > LONGEST_COMMAND:
        return {"description": _described(description)}
    return _step(description, whole)


def _step(description: str, command: str) -> Part:
    return {"description": _described(description), "contract": command}


def _commands(artifacts: Iterable[Artifact]) -> list[tuple[int, str]]:
    return list(enumerate(existence_commands(artifacts), 1))


def _joined(items: Sequence[Item], room: int) -> list[Part]:
    """Items without a file; where there are more than steps may be, several make one step."""
    if not items or room < 1:
        return []
    each = -(-len(items) // room)
    share = LONGEST_DESCRIPTION // each - 2
    groups = [items[start : start + each] for start in range(0, len(items), each)]
    return [
        {"description": "; ".join(_described(item.text)[:share] for item in group)}
        for group in groups
    ]


def _postconditions(checks: Iterable[Check]) -> list[Part]:
    return [
        {
            "description": _described(f"{check.source} check {number} holds"),
            "contract": check.command,
        }
        for number, check in enumerate(checks, 1)
    ]


def _described(text: str) -> str:
    return _plain(text)[:LONGEST_DESCRIPTION] or "something without a name"


def _plain(text: str) -> str:
    """On one line, with nothing that a plan's parser would take for structure."""
    line = escape_line(" ".join(text.split()))
    for mark in ("**", "__", "`", "#", "<", "|"):
        line = line.replace(mark, " ")
    return " ".join(line.split()).lstrip("-*+>=~. ")
