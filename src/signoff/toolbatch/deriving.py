"""Verification commands of a task, derived in this order:

1. contracts that were declared
2. commands that the project documents, of the kinds of file that the task is about
3. checkers for the files it touched or planned (`signoff check-artifact`)
4. the existence of planned artifacts

A command that cannot fail is no check, whoever wrote it. Nothing derivable: unverifiable, and said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath

from signoff.domain.definition import MOST_COMMANDS, Artifact, Check, CheckSource, Definition
from signoff.domain.text import escape
from signoff.gate.rounds import united
from signoff.planfile import parse
from signoff.planfile.verify import Anywhere, verify
from signoff.toolbatch.artifacts import existence_command, quoted
from signoff.toolbatch.manifests import documented

HasChecker = Callable[[str], bool]

CHECKER = "signoff check-artifact"
LONGEST_COMMAND = 3_500  # so that it fits into the contract of a plan
UNVERIFIABLE = (
    "unverifiable: no contract was declared, the project documents no check for these files, no"
    " checker knows them, and no artifact is planned"
)
# Findings of static verification that make a command worthless as a check.
_WORTHLESS = frozenset(
    {
        "cannot-fail",
        "cannot-hold",
        "contract-syntax",
        "exit-code-never-kept",
        "hidden-characters",
        "writes-what-it-checks",
    }
)


@dataclass(frozen=True)
class Derived:
    """The checks of a task; `refused` says which commands are none, and why."""

    checks: tuple[Check, ...]
    refused: tuple[str, ...] = ()

    @property
    def unverifiable(self) -> str:
        """Why nothing can be verified; empty when something can."""
        return "" if self.checks else "; ".join((UNVERIFIABLE, *self.refused))


def derive(
    definition: Definition,
    root: Path,
    contracts: Iterable[str] = (),
    has_checker: HasChecker | None = None,
) -> Derived:
    """What decides about a task; `has_checker` says for which files there is a checker."""
    has_checker = has_checker if has_checker is not None else checker_known
    declared = [c for c in definition.checks if c.source == CheckSource.CONTRACT]
    declared += [Check(command, CheckSource.CONTRACT) for command in contracts]
    about = dict.fromkeys((*definition.touched, *(a.path for a in definition.artifacts)))
    offered = documented(root, {_suffix(path) for path in about})
    declared += [Check(command, CheckSource.PROJECT) for command in offered.commands]
    good, refused = [], list(offered.refused)
    for check in united(declared):
        why = worthless(check.command)
        if why:
            refused.append(f"`{check.command}` is no check: {why}")
        else:
            good.append(check)
    checkable = [path for path in about if has_checker(path) and _is_file(root, path)]
    looks = [Check(c, CheckSource.ARTIFACT) for c in checker_commands(checkable)]
    looks += [Check(c, CheckSource.EXISTENCE) for c in existence_commands(definition.artifacts)]
    room = max(0, MOST_COMMANDS - len(good))
    if len(looks) > room:
        refused.append(f"{len(looks) - room} commands about single files are more than fit")
    return Derived((*good, *looks[:room]), tuple(refused))


def checker_known(path: str) -> bool:
    """Whether a checker that comes with signoff knows this kind of file."""
    name = PurePosixPath(path.lower())
    return not {name.name, name.suffix}.isdisjoint(_checked_files())


@lru_cache(maxsize=1)
def _checked_files() -> frozenset[str]:
    # Loading all checkers takes longer than deriving, and many tasks need none.
    from signoff.toolbatch.checkers.registry import BUILT_IN  # noqa: PLC0415

    return frozenset().union(*(checker.files for checker in BUILT_IN))


@lru_cache(maxsize=512)
def worthless(command: str) -> str:
    """Why a command decides nothing: it cannot fail, cannot hold, or makes what it checks."""
    if not command.strip() or "\0" in command or escape(command) != command:
        return "it is empty, or has characters that a reader cannot see"
    fence = "`" * max(3, 1 + max((len(run) for run in _runs_of_ticks(command)), default=0))
    lines = ("# check", "", "## Steps", "", "### 1. check", "", "**target:** agent", "**task:** x")
    text = "\n".join((*lines, "", "**contract:**", f"{fence}shell", command, fence, ""))
    for finding in verify(parse(text), Anywhere(frozenset({"agent"}))):
        if finding.code in _WORTHLESS:
            return finding.message
    return ""


def checker_commands(paths: Iterable[str]) -> tuple[str, ...]:
    """As few commands as hold all the paths."""
    return tuple(_chunked(CHECKER + " ", " ", map(quoted, paths)))


def existence_commands(artifacts: Iterable[Artifact]) -> tuple[str, ...]:
    """As few commands as hold all the artifacts."""
    return tuple(_chunked("", " && ", (existence_command((a,)) for a in artifacts)))


def _chunked(start: str, between: str, parts: Iterable[str]) -> list[str]:
    commands: list[str] = []
    current = ""
    for part in parts:
        longer = f"{current}{between}{part}" if current else f"{start}{part}"
        if current and len(longer) > LONGEST_COMMAND:
            commands.append(current)
            longer = f"{start}{part}"
        current = longer
    return [*commands, current] if current else commands


def _runs_of_ticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]


def _suffix(path: str) -> str:
    name = PurePosixPath(path)
    return name.suffix.lower() or name.name


def _is_file(root: Path, path: str) -> bool:
    if path.startswith("/") or ".." in path.split("/"):
        return False
    try:
        return (root / path).is_file()
    except (OSError, ValueError):
        return False
