"""Input and answers of rules: the state of a task around one call, and their decisions."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from msgspec import Struct, field

from signoff.domain.session import Artifact
from signoff.gate.task import Item, RoundStatus, Task
from signoff.toolbatch.calls import (
    STANDARD_SHAPES,
    Call,
    CallResult,
    NextAction,
    ResultKind,
    ToolShape,
)


class BatchLimits(Struct, frozen=True):
    """Numbers that a user may set."""

    errors: int = 3  # consecutive real errors that end a turn
    looks: int = 8  # in a row, before the next step is asked for
    repeats: int = 2  # of the same blocked call, before the turn ends


class RepairTarget(Struct, frozen=True):
    """One file that a round found fault with."""

    path: str
    findings: tuple[str, ...]
    visited: bool = False  # changed since the round
    failed_edits: int = 0
    sure: bool = True  # a finding is about this very file; else some output only names it


class RepairFocus(Struct, frozen=True):
    """Demands of a broken round, and the files that it is about."""

    round: int
    targets: tuple[RepairTarget, ...]
    allowed: tuple[str, ...]  # paths and folders (trailing `/`) that are changed without a word
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
        # `src/../other` does not lie in `src/`, however it is written.
        inside = posixpath.normpath(path)
        return any(path == a or (a.endswith("/") and inside.startswith(a)) for a in self.allowed)


class Counts(Struct, frozen=True):
    errors: int = 0  # consecutive and real, across batches
    looks: int = 0  # of any kind, and commands that changed nothing, since the last change
    bookkeeping_turns: int = 0  # in a row
    blocked_alike: int = 0  # times this very call was blocked before
    broken_alike: int = 0  # times a change of this file was refused for the same fault
    strayed_alike: int = 0  # times a change of this file was held back in this repair
    failed_edits: int = 0  # of the file this call is about, in a row


class Target(Struct, frozen=True):
    """The concrete next file; `folder`: it is to lie in this planned one, under whatever name."""

    path: str
    folder: str = ""
    parent_exists: bool = True


class Fault(Struct, frozen=True):
    """Something that a write would bring in: a link whose target is not there."""

    text: str
    target: str = ""  # what is not there
    near: str = ""  # what is there, and may have been meant


class CallView(Struct, frozen=True):
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
    counts: Counts = Counts()
    limits: BatchLimits = BatchLimits()
    failed_edit: str = ""  # the file that the last change was meant for and did not fit
    heard: frozenset[str] = frozenset()  # rules that spoke, with nothing changed since
    tools: frozenset[str] = field(default_factory=frozenset)  # names that can be called
    repeated: str = ""  # why nothing can come of this call, in words; empty: something can
    exists: bool = True  # whether what the call is about is there, before it
    breaks: tuple[Fault, ...] = ()  # what this write would bring in
    shapes: Mapping[str, ToolShape] = field(default_factory=lambda: STANDARD_SHAPES)

    @property
    def next_item(self) -> Item | None:
        return next(iter(self.task.pending), None)

    @property
    def open_work(self) -> bool:
        """True when something is left to build, judging apart."""
        return bool(self.missing) or self.next_item is not None or self.open_steps > 0

    @property
    def built(self) -> bool:
        return bool(self.task.planned) and not self.missing

    @property
    def settled(self) -> bool:
        """True when nothing is to be judged: it holds as it is, or only a person can go on."""
        last = self.task.round
        kept = last is not None and last.status is RoundStatus.KEPT
        return self.task.is_over or (kept and not self.missing and not self.task.pending)

    @property
    def only_judging_left(self) -> bool:
        """True when everything planned was built in this task, and no finding is open."""
        if not self.built or self.open_work or self.repair is not None or self.task.is_over:
            return False
        last = self.task.round
        failed = last is not None and last.status in (RoundStatus.BROKEN, RoundStatus.UNKNOWN)
        # Files that were there before anything was done are not a thing that was built.
        return bool(self.task.touched) and not failed


class CallDecision(Struct, frozen=True):
    """Decision not to make a call: blocked, or skipped as a duplicate. Guidance is no error."""

    text: str
    next_action: NextAction | None = None
    kind: ResultKind = ResultKind.BLOCKED
    guidance: bool = False
