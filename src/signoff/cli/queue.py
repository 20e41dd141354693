"""`signoff queue-status`: one line per plan, for people and status bars; never fails."""

from __future__ import annotations

import re
import sys
from typing import Any

import click

from signoff.cli.options import json_option, open_here
from signoff.cli.show import answer_json, duration, say_line
from signoff.domain.names import shown_name
from signoff.errors import SignoffError
from signoff.usecases.queue import QueueLine, queue_status

_FRACTION = re.compile(r"(\d{2}:\d{2}:\d{2})\.\d+(?:\+00:00|Z)")


@click.command("queue-status")
@json_option
def queue_status_command(as_json: bool) -> int:
    """Show every plan in a line: state, holder, steps done, last progress, age.

    Informs only: the exit code is always 0, and what is broken is part of the line."""
    lines: tuple[QueueLine, ...] = ()
    problem = ""
    try:
        lines = queue_status(open_here())
    except (SignoffError, OSError) as error:
        problem = str(error)
    if as_json:
        answer_json(plans=[_line_json(line) for line in lines], problem=problem or None)
        return 0
    width = max((len(shown_name(line.name)) for line in lines), default=0)
    if lines and sys.stdout.isatty():  # a status bar counts lines
        width = max(width, len("plan"))
        say_line(f"{'plan':<{width}}  {'state':<7}  steps  age  holder, last progress (why)")
    for line in lines:
        say_line(_shown(line, width))
    if problem:
        say_line(f"cannot tell: {problem}")
    elif not lines:
        say_line("no plans")
    return 0


def _line_json(line: QueueLine) -> dict[str, Any]:
    return {
        "plan": shown_name(line.name),
        "state": line.state,
        "standing": line.standing,
        "holder": line.holder or None,
        "done": line.done,
        "total": line.total,
        "progress": line.progress or None,
        "age_s": None if line.age_s is None else round(line.age_s),
        "why": line.why or None,
        "problem": line.problem or None,
    }


def _shown(line: QueueLine, width: int) -> str:
    total = "?" if line.total is None else str(line.total)
    parts = [
        f"{shown_name(line.name):<{width}}  {line.state:<7}  {line.done}/{total}",
        "-" if line.age_s is None else _age(line.age_s),
        _to_the_second(line.holder),
        _to_the_second(line.progress),
        f"({line.problem or line.why})" if line.problem or line.why else "",
    ]
    return "  ".join(part for part in parts if part)


def _to_the_second(text: str) -> str:
    return _FRACTION.sub(r"\1", text)


def _age(seconds: float) -> str:
    """In the largest unit that says something."""
    for unit_s, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit_s:
            return f"{int(seconds // unit_s)} {unit}"
    return duration(seconds)
