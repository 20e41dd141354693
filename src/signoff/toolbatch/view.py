"""What rules look at: the state of a task around one call; and what they may answer."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from signoff.domain.task import Artifact
from signoff.gate.task import Item, RoundStatus, Task
from signoff.toolbatch.calls import (
    ANSWER,
    STANDARD_SHAPES,
    Call,
    CallResult,
    NextAction,
    ResultKind,
    ToolShape,
)


@dataclass(frozen=True)
class BatchLimits:
    """Numbers that a user may set."""

    errors: int = 3  # consecutive real errors that end a turn
    recoveries: int = 3  # attempts of one episode
    late_share: float = 0.6  # of the artifacts done: from here on it is late
    late_reads: int = 4  # of reference material, when it is late
    looks: int = 8  # in a row, before the first file is asked for
    audits: int = 2  # looks at what was shown or written, once everything exists
    bookkeeping: int = 1  # turns in a row that only keep books
    repeats: int = 2  # of the same blocked call, before the advice changes
    failed_edits: int = 2  # of one file, before a full rewrite is advised
    facts: int = 2  # restated in a message


@dataclass(frozen=True)
class RepairTarget:
    """One file that a round found fault with."""

    path: str
    findings: tuple[str, ...]
    visited: bool = False  # changed since the round
    failed_edits: int = 0
    sure: bool = True  # a finding is about this very file; else some output only names it


@dataclass(frozen=True)
class RepairFocus:
    """What a broken round asks for, and where changes may go meanwhile."""

    round: int
    targets: tuple[RepairTarget, ...]
    allowed: tuple[str, ...]  # paths and folders (trailing `/`) that may be changed
    findings: tuple[str, ...] = ()
    changed: bool = False  # some file was changed since: it may be the repair, so judging is due

    @property
    def next_target(self) -> RepairTarget | None:
        """The first one not visited yet; after a change, only one that is at fault for sure.

        What some output only names may be right as it is: the next round tells.
        """
        open_ones = (t for t in self.targets if not t.visited)
        return next((t for t in open_ones if t.sure or not self.changed), None)

    def allows(self, path: str) -> bool:
        """Whether a path may be changed during the repair; reading is never held against anyone."""
        # `src/../other` does not lie in `src/`, however it is written.
        inside = posixpath.normpath(path)
        return any(path == a or (a.endswith("/") and inside.startswith(a)) for a in self.allowed)


@dataclass(frozen=True)
class Counts:
    """What happened lately, counted."""

    errors: int = 0  # consecutive and real, across batches
    audits: int = 0  # looks at what was shown or written before, since everything exists
    reference_reads: int = 0  # outside of the planned outputs, since the last change
    looks: int = 0  # of any kind, and commands that changed nothing, since the last change
    bookkeeping_turns: int = 0  # in a row
    blocked_alike: int = 0  # times this very call was blocked before
    broken_alike: int = 0  # times a change of this file was refused for the same fault
    failed_edits: int = 0  # of the file this call is about, in a row


@dataclass(frozen=True)
class Target:
    """The concrete next file; `folder`: it is to lie in this planned one, under whatever name."""

    path: str
    folder: str = ""
    parent_exists: bool = True


@dataclass(frozen=True)
class Fault:
    """Something that a write would bring in: a link whose target is not there."""

    text: str
    target: str = ""  # what is not there
    near: str = ""  # what is there, and may have been meant


@dataclass(frozen=True)
class CallView:
    """The state around one call: before it (no result yet), or after it."""

    task: Task
    call: Call
    result: CallResult | None = None
    missing: tuple[Artifact, ...] = ()  # planned, and not there
    substantive: int = 0  # planned files that exist, index and readme not counted
    completed_now: Item | None = None  # the item that this call completed
    next_target: Target | None = None
    open_steps: int = 0  # of the model's own plan, where somebody keeps one
    repair: RepairFocus | None = None
    facts: tuple[str, ...] = ()
    counts: Counts = Counts()
    limits: BatchLimits = BatchLimits()
    failed_edit: str = ""  # the file that the last change was meant for and did not fit
    heard: frozenset[str] = frozenset()  # rules that spoke, with nothing changed since
    lasting: NextAction | None = None  # what the standing message asks for
    tools: frozenset[str] = field(default_factory=frozenset)  # names that can be called
    repeated: str = ""  # why nothing can come of this call, in words; empty: something can
    exists: bool = True  # whether what the call is about is there, before it
    breaks: tuple[Fault, ...] = ()  # what this write would bring in
    named_first: bool = False  # whether the root file names what the call would make
    shapes: Mapping[str, ToolShape] = field(default_factory=lambda: STANDARD_SHAPES)

    @property
    def actions(self) -> frozenset[str]:
        """What a next action may name: a tool, or the answer that every model can give."""
        return self.tools | {ANSWER}

    @property
    def next_item(self) -> Item | None:
        """The first open one of the list."""
        return next(iter(self.task.pending), None)

    @property
    def open_work(self) -> bool:
        """Whether something is left to build, judging apart."""
        return bool(self.missing) or self.next_item is not None or self.open_steps > 0

    @property
    def built(self) -> bool:
        """Whether every planned artifact exists."""
        return bool(self.task.planned) and not self.missing

    @property
    def settled(self) -> bool:
        """Whether nothing is to be judged: it holds as it is, or only a person can go on."""
        last = self.task.round
        kept = last is not None and last.status is RoundStatus.KEPT
        return self.task.is_over or (kept and not self.missing and not self.task.pending)

    @property
    def only_judging_left(self) -> bool:
        """Whether everything planned was built in this task, and no finding is open."""
        if not self.built or self.open_work or self.repair is not None or self.task.is_over:
            return False
        last = self.task.round
        failed = last is not None and last.status in (RoundStatus.BROKEN, RoundStatus.UNKNOWN)
        # Files that were there before anything was done are not a thing that was built.
        return bool(self.task.touched) and not failed

    @property
    def late(self) -> bool:
        """Whether most of the artifacts are done, and some are not."""
        planned, missing = len(self.task.planned), len(self.missing)
        return bool(missing) and planned - missing >= planned * self.limits.late_share

    def declares(self, path: str) -> bool:
        """Whether a path is a planned artifact or lies in a planned folder."""
        return any(
            path == a.path or (a.directory and path.startswith(f"{a.path}/"))
            for a in self.task.planned
        )


@dataclass(frozen=True)
class CallDecision:
    """Why a call is not made as it was sent.

    Blocked, skipped (a duplicate: there is nothing new in it), or made with other arguments.
    Guidance does not count as an error.
    """

    text: str
    next_action: NextAction | None = None
    kind: ResultKind = ResultKind.BLOCKED
    guidance: bool = False
    arguments: Mapping[str, Any] | None = None
