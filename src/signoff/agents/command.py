"""Any command line as an agent: prompt in, work in the workspace, everything it started ended."""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from signoff.agents.assignment import (
    ANSWER_VARIABLE,
    USAGE_VARIABLE,
    Assignment,
    Report,
    read_answer,
    read_usage,
)
from signoff.agents.program import program_path, program_trouble
from signoff.domain.observation import Ending, Observation, Output
from signoff.domain.text import decode_output, storable_path
from signoff.domain.verdict import Isolation
from signoff.errors import ConfigInvalid
from signoff.process.command import Command
from signoff.process.confinement import Confinement
from signoff.process.environment import clean_environment
from signoff.process.leftovers import WORKSPACE_VARIABLE
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.settings.loading import Role
from signoff.verification.enclosure import UNCONFINED, Enclosure, tool_folder

# Clients that keep state of their own in the home folder: what each must be able to write.
CLIENTS: dict[str, tuple[str, ...]] = {
    "claude": (".claude", ".claude.json"),
    "codex": (".codex",),
    "gemini": (".gemini",),
    "qwen": (".qwen",),
    "opencode": (".local/share/opencode", ".local/state/opencode", ".config/opencode"),
    "aider": (".aider",),
    "goose": (".config/goose", ".local/share/goose"),
    "cursor-agent": (".cursor",),
}
PROMPT_PLACE = "{prompt}"
LONGEST_ARGUMENT_BYTES = 120_000
_PACKAGE = Path(__file__).resolve().parents[1]
_PAGE = "docs/how-to/confine-agents.md"
WORKSPACE_ONLY = (
    f"the sandbox allows writing in the workspace only; `[sandbox] writable` widens it: {_PAGE}"
)
GIT_IS_READ_ONLY = (
    'the sandbox keeps `.git` as it is; `writable = [".git"]` under `[sandbox]` '
    f"lets agents commit: {_PAGE}"
)
_LAST_LINES = 20
_LAST_BYTES = 8_000
_NEVER_RAN = frozenset({Ending.NOT_STARTED, Ending.NOT_FOUND, Ending.NOT_EXECUTABLE})
# What each sandbox answers to a write outside; anything else has other causes more often.
_REFUSED = {
    Isolation.BUBBLEWRAP: re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE),
    Isolation.NAMESPACES: re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE),
    Isolation.LANDLOCK: re.compile(r"permission denied(?! \()|\bEACCES\b", re.IGNORECASE),
}
_OWN_GIT = re.compile(r"(?:^|[\s'\"/])\.git/(?!worktrees/)")


@dataclass(frozen=True)
class CommandAgent:
    """Starts a fresh process per attempt; nothing is carried from one step to the next."""

    environ: Mapping[str, str]
    search_path: str
    mark: str | None = None  # of the workspace, to find what outlives a killed driver
    enclosure: Enclosure = UNCONFINED

    def work(self, assignment: Assignment) -> Report:
        """Run the role's command to its end and read its usage report."""
        argv, stdin = _command_line(assignment.role, assignment.prompt, assignment.prompt_file)
        argv = (program_path(argv[0], assignment.workspace), *argv[1:])
        environment = clean_environment(
            self.environ,
            path=self.search_path,
            passed=assignment.role.env,
            extra={
                **self.enclosure.variables(self.enclosure.of_agents),
                **assignment.variables,
                **({WORKSPACE_VARIABLE: self.mark} if self.mark else {}),
                USAGE_VARIABLE: str(assignment.usage_file),
                ANSWER_VARIABLE: str(assignment.answer_file),
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
                confinement=self._confinement(assignment, argv),
            ),
            cancelled=assignment.cancelled,
            on_output=None if show is None else (lambda _stream, chunk: show(chunk)),
        )
        usage = read_usage(assignment.usage_file)
        unreadable = usage is None and os.path.lexists(assignment.usage_file)
        answer = read_answer(assignment.answer_file)
        why = why_it_ended(observation, self.enclosure.of_agents)
        return Report(observation, usage, answer, unreadable, why)

    def _confinement(self, assignment: Assignment, argv: tuple[str, ...]) -> Confinement | None:
        """What the role's own command names may be read: whoever approved it named it."""
        if self.enclosure.of_agents is Isolation.NONE:
            return None
        named = [path for word in argv if (path := _named(word, assignment.workspace))]
        if argv[0].startswith("/"):
            named.append(tool_folder(Path(argv[0]).parent))
        if argv[0] == sys.executable:
            # The built-in loop is signoff itself, which may be installed from a checkout anywhere.
            named += [p for p in _packages() if not p.is_relative_to(assignment.workspace)]
        home = self.environ.get("HOME")
        own = paths_of_client(argv[0], Path(home)) if home else ()
        return self.enclosure.for_agent(
            assignment.role,
            assignment.workspace,
            readable=named,
            writable=(assignment.usage_file.parent, *own),
        )


