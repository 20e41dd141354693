"""A definition of done as the arguments of `plan_create`: how a task without a plan gets one.

Steps are the planned artifacts and the items, each decided by a check where a file can decide it;
postconditions are the verification commands. From then on it is the plan's gate that decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from signoff.domain.definition import Artifact, Check, Definition, Item, ItemKind
from signoff.domain.text import escape_line
from signoff.toolbatch.deriving import LONGEST_COMMAND, existence_commands, worthless

MOST_STEPS = 200  # of one plan
LONGEST_OBJECTIVE = 500
LONGEST_DESCRIPTION = 1_900

Part = dict[str, Any]


def plan_of(definition: Definition, reason: str = "") -> Mapping[str, Any]:
    """The arguments: objective, steps, postconditions and reason."""
    objective = _plain(definition.statement.split("\n", 1)[0])[:LONGEST_OBJECTIVE] or "the task"
    return {
        "objective": objective,
        "steps": _steps(definition) or [{"description": objective}],
        "postconditions": _postconditions(definition.checks),
        "reason": reason,
    }


def _steps(definition: Definition) -> list[Part]:
    items = [i for i in definition.items if i.kind is not ItemKind.VERIFY]
    covered = {a.path for item in items for a in item.artifacts}
    alone = [a for a in definition.artifacts if a.path not in covered]
    steps = [_made(f"make {artifact}", (artifact,)) for artifact in alone]
    if len(steps) + len(items) > MOST_STEPS:
        steps = [_step(f"make what is planned, part {n}", c) for n, c in _commands(alone)]
    decided = [_made(item.text, item.artifacts) for item in items if item.artifacts]
    plain = _joined([i for i in items if not i.artifacts], MOST_STEPS - len(steps) - len(decided))
    return [*steps, *decided, *plain][:MOST_STEPS]


def _made(description: str, artifacts: Sequence[Artifact]) -> Part:
    """One file is checked by name; several, or a folder, by a command."""
    if len(artifacts) == 1 and not artifacts[0].directory:
        check = {"kind": "file_exists", "path": artifacts[0].path}
        return {"description": _described(description), "check": check}
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
        if not worthless(check.command)
    ]


def _described(text: str) -> str:
    return _plain(text)[:LONGEST_DESCRIPTION] or "something without a name"


def _plain(text: str) -> str:
    """On one line, with nothing that a plan's parser would take for structure."""
    line = escape_line(" ".join(text.split()))
    for mark in ("**", "__", "`", "#", "<", "|"):
        line = line.replace(mark, " ")
    return " ".join(line.split()).lstrip("-*+>=~. ")
