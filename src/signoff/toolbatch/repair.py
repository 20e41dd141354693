"""Repair focus: the files a broken round is about, its findings, where work stays.

focus_of    a broken round -> the focus, from what it saw
after       one outcome -> targets visited, failed edits counted
The focus ends with the next round that is decided: whoever decides it asks `focus_of` again.
"""

from __future__ import annotations

import posixpath
import re

from msgspec.structs import replace

from signoff.gate.task import Against, Round, RoundStatus, Task
from signoff.toolbatch.calls import CallResult, Nature, ResultKind
from signoff.toolbatch.deriving import CHECKER
from signoff.toolbatch.view import RepairFocus, RepairTarget

MOST_TARGETS = 20
MOST_FINDINGS = 20
_FINDING_CHARACTERS = 300
_SUBJECT_CHARACTERS = 80
_MOST_LINES = 3  # of one observation, about one file
_RUNS_TESTS = re.compile(
    r"\b(?:py\.?test|tests?|test_\w+|\w+_test|unittest|tox|nox|jest|vitest|mocha|rspec|phpunit"
    r"|ctest|bats|check)\b"
)
# A warning holds nothing up, so it is no reason to change a file; nor is the hint below it.
_WARNING = re.compile(
    r"^\S+:\d+:(?:\d+:)? (?:warning|note): .*\n?(?:    hint: .*\n?)?", re.MULTILINE
)
_PATH = re.compile(r"(?<![\w./-])(?:\./)?[\w-][\w./-]{0,200}\.\w{1,8}(?![\w/])")
_TEST_FOLDERS = ("test/", "tests/")
_TEST_NAME = re.compile(r"(?:test_.*|.*_test\.\w+|.*\.(?:test|spec)\.\w+|conftest\.py)$")


def focus_of(round: Round, task: Task) -> RepairFocus | None:
    """Files and findings of a broken round; None for any other round."""
    if round.status is not RoundStatus.BROKEN:
        return None
    # Planned files first, then touched ones: output of commands adds no target.
    known = tuple(dict.fromkeys((*map(str, task.planned), *task.touched)))
    # A command names every file that it looks at; what it says names those that it found.
    texts = [_faults(found) for found in round.against]
    if not any(_mentions(text, path) for text in texts for path in known):
        texts = [found.command for found in round.against]
    targets: dict[str, RepairTarget] = {}
    for found, text in zip(round.against, texts, strict=True):
        for path in (path for path in known if _mentions(text, path)):
            old = targets.get(path) or RepairTarget(path, ())
            # A line about a place in the file, as compilers and linters say it; tests say it of
            # every place that they came across.
            place = re.compile(rf"^(?:\./)?{re.escape(path)}:\d+:", re.MULTILINE)
            tests = _RUNS_TESTS.search(found.command)
            accused = not tests and place.search(_faults(found)) is not None
            sure = CHECKER in found.command or accused
            findings = dict.fromkeys((*old.findings, *_about(found, path)))
            targets[path] = replace(
                old, sure=sure or (old.sure and path in targets), findings=tuple(findings)
            )
    # Where a test fails, the fault is in what it tests more often than in the test.
    suites = {
        path
        for path in targets
        if _TEST_NAME.match(posixpath.basename(path).lower()) or path.startswith(_TEST_FOLDERS)
    }
    ordered = sorted(targets.values(), key=lambda t: (not t.sure, not t.sure and t.path in suites))
    listed = tuple(ordered[:MOST_TARGETS])
    # A finding that names no file of the task leaves all of them open.
    allowed = tuple(t.path for t in listed) or known
    said = tuple(_finding(found) for found in round.against[:MOST_FINDINGS])
    return RepairFocus(round.number, listed, allowed, said)


def _faults(found: Against) -> str:
    """A check's findings without its warnings; all of it where there is nothing else."""
    said = _WARNING.sub("", found.detail)
    return said if _PATH.search(said) else found.detail


def after(focus: RepairFocus, result: CallResult) -> RepairFocus:
    """The focus after one call: what was changed is visited, an edit that failed is counted.

    Whatever was changed, wherever it is and however: it may be the repair.
    """
    changed, call = result.changed, result.call
    if changed:
        inside = tuple(t.path for t in focus.targets if t.path.endswith("/"))
        hit = {*changed, *(folder for folder in inside for p in changed if p.startswith(folder))}
        visited = (
            replace(t, visited=True, failed_edits=0) if t.path in hit else t for t in focus.targets
        )
        return replace(focus, targets=tuple(visited), changed=True)
    duplicate = result.kind is ResultKind.DUPLICATE
    if call.shape.nature is not Nature.MUTATE or (result.ok and not duplicate):
        return focus
    missed = (
        replace(t, failed_edits=t.failed_edits + 1) if t.path == call.target else t
        for t in focus.targets
    )
    return replace(focus, targets=tuple(missed))


def _mentions(text: str, path: str) -> bool:
    """The path as a whole word: `a.md` is not named by `data.md` or `a.md.bak`."""
    name = re.escape(path.rstrip("/"))
    return re.search(rf"(?<![\w./-])(?:\./)?{name}(?![\w-]|\.\w|/\w)", text) is not None


def _about(found: Against, path: str) -> list[str]:
    """Lines of a check about one file."""
    lines = [line.strip() for line in _faults(found).split("\n")]
    said = [line[:_FINDING_CHARACTERS] for line in lines if _mentions(line, path)]
    return said[:_MOST_LINES] or [_finding(found)]


def _finding(found: Against) -> str:
    lines = [line.strip() for line in _faults(found).split("\n") if line.strip()]
    said = lines[-1] if lines else "does not hold"
    return f"{found.command[:_SUBJECT_CHARACTERS]}: {said}"[:_FINDING_CHARACTERS]
