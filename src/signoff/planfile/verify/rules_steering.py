"""Rules about files that decide a check and may be what the step is about: they are protected."""

from __future__ import annotations

import re
from collections.abc import Iterator

from signoff.commands.launchers import started_by
from signoff.commands.programs import BUILTINS
from signoff.domain.findings import Finding, Severity
from signoff.domain.globs import matches_any
from signoff.domain.plan import Step
from signoff.planfile.verify.mentions import speaks_of
from signoff.planfile.verify.rules_plan import HUMAN
from signoff.planfile.verify.view import ITEM, Subject, SubjectKind, View

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
_PACKAGE = ("package.json",)
_PYTEST = ("conftest.py", "pytest.ini")
_DECIDING = {
    "make": _MAKEFILES,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _PACKAGE),
    "pytest": _PYTEST,
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "just": ("justfile",),
}
_LIKE_A_CHECK = (
    *("test", "check", "verif", "spec", "lint", "valid", "assert", "accept", "smoke", "e2e"),
    *("bats", "makefile", "judge", "compare", "audit", "expect", "conftest"),
)
# Tools that lie in the workspace and are nobody's work.
_FOREIGN = re.compile(r"(?:^|/)(?:\.[^/]+|node_modules|vendor|venv|gradlew|mvnw|manage\.py)(?:/|$)")


def decides_its_own_check(view: View) -> Iterator[Finding]:
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
                yield _protected(view, subject, path, line, Severity.WARNING)
            elif path in programs - noted and _is_the_work(view, step, path):
                noted.add(path)
                yield _protected(view, subject, path, line, Severity.NOTE)


def _protected(view: View, subject: Subject, path: str, line: int, severity: Severity) -> Finding:
    spoken_of = severity is Severity.WARNING
    so = "it is protected from this step" if spoken_of else "the agent may not change it"
    allowed = f"`**may_change:** {path}`"
    return view.finding(
        "protected-by-check",
        severity,
        subject.line + line,
        f"`{path}` decides this check, so {so}",
        f"if this step is to change it, say {allowed}"
        if spoken_of
        else f"if it is to be changed: {allowed}",
        step=subject.owner,
    )


def _is_the_work(view: View, step: Step, path: str) -> bool:
    """Whether a program that is run is rather the work than a check of it."""
    if step.target == HUMAN or not view.exists(path) or _FOREIGN.search(path):
        return False
    parts = (part for part in re.split(r"[/_.-]", path.casefold()) if part)
    return not any(part.startswith(_LIKE_A_CHECK) or part == "ci" for part in parts)


def _deciding(view: View, subject: Subject) -> dict[str, int]:
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
