"""Repair focus: the files a broken round is about, its findings as deltas, where work stays.

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

from signoff.domain.definition import (
    CheckSource,
    Definition,
    Round,
    RoundStatus,
    Seen,
    Support,
)
from signoff.toolbatch.calls import Nature, Outcome, OutcomeKind
from signoff.toolbatch.disk import Disk
from signoff.toolbatch.recovery.categories import RUNS_TESTS
from signoff.toolbatch.view import RepairFocus, RepairTarget

MOST_TARGETS = 20
MOST_FINDINGS = 20
MOST_NAMED = 100  # files in scope beside the targets
_FINDING_CHARACTERS = 300
_SUBJECT_CHARACTERS = 80
_MOST_LINES = 3  # of one observation, about one file
_WORDS = {Support.CONTRADICTS: "does not hold", Support.MISSING: "is missing"}
_AGAINST = frozenset(_WORDS)
# Checkers name the file that they found fault with; tests and builds name what they came across.
_SURE = frozenset({CheckSource.ARTIFACT, CheckSource.EXISTENCE})
_LONGEST_TEXT = 20_000
_LONGEST_SOURCE = 200_000
_PATH = re.compile(r"(?<![\w./-])(?:\./)?[\w-][\w./-]{0,200}\.\w{1,8}(?![\w/])")
_WORD = re.compile(r"[\w-]{3,100}")
_TEST_NAME = re.compile(r"(?:test_.*|.*_test\.\w+|.*\.(?:test|spec)\.\w+|conftest\.py)$")


def focus_of(round: Round, definition: Definition) -> RepairFocus | None:
    """What a broken round asks for; nothing for a round that is not broken."""
    if round.status is not RoundStatus.BROKEN:
        return None
    against = [seen for seen in round.seen if seen.status in _AGAINST]
    known = _known(definition)
    # A command names every file that it looks at; what it says names those that it found.
    named = [(seen, _found_in(seen, known)) for seen in against]
    if not any(paths for _, paths in named):
        named = [(seen, _mentioned(seen.subject, known)) for seen in against]
    targets: dict[str, RepairTarget] = {}
    for seen, paths in named:
        for path in paths:
            old = targets.get(path) or RepairTarget(path, ())
            sure = seen.source in _SURE or _is(seen.subject, path) or _accused(seen, path)
            targets[path] = replace(
                old,
                sure=sure or (old.sure and path in targets),
                findings=tuple(dict.fromkeys((*old.findings, *_about(seen, path)))),
                absent=old.absent or (seen.status is Support.MISSING and _is(seen.subject, path)),
            )
    # Where a test fails, the fault is in what it tests more often than in the test.
    ordered = sorted(targets.values(), key=lambda t: (not t.sure, not t.sure and _tests(t.path)))
    listed = tuple(ordered[:MOST_TARGETS])
    # A finding that names no file of the task leaves all of them open.
    allowed = (*(tuple(t.path for t in listed) or known), *_named_by(against))
    return RepairFocus(
        round.number, listed, tuple(dict.fromkeys(allowed)), _deltas(round, against, definition)
    )


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


def after(focus: RepairFocus, outcome: Outcome) -> RepairFocus:
    """The focus after one call: what was changed is visited, an edit that failed is counted.

    Whatever was changed, wherever it is and however: it may be the repair.
    """
    if outcome.changed:
        targets = tuple(_visited(target, outcome.changed) for target in focus.targets)
        return replace(focus, targets=targets, changed=True)
    if not _failed_change(outcome):
        return focus
    return replace(focus, targets=tuple(_missed(t, outcome.call.target) for t in focus.targets))


def widen(focus: RepairFocus, paths: Iterable[str]) -> RepairFocus:
    """These files, or folders with a trailing `/`, are in scope too; say by a person's decision."""
    inside = filter(is_inside, paths)
    return replace(focus, allowed=tuple(dict.fromkeys((*focus.allowed, *inside))))


def is_inside(path: str) -> bool:
    """Whether it names something inside of the workspace, without a detour."""
    parts = path.rstrip("/").split("/")
    climbs = any(part in ("", ".", "..") for part in parts)
    return bool(path.strip()) and not path.startswith("/") and not climbs


