"""A runner put together from its parts, for whoever wants one on a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from signoff.domain.definition import Artifact
from signoff.gate.definition import ProjectSeen
from signoff.toolbatch.artifacts import seen_now, stated_in
from signoff.toolbatch.calls import STANDARD_SHAPES, ToolShape
from signoff.toolbatch.deriving import project_checks
from signoff.toolbatch.disk import Disk, Folder
from signoff.toolbatch.events import Stream, TimelineNoted
from signoff.toolbatch.executing import Execute
from signoff.toolbatch.judging import Court
from signoff.toolbatch.keeping import Book, Keeper, MemoryBook
from signoff.toolbatch.linking import LinkCheck
from signoff.toolbatch.looking import CheckWrite, Looker
from signoff.toolbatch.pipeline import BatchRunner, Confidence, Record
from signoff.toolbatch.rollback import Keep, Shelf, Snapshots
from signoff.toolbatch.shelves import MemoryShelf
from signoff.toolbatch.view import BatchLimits


@dataclass(frozen=True)
class Parts:
    """Everything about a runner that may be chosen; each has its usual choice."""

    tools: Iterable[str] | None = None  # names that can be called; None: all that have a shape
    shapes: Mapping[str, ToolShape] = field(default_factory=lambda: STANDARD_SHAPES)
    planned: Sequence[Artifact] = ()  # beside those that the task names
    limits: BatchLimits = field(default_factory=BatchLimits)
    book: Book | None = None  # where the definition of done is kept; None: in memory
    court: Court | None = None  # who judges; None: the caller does
    disk: Disk | None = None
    shelf: Shelf | None = None  # where contents are kept for undoing; None: in memory
    snapshots: Snapshots | None = None  # for commands; None: what they change cannot be undone
    check_write: CheckWrite | None = None  # None: the local links of pages
    confidence: Confidence | None = None
    record: Record | None = None
    steering: bool = True


def open_runner(
    root: Path,
    execute: Execute,
    task: str,
    *,
    stream: Stream | None = None,
    parts: Parts | None = None,
) -> BatchRunner:
    """A runner for one task in a folder; `execute` carries calls out."""
    parts = parts if parts is not None else Parts()
    heard = stream if stream is not None else Stream()
    disk = parts.disk if parts.disk is not None else Folder(root)
    asked = stated_in(task, root, parts.planned)
    keeper = Keeper(
        parts.book if parts.book is not None else MemoryBook(),
        task,
        artifacts=asked.artifacts,
        declared=parts.planned,
        unread=asked.unread,
        look=lambda definition: seen_now(definition, root),
        planner=parts.court.checks if parts.court is not None else None,
        told=lambda note: heard.emit(TimelineNoted(note.reason, note.text)),
    )
    if parts.court is not None and keeper.definition.began_with is None:
        keeper.record(ProjectSeen(project_checks(root)))
    names = parts.tools if parts.tools is not None else parts.shapes
    looker = Looker(
        keeper,
        disk,
        frozenset(names),
        limits=parts.limits,
        shapes=parts.shapes,
        check_write=parts.check_write or LinkCheck(disk, keeper),
    )
    return BatchRunner(
        execute,
        looker,
        keeper,
        heard,
        Keep(disk, parts.shelf if parts.shelf is not None else MemoryShelf(), parts.snapshots),
        parts.court,
        parts.confidence,
        parts.record,
        parts.steering,
    )
