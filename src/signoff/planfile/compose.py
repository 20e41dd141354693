"""The text of a plan that an agent asks for, or that the harness derives from a task."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from signoff.domain.plan import Contract, Effects

TARGET = "agent"
LONGEST_TITLE = 100


class PlanPart(Protocol):
    """A step or a postcondition."""

    @property
    def description(self) -> str:
        """The description on one line."""

    @property
    def contract(self) -> Contract | None:
        """The contract that decides it; None where there is none."""


def compose(aim: str, steps: Sequence[PlanPart], posts: Sequence[PlanPart]) -> str:
    """The text of a plan; whoever calls it reads it back to see that it says the same."""
    lines = [f"# {aim}", "", "## Steps", ""]
    for number, step in enumerate(steps, 1):
        lines += [f"### {number}. {step.description[:LONGEST_TITLE]}", "", f"**target:** {TARGET}"]
        lines += [f"**task:** {step.description}", ""]
        if step.contract is not None:
            lines += ["**contract:**", *_fence(step.contract), *_options(step.contract), ""]
    if posts:
        lines += ["## Postconditions", ""]
    for number, post in enumerate(posts, 1):
        lines.append(f"{number}. {post.description}")
        if post.contract is not None:
            below = [*_fence(post.contract), *_options(post.contract)]
            lines += [f"    {line}" if line else line for line in below]
        lines.append("")
    return "\n".join(lines)


def _fence(contract: Contract) -> list[str]:
    """A fence longer than any in the command, so that the command cannot end it."""
    longest = max((len(run) for run in re.findall(r"`+", contract.command)), default=0)
    fence = "`" * max(3, longest + 1)
    expected = [str(e) for e in contract.all_expectations()]
    return [f"{fence}shell", *contract.command.split("\n"), fence, *expected]


def _options(contract: Contract) -> list[str]:
    return ["**network:** yes", "**effects:** external"] if is_external(contract) else []


def is_external(contract: Contract) -> bool:
    """True when it asks the world outside of the workspace."""
    return contract.effects is Effects.EXTERNAL
