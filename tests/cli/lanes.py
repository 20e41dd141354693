"""Agents and steps for tests of lanes: they wait for each other outside the workspace."""

from __future__ import annotations

import pytest

from signoff.process.sandboxes import best_isolation
from tests.cli.kit import Desk
from tests.cli.plans import Step, step

NEEDS_LANES = pytest.mark.skipif(
    not best_isolation(None).has_own_view, reason="needs bubblewrap or user namespaces"
)
# Waits in the lane until this many agents are at work.
_TOGETHER = """
touch "${{0%/*}}/meet/$SIGNOFF_STEP"
until [ "$(ls "${{0%/*}}/meet" | wc -l)" -ge {count} ]; do sleep 0.05; done
"""
WRITE = "echo done > room-$SIGNOFF_STEP"


def together(count: int) -> str:
    """What an agent does until so many are at work."""
    return _TOGETHER.format(count=count)


def until(path: object) -> str:
    """Wait until there is such a file."""
    return f"until [ -e {path} ]; do sleep 0.05; done"


def rooms(count: int, **fields: str) -> list[Step]:
    """Independent steps, each with a file of its own."""
    given = {"needs": "none", **fields}
    return [step(f"Room {i}", f"grep -q done room-{i}", **given) for i in range(1, count + 1)]


def confine(desk: Desk) -> Desk:
    """A repository, and a sandbox that shows lanes; agents and checks meet in a folder outside."""
    (desk.agents / "meet").mkdir()
    sandbox = f'[sandbox]\nwritable = ["{desk.agents}"]\n'
    return desk.git().person(f'{sandbox}isolation = "{best_isolation(None)}"\n')
