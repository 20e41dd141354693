"""Plan texts, built from the parts that a case is about."""

from __future__ import annotations

import re
from collections.abc import Sequence

from truth.case import DECOY


def step(
    title: str,
    contract: str,
    fields: str = "",
    *,
    target: str = "coder",
    expect: str = "exit_code == 0",
    on_fail: str = "escalate",
) -> str:
    """A step without its number; fields are written as in a plan."""
    ending = "" if not fields or fields.endswith("\n") else "\n"
    return (
        f"{title}\n\n**target:** {target}\n{fields}{ending}**task:**\n{title}.\n\n"
        f"**contract:**\n{fence(contract)}\n{expect}\n**on_fail:** {on_fail}\n"
    )


def plan(
    *steps: str, head: str = "", front: str = "", post: Sequence[tuple[str, str | None]] = ()
) -> str:
    """The whole file; `head` is written below the title, `post` are (text, contract or None)."""
    numbered = [f"### {number}. {text}" for number, text in enumerate(steps, 1)]
    parts = [f"---\ntype: plan\nstatus: draft\n{front}---\n\n# Make it work\n", head, "## Steps\n"]
    return "\n".join([*parts, *numbered, *_postconditions(post)])


def with_decoy(text: str) -> str:
    """The plan with one more step, which needs no other and changes a file of its own."""
    numbers = [int(number) for number in re.findall(r"(?m)^### (\d+)\. ", text)]
    decoy = step("Leave a note", "test -s decoy.txt", "**needs:** none\n", target=DECOY)
    steps, heading, rest = text.partition("## Postconditions\n")
    return f"{steps.rstrip()}\n\n### {max(numbers) + 1}. {decoy}\n{heading}{rest}"


def fence(command: str) -> str:
    """A command as a fenced block."""
    return f"```shell\n{command}\n```"


def _postconditions(post: Sequence[tuple[str, str | None]]) -> list[str]:
    lines = ["## Postconditions\n"] if post else []
    for number, (text, contract) in enumerate(post, 1):
        lines.append(f"{number}. {text}")
        if contract is not None:
            lines += [f"   {line}" for line in fence(contract).split("\n")]
    return [*lines, ""]
