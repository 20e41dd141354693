"""The standard tool that runs commands, through the one room that starts processes."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from signoff.agents.tools.context import ToolContext
from signoff.agents.tools.definition import tool
from signoff.agents.tools.files import ToolError
from signoff.domain.digests import digest_bytes
from signoff.domain.observation import Ending, Observation, Output
from signoff.domain.text import decode_output
from signoff.process.command import Command
from signoff.process.environment import clean_environment
from signoff.process.leftovers import WORKSPACE_VARIABLE
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool, shell_command

USUAL_S = 120
KEPT_HEAD = 6_000
KEPT_TAIL = 18_000
MOST_OUTPUT = 200_000_000
LARGEST_COMPARED = 1_000_000


@tool(effects={"read", "write", "network"})
def bash(context: ToolContext, command: str, timeout_s: float = USUAL_S) -> str:
    """Run a bash command in the workspace and see its output and exit code.

    Every process it starts is ended when it returns: nothing runs in the background.
    command: what bash runs.
    timeout_s: after so many seconds it is stopped.
    """
    if not command.strip() or "\0" in command:
        raise ToolError("the command is empty, or has a NUL in it")
    longest = context.shell.longest_s
    if not 0 < timeout_s <= longest:
        raise ToolError(f"`timeout_s` must be more than 0 and at most {longest:g}")
    watch = context.watch
    mark = "" if watch is None else watch.mark()
    before = {path: _look(path) for path in context.files.untouchable}
    seen = run_program(context, shell_command(command), timeout_s)
    # Noticed where no sandbox could prevent it.
    meddled = [path for path, then in before.items() if _look(path) != then]
    if watch is not None:
        changes = watch.changed_since(mark)
        context.trace.writes.update(changes.files)
        context.trace.touched = changes.others
        # Whatever it wrote: it may have looked at everything.
        context.trace.content = changes.content
    text = _described(seen)
    if meddled:
        raise ToolError(f"{_warning(meddled, context.workspace)}\n{text}")
    context.trace.exit_code = seen.exit_code if seen.ending is Ending.EXITED else None
    if seen.ending is Ending.EXITED and seen.exit_code == 0:
        return text
    raise ToolError(text)


def run_program(context: ToolContext, argv: tuple[str, ...], timeout_s: float) -> Observation:
    """Run a program as the model's shell runs: confined alike, with the same environment."""
    shell = context.shell
    program = find_tool(argv[0], shell.search_path)
    if program is None:
        raise ToolError(f"`{argv[0]}` is not installed here")
    environment = clean_environment(
        shell.environ,
        path=shell.search_path,
        passed=shell.role.env,
        extra={
            **shell.enclosure.variables(shell.enclosure.of_agents),
            **({WORKSPACE_VARIABLE: shell.mark} if shell.mark else {}),
        },
    )
    return run(
        Command(
            argv=(str(program), *argv[1:]),
            cwd=context.workspace,
            env=environment,
            limits=Limits(
                wall_s=timeout_s,
                keep_head=KEPT_HEAD,
                keep_tail=KEPT_TAIL,
                max_output=MOST_OUTPUT,
            ),
            marked_by=WORKSPACE_VARIABLE if shell.mark else None,
            confinement=shell.enclosure.for_agent(
                shell.role, context.workspace, absent=context.files.untouchable
            ),
        ),
        cancelled=shell.cancelled,
    )


def _described(seen: Observation) -> str:
    parts = [seen.describe()]
    parts += _stream("stdout", seen.stdout)
    parts += _stream("stderr", seen.stderr)
    if seen.leftovers_killed:
        parts.append(f"[{seen.leftovers_killed} processes were left running and were ended]")
    return "\n".join(parts)


def _stream(name: str, output: Output) -> list[str]:
    text = decode_output(output.kept).rstrip("\n")
    return [f"--- {name}", text] if text else []


def _warning(paths: Iterable[Path], workspace: Path) -> str:
    """What the agent reads about changes of what is not its own.

    Nothing is put back: a person may have made the change while the command ran, and whatever
    counts is pinned.
    """
    inside = (p.relative_to(workspace) if p.is_relative_to(workspace) else p for p in paths)
    return (
        f"{', '.join(f'`{path}`' for path in inside)} changed while this ran; that belongs"
        " to the harness or the user and counts for nothing. Take it back if it was you; say what a"
        " person should change instead"
    )


def _look(path: Path) -> str:
    """How a place looks now: a file by its content, anything else by its being there."""
    with suppress(OSError):
        state = os.lstat(path)
        if stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST_COMPARED:
            return digest_bytes(path.read_bytes())
        return f"something {stat.S_IFMT(state.st_mode)}"
    return "gone"
