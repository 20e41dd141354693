"""The tool-batch runtime as the loop uses it: shapes of its tools, its disk, where things last."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from signoff.agents.tools.context import ToolContext, Watch
from signoff.agents.tools.definition import Tool
from signoff.agents.tools.failure import ToolError
from signoff.agents.tools.files import Files
from signoff.agents.tools.standard import STANDARD_TOOLS
from signoff.domain.definition import Artifact
from signoff.domain.session import PLAN_TOOL_NAMES
from signoff.toolbatch.calls import STANDARD_SHAPES, Nature, ToolShape
from signoff.toolbatch.disk import MOST_NAMES
from signoff.toolbatch.events import Stream, Subscriber
from signoff.toolbatch.executing import Execute
from signoff.toolbatch.judging import Court
from signoff.toolbatch.keeping import Book
from signoff.toolbatch.kept import Shelf, Snapshots
from signoff.toolbatch.opening import Parts, open_runner
from signoff.toolbatch.pipeline import BatchRunner, Record
from signoff.toolbatch.view import BatchLimits

SLOW_WALK_S = 0.2  # a workspace that takes longer to look at is not looked at for every search
_PLAN, _OTHER = ToolShape(Nature.PLAN), ToolShape(Nature.OTHER)


@dataclass(frozen=True)
class Batching:
    """How the calls of a session are run, and where its definition of done is kept."""

    steering: bool = True
    limits: BatchLimits = field(default_factory=BatchLimits)
    planned: tuple[Artifact, ...] = ()  # what the plan declares, beside what the task names
    book: Book | None = None
    shelf: Shelf | None = None
    snapshots: Snapshots | None = None
    court: Court | None = None
    subscribers: tuple[Subscriber, ...] = ()


def shapes_of(tools: Mapping[str, Tool]) -> dict[str, ToolShape]:
    """What is known about each tool; of one that we did not write, nothing is assumed."""
    standard = {tool.name: tool for tool in STANDARD_TOOLS}
    shapes = {}
    for name, tool in tools.items():
        if standard.get(name) is tool and name in STANDARD_SHAPES:
            shapes[name] = STANDARD_SHAPES[name]
        else:
            shapes[name] = _PLAN if name in PLAN_TOOL_NAMES else _OTHER
    return shapes


@dataclass
class ToolDisk:
    """The workspace as the tools may see it: what they may not read does not exist here."""

    files: Files
    watch: Watch | None
    _slow: bool = False

    @property
    def root(self) -> Path:
        """The workspace."""
        return self.files.workspace

    def read(self, path: str) -> bytes | None:
        """A regular file of reasonable size; None for anything else."""
        try:
            return self.files.read(path).data
        except ToolError:
            return None

    def names(self, folder: str) -> tuple[str, ...]:
        """What lies in a folder, sorted, as far as it may be seen."""
        try:
            top = self.files.to_read(folder or ".")
            with os.scandir(top) as found:
                names = [e.name for e, _ in zip(found, range(MOST_NAMES), strict=False)]
        except (ToolError, OSError):
            return ()
        return tuple(sorted(name for name in names if self.files.is_open(top / name)))

    def exists(self, path: str) -> bool:
        """Whether anything is there that may be seen."""
        try:
            return self.files.to_read(path).exists()
        except (ToolError, OSError):
            return False

    def content(self) -> str:
        """The digest of everything; empty where that takes too long, or nobody watches."""
        if self.watch is None or self._slow:
            return ""
        began = time.monotonic()
        digest = self.watch.content()
        self._slow = time.monotonic() - began > SLOW_WALK_S
        return digest


def named_by(files: Files, path: str) -> str:
    """A path as reports name it, links followed; as the model wrote it where that fails."""
    try:
        return files.shown(files.to_read(path))
    except ToolError:
        return path


def open_batches(
    task: str,
    tools: Mapping[str, Tool],
    context: ToolContext,
    batching: Batching,
    execute: Execute,
    record: Record,
    subscribers: Sequence[Subscriber],
) -> BatchRunner:
    """A runner for the calls of one sitting."""
    return open_runner(
        context.workspace,
        execute,
        task,
        stream=Stream(*subscribers, *batching.subscribers),
        parts=Parts(
            tools=tools,
            shapes=shapes_of(tools),
            planned=batching.planned,
            limits=batching.limits,
            book=batching.book,
            court=batching.court,
            disk=ToolDisk(context.files, context.watch),
            shelf=batching.shelf,
            snapshots=batching.snapshots,
            record=record,
            steering=batching.steering,
        ),
    )
