"""Builds the views that rules read: what happened lately, counted; what is missing; what is next.

What is on disk is looked at when a batch begins and after a change, not for every rule; everything
that grows with the session is bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from signoff.domain.session import Artifact
from signoff.gate.task import Item, Task
from signoff.toolbatch import artifacts, repair
from signoff.toolbatch.artifacts import is_summary
from signoff.toolbatch.calls import (
    BOOKKEEPING,
    STANDARD_SHAPES,
    Call,
    CallResult,
    Nature,
    ResultKind,
    Steered,
    ToolShape,
)
from signoff.toolbatch.disk import WorkspaceFolder
from signoff.toolbatch.duplicates import Duplicates, key_of
from signoff.toolbatch.shellwork import looks, rewritten
from signoff.toolbatch.taskplan import TaskPlan
from signoff.toolbatch.view import BatchLimits, CallView, Counts, Fault, RepairFocus, Target

MOST_COUNTED = 256  # calls or files that a count is kept for
CheckWrite = Callable[[Call], Sequence[Fault]]
QUIET = 3  # turns before the same is said again to a model that does not react


class _OnDisk(NamedTuple):
    planned: tuple[Artifact, ...]
    missing: tuple[Artifact, ...]
    substantive: int
    target: Target | None


class _Tally(OrderedDict[str, int]):
    def add(self, name: str) -> None:
        self[name] = self.pop(name, 0) + 1
        if len(self) > MOST_COUNTED:
            self.popitem(last=False)

    def of(self, name: str) -> int:
        return self.get(name, 0)


@dataclass
class BatchState:
    """Sees every call before it and after it; `check_write` finds what a write would break."""

    plan: TaskPlan
    disk: WorkspaceFolder
    tools: frozenset[str]
    limits: BatchLimits = field(default_factory=BatchLimits)
    shapes: Mapping[str, ToolShape] = field(default_factory=lambda: STANDARD_SHAPES)
    check_write: CheckWrite | None = None
    repair: RepairFocus | None = None
    counts: Counts = field(default_factory=Counts)
    open_steps: Callable[[], int] = lambda: 0  # of the model's own plan, where somebody keeps one

    def __post_init__(self) -> None:
        self.duplicates = Duplicates(self.disk)
        self.completed: dict[str, Item] = {}  # by the calls of this batch
        self._blocked, self._failed_edits, self._said_no = _Tally(), _Tally(), _Tally()
        self._faults = _Tally()
        self._strayed = _Tally()  # files whose change was held back in this repair
        self._failed_edit = ""
        self._turn = 0
        self._said: dict[str, int] = {}  # by rule: when, about the state as it is
        self._said_about: Hashable = None
        self._disk_now: _OnDisk | None = None  # None: it has to be looked at again
        self._focused: Hashable = None

    def begin(self, calls: Sequence[Call]) -> None:
        """A batch: the disk is looked at afresh, and a round that was decided since is known."""
        self._disk_now = None
        self.completed = {}
        self._turn += 1
        books = bool(calls) and all(call.shape.nature in BOOKKEEPING for call in calls)
        turns = self.counts.bookkeeping_turns + 1 if books else 0
        self.counts = replace(self.counts, bookkeeping_turns=turns)
        self._focus()

    def before(self, call: Call) -> CallView:
        """The view that pre-flight rules read."""
        view, breaks = self.around(call), self._breaks(call)
        named = rewritten(call.command) or (call.target,)
        return replace(
            view,
            repeated=self.duplicates.repeated(call),
            exists=any(self.disk.exists(path) for path in named if path),
            breaks=breaks,
            counts=replace(
                view.counts,
                broken_alike=max(
                    self._broken_alike(call, breaks), self._faults.of(f"shell\n{named[0]}")
                ),
                strayed_alike=self._strayed.of(call.target),
            ),
        )

    def after(self, view: CallView, result: CallResult) -> None:
        call = result.call
        self.counts = self._with_error(result)
        if result.kind is ResultKind.BLOCKED:
            self._count_block(view, result)
        elif looks(call) or (
            result.kind is ResultKind.EXECUTED and call.shape.nature is Nature.SHELL
        ):
            # A change begins the count anew.
            self.counts = replace(self.counts, looks=self.counts.looks + 1)
        self._count_edits(result)
        if result.changed:
            self._changed(result)
        if self.repair is not None:
            self.repair = repair.after(self.repair, result)
        if result.kind is ResultKind.EXECUTED:
            self.duplicates.note(call, result)
            if call.shape.nature is Nature.SHELL:
                self._disk_now = None

    def count_together(self, errors: int, results: Sequence[CallResult]) -> None:
        """Looks that were proposed together fail together: nobody could learn in between."""
        if len(results) < 2 or not any(result.is_error for result in results):
            return
        went_well = any(r.ok and r.kind is ResultKind.EXECUTED for r in results)
        self.counts = replace(self.counts, errors=0 if went_well else errors + 1)

    def said(self, steered: Steered | None) -> None:
        """The message of the turn: it is not said again before something changes, or for long."""
        if steered is not None:
            self._said[steered.rule] = self._turn
        if steered is not None and steered.rule == "long_look":
            # Who had to be told once is told sooner.
            self.limits = replace(self.limits, looks=max(QUIET, self.limits.looks // 2))

    def around(self, call: Call, result: CallResult | None = None) -> CallView:
        now, task = self._look(), self.plan.task()
        blocked = result is not None and result.kind is ResultKind.BLOCKED
        link = result is not None and result.rule == "broken_link"
        counts = replace(
            self.counts,
            # A block is counted by now, and is not one before it.
            blocked_alike=max(0, self._blocked.of(key_of(call)) - blocked),
            failed_edits=self._failed_edits.of(call.target),
            broken_alike=self._broken_alike(call, self._breaks(call) if link else ()),
        )
        return CallView(
            task=task,
            call=call,
            result=result,
            missing=now.missing,
            substantive=now.substantive,
            open_steps=self.open_steps(),
            completed_now=self.completed.get(call.id),
            next_target=now.target,
            repair=self.repair,
            counts=counts,
            limits=self.limits,
            failed_edit=self._failed_edit,
            heard=self._heard(task, now.missing),
            tools=self.tools,
            shapes=self.shapes,
        )

    def _heard(self, task: Task, missing: Sequence[Artifact]) -> frozenset[str]:
        """The rules that spoke lately about what is open, what was judged, what is repaired."""
        judged = (task.round.number, task.round.status) if task.round is not None else None
        repaired = None
        if (focus := self.repair) is not None:
            repaired = (focus.round, focus.changed, tuple(t.visited for t in focus.targets))
        state: Hashable = task.items, tuple(missing), judged, repaired
        if state != self._said_about:
            self._said_about = state
            self._said.clear()
        return frozenset(rule for rule, at in self._said.items() if self._turn < at + QUIET)

    def missing(self) -> tuple[Artifact, ...]:
        """Planned artifacts that are not there, looked at again."""
        self._disk_now = None
        return self._look().missing

    def forget(self) -> None:
        """Forget what was shown, since the model has it no more: looking again is no repetition."""
        self.duplicates.forget()

    def _look(self) -> _OnDisk:
        planned, root = self.plan.task().planned, self.disk.root
        if self._disk_now is None or self._disk_now.planned != planned:
            missing = artifacts.missing(planned, root)
            there = (a for a in planned if a not in missing and not a.directory)
            substantive = sum(not is_summary(a.path) for a in there)
            target = artifacts.next_target(missing, root)
            self._disk_now = _OnDisk(planned, missing, substantive, target)
        return self._disk_now

    def _focus(self) -> None:
        """A broken round opens a repair, any other that was decided ends it."""
        task = self.plan.task()
        last = task.round
        if task.is_over:
            self.repair = None  # a person has to look: nothing is to be repaired for a next round
            return
        decided = None if last is None else (last.status, last.number, last.against)
        if last is None or last.changed or decided == self._focused:
            return
        self._focused = decided
        focus = repair.focus_of(last, task)
        if focus is not None:
            self._strayed.clear()
        self.repair = focus

    def _with_error(self, result: CallResult) -> Counts:
        """A command that says no is no error; the very same again, with nothing changed, is one."""
        again = False
        if result.observed and not result.ok:
            key = key_of(result.call)
            again = self._said_no.of(key) > 0 and not result.changed
            self._said_no.add(key)
        if result.is_error or again:
            return replace(self.counts, errors=self.counts.errors + 1)
        executed = result.kind is ResultKind.EXECUTED
        return replace(self.counts, errors=0) if executed else self.counts

    def _count_block(self, view: CallView, result: CallResult) -> None:
        self._blocked.add(key_of(result.call))
        if result.rule == "out_of_scope":
            self._strayed.add(result.call.target)
        for fault in view.breaks if result.rule == "broken_link" else ():
            self._faults.add(_fault_key(result.call, fault))
        if result.rule == "shell_rewrite":
            self._faults.add(f"shell\n{rewritten(result.call.command)[0]}")

    def _count_edits(self, result: CallResult) -> None:
        call = result.call
        if call.shape.nature is not Nature.MUTATE or not call.target:
            return
        if result.ok and result.changed:
            self._failed_edits.pop(call.target, None)
            self._failed_edit = ""
        elif result.kind is ResultKind.DUPLICATE:
            self._failed_edit = ""  # the file holds what was wanted
        elif result.kind is ResultKind.EXECUTED and not result.ok:
            self._failed_edits.add(call.target)
            self._failed_edit = call.target

    def _changed(self, result: CallResult) -> None:
        self.counts = replace(self.counts, looks=0)
        self._blocked.clear()
        self._said_no.clear()
        self._disk_now = None
        call = result.call
        if call.target in result.changed:
            for key in [key for key in self._faults if key.startswith(f"{call.target}\n")]:
                del self._faults[key]

    def _broken_alike(self, call: Call, breaks: Sequence[Fault]) -> int:
        return max((self._faults.of(_fault_key(call, fault)) for fault in breaks), default=0)

    def _breaks(self, call: Call) -> tuple[Fault, ...]:
        if self.check_write is None or call.shape.nature is not Nature.MUTATE:
            return ()
        return tuple(self.check_write(call))


def _fault_key(call: Call, fault: Fault) -> str:
    """Key of a fault: equal for the same fault of a file, however the rest of the write differs."""
    return f"{call.target}\n{fault.target or fault.text}"
