"""Any command line as an agent: prompt in, work in the workspace, everything it started ended."""

from __future__ import annotations

import json
import os
import shlex
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from signoff.agents.assignment import Assignment, Report
from signoff.domain.plan import Cost
from signoff.errors import ConfigInvalid
from signoff.process import (
    WORKSPACE_VARIABLE,
    Command,
    Limits,
    clean_environment,
    find_tool,
    run,
)
from signoff.settings import Role

ATTEMPT_VARIABLE = "SIGNOFF_ATTEMPT"
PROMPT_PLACE = "{prompt}"
LONGEST_ARGUMENT_BYTES = 120_000
LARGEST_USAGE_FILE = 100_000
MOST_TOKENS = 10**15  # more than that is no report, and sums must stay numbers
MOST_USD = 1e12


@dataclass(frozen=True)
class CommandAgent:
    """Starts a fresh process per attempt; nothing is carried from one step to the next."""

    environ: Mapping[str, str]
    search_path: str
    mark: str | None = None  # of the workspace, to find what outlives a killed driver

    def work(self, assignment: Assignment) -> Report:
        """Run the role's command to its end and read its usage report."""
        argv, stdin = _command_line(assignment.role, assignment.prompt)
        environment = clean_environment(
            self.environ,
            path=self.search_path,
            passed=assignment.role.env,
            extra={
                **assignment.variables,
                **({WORKSPACE_VARIABLE: self.mark} if self.mark else {}),
                "SIGNOFF_USAGE_FILE": str(assignment.usage_file),
            },
        )
        show = assignment.on_output
        observation = run(
            Command(
                argv=argv,
                cwd=assignment.workspace,
                env=environment,
                limits=Limits(wall_s=assignment.timeout_s),
                stdin=stdin,
                marked_by=WORKSPACE_VARIABLE if self.mark else None,
            ),
            cancelled=assignment.cancelled,
            on_output=None if show is None else (lambda _stream, chunk: show(chunk)),
        )
        return Report(observation, read_usage(assignment.usage_file))


def check_role(role: Role, search_path: str) -> None:
    """Raise when the role's command cannot be started at all."""
    argv, _ = _command_line(role, "")
    if find_tool(argv[0], search_path) is None:
        raise ConfigInvalid(
            f"role `{role.name}`: command `{argv[0]}` was not found",
            f"install it, or change the role's command: --role {role.name}='COMMAND'",
        )


def read_usage(path: Path) -> Cost | None:
    """What the agent reported, or None; a malformed report is no report."""
    try:
        data = json.loads(_read_small_file(path))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    tokens, usd = data.get("tokens", 0), data.get("usd", 0.0)
    # By type, because True is an int, and by range, because NaN compares with nothing.
    numbers = type(tokens) is int and type(usd) in (int, float)
    if not (numbers and 0 <= tokens <= MOST_TOKENS and 0 <= usd <= MOST_USD):
        return None
    return Cost(tokens, float(usd))


def _read_small_file(path: Path) -> bytes:
    """A regular file that is no link; opening a FIFO would wait for a writer."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode) or state.st_size > LARGEST_USAGE_FILE:
            raise ValueError("not a usage report")
        return os.read(descriptor, LARGEST_USAGE_FILE)
    finally:
        os.close(descriptor)


def _command_line(role: Role, prompt: str) -> tuple[tuple[str, ...], bytes]:
    """The role's words; the prompt takes the place of `{prompt}`, else it goes to stdin."""
    try:
        words = shlex.split(role.command)
    except ValueError as error:
        raise ConfigInvalid(f"role `{role.name}`: command is not a command line: {error}") from None
    if not words:
        raise ConfigInvalid(f"role `{role.name}` has an empty command")
    if not any(PROMPT_PLACE in word for word in words):
        return tuple(words), prompt.encode("utf-8", "replace")
    if len(prompt.encode("utf-8", "replace")) > LONGEST_ARGUMENT_BYTES:
        raise ConfigInvalid(
            f"role `{role.name}`: the prompt is too long for an argument",
            "leave out {prompt}: the command then gets the prompt on standard input",
        )
    safe = prompt.replace("\0", "�")
    return tuple(word.replace(PROMPT_PLACE, safe) for word in words), b""
