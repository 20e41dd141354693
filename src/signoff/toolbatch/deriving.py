"""Checks that decide about a task, derived in this order:

1. contracts that whoever opened the task declared
2. commands that the project documents, of the kinds of file that the task is about
3. checkers for the files it touched or planned (`signoff check-artifact`)

A command that cannot fail is no check, whoever wrote it. What the project documented when the work
began stays due, whatever becomes of its manifest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from pathlib import Path, PurePosixPath

from msgspec import Struct

from signoff.domain.session import Artifact, ProjectCheck, TaskBasis
from signoff.domain.text import escape
from signoff.planfile.parse import parse
from signoff.planfile.verify import Anywhere, verify
from signoff.process.shell import syntax_problems
from signoff.toolbatch.artifacts import quoted
from signoff.toolbatch.checkers.registry import BUILT_IN
from signoff.toolbatch.checkers.tree import FileTree
from signoff.toolbatch.manifests import Offered, documented, offers

HasChecker = Callable[[str], bool]
MOST_COMMANDS = 20

CHECKER = "signoff check-artifact"
# Files touched, from which on the task is about every kind: nobody names all that a command
# changed, and a flood of files must not hide the one that counts.
MOST_TOLD_APART = 500
LONGEST_COMMAND = 3_500  # so that it fits into the contract of a plan
_WORTHLESS = frozenset(
    {"cannot-fail", "cannot-hold", "contract-syntax", "hidden-characters", "writes-what-it-checks"}
)


class CheckSource(StrEnum):
    """Origin of a check, the weightiest first."""

    CONTRACT = "contract"  # declared by whoever opened the task
    PROJECT = "project"  # the project documents it
    ARTIFACT = "artifact"  # a checker for a kind of file


class Check(Struct, frozen=True):
    """A command that has to hold, and where it came from."""

    command: str
    source: CheckSource


class CheckSources(Struct, frozen=True):
    """Sources of checks beside the project; `checker` is the command that runs checkers."""

    contracts: tuple[str, ...] = ()
    has_checker: HasChecker | None = None
    checker: str = CHECKER


class Derived(Struct, frozen=True):
    """The checks of a task; `refused` says which commands are none, and why.

    `shaken` says which checks of the project are due although it does not document them any more:
    whatever they answer proves nothing. `project` are all that were ever due.
    """

    checks: tuple[Check, ...]
    refused: tuple[str, ...] = ()
    shaken: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    additional: tuple[str, ...] = ()  # of which nobody can tell what they prove


def project_checks(root: Path) -> tuple[ProjectCheck, ...]:
    """Everything that the project documents now, whatever a task is about; nothing is run."""
    return tuple(
        ProjectCheck(command, offered.kinds, proves)
        for offered in offers(root)
        for commands, proves in ((offered.commands, True), (offered.additional, False))
        for command in commands
        if not worthless(command)
    )


def derive(
    touched: Sequence[str],
    planned: Sequence[Artifact],
    basis: TaskBasis,
    root: Path,
    sources: CheckSources | None = None,
) -> Derived:
    """Derive the checks of a task beside the files that it plans."""
    sources = sources if sources is not None else CheckSources()
    has_checker = sources.has_checker if sources.has_checker is not None else checker_known
    about = dict.fromkeys((*touched, *(a.path for a in planned)))
    names = map(PurePosixPath, about)
    kinds = {name.suffix.lower() or name.name for name in names}
    due, shaken, additional, refused = _of_project(
        basis, root, None if len(touched) >= MOST_TOLD_APART else kinds
    )
    declared = [Check(command, CheckSource.CONTRACT) for command in sources.contracts]
    proving = [Check(c, CheckSource.PROJECT) for c in due if c not in additional]
    good = list[Check]()
    for check in (*declared, *proving):
        why = worthless(check.command)
        if why:
            refused.append(f"`{check.command}` is no check: {why}")
        elif check.command not in {known.command for known in good}:
            good.append(check)
    tree = FileTree(root)
    checkable = [path for path in about if has_checker(path) and tree.size(path) is not None]
    helm = [path for path in checkable if _is_helm(path, tree)]
    refused += [f"no checker reads templates of Helm: `{path}`" for path in helm]
    commands = checker_commands((p for p in checkable if p not in helm), sources.checker)
    # They have to hold, but never stand alone.
    good += [Check(c, CheckSource.PROJECT) for c in additional if good or commands or planned]
    good += [Check(c, CheckSource.ARTIFACT) for c in commands]
    if len(good) > MOST_COMMANDS:
        refused.append(f"{len(good) - MOST_COMMANDS} checks are more than fit")
    return Derived(tuple(good[:MOST_COMMANDS]), tuple(refused), shaken, due, additional)


def _of_project(
    basis: TaskBasis, root: Path, kinds: Collection[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], list[str]]:
    """Checks that are due, shaken, additional and refused; `kinds` None: for all kinds of files."""
    now = offers(root)
    if kinds is None:
        kinds = frozenset({""}).union(*(o.kinds for o in now), *(c.kinds for c in basis.project))
    offered = documented(now, kinds)
    began = [Offered((check.command,), kinds=check.kinds) for check in basis.project]
    before = documented(began, kinds).commands
    due = dict.fromkeys((*basis.due, *before, *offered.commands, *offered.additional))
    # One that also asks for the tests to be there says more than the same without.
    due = {c: None for c in due if not any(c != more and more.endswith(f" {c}") for more in due)}
    proving = {command for one in now for command in one.commands}
    untold = {command for one in now for command in one.additional}
    once_proved = {check.command for check in basis.project if check.proves}
    refused = "; ".join(said for one in now for said in one.refused)
    because = f" ({refused})" if refused else ""
    shaken = tuple(
        f"`{command}` does not prove any more what it did when the work began{because}"
        for command in due
        if command not in proving and (command in once_proved or command not in untold)
    )
    additional = tuple(c for c in due if c in untold and c not in proving | once_proved)
    return tuple(due), shaken, additional, list(offered.refused)


def checker_known(path: str) -> bool:
    """True when a checker that comes with signoff can judge this kind of file here."""
    name = PurePosixPath(path.lower())
    return not {name.name, name.suffix}.isdisjoint(_checked_files())


@lru_cache(maxsize=1)
def _checked_files() -> frozenset[str]:
    # Without its library a checker could never tell: no check would ever be kept.
    return frozenset().union(*(checker.files for checker in BUILT_IN if checker.is_usable))


@lru_cache(maxsize=512)
def worthless(command: str) -> str:
    """The reason why a command decides nothing: it cannot fail, cannot hold, or makes its proof."""
    if not command.strip() or "\0" in command or escape(command) != command:
        return "it is empty, or has characters that a reader cannot see"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", command)), default=0))
    lines = ("# check", "", "## Steps", "", "### 1. check", "", "**target:** agent", "**task:** x")
    text = "\n".join((*lines, "", "**contract:**", f"{fence}shell", command, fence, ""))
    around = Anywhere(frozenset({"agent"}), check_syntax=syntax_problems)
    for finding in verify(parse(text), around):
        if finding.code in _WORTHLESS:
            return finding.message
    return ""


def checker_commands(paths: Iterable[str], checker: str = CHECKER) -> tuple[str, ...]:
    """The fewest commands that hold all the paths."""
    commands: list[str] = []
    for path in map(quoted, paths):
        if commands and len(commands[-1]) + 1 + len(path) <= LONGEST_COMMAND:
            commands[-1] += f" {path}"
        else:
            commands.append(f"{checker} {path}")
    return tuple(commands)


def _is_helm(path: str, tree: FileTree) -> bool:
    """A template that no checker can judge would be unknown for ever, however right it is."""
    place = PurePosixPath(path)
    charts = ((folder / "Chart.yaml").as_posix() for folder in place.parents)
    return "templates" in place.parts[:-1] and any(tree.size(file) is not None for file in charts)