def check_role(role: Role, search_path: str, workspace: Path) -> None:
    """Raise when the role's command cannot be started at all."""
    trouble = program_trouble(role, search_path, workspace)
    if trouble is not None:
        raise ConfigInvalid(trouble.message, trouble.hint)


def _command_line(
    role: Role, prompt: str, file: Path | None = None
) -> tuple[tuple[str, ...], bytes]:
    """The role's words; the prompt takes the place of `{prompt}`, else it goes to stdin.

    One that is too long for an argument is written to the file, and the argument says so.
    """
    try:
        words = shlex.split(role.command)
    except ValueError as error:
        raise ConfigInvalid(f"role `{role.name}`: command is not a command line: {error}") from None
    if not words:
        raise ConfigInvalid(f"role `{role.name}` has an empty command")
    if not any(PROMPT_PLACE in word for word in words):
        return tuple(words), prompt.encode("utf-8", "replace")
    if len(prompt.encode("utf-8", "replace")) > LONGEST_ARGUMENT_BYTES:
        if file is None:
            raise ConfigInvalid(
                f"role `{role.name}`: the prompt is too long for an argument",
                "leave out {prompt}: the command then gets the prompt on standard input",
            )
        prompt = _in_file(prompt, file)
    safe = prompt.replace("\0", "�")
    return tuple(word.replace(PROMPT_PLACE, safe) for word in words), b""


def _in_file(prompt: str, file: Path) -> str:
    """The agent may write next to the file, so nothing that lies there is written through."""
    with open(
        os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb"
    ) as f:
        f.write(prompt.encode("utf-8", "replace"))
    return f"Your task is written in the file {file}. Read all of it first, then do what it says."


def _packages() -> tuple[Path, ...]:
    """Where this program and the libraries that it needs were loaded from."""
    installed = (Path(entry) for entry in sys.path)
    return (_PACKAGE, *(p for p in installed if p.name in ("site-packages", "dist-packages")))


def _named(word: str, workspace: Path) -> Path | None:
    """What a word names outside the workspace; a relative one must be a file, or `..` would count.

    Without following links on the way: those in the workspace are the agent's.
    """
    path = Path(os.path.normpath(workspace / word))
    try:
        # A prompt in place of a word may be longer than any path.
        there = "\n" not in word and (path.exists() if word.startswith("/") else path.is_file())
    except (OSError, ValueError):
        return None
    return path if there and not path.is_relative_to(workspace) else None


def paths_of_client(command: str, home: Path) -> tuple[Path, ...]:
    """The places of a known client that exist; an unknown command gets none."""
    known = CLIENTS.get(posixpath.basename(command), ())
    return tuple(home / place for place in known if (home / place).exists())


def why_it_ended(seen: Observation, isolation: Isolation) -> str:
    """What the launcher said of an agent that never ran, or that its sandbox was in its way.

    What an agent printed is its own word, so it only chooses among clauses that are ours.
    """
    if seen.exit_code is None and seen.ending in _NEVER_RAN:
        return storable_path(seen.detail)
    if seen.exit_code == 0 or seen.ending not in (Ending.EXITED, Ending.TIMED_OUT):
        return ""
    refused = _REFUSED.get(isolation)
    if refused is None:
        return ""
    lines = [line for o in (seen.stdout, seen.stderr) for line in _last(o) if refused.search(line)]
    if not lines:
        return ""
    return GIT_IS_READ_ONLY if all(map(_OWN_GIT.search, lines)) else WORKSPACE_ONLY


def _last(output: Output) -> list[str]:
    return decode_output(output.kept[-_LAST_BYTES:]).splitlines()[-_LAST_LINES:]
