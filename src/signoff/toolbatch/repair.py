"""Repair focus: the files a broken round is about, its findings, where work stays.

focus_of    a broken round -> the focus, from what it saw
referred    files that those of the repair speak of
after       one outcome -> targets visited, failed edits counted
widen       more paths are allowed, say by a person
The focus ends with the next round that is decided: whoever decides it asks `focus_of` again.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import replace

from signoff.gate.task import Against, Round, RoundStatus, Task
from signoff.toolbatch.calls import CallResult, Nature, ResultKind
from signoff.toolbatch.deriving import CHECKER
from signoff.toolbatch.disk import Disk
from signoff.toolbatch.recovery import RUNS_TESTS
from signoff.toolbatch.view import RepairFocus, RepairTarget

MOST_TARGETS = 20
MOST_FINDINGS = 20
MOST_NAMED = 100  # files in scope beside the targets
_FINDING_CHARACTERS = 300
_SUBJECT_CHARACTERS = 80
_MOST_LINES = 3  # of one observation, about one file
# A warning holds nothing up, so it is no reason to change a file; nor is the hint below it.
_WARNING = re.compile(
    r"^\S+:\d+:(?:\d+:)? (?:warning|note): .*\n?(?:    hint: .*\n?)?", re.MULTILINE
)
_LONGEST_TEXT = 20_000
_LONGEST_SOURCE = 200_000
_PATH = re.compile(r"(?<![\w./-])(?:\./)?[\w-][\w./-]{0,200}\.\w{1,8}(?![\w/])")
_WORD = re.compile(r"[\w-]{3,100}")
_TEST_NAME = re.compile(r"(?:test_.*|.*_test\.\w+|.*\.(?:test|spec)\.\w+|conftest\.py)$")


def focus_of(round: Round, task: Task) -> RepairFocus | None:
    """What a broken round asks for; None for any other round."""
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
            sure = CHECKER in found.command or _accused(found, path)
            findings = dict.fromkeys((*old.findings, *_about(found, path)))
            targets[path] = replace(
                old, sure=sure or (old.sure and path in targets), findings=tuple(findings)
            )
    # Where a test fails, the fault is in what it tests more often than in the test.
    ordered = sorted(targets.values(), key=lambda t: (not t.sure, not t.sure and _tests(t.path)))
    listed = tuple(ordered[:MOST_TARGETS])
    # A finding that names no file of the task leaves all of them open.
    allowed = (*(tuple(t.path for t in listed) or known), *_named_by(round.against))
    said = tuple(_finding(found) for found in round.against[:MOST_FINDINGS])
    return RepairFocus(round.number, listed, tuple(dict.fromkeys(allowed)), said)


def _faults(found: Against) -> str:
    """What a check said, without its warnings; all of it where that is all there is."""
    said = _WARNING.sub("", found.detail)
    return said if _PATH.search(said) else found.detail


def referred(focus: RepairFocus, disk: Disk) -> tuple[str, ...]:
    """Files that those of the repair speak of, say by importing them: the fault may lie there."""
    found: dict[str, None] = {}
    for path in focus.allowed[:MOST_TARGETS]:
        data = None if path.endswith("/") else disk.read(path)
        if data is None or len(data) > _LONGEST_SOURCE:
            continue
        words = frozenset(_WORD.findall(data.decode("utf-8", "replace")))
        for folder in dict.fromkeys((posixpath.dirname(path), "")):
            for name in disk.names(folder or "."):
                stem, suffix = posixpath.splitext(name)
                if suffix and stem in words:
                    found[posixpath.join(folder, name)] = None
    return tuple(found)[:MOST_NAMED]


def after(focus: RepairFocus, result: CallResult) -> RepairFocus:
    """The focus after one call: what was changed is visited, an edit that failed is counted.

    Whatever was changed, wherever it is and however: it may be the repair.
    """
    changed, call = result.changed, result.call
    if changed:
        hit = {t.path for t in focus.targets for path in changed if _covers(t.path, path)}
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


def _covers(target: str, path: str) -> bool:
    return path == target or (target.endswith("/") and path.startswith(target))


def widen(focus: RepairFocus, paths: Iterable[str]) -> RepairFocus:
    """These files, or folders with a trailing `/`, are in scope too; say by a person's decision."""
    inside = filter(is_inside, paths)
    return replace(focus, allowed=tuple(dict.fromkeys((*focus.allowed, *inside))))


def is_inside(path: str) -> bool:
    """Whether it names something inside of the workspace, without a detour."""
    parts = path.rstrip("/").split("/")
    climbs = any(part in ("", ".", "..") for part in parts)
    return bool(path.strip()) and not path.startswith("/") and not climbs


def _named_by(against: Iterable[Against]) -> tuple[str, ...]:
    """Files that a finding or its command names: whoever repairs it may have to change them."""
    named = (
        path.removeprefix("./").rstrip("/")
        for found in against
        # A checker is given all files, those that are right too.
        for text in ("" if CHECKER in found.command else found.command, _faults(found))
        for path in _PATH.findall(text[:_LONGEST_TEXT])
    )
    return tuple(dict.fromkeys(filter(is_inside, named)))[:MOST_NAMED]


def _accused(found: Against, path: str) -> bool:
    """Whether a line of the output is about a place in the file, as compilers and linters say it.

    Tests say it too, of every place that they came across.
    """
    if RUNS_TESTS.search(found.command):
        return False
    place = re.compile(rf"^(?:\./)?{re.escape(path)}:\d+:", re.MULTILINE)
    return place.search(_faults(found)) is not None


def _tests(path: str) -> bool:
    name = posixpath.basename(path).lower()
    return bool(_TEST_NAME.match(name)) or path.split("/", 1)[0] in ("test", "tests")


def _mentions(text: str, path: str) -> bool:
    """The path as a whole word: `a.md` is not named by `data.md` or `a.md.bak`."""
    name = re.escape(path.rstrip("/"))
    return re.search(rf"(?<![\w./-])(?:\./)?{name}(?![\w-]|\.\w|/\w)", text) is not None


def _about(found: Against, path: str) -> list[str]:
    """What a check says about one file."""
    lines = [line.strip() for line in _faults(found).split("\n")]
    said = [line[:_FINDING_CHARACTERS] for line in lines if _mentions(line, path)]
    return said[:_MOST_LINES] or [_finding(found)]


def _finding(found: Against) -> str:
    lines = [line.strip() for line in _faults(found).split("\n") if line.strip()]
    said = lines[-1] if lines else "does not hold"
    return f"{found.command[:_SUBJECT_CHARACTERS]}: {said}"[:_FINDING_CHARACTERS]
