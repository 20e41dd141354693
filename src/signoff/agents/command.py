"""Any command line as an agent: prompt in, work in the workspace, everything it started ended."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.agents.assignment import ANSWER_VARIABLE, USAGE_VARIABLE, Assignment, AttemptReport
from signoff.agents.meter import AttemptWatch, UsageMeter
from signoff.agents.presets import own_places, preset_of, sandbox_variables, with_preset
from signoff.agents.readers import READERS, read_nothing
from signoff.agents.troubles import command_words
from signoff.domain.findings import Severity, Trouble
from signoff.domain.text import decode_output, escape_line, storable_path
from signoff.domain.verdict import Ending, Isolation, Observation
from signoff.errors import ConfigInvalid
from signoff.process.command import Command, Confinement, Mount
from signoff.process.environment import clean_environment, safe_search_path
from signoff.process.leftovers import WORKSPACE_VARIABLE
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.sandboxes import own_view_advice
from signoff.process.shell import find_tool
from signoff.settings.roles import Price, Role, RoleKind
from signoff.verification.enclosure import (
    UNCONFINED,
    Enclosure,
    denied_places,
    landlock_line,
    tool_folder,
)

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
_VERSION_LIMIT_S = 30.0
_LONGEST_VERSION = 80
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


class CommandAgent(Struct, frozen=True):
    """Starts a fresh process per attempt; nothing is carried from one step to the next."""

    environ: Mapping[str, str]
    search_path: str
    mark: str | None = None  # of the workspace, to find what outlives a killed driver
    enclosure: Enclosure = UNCONFINED
    prices: Mapping[str, Price] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()  # what is shown in the workspace's place

    def work(self, assignment: Assignment) -> AttemptReport:
        """Run the role's command to its end, and read what it says of itself meanwhile."""
        role, confined = assignment.role, self.enclosure.of_agents is not Isolation.NONE
        argv, stdin = _command_line(role, assignment.prompt, assignment.prompt_file)
        if "/" in argv[0]:  # a path, seen from the workspace
            argv = (os.path.normpath(assignment.workspace / argv[0]), *argv[1:])
        path = self.search_path
        if role.kind is RoleKind.REVIEW:
            # Who reviews runs nothing out of an environment that the reviewed agent can write.
            path = safe_search_path(path, assignment.workspace)
        environment = clean_environment(
            self.environ,
            path=path,
            passed=role.env,
            extra={
                **self.enclosure.variables(self.enclosure.of_agents),
                **sandbox_variables(preset_of(role), confined=confined),
                **assignment.variables,
                **({WORKSPACE_VARIABLE: self.mark} if self.mark else {}),
                USAGE_VARIABLE: str(assignment.usage_file),
                ANSWER_VARIABLE: str(assignment.answer_file),
            },
        )
        watch = AttemptWatch(assignment, self._meter(role))
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
            cancelled=watch.must_end,
            on_output=watch.read,
        )
        obstacle = denied_line(observation, self.enclosure, assignment.workspace)
        isolation = self.enclosure.of_agents
        return watch.report(observation, lambda seen: why_it_ended(seen, isolation), obstacle)

    def beside(self, mounts: tuple[Mount, ...], mark: str) -> CommandAgent:
        """The same agent with something else shown to it in the workspace's place."""
        return replace(self, mounts=mounts, mark=mark)

    def _meter(self, role: Role) -> UsageMeter:
        preset, home = preset_of(role), self.environ.get("HOME")
        reader = READERS.get(role.agent, read_nothing)
        log = preset.log if preset is not None else ""
        return UsageMeter(reader, self.prices, log, Path(home) if home else None, role.model)

    def _confinement(self, assignment: Assignment, argv: tuple[str, ...]) -> Confinement | None:
        """Rights of the attempt: it may read what the role's approved command names."""
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
        own = own_places(assignment.role, argv[0], Path(home)) if home else ()
        return self.enclosure.for_agent(
            assignment.role,
            assignment.workspace,
            readable=named,
            writable=(assignment.usage_file.parent, *own),
            mounts=self.mounts,
        )


def try_role(
    role: Role, environ: Mapping[str, str], search_path: str, workspace: Path
) -> tuple[Trouble | None, str]:
    """Start the role's program for `doctor` and have it say its version.

    Returns what is wrong, or the version; both empty for an unknown command.
    """
    role, preset = with_preset(role), preset_of(role)
    words = shlex.split(role.command)
    if preset is None or not preset.words or find_tool(words[0], search_path, workspace) is None:
        return None, ""
    seen = run(
        Command(
            argv=(words[0], "--version"),
            cwd=workspace,
            env=clean_environment(environ, path=search_path, extra=dict(preset.sets)),
            limits=Limits(wall_s=_VERSION_LIMIT_S),
        )
    )
    said = decode_output(seen.stdout.kept).strip().splitlines()
    if seen.exit_code == 0 and said:
        return None, escape_line(said[0][:_LONGEST_VERSION])
    return Trouble(
        "role-program-broken",
        Severity.WARNING,
        f"role `{role.name}`: `{words[0]} --version` failed: {seen.describe()}",
        f"install it again: {preset.package}",
    ), ""


def _command_line(
    role: Role, prompt: str, file: Path | None = None
) -> tuple[tuple[str, ...], bytes]:
    """The role's words; the prompt takes the place of `{prompt}`, else it goes to stdin.

    One that is too long for an argument is written to the file, and the argument says so.
    """
    words = command_words(role)
    if not any(PROMPT_PLACE in word for word in words):
        return tuple(words), prompt.encode("utf-8", "replace")
    if len(prompt.encode("utf-8", "replace")) > LONGEST_ARGUMENT_BYTES:
        if file is None:
            raise ConfigInvalid(
                f"role `{role.name}`: the prompt is too long for an argument",
                "leave out {prompt}: the command then gets the prompt on standard input",
            )
        # The agent may write next to the file, so nothing that lies there is written through.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(file, flags, 0o600), "wb") as f:
            f.write(prompt.encode("utf-8", "replace"))
        prompt = f"Your task is written in the file {file}. Read all of it first, then do it."
    safe = prompt.replace("\0", "�")
    return tuple(word.replace(PROMPT_PLACE, safe) for word in words), b""


def _named(word: str, workspace: Path) -> Path | None:
    """Path outside the workspace that a word names; a relative one must be a file, or `..` counts.

    Without following links on the way: those in the workspace are the agent's.
    """
    path = Path(os.path.normpath(workspace / word))
    try:
        # A prompt in place of a word may be longer than any path.
        there = "\n" not in word and (path.exists() if word.startswith("/") else path.is_file())
    except (OSError, ValueError):
        return None
    return path if there and not path.is_relative_to(workspace) else None


def denied_line(seen: Observation, enclosure: Enclosure, workspace: Path) -> str:
    """The line that helps an agent that Landlock denied something, however it ended."""
    if enclosure.of_agents is not Isolation.LANDLOCK:
        return ""
    printed = f"{decode_output(seen.stdout.kept)}\n{decode_output(seen.stderr.kept)}"
    if seen.denied and "not permitted" in printed:
        return (
            f"the sandbox refused it sockets ({', '.join(seen.denied)}), since its role has no"
            f" network: write `network = true` under the role, or {own_view_advice()}"
        )
    places = denied_places(printed, workspace, enclosure)
    return landlock_line(next(iter(places.values()))) if places else ""


def why_it_ended(seen: Observation, isolation: Isolation) -> str:
    """The launcher's words about an agent that never ran, or that its sandbox was in its way.

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
