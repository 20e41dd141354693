"""A runner put together from its parts, on any folder, and one that is taken up again."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from signoff.domain.definition import Artifact, Definition
from signoff.gate.definition import ProjectSeen, TakenUp, Touched
from signoff.gate.rounds import is_over
from signoff.toolbatch.artifacts import seen_now, stated_in
from signoff.toolbatch.calls import STANDARD_SHAPES, Call, ToolShape
from signoff.toolbatch.checkers import Finding, Severity, check_write
from signoff.toolbatch.checkers.links import HTML_SUFFIXES, MARKDOWN_SUFFIXES, resolve
from signoff.toolbatch.checkers.registry import Registry, load_checkers
from signoff.toolbatch.deriving import project_checks
from signoff.toolbatch.disk import Disk, Folder
from signoff.toolbatch.duplicates import NEW, OLD, WHOLE
from signoff.toolbatch.events import Stream, TimelineNoted
from signoff.toolbatch.executing import Execute
from signoff.toolbatch.judging import Books, Court
from signoff.toolbatch.keeping import Book, Keeper, MemoryBook
from signoff.toolbatch.kept import MemoryShelf, Shelf, Snapshots
from signoff.toolbatch.looking import CheckWrite, Looker
from signoff.toolbatch.paths import paths_in
from signoff.toolbatch.pipeline import BatchRunner, Confidence, Record
from signoff.toolbatch.rollback import Keep
from signoff.toolbatch.steering.drifting import is_summary, of_a_set
from signoff.toolbatch.view import BatchLimits

MOST_NAMED = 5  # broken links of one write
_PAGES = HTML_SUFFIXES | MARKDOWN_SUFFIXES
_BREAKS = frozenset({"broken-link", "broken-asset"})
INTERRUPTED = "a call that was cut off"


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


class LinkCheck:
    """Looks at the links of a page before it is written, where it is declared what is to be made.

    A link to what is planned and not there yet is fine: pages are written one after the other. And
    so is one more page of a declared set in the root page: naming it there is how it is declared.
    A planned folder stands for whatever may come only while none of its files is planned.
    """

    def __init__(self, disk: Disk, keeper: Books):
        self._disk, self._keeper = disk, keeper
        self._registry: Registry | None = None

    def __call__(self, call: Call) -> tuple[str, ...]:
        """What the call would bring in, each as one line; nothing for what is no page."""
        definition = self._keeper.definition
        suffix = posixpath.splitext(call.target)[1].lower()
        if suffix not in _PAGES or not definition.artifacts:
            return ()
        written = self._written(call)
        if written is None:
            return ()
        if self._registry is None:
            self._registry = load_checkers(self._disk.root)
        found = check_write(call.target, written, self._disk.root, registry=self._registry)
        broken = [one for one in found if _is_broken(one) and not _is_to_come(one, definition)]
        return tuple(f"{one.path}:{one.line}: {one.message}" for one in broken[:MOST_NAMED])

    def _written(self, call: Call) -> bytes | None:
        """The file as it would be; None where that cannot be told before it is done."""
        whole, old, new = (call.arguments.get(name) for name in (WHOLE, OLD, NEW))
        if isinstance(whole, str):
            return whole.encode("utf-8", "replace")
        now = self._disk.read(call.target)
        if now is None or not isinstance(old, str) or not isinstance(new, str) or not old:
            return None
        passage = old.encode("utf-8", "replace")
        if now.count(passage) != 1:
            return None
        return now.replace(passage, new.encode("utf-8", "replace"))


def _is_broken(finding: Finding) -> bool:
    return finding.code in _BREAKS and finding.severity is Severity.ERROR


def _is_to_come(finding: Finding, definition: Definition) -> bool:
    target = resolve(finding.path, finding.about).path
    named = {target, finding.about}
    if target and is_summary(finding.path) and of_a_set(definition, target):
        return True
    planned = [*definition.artifacts, *(a for item in definition.items for a in item.artifacts)]
    files = {artifact.path for artifact in planned if not artifact.directory}
    folders = [f"{artifact.path}/" for artifact in planned if artifact.directory]
    open_folders = [f for f in folders if not any(file.startswith(f) for file in files)]
    return any(
        name and (name in files or f"{name}/" in folders or name.startswith(tuple(open_folders)))
        for name in named
    )


def take_up(runner: BatchRunner, words: str, *, interrupted: bool) -> None:
    """Go on: a person's words ask for more, widen an open repair, and give a new budget of rounds.

    `interrupted`: calls were under way when it stopped, and nobody saw what they changed.
    """
    keeper, root = runner.keeper, runner.looker.disk.root
    if interrupted:
        keeper.record(Touched((), "", INTERRUPTED))
    if words.strip():
        now = keeper.definition
        keeper.record(stated_in(words, root, now.artifacts, now.touched))
    if is_over(keeper.definition):
        keeper.record(TakenUp())
    runner.looker.widen(paths_in(words))