def _known(definition: Definition) -> tuple[str, ...]:
    """The files of the task: planned first, then touched. Output of commands adds no target."""
    planned = (str(artifact) for artifact in definition.artifacts)
    return tuple(dict.fromkeys((*planned, *definition.touched)))


def _found_in(seen: Seen, known: tuple[str, ...]) -> list[str]:
    """The task's files that an observation is about: its subject, else those its detail names."""
    exact = [path for path in known if _is(seen.subject, path)]
    return exact or _mentioned(seen.detail, known)


def _named_by(against: Iterable[Seen]) -> tuple[str, ...]:
    """Files that a finding or its command names: whoever repairs it may have to change them."""
    named = (
        path.removeprefix("./").rstrip("/")
        for seen in against
        for text in (seen.command or seen.subject, seen.detail)
        for path in _PATH.findall(text[:_LONGEST_TEXT])
    )
    return tuple(dict.fromkeys(filter(is_inside, named)))[:MOST_NAMED]


def _accused(seen: Seen, path: str) -> bool:
    """Whether a line of the output is about a place in the file, as compilers and linters say it.

    Tests say it too, of every place that they came across.
    """
    if RUNS_TESTS.search(seen.command or seen.subject):
        return False
    place = re.compile(rf"^(?:\./)?{re.escape(path)}:\d+:", re.MULTILINE)
    return place.search(seen.detail) is not None


def _tests(path: str) -> bool:
    name = posixpath.basename(path).lower()
    return bool(_TEST_NAME.match(name)) or path.split("/", 1)[0] in ("test", "tests")


def _mentioned(text: str, known: tuple[str, ...]) -> list[str]:
    return [path for path in known if _mentions(text, path)]


def _is(subject: str, path: str) -> bool:
    return subject.removeprefix("./").rstrip("/") == path.rstrip("/")


def _mentions(text: str, path: str) -> bool:
    """The path as a whole word: `a.md` is not named by `data.md` or `a.md.bak`."""
    name = re.escape(path.rstrip("/"))
    return re.search(rf"(?<![\w./-])(?:\./)?{name}(?![\w-]|\.\w|/\w)", text) is not None


def _about(seen: Seen, path: str) -> list[str]:
    """What an observation says about one file."""
    lines = [line.strip() for line in seen.detail.split("\n")]
    said = [line[:_FINDING_CHARACTERS] for line in lines if _mentions(line, path)]
    return said[:_MOST_LINES] or [_finding(seen)]


def _finding(seen: Seen) -> str:
    lines = [line.strip() for line in seen.detail.split("\n") if line.strip()]
    said = lines[-1] if lines else _WORDS[seen.status]
    return f"{seen.subject[:_SUBJECT_CHARACTERS]}: {said}"[:_FINDING_CHARACTERS]


def _deltas(round: Round, against: Iterable[Seen], definition: Definition) -> tuple[str, ...]:
    """New findings first, then those that stayed, then those that are gone since the last round."""
    now = list(dict.fromkeys(_finding(seen) for seen in against))
    earlier = [
        r for r in definition.rounds if r.status is RoundStatus.BROKEN and r.number < round.number
    ]
    if not earlier:
        return tuple(now[:MOST_FINDINGS])
    before = [_finding(seen) for seen in earlier[-1].seen if seen.status in _AGAINST]
    marked = [f"new: {finding}" for finding in now if finding not in before]
    marked += [f"still: {finding}" for finding in now if finding in before]
    marked += [f"gone: {finding}" for finding in dict.fromkeys(before) if finding not in now]
    return tuple(marked[:MOST_FINDINGS])


def _visited(target: RepairTarget, changed: tuple[str, ...]) -> RepairTarget:
    folder = target.path.endswith("/")
    hit = any(path == target.path or (folder and path.startswith(target.path)) for path in changed)
    return replace(target, visited=True, failed_edits=0, absent=False) if hit else target


def _missed(target: RepairTarget, path: str) -> RepairTarget:
    return replace(target, failed_edits=target.failed_edits + 1) if target.path == path else target


def _failed_change(outcome: Outcome) -> bool:
    """A change that was meant and not made; one that a person declined is no failure."""
    if outcome.call.shape.nature is not Nature.MUTATE or outcome.changed:
        return False
    return outcome.kind is OutcomeKind.DUPLICATE or not outcome.ok
