"""Verification commands of a task, derived in this order:

1. contracts that were declared
2. commands that the project documents, of the kinds of file that the task is about
3. checkers for the files it touched or planned (`signoff check-artifact`)
4. the existence of planned artifacts

A command that cannot fail is no check, whoever wrote it. Nothing derivable: unverifiable, and said.
What the project documented when the work began stays due, whatever becomes of its manifest. A task
that came without a plan gets one made of them; from then on the plan's gate decides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from signoff.domain.definition import (
    MOST_COMMANDS,
    Artifact,
    Check,
    CheckSource,
    Definition,
    ProjectCheck,
)
from signoff.domain.text import escape, escape_line
from signoff.gate.rounds import united
from signoff.planfile.parse import parse
from signoff.planfile.verify import Anywhere, verify
from signoff.process.syntax import syntax_problems
from signoff.toolbatch.artifacts import existence_command, quoted
from signoff.toolbatch.manifests import documented, offers
from signoff.toolbatch.offers import Offered

HasChecker = Callable[[str], bool]
Part = dict[str, Any]  # a step or a postcondition, as plan tools take it

CHECKER = "signoff check-artifact"
_MOST_PATHS = 4_096  # whose kind is kept in mind: a task is about the same ones turn after turn
# Files touched, from which on the task is about every kind: nobody names all that a command
# changed, and a flood of files must not hide the one that counts.
MOST_TOLD_APART = 500
LONGEST_OBJECTIVE = 500
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
    """The checks of a task; `refused` says which commands are none, and why.

    `additional` are those of its commands of which nobody can tell what they prove; they never
    stand alone. `shaken` says which checks of the project are due although it does not document
    them any more: whatever they answer proves nothing, so that a round with one cannot be kept.
    """

    checks: tuple[Check, ...]
    refused: tuple[str, ...] = ()
    shaken: tuple[str, ...] = ()
    additional: tuple[str, ...] = ()

    @property
    def unverifiable(self) -> str:
        """Why nothing can be verified; empty when something can."""
        return "" if self.checks else "; ".join((UNVERIFIABLE, *self.refused))


def project_checks(root: Path) -> tuple[ProjectCheck, ...]:
    """Everything that the project documents now, whatever a task is about; nothing is run."""
    return tuple(
        ProjectCheck(command, CheckSource.PROJECT, offered.kinds, _digests(root, offered), proves)
        for offered in offers(root)
        for commands, proves in ((offered.commands, True), (offered.additional, False))
        for command in commands
        if not worthless(command)
    )


def derive(
    definition: Definition,
    root: Path,
    contracts: Iterable[str] = (),
    has_checker: HasChecker | None = None,
    checker: str = CHECKER,
) -> Derived:
    """What decides about a task.

    `has_checker` says for which files there is a checker, and `checker` is how they are run.
    """
    has_checker = has_checker if has_checker is not None else checker_known
    declared = [c for c in definition.checks if c.source == CheckSource.CONTRACT]
    declared += [Check(command, CheckSource.CONTRACT) for command in contracts]
    about = dict.fromkeys((*definition.touched, *(a.path for a in definition.artifacts)))
    kinds = {_suffix(path) for path in about}
    many = len(definition.touched) >= MOST_TOLD_APART
    project = _of_project(definition, root, None if many else kinds)
    good, refused = [], list(project.refused)
    for check in united(declared, project.checks):
        why = worthless(check.command)
        if why:
            refused.append(f"`{check.command}` is no check: {why}")
        else:
            good.append(check)
    checkable = [path for path in about if has_checker(path) and _is_file(root, path)]
    unread = {path: dialect for path in checkable if (dialect := _dialect(path, root))}
    refused += [f"no checker reads {dialect}: `{path}`" for path, dialect in unread.items()]
    checkable = [path for path in checkable if path not in unread]
    looks = [Check(c, CheckSource.ARTIFACT) for c in checker_commands(checkable, checker)]
    looks += [Check(c, CheckSource.EXISTENCE) for c in existence_commands(definition.artifacts)]
    if good or looks:
        good += [Check(command, CheckSource.PROJECT) for command in project.additional]
    room = max(0, MOST_COMMANDS - len(good))
    if len(looks) > room:
        refused.append(f"{len(looks) - room} commands about single files are more than fit")
    return Derived((*good, *looks[:room]), tuple(refused), project.shaken, project.additional)


@dataclass(frozen=True)
class DerivedPlan:
    """What a session needs to write a plan down for a task that came without one."""

    objective: str
    steps: tuple[Part, ...]
    postconditions: tuple[Part, ...]


def plan_of(definition: Definition, checks: Sequence[Check]) -> DerivedPlan | None:
    """A step for each planned artifact, and the checks; None: nothing could be proved by one."""
    objective = _plain(definition.statement.split("\n", 1)[0])[:LONGEST_OBJECTIVE] or "the task"
    # That planned artifacts are there is what the steps say.
    good = [c for c in checks if c.source != CheckSource.EXISTENCE and not worthless(c.command)]
    steps = [_part(f"make {a}", existence_command((a,))) for a in definition.artifacts]
    if not steps and good:
        steps, good = [_part(objective, good[0].command)], good[1:]
    posts = [_part(f"{c.source} check {n} holds", c.command) for n, c in enumerate(good, 1)]
    return DerivedPlan(objective, tuple(steps), tuple(posts)) if steps else None


def _part(description: str, command: str) -> Part:
    return {"description": _plain(description), "contract": command}


def _plain(text: str) -> str:
    """On one line, with nothing that a plan's parser would take for structure."""
    line = escape_line(" ".join(text.split()))
    for mark in ("**", "__", "`", "#", "<", "|"):
        line = line.replace(mark, " ")
    return " ".join(line.split()).lstrip("-*+>=~. ")


