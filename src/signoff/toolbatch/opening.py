"""A runner put together from its parts, on any folder, and one that is taken up again."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from signoff.domain.ledger import Draft, Kind
from signoff.domain.session import Artifact, ToolCall
from signoff.gate.task import SOMETHING, Task
from signoff.toolbatch.artifacts import nearest_file, promised
from signoff.toolbatch.calls import STANDARD_SHAPES, Call, Stream, ToolShape
from signoff.toolbatch.checkers import FileFinding, FileSeverity, Thresholds, check_write
from signoff.toolbatch.checkers.links import HTML_SUFFIXES, MARKDOWN_SUFFIXES, resolve
from signoff.toolbatch.deriving import CheckSources
from signoff.toolbatch.disk import WorkspaceFolder
from signoff.toolbatch.duplicates import NEW, OLD, WHOLE
from signoff.toolbatch.kept import Rollbacks
from signoff.toolbatch.looking import BatchState, CheckWrite
from signoff.toolbatch.pipeline import BatchRunner, Confidence, Execute, Record
from signoff.toolbatch.taskplan import Books, MemoryBooks, TaskPlan
from signoff.toolbatch.view import BatchLimits, Fault

MOST_NAMED = 5  # broken links of one write
_PAGES = HTML_SUFFIXES | MARKDOWN_SUFFIXES
_LINKS = frozenset({"broken-link", "broken-asset"})
_BREAKS = _LINKS | {"thin-page"}
_ANY = Thresholds()


class Parts(Struct, frozen=True):
    """Everything about a runner that may be chosen; each has its usual choice."""

    tools: Iterable[str] | None = None  # names that can be called; None: all that have a shape
    shapes: Mapping[str, ToolShape] = field(default_factory=lambda: STANDARD_SHAPES)
    planned: Sequence[Artifact] = ()  # what a person's plan declares
    limits: BatchLimits = field(default_factory=BatchLimits)
    books: Books | None = None  # the chain that the task's plan is kept on; None: in memory
    sources: CheckSources | None = None  # what checks are derived from; None: nothing is checked
    derives: bool = True  # False: a person's plan, whose contracts alone decide
    disk: WorkspaceFolder | None = None
    keep: Rollbacks | None = None  # what calls change, for undoing; None: it cannot be undone
    check_write: CheckWrite | None = None  # None: the local links of pages
    confidence: Confidence | None = None
    record: Record | None = None
    steering: bool = True
    thresholds: Thresholds = field(default_factory=Thresholds)  # how little a page may say


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
    disk = parts.disk if parts.disk is not None else WorkspaceFolder(root)
    books = parts.books if parts.books is not None else MemoryBooks()
    plan = TaskPlan(books, root, parts.sources, tuple(parts.planned), parts.derives)
    plan.begin(task)
    names = parts.tools if parts.tools is not None else parts.shapes
    state = BatchState(
        plan,
        disk,
        frozenset(names),
        limits=parts.limits,
        shapes=parts.shapes,
        check_write=parts.check_write or LinkCheck(disk, plan, parts.thresholds),
    )
    return BatchRunner(
        execute, state, plan, heard, parts.keep, parts.confidence, parts.record, parts.steering
    )


class LinkCheck:
    """Looks at the links of a page before it is written, where it is declared what is to be made.

    A link to what is planned and not there yet is fine: pages are written one after the other. A
    planned folder stands for whatever may come only while none of its files is planned.
    """

    def __init__(self, disk: WorkspaceFolder, plan: TaskPlan, thresholds: Thresholds = _ANY):
        self._disk, self._plan, self._thresholds = disk, plan, thresholds

    def __call__(self, call: Call) -> tuple[Fault, ...]:
        """Faults that the call would bring in; none for a file that is no page."""
        task = self._plan.task()
        suffix = posixpath.splitext(call.target)[1].lower()
        if suffix not in _PAGES or not task.planned:
            return ()
        written = self._written(call)
        if written is None:
            return ()
        found = check_write(call.target, written, self._disk.root, self._thresholds)
        broken = [f for f in found if f.code in _BREAKS and f.severity is FileSeverity.ERROR]
        now = [one for one in broken if not _is_to_come(one, task)]
        return tuple(self._fault(one) for one in now[:MOST_NAMED])

    def _fault(self, found: FileFinding) -> Fault:
        text = f"{found.path}:{found.line}: {found.message}"
        if found.code not in _LINKS:
            return Fault(text)
        target = resolve(found.path, found.about).path or found.about
        return Fault(text, target, nearest_file(self._disk.root, target))

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


def _is_to_come(finding: FileFinding, task: Task) -> bool:
    named = (resolve(finding.path, finding.about).path, finding.about)
    return any(name and promised(task, name) for name in named)


def take_up(runner: BatchRunner, words: str, *, interrupted: bool) -> None:
    """Go on: a person's words ask for more.

    `interrupted`: calls were under way when it stopped, and nobody saw what they changed.
    """
    if interrupted:
        cut_off = ToolCall("cut-off", "a call that was cut off", ok=False, touched=(SOMETHING,))
        runner.plan.books.append(Draft(Kind.TOOL_CALLED, cut_off.to_data()))
    runner.plan.say(words)
