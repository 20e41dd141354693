"""Rules about files that decide a check and may be what the step is about: they are protected."""

from __future__ import annotations

import re
from collections.abc import Iterator

from signoff.domain.findings import Finding, Severity
from signoff.domain.globs import matches_any
from signoff.domain.plan import Step
from signoff.planfile.verify.view import ITEM, Subject, SubjectKind, View

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
_PACKAGE = ("package.json",)
_PYTEST = ("conftest.py", "pytest.ini")
_DECIDING = {
    **dict.fromkeys(("make", "gmake"), _MAKEFILES),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _PACKAGE),
    **dict.fromkeys(("pytest", "py.test"), _PYTEST),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "just": ("justfile",),
}


def decides_its_own_check(view: View) -> Iterator[Finding]:
    """The task speaks of a file that its contract runs or obeys, and may not change it."""
    for subject in view.subjects:
        step = subject.step
        if subject.kind is not SubjectKind.CONTRACT or step is None or subject.contract is None:
            continue
        for path, line in _deciding(view, subject).items():
            known = subject.may_write(path) or matches_any(step.protects, path)
            if not known and _speaks_of(step, path):
                yield view.finding(
                    "protected-by-check",
                    Severity.WARNING,
                    subject.line + line,
                    f"`{path}` decides this check, so it is protected from this step",
                    f"if this step is to change it, say `**may_change:** {path}`",
                    step=subject.owner,
                )


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
        module = call.name.startswith("python") and call.args[:1] == ("-m",)
        for path in _DECIDING.get(call.args[1] if module and call.args[1:] else call.name, ()):
            found.setdefault(path, call.line)
    return {path: line for path, line in found.items() if ITEM not in path}


def _speaks_of(step: Step, path: str) -> bool:
    """Whether title or task name the file, by its path or by its own name."""
    text, own_name = f"{step.title}\n{step.task}", path.rpartition("/")[2]
    if own_name not in text:
        return False  # told without compiling anything, as for most of ten thousand steps
    names = "|".join(re.escape(name) for name in {path, own_name})
    return re.search(rf"(?<![\w./-])(?:\./)?(?:{names})(?![\w/-]|\.\w)", text) is not None
