"""Rules about files that decide a check and may be what the step is about: they are protected."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from signoff.commands.launchers import started_by
from signoff.commands.makefile import MAKEFILES
from signoff.commands.programs import BUILTINS
from signoff.commands.runners import PACKAGE_TOOLS
from signoff.domain.findings import Finding, Severity
from signoff.domain.globs import has_wildcard, matches_any
from signoff.domain.languages import is_settings, is_test, language_of
from signoff.domain.plan import Contract, Step, SubscriptionKind
from signoff.planfile.verify.rules_plan import HUMAN
from signoff.planfile.verify.subjects import (
    demanded_files,
    files_named,
    is_plain,
    measures,
    names_folder_of,
    names_for_change,
    speaks_of,
)
from signoff.planfile.verify.view import ITEM, ShellSubject, SubjectKind, VerifyView

_DECIDING = {
    "make": MAKEFILES,
    **dict.fromkeys(PACKAGE_TOOLS, ("package.json",)),
    "pytest": ("conftest.py", "pytest.ini"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "just": ("justfile",),
}
_LIKE_A_CHECK = (
    *("test", "check", "verif", "spec", "lint", "valid", "assert", "accept", "smoke", "e2e"),
    *("bats", "makefile", "judge", "compare", "audit", "expect", "conftest"),
)
_MOST_LISTED = 3  # files of one folder; of more, the folder is proposed
# Tools that lie in the workspace and are nobody's work.
_FOREIGN = re.compile(r"(?:^|/)(?:\.[^/]+|node_modules|vendor|venv|gradlew|mvnw|manage\.py)(?:/|$)")


def decides_its_own_check(view: VerifyView) -> Iterator[Finding]:
    """A file that a contract runs or obeys, which its own step may not change.

    A warning where the task speaks of it. Otherwise a note, once, about a program of the workspace
    that does not look like a check: it may well be what is to be changed.
    """
    noted: set[str] = set()
    for subject in view.subjects:
        step = subject.step
        if subject.kind is not SubjectKind.CONTRACT or step is None or subject.contract is None:
            continue
        programs = {script.path for script in subject.facts.scripts}
        for path, line in _deciding(view, subject).items():
            if subject.may_write(path) or matches_any(step.protects, path):
                continue
            if speaks_of(step, path):
                yield _protected(subject, path, line, Severity.WARNING)
            elif path in programs - noted and _is_the_work(view, step, path):
                noted.add(path)
                yield _protected(subject, path, line, Severity.NOTE)


def named_files_may_change(view: VerifyView) -> Iterator[Finding]:
    """Tests and settings that a step speaks of, and that no line lets it change.

    A check that holds only with one of them changed is refused: the line is proposed before anybody
    works. Tests are proposed to be extended, since the approved ones then decide all the same.
    """
    for subject in view.subjects:
        step, contract = subject.step, subject.contract
        if subject.kind is not SubjectKind.CONTRACT or step is None or contract is None:
            continue
        if step.target == HUMAN:
            continue
        named = _files_without_line(step, contract)
        read = _read_without_line(step, contract, view.read_by_checks.get(step.id, ()))
        deciding = _deciding(view, subject) if named or read else {}
        there = [path for path in named if path not in deciding and view.exists(path)]
        found = dict.fromkeys((*there, *(path for path in read if path not in deciding)))
        for field, paths in _by_field(found).items():
            so_far = contract.may_change if field == "may_change" else contract.may_extend
            named_here = ", ".join(f"`{path}`" for path in paths)
            yield view.note(
                "propose-may-change",
                view.line_of(step, paths[0]),
                f"step {step.id} names {named_here}, and no line lets it change what a check"
                " may rest on",
                f"if this step is to change it: `**{field}:** {', '.join((*so_far, *paths))}`",
                step.id,
            )


def proposed_lines(step: Step, read: Collection[str]) -> tuple[str, ...]:
    """Lines for files that the step speaks of and its check was seen to read."""
    contract = step.contract
    if contract is None or step.target == HUMAN:
        return ()
    named = [path for path in _files_without_line(step, contract) if path in read]
    found = dict.fromkeys((*named, *_read_without_line(step, contract, read)))
    return tuple(f"**{f}:** {', '.join(paths)}" for f, paths in _by_field(found).items())


def _by_field(paths: Iterable[str]) -> dict[str, list[str]]:
    """The paths under the field that would allow them: tests are to be extended."""
    found: dict[str, list[str]] = {}
    for path in paths:
        is_module = language_of(path) is not None and not is_settings(path)
        found.setdefault("may_extend" if is_module else "may_change", []).append(path)
    return dict(sorted(found.items()))


def _read_without_line(step: Step, contract: Contract, read: Collection[str]) -> list[str]:
    """Of what the check read before: files that the step speaks of by their name or folder.

    What is source code, or is named in full and neither a test nor settings, is the work. So is
    what plain tools look at.
    """
    if not read or is_plain(contract.command):
        return []
    targets = [s.target for s in step.subscriptions if s.kind is SubscriptionKind.FILE]
    decided = (*contract.may_change, *contract.may_extend, *step.protects)
    settled = {*step.produces, *demanded_files(contract)}
    by_folder: dict[str, list[str]] = {}
    for path in sorted(read):
        is_work = language_of(path) is not None and not is_test(path) and not is_settings(path)
        if is_work or path in settled or matches_any(decided, path):
            continue
        if _is_asked_about(path) and names_for_change(step, path):
            by_folder.setdefault(path, []).append(path)
        elif folder := names_folder_of(step, path) or _target_above(targets, path):
            by_folder.setdefault(folder, []).append(path)
    return [
        name
        for folder, paths in by_folder.items()
        for name in (paths if len(paths) <= _MOST_LISTED else [f"{folder}/**"])
    ]


def _target_above(targets: list[str], path: str) -> str:
    """A subscribed folder that the file lies in."""
    return next((t.rstrip("/") for t in targets if path.startswith(f"{t.rstrip('/')}/")), "")


def _files_without_line(step: Step, contract: Contract) -> list[str]:
    """Files that could steer the check, named as if the step changed them, and not allowed."""
    named = [path for path in files_named(step) if _is_asked_about(path)]
    subscribed = [s.target for s in step.subscriptions if s.kind is SubscriptionKind.FILE]
    read = [p for p in subscribed if _is_asked_about(p) and not speaks_of(step, p)]
    could_steer = [path for path in (*named, *read) if ITEM not in path]
    if not could_steer:  # most of ten thousand steps: their contracts need not be read
        return []
    measured = measures(contract.command)
    settled = {p for p in step.produces if not has_wildcard(p)}
    # To be compared with and only to be read: `reference-unprotected` is about that.
    settled |= measured.difference(named)
    decided = (*contract.may_change, *contract.may_extend, *step.protects)
    if is_plain(contract.command):  # nothing else is obeyed by such tools
        could_steer = [path for path in could_steer if path in measured]
    else:
        settled.update(demanded_files(contract))
    return [p for p in could_steer if p not in settled and not matches_any(decided, p)]


def _is_asked_about(path: str) -> bool:
    """Whether it takes more than being named to make the file the work."""
    return is_test(path) or is_settings(path) or "." not in path.rpartition("/")[2][1:]


def _protected(subject: ShellSubject, path: str, line: int, severity: Severity) -> Finding:
    spoken_of = severity is Severity.WARNING
    so = "it is protected from this step" if spoken_of else "the agent may not change it"
    allowed = f"`**may_change:** {path}`"
    return subject.finding(
        severity,
        "protected-by-check",
        line,
        f"`{path}` decides this check, so {so}",
        f"if this step is to change it, say {allowed}"
        if spoken_of
        else f"if it is to be changed: {allowed}",
    )


def _is_the_work(view: VerifyView, step: Step, path: str) -> bool:
    """Whether a program that is run is rather the work than a check of it."""
    if step.target == HUMAN or not view.exists(path) or _FOREIGN.search(path):
        return False
    parts = (part for part in re.split(r"[/_.-]", path.casefold()) if part)
    return not any(part.startswith(_LIKE_A_CHECK) or part == "ci" for part in parts)


def _deciding(view: VerifyView, subject: ShellSubject) -> dict[str, int]:
    """Scripts that the contract runs, and the files that its tools obey, with the line.

    A script that nobody made yet is told elsewhere.
    """
    found: dict[str, int] = {}
    for script in subject.facts.scripts:
        path = script.path
        if view.exists(path) or view.makers_of(path, besides=subject.place):
            found.setdefault(path, script.line)
    for call in subject.facts.calls:
        # Builtins start nothing: most calls of ten thousand contracts.
        for started in started_by(call.name, call.args) if call.name not in BUILTINS else ():
            for path in _DECIDING.get(started.tool, ()):
                found.setdefault(path, call.line)
    return {path: line for path, line in found.items() if ITEM not in path}
