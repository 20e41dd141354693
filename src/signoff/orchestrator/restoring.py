"""Tampered files put back before anybody goes on, so that work starts from honest ground."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from signoff.domain.snapshot import Change, ChangeKind
from signoff.domain.text import storable_path
from signoff.domain.verdict import Reason
from signoff.gate.record import Judged, Record
from signoff.gate.state import State
from signoff.orchestrator.openrun import OpenRun
from signoff.verification.protection import file_of

_CHANGED_THE_CHECK = frozenset({Reason.TAMPERED, Reason.INFLUENCED, Reason.OUTSIDE})


@dataclass(frozen=True)
class Restored:
    """What the harness undid: contents put back, and files removed that had been added."""

    put_back: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All of it."""
        return tuple(sorted((*self.put_back, *self.removed)))


def restore_tampered(work: OpenRun, state: State, record: Record) -> Restored:
    """Make every file that the latest verdict calls tampered what it has to be.

    As approved, or as the accepted step left it that made it. What the agent made of them stays in
    the attempt's snapshot. Raises StorageFailed for what cannot be put back, after all the rest.
    """
    latest = record.latest
    if latest is None or latest.reason not in _CHANGED_THE_CHECK:
        return Restored()
    wanted: dict[str, set[str]] = {}
    approved = work.pins.snapshot
    if latest.reason is Reason.OUTSIDE and record.spans:
        # What earlier steps made of it stays: the step goes back to where it began.
        approved = record.spans[0][0] or approved
    for path in _files(work, latest):
        product = state.products.get(path)
        snapshot = approved if product is None else product.snapshot
        wanted.setdefault(snapshot, set()).add(path)
    undone: list[Change] = []
    for snapshot, paths in wanted.items():
        undone += work.workspace.revert(snapshot, only=paths)
    added = [change for change in undone if change.kind is ChangeKind.ADDED]
    return Restored(_names(c for c in undone if c not in added), _names(added))


def left_tampered(state: State, besides: str) -> list[tuple[str, Record]]:
    """Other steps that wait for a person, with what their agents tampered with still in place."""
    return [
        (subject, record)
        for subject, record in state.records.items()
        if subject != besides
        and record.question is not None
        and record.latest is not None
        and record.latest.reason in _CHANGED_THE_CHECK
        and record.cleared < record.latest.seq
    ]


def _files(work: OpenRun, latest: Judged) -> set[str]:
    """The tampered files; of a part, such as `Makefile#target:test`, the file it belongs to."""
    manifest = work.workspace.manifest
    known = {*manifest(work.pins.snapshot), *manifest(latest.snapshot)}
    names = {storable_path(path): path for path in known}
    return {names.get(name, file_of(name)) for name in latest.tampered}


def _names(changes: Iterable[Change]) -> tuple[str, ...]:
    return tuple(sorted(storable_path(change.path) for change in changes))
