"""Plan texts for tests, built from the parts that a test is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_FENCED = ("for_each",)


@dataclass(frozen=True)
class Step:
    """A step before it has its number."""

    title: str
    body: str


def step(title: str, contract: str, *, expect: str = "exit_code == 0", **fields: Any) -> Step:
    """A step for `coder`; fields are written as in a plan file, lists as bullets."""
    given = {"target": "coder", **fields, "task": fields.get("task", f"{title}.")}
    lines = [_field(name, value) for name, value in given.items()]
    lines += ["**contract:**", fence(contract), expect]
    return Step(title, "\n".join(lines))


def plan_text(
    steps: Sequence[Step],
    *,
    title: str = "Build a house",
    context: str = "",
    budget: str = "",
    post: Sequence[tuple[str, str | None]] = (),
    front: Sequence[str] = (),
) -> str:
    """The whole file; postconditions are (text, contract or None), `front` is more frontmatter."""
    head = ["---", "type: plan", "status: draft", *front, "---", "", f"# {title}", ""]
    if context:
        head.append(f"**Context:** {context}")
    if budget:
        head.append(f"**Budget:** {budget}")
    body = [f"### {i}. {s.title}\n\n{s.body}\n" for i, s in enumerate(steps, 1)]
    return "\n".join([*head, "", "## Steps", "", *body, *_postconditions(post)])


def fence(command: str) -> str:
    """A command as a fenced block."""
    return f"```shell\n{command}\n```"


def _field(name: str, value: Any) -> str:
    if name in _FENCED:
        return f"**{name}:**\n{fence(value)}"
    if isinstance(value, list):
        return "\n".join([f"**{name}:**", *(f"- {item}" for item in value)])
    return f"**{name}:** {value}"


def _postconditions(post: Sequence[tuple[str, str | None]]) -> list[str]:
    lines = ["## Postconditions", ""] if post else []
    for i, (text, contract) in enumerate(post, 1):
        lines.append(f"{i}. {text}")
        if contract is not None:
            lines += [f"   {line}" for line in fence(contract).split("\n")]
    return [*lines, ""]
