"""Any command line as an agent: prompt in, work in the workspace, everything it started ended."""

from __future__ import annotations

import os
import posixpath
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from signoff.agents.assignment import (
    ANSWER_VARIABLE,
    USAGE_VARIABLE,
    Assignment,
    AttemptReport,
    read_answer,
    read_usage,
)
from signoff.domain.findings import Severity, Trouble
from signoff.domain.observation import Ending, Observation
from signoff.domain.text import decode_output, storable_path
from signoff.domain.verdict import Isolation
from signoff.errors import ConfigInvalid
from signoff.process.command import Command, Confinement
from signoff.process.environment import clean_environment
from signoff.process.leftovers import WORKSPACE_VARIABLE
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.shell import find_tool
from signoff.settings.loading import Role, implied_variables
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
_QUOTED = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_SHELL = re.compile(r"(?:^|\s)(\|\|?|&&?|\d?>>?|<|\d?>&\d)(?=\s|$)|(;)(?=\s|$)|(\$)(?=[\w{(])")
_OWN_GIT = re.compile(r"(?:^|[\s'\"/])\.git/(?!worktrees/)")


@dataclass(frozen=True)
class CommandAgent:
    """Starts a fresh process per attempt; nothing is carried from one step to the next."""

    environ: Mapping[str, str]
    search_path: str
    mark: str | None = None  # of the workspace, to find what outlives a killed driver
    enclosure: Enclosure = UNCONFINED

    def work(self, assignment: Assignment) -> AttemptReport:
        """Run the role's command to its end and read its usage report."""
        argv, stdin = _command_line(assignment.role, assignment.prompt, assignment.prompt_file)
        if "/" in argv[0]:  # a path, seen from the workspace
            argv = (os.path.normpath(assignment.workspace / argv[0]), *argv[1:])
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
        return AttemptReport(observation, usage, answer, unreadable, why)

    def _confinement(self, assignment: Assignment, argv: tuple[str, ...]) -> Confinement | None:
        """What the role's own command names may be read: whoever approved it named it."""
        if self.enclosure.of_agents is Isolation.NONE:
            return None
        named = [path for word in argv if (path := _named(word, assignment.workspace))]
        if argv[0].startswith("/"):
            named.append(tool_folder(Path(argv[0]).parent))
        if argv[0] == sys.executable:
            # The built-in loop is signoff itself, which may be installed from a checkout anywhere.
            installed = (Path(entry) for entry in sys.path)
            libraries = [p for p in installed if p.name in ("site-packages", "dist-packages")]
            loaded = (_PACKAGE, *libraries)
            named += [p for p in loaded if not p.is_relative_to(assignment.workspace)]
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
    trouble = _program_trouble(role, search_path, workspace)
    if trouble is not None:
        raise ConfigInvalid(trouble.message, trouble.hint)


def troubles_of(
    role: Role, search_path: str, workspace: Path, environ: Mapping[str, str]
) -> Iterator[Trouble]:
    """Everything about a role that its first attempt would stumble over."""
    stopped = _program_trouble(role, search_path, workspace)
    if stopped is not None:
        yield stopped
    syntax = _SHELL.search(_QUOTED.sub("_", role.command))
    if syntax is not None and (stopped is None or stopped.severity is not Severity.ERROR):
        sign = next(group for group in syntax.groups() if group)
        yield Trouble(
            "role-shell-syntax",
            Severity.WARNING,
            f"role `{role.name}`: no shell runs the command, so `{sign}` is an ordinary word in it",
            "wrap it: sh -c '…', or name a script",
        )
    implied = implied_variables(role)
    for name in dict.fromkeys(role.env):
        if name not in environ and name not in implied:
            yield Trouble(
                "role-variable-unset",
                Severity.WARNING,
                f"role `{role.name}` asks for the variable `{name}`, which is not set here",
                f"export {name}=…, or take it out of `env` under [roles.{role.name}]",
            )


def _words(role: Role) -> list[str]:
    try:
        words = shlex.split(role.command)
    except ValueError as error:
        raise ConfigInvalid(f"role `{role.name}`: command is not a command line: {error}") from None
    if not words:
        raise ConfigInvalid(f"role `{role.name}` has an empty command")
    return words


def _program_trouble(role: Role, search_path: str, workspace: Path) -> Trouble | None:
    """Why the role's command cannot be started at all."""
    try:
        program = _words(role)[0]
    except ConfigInvalid as error:
        hint = f"mend `command` under [roles.{role.name}], or --role {role.name}='COMMAND'"
        return Trouble("role-command-unreadable", Severity.ERROR, error.message, hint)
    if find_tool(program, search_path, workspace) is not None:
        return None
    here = workspace / program
    try:
        is_file = here.is_file()
    except (OSError, ValueError):
        is_file = False
    said, advice = "was not found", f"install `{program}`"
    if is_file and "/" in program:
        said, advice = "is not executable", f"chmod +x {shlex.quote(str(here))}"
    elif is_file:
        said = "was not found on the search path"
        advice = f"write ./{program} for the file of the workspace"
    return Trouble(
        "role-program-missing",
        Severity.WARNING,
        f"role `{role.name}`: command `{program}` {said}",
        f"{advice}, or change the role's command: --role {role.name}='COMMAND'",
    )


def _command_line(
    role: Role, prompt: str, file: Path | None = None
) -> tuple[tuple[str, ...], bytes]:
    """The role's words; the prompt takes the place of `{prompt}`, else it goes to stdin.

    One that is too long for an argument is written to the file, and the argument says so.
    """
    words = _words(role)
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
    ends = (decode_output(out.kept[-_LAST_BYTES:]) for out in (seen.stdout, seen.stderr))
    last = [line for end in ends for line in end.splitlines()[-_LAST_LINES:]]
    lines = [line for line in last if refused.search(line)]
    if not lines:
        return ""
    return GIT_IS_READ_ONLY if all(map(_OWN_GIT.search, lines)) else WORKSPACE_ONLY