def _of_project(definition: Definition, root: Path, kinds: Collection[str] | None) -> Derived:
    """What the project documents now, and what it did before; `kinds` None: whatever it is for."""
    now, began = offers(root), definition.began_with or ()
    if kinds is None:
        kinds = frozenset({""}).union(*(o.kinds for o in now), *(check.kinds for check in began))
    offered = documented(now, kinds)
    before = documented([Offered((check.command,), kinds=check.kinds) for check in began], kinds)
    kept = [c.command for c in definition.checks if c.source == CheckSource.PROJECT]
    due = dict.fromkeys((*kept, *before.commands, *offered.commands, *offered.additional))
    # One that also asks for the tests to be there says more than the same without.
    due = {c: None for c in due if not any(c != more and more.endswith(f" {c}") for more in due)}
    proving = {command for one in now for command in one.commands}
    untold = {command for one in now for command in one.additional}
    once_proved = {check.command for check in began if check.proves}
    shaken = tuple(
        f"`{command}` does not prove any more what it did when the work began{_because(now)}"
        for command in due
        if command not in proving and (command in once_proved or command not in untold)
    )
    additional = tuple(c for c in due if c in untold and c not in proving | once_proved)
    checks = tuple(Check(c, CheckSource.PROJECT) for c in due if c not in additional)
    return Derived(checks, offered.refused, shaken, additional)


def changed_base(check: ProjectCheck, root: Path) -> tuple[str, ...]:
    """The files that it rests on and that came, went or changed since the work began."""
    return tuple(path for path, digest in check.rests_on if _digest(root / path) != digest)


def _because(offered: Iterable[Offered]) -> str:
    refused = [said for one in offered for said in one.refused]
    return f" ({'; '.join(refused)})" if refused else ""


def _digests(root: Path, offered: Offered) -> tuple[tuple[str, str], ...]:
    return tuple((path, _digest(root / path)) for path in offered.rests_on)


def _digest(path: Path) -> str:
    """Of what is in a file; folders are there or not."""
    try:
        if path.is_dir():
            return "folder"
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    except OSError:
        return "unreadable"


@lru_cache(maxsize=_MOST_PATHS)
def checker_known(path: str) -> bool:
    """Whether a checker that comes with signoff can judge this kind of file here."""
    name = PurePosixPath(path.lower())
    return not {name.name, name.suffix}.isdisjoint(_checked_files())


@lru_cache(maxsize=1)
def _checked_files() -> frozenset[str]:
    # Loading all checkers takes longer than deriving, and many tasks need none.
    from signoff.toolbatch.checkers.registry import BUILT_IN  # noqa: PLC0415

    # Without its library a checker could never tell: no check would ever be kept.
    return frozenset().union(*(checker.files for checker in BUILT_IN if checker.is_usable))


@lru_cache(maxsize=512)
def worthless(command: str) -> str:
    """Why a command decides nothing: it cannot fail, cannot hold, or makes what it checks."""
    if not command.strip() or "\0" in command or escape(command) != command:
        return "it is empty, or has characters that a reader cannot see"
    fence = "`" * max(3, 1 + max((len(run) for run in _runs_of_ticks(command)), default=0))
    lines = ("# check", "", "## Steps", "", "### 1. check", "", "**target:** agent", "**task:** x")
    text = "\n".join((*lines, "", "**contract:**", f"{fence}shell", command, fence, ""))
    around = Anywhere(frozenset({"agent"}), check_syntax=syntax_problems)
    for finding in verify(parse(text), around):
        if finding.code in _WORTHLESS:
            return finding.message
    return ""


def checker_commands(paths: Iterable[str], checker: str = CHECKER) -> tuple[str, ...]:
    """As few commands as hold all the paths."""
    return tuple(_chunked(f"{checker} ", " ", map(quoted, paths)))


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


def _dialect(path: str, root: Path) -> str:
    """What a checker could not judge would be unknown for ever, however right it is."""
    if _suffix(path) not in (".js", ".yaml", ".yml"):
        return ""
    from signoff.toolbatch.checkers.source import unread_dialect  # noqa: PLC0415 - as above
    from signoff.toolbatch.checkers.tree import FileTree  # noqa: PLC0415 - as above

    return unread_dialect(path, FileTree(root))


def _runs_of_ticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]


@lru_cache(maxsize=_MOST_PATHS)
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
