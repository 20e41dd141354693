"""What is known of planned artifacts: which are there, and which of those are as they were."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from signoff.domain.definition import MOST_ARTIFACTS, MOST_TOUCHED, Definition, Standing
from signoff.domain.definition_facts import ArtifactsSeen, Touched
from signoff.domain.session import shown_list
from signoff.gate import rounds

_SHOWN = 5


def touch(definition: Definition, fact: Touched) -> Definition:
    """Files were changed, or nobody knows what was."""
    new = dict.fromkeys(fact.paths)
    earlier = [path for path in definition.touched if path not in new]
    definition = replace(
        definition,
        touched=(*earlier, *new)[-MOST_TOUCHED:],
        unchanged=tuple(s for s in definition.unchanged if not _covers(s.path, fact.paths)),
        asked_again=tuple(p for p in definition.asked_again if not _covers(p, fact.paths)),
    )
    if not fact.paths:
        # Nobody knows what it changed: of what was not looked for before, nobody can say any more
        # that it was there.
        looked = tuple(a.path for a in definition.artifacts)
        definition = replace(definition, looked=looked)
    what = shown_list(fact.paths, _SHOWN) or "the workspace"
    return rounds.after_change(definition, f"{fact.tool or 'a call'} changed {what}")


def ask_again(definition: Definition, paths: Iterable[str]) -> Definition:
    """A person asks for more of these: what was done to them before is not what is asked now."""
    again = dict.fromkeys((*definition.asked_again, *paths))
    known = {standing.path for standing in definition.unchanged} | set(definition.declared)
    new = [p for p in again if p in definition.existing and p not in known]
    return replace(
        definition,
        asked_again=tuple(again)[-MOST_ARTIFACTS:],
        unchanged=(*definition.unchanged, *map(Standing, new)),
    )


def see(definition: Definition, fact: ArtifactsSeen) -> Definition:
    """Somebody looked which planned artifacts are there."""
    there = frozenset(path.rstrip("/") for path in fact.existing)
    planned = tuple(a.path for a in definition.artifacts)
    gone = [path for path in definition.existing if path not in there]
    definition = replace(
        definition,
        existing=tuple(path for path in planned if path in there),
        unchanged=_still_unchanged(definition, fact, there),
        looked=planned,
    )
    if not gone:
        return definition
    verb = "is" if len(gone) == 1 else "are"
    return rounds.after_change(definition, f"{shown_list(gone, _SHOWN)} {verb} gone")


def _still_unchanged(
    definition: Definition, fact: ArtifactsSeen, there: frozenset[str]
) -> tuple[Standing, ...]:
    """What was there at the first look and was not touched; not what went, or looks different."""
    signs = {standing.path: standing.sign for standing in fact.signs}
    stood = [
        Standing(s.path, signs.get(s.path, s.sign))
        for s in definition.unchanged
        if s.path in there and (not s.sign or signs.get(s.path, s.sign) == s.sign)
    ]
    known = {*definition.looked, *definition.declared, *(s.path for s in definition.unchanged)}
    fresh = [a.path for a in definition.artifacts if a.path in there and a.path not in known]
    again = frozenset(definition.asked_again)
    new = [p for p in fresh if p in again or not _covers(p, definition.touched)]
    return (*stood, *(Standing(path, signs.get(path, "")) for path in new))


def _covers(path: str, touched: Iterable[str]) -> bool:
    """Whether a change of these files changed what lies at the path, a file or a folder."""
    return any(one == path or one.startswith(f"{path}/") for one in touched)
