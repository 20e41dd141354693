"""Repair focus: the files a broken round is about, its findings as deltas, where work stays.

focus_of    a broken round -> the focus, from what it saw
after       one outcome -> targets visited, failed edits counted
widen       a person allows one more path
The focus ends with the next round that is decided: whoever decides it asks `focus_of` again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from signoff.domain.definition import Definition, Round, RoundStatus, Seen, Support
from signoff.errors import UsageError
from signoff.toolbatch.calls import Nature, Outcome, OutcomeKind
from signoff.toolbatch.view import RepairFocus, RepairTarget

MOST_TARGETS = 20
MOST_FINDINGS = 20
_FINDING_CHARACTERS = 300
_SUBJECT_CHARACTERS = 80
_MOST_LINES = 3  # of one observation, about one file
_WORDS = {Support.CONTRADICTS: "does not hold", Support.MISSING: "is missing"}
_AGAINST = frozenset(_WORDS)


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
            targets[path] = replace(
                old,
                findings=tuple(dict.fromkeys((*old.findings, *_about(seen, path)))),
                absent=old.absent or (seen.status is Support.MISSING and _is(seen.subject, path)),
            )
    listed = tuple(targets.values())[:MOST_TARGETS]
    # A finding that names no file of the task leaves all of them open, and nothing else.
    allowed = tuple(t.path for t in listed) or known
    return RepairFocus(round.number, listed, allowed, _deltas(round, against, definition))


def after(focus: RepairFocus, outcome: Outcome) -> RepairFocus:
    """The focus after one call: what was changed is visited, an edit that failed is counted."""
    changed = tuple(path for path in outcome.changed if focus.allows(path))
    if outcome.ok and changed:
        targets = tuple(_visited(target, changed) for target in focus.targets)
        return replace(focus, targets=targets, changed=True)
    if not _failed_change(outcome):
        return focus
    return replace(focus, targets=tuple(_missed(t, outcome.call.target) for t in focus.targets))


def widen(focus: RepairFocus, path: str) -> RepairFocus:
    """A person's decision: this file, or folder with a trailing `/`, is in scope too."""
    parts = path.rstrip("/").split("/")
    if not path.strip() or path.startswith("/") or any(p in ("", ".", "..") for p in parts):
        raise UsageError(
            f"`{path}` is not a path inside of the workspace", "name it relative to the workspace"
        )
    return focus if path in focus.allowed else replace(focus, allowed=(*focus.allowed, path))


def _known(definition: Definition) -> tuple[str, ...]:
    """The files of the task: planned first, then touched. Output of commands adds none to them."""
    planned = (str(artifact) for artifact in definition.artifacts)
    return tuple(dict.fromkeys((*planned, *definition.touched)))


def _found_in(seen: Seen, known: tuple[str, ...]) -> list[str]:
    """The task's files that an observation is about: its subject, else those its detail names."""
    exact = [path for path in known if _is(seen.subject, path)]
    return exact or _mentioned(seen.detail, known)


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
