"""Who broke it: the attempts after which a contract that was kept stopped holding."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from signoff.domain.plan import Contract, Effects
from signoff.domain.verdict import Result
from signoff.errors import StorageFailed
from signoff.verification.enclosure import JudgingPlace
from signoff.verification.judge import Judge
from signoff.verification.verdicts import compare
from signoff.workspace.folders import opened_root, remove_tree

MOST_JUDGINGS = 8


@dataclass(frozen=True)
class AttemptContent:
    """The content after one attempt; `label` names the attempt for people."""

    label: str
    snapshot: str


def find_suspects(
    judge: Judge, contract: Contract, last_kept: str, moments: Sequence[AttemptContent]
) -> tuple[str, ...]:
    """Labels of the attempts that may have broken the contract, as few as can be shown.

    Restored copies are judged, so the answer is only narrowed when the two ends behave in a copy
    as they did in the workspace (a copy has no by-products); otherwise every attempt that changed
    something is named.
    """
    changed = _changed(last_kept, moments)
    everyone = tuple(m.label for m in changed)
    if len(changed) <= 1 or contract.effects is Effects.EXTERNAL:
        return everyone
    holds = _bounded(lambda digest: _holds_in_copy(judge, contract, digest))
    if holds(last_kept) is not True or holds(changed[-1].snapshot) is not False:
        return everyone
    low, high = 0, len(changed) - 1
    while low < high:
        middle = (low + high) // 2
        held = holds(changed[middle].snapshot)
        if held is None:
            return tuple(m.label for m in changed[low : high + 1])
        low, high = (middle + 1, high) if held else (low, middle)
    return (changed[low].label,)


def _changed(last_kept: str, moments: Sequence[AttemptContent]) -> list[AttemptContent]:
    """The moments whose content differs from the one before."""
    changed: list[AttemptContent] = []
    previous = last_kept
    for moment in moments:
        if moment.snapshot != previous:
            changed.append(moment)
        previous = moment.snapshot
    return changed


def _bounded(holds: Callable[[str], bool | None]) -> Callable[[str], bool | None]:
    left = MOST_JUDGINGS

    def bounded(digest: str) -> bool | None:
        nonlocal left
        if left == 0:
            return None
        left -= 1
        return holds(digest)

    return bounded


def _holds_in_copy(judge: Judge, contract: Contract, digest: str) -> bool | None:
    """Whether the contract holds on a restored copy; None when that could not be judged."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="signoff-suspect-"))
    except OSError:
        return None
    try:
        judge.workspace.restore(digest, folder / "copy")
        seen = judge.bench.run(contract, JudgingPlace(folder / "copy"))
    except StorageFailed:
        # Naming fewer suspects is a service; a full disk here must not stop the run.
        return None
    finally:
        # All of it, folders that the contract made read-only included.
        with opened_root(folder.parent) as parent_fd:
            remove_tree(parent_fd, folder.name)
    result = compare(contract, seen.observation).result
    return None if result is Result.UNKNOWN else result is Result.KEPT
