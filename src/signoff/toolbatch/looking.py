"""Builds the views that rules read: what happened lately, counted; what is missing; what is next.

What is on disk is looked at when a batch begins and after a change, not for every rule; everything
that grows with the session is bounded.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from signoff.domain.task import Artifact
from signoff.domain.text import escape_line
from signoff.gate.task import Item, Task
from signoff.toolbatch import artifacts, repair
from signoff.toolbatch.artifacts import is_summary
from signoff.toolbatch.calls import (
    BOOKKEEPING,
    STANDARD_SHAPES,
    Call,
    CallResult,
    Nature,
    NextAction,
    ResultKind,
    ToolShape,
)
from signoff.toolbatch.disk import Disk
from signoff.toolbatch.duplicates import Duplicates, key_of
from signoff.toolbatch.events import Steered
from signoff.toolbatch.shellwork import looks, rewritten
from signoff.toolbatch.taskplan import TaskPlan
from signoff.toolbatch.view import BatchLimits, CallView, Counts, Fault, RepairFocus, Target

MOST_COUNTED = 256  # calls or files that a count is kept for
CheckWrite = Callable[[Call], Sequence[Fault]]
QUIET = 5  # turns before the same is said again to a model that does not react; then twice as many
STANDING = "standing"
# They tell of progress: that is news once.
NEWS = frozenset({"next_item", "missing_artifact", "everything_built", "verification_stale"})


class Spoken:
    """Counts turns, and remembers which rules spoke about the state as it is."""

    def __init__(self) -> None:
        self.turn = 0
        self._state: Hashable = None
        self._said: dict[str, tuple[int, int]] = {}  # when, and for how long it is enough

    def note(self, rule: str) -> None:
        """It spoke in this turn."""
        before = self._said.get(rule)
        self._said[rule] = self.turn, QUIET if before is None else 2 * before[1] + 1

    def heard(self, state: Hashable) -> frozenset[str]:
        """The rules that spoke lately about this state."""
        if state != self._state:
            self._state = state
            self._said.clear()
        said = self._said.items()
        lately = {rule for rule, (at, enough) in said if self.turn < at + enough or rule in NEWS}
        # What stands is a reminder: not in the turns after another message.
        just_now = any(self.turn < at + QUIET for at, _ in self._said.values())
        return frozenset(lately | {STANDING}) if just_now else frozenset(lately)


def _state_of(task: Task, missing: Sequence[Artifact], repair: RepairFocus | None) -> Hashable:
    """What messages are about: what is open, what was judged, what is repaired."""
    judged = (task.round.number, task.round.status) if task.round is not None else None
    repaired = None
    if repair is not None:
        repaired = (repair.round, repair.changed, tuple(t.visited for t in repair.targets))
    return task.items, tuple(missing), judged, repaired


class _OnDisk(NamedTuple):
    """What a look at the disk gave."""

    planned: tuple[Artifact, ...]
    missing: tuple[Artifact, ...]
    substantive: int
    target: Target | None


class _Tally(OrderedDict[str, int]):
    """Counts by name, of the latest names only."""

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
    disk: Disk
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
        self._shown, self._faults = _Tally(), _Tally()
        self._failed_edit = ""
        self._spoken = Spoken()
        self._lasting: NextAction | None = None
        self._widened: tuple[str, ...] = ()
        self._facts: deque[str] = deque(maxlen=self.limits.facts)
        self._disk_now: _OnDisk | None = None  # None: it has to be looked at again
        self._focused: Hashable = None

    def begin(self, calls: Sequence[Call]) -> None:
        """A batch: the disk is looked at afresh, and a round that was decided since is known."""
        self._disk_now = None
        self.completed = {}
        self._spoken.turn += 1
        books = bool(calls) and all(call.shape.nature in BOOKKEEPING for call in calls)
        turns = self.counts.bookkeeping_turns + 1 if books else 0
        self.counts = replace(self.counts, bookkeeping_turns=turns)
        self._focus()

    def before(self, call: Call) -> CallView:
        """The view that pre-flight rules read."""
        view, breaks = self.around(call), self._breaks(call)
        named = rewritten(call.command) or (call.target,)
        keys = [*(_fault_key(call, fault) for fault in breaks), f"shell\n{named[0]}"]
        exists = any(self.disk.exists(path) for path in named if path)
        return replace(
            view,
            repeated=self.duplicates.repeated(call),
            exists=exists,
            breaks=breaks,
            counts=replace(view.counts, broken_alike=max(map(self._faults.of, keys))),
            named_first=not exists and self._named_first(view),
        )

    def after(self, view: CallView, result: CallResult) -> None:
        """Count what came of a call."""
        call = result.call
        self.counts = self._with_error(result)
        if result.kind is ResultKind.BLOCKED:
            self._count_block(view, result)
        elif looks(call):
            self._count_look(view, result)
        elif result.kind is ResultKind.EXECUTED and call.shape.nature is Nature.SHELL:
            # A change begins the count anew.
            self.counts = replace(self.counts, looks=self.counts.looks + 1)
        for path in result.reads:
            self._shown.add(path)
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
            self._lasting = steered.next_action if steered.lasting else None
            self._spoken.note(steered.rule)

    def widen(self, paths: Iterable[str]) -> None:
        """A person named these: they are in scope of the repair that is open, and of later ones."""
        named = (path.removeprefix("./") for path in paths)
        self._widened = tuple(dict.fromkeys((*self._widened, *named)))
        if self.repair is not None:
            self.repair = repair.widen(self.repair, self._widened)

    def around(self, call: Call, result: CallResult | None = None) -> CallView:
        """The state as it is now, around one call."""
        now, task = self._look(), self.plan.task()
        blocked = result is not None and result.kind is ResultKind.BLOCKED
        link = result is not None and result.rule == "broken_link"
        faults = (
            self._faults.of(_fault_key(call, f)) for f in (self._breaks(call) if link else ())
        )
        counts = replace(
            self.counts,
            # A block is counted by now, and is not one before it.
            blocked_alike=max(0, self._blocked.of(key_of(call)) - blocked),
            failed_edits=self._failed_edits.of(call.target),
            broken_alike=max(faults, default=0),
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
            facts=tuple(self._facts),
            counts=counts,
            limits=self.limits,
            failed_edit=self._failed_edit,
            heard=self._spoken.heard(_state_of(task, now.missing, self.repair)),
            lasting=self._lasting,
            tools=self.tools,
            shapes=self.shapes,
        )

    def missing(self) -> tuple[Artifact, ...]:
        """What is planned and not there, looked at again."""
        self._disk_now = None
        return self._look().missing

    def ease(self) -> None:
        """It was judged and is not done: looking around is work again, for twice as long."""
        self.counts = replace(self.counts, audits=0)
        self.limits = replace(self.limits, audits=2 * self.limits.audits)

    def forget(self) -> None:
        """What was shown is not before the model any more: looking again is no repetition."""
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
            focus = repair.widen(focus, (*self._widened, *repair.referred(focus, self.disk)))
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
        for fault in view.breaks if result.rule == "broken_link" else ():
            self._faults.add(_fault_key(result.call, fault))
        if result.rule == "shell_rewrite":
            self._faults.add(f"shell\n{rewritten(result.call.command)[0]}")

    def _count_look(self, view: CallView, result: CallResult) -> None:
        repaired = self.repair is not None and self.repair.changed
        seen_all = repaired or (view.built and bool(view.task.touched))
        touched = frozenset(view.task.touched)
        read = all(self._shown.of(p) > 0 or p in touched for p in result.reads)
        known = result.kind is ResultKind.DUPLICATE or (bool(result.reads) and read)
        # Material beside the planned outputs.
        paths = [path for path in view.call.paths if path not in ("", ".")]
        refers = bool(paths) and not any(map(view.declares, paths))
        self.counts = replace(
            self.counts,
            looks=self.counts.looks + 1,
            audits=self.counts.audits + (seen_all and known),
            reference_reads=self.counts.reference_reads + refers,
        )

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
        self.counts = replace(self.counts, looks=0, audits=0, reference_reads=0)
        self._blocked.clear()
        self._said_no.clear()
        self._disk_now = None
        call = result.call
        if call.target in result.changed:
            for key in [key for key in self._faults if key.startswith(f"{call.target}\n")]:
                del self._faults[key]
        for path, digest in result.writes.items():
            shown = f"`{escape_line(path)[:100]}`"
            fact = f"{shown} was written" if digest else f"{shown} was removed"
            if fact in self._facts:
                self._facts.remove(fact)
            self._facts.append(fact)

    def _breaks(self, call: Call) -> tuple[Fault, ...]:
        if self.check_write is None or call.shape.nature is not Nature.MUTATE:
            return ()
        return tuple(self.check_write(call))

    def _named_first(self, view: CallView) -> bool:
        """Whether the root file names what the call would make."""
        target = view.call.target
        if view.call.shape.nature is not Nature.MUTATE or not target or view.declares(target):
            return False
        roots = [a.path for a in view.task.planned if is_summary(a.path)]
        name = target.rsplit("/", 1)[-1].encode("utf-8", "replace")
        return any(name in (self.disk.read(root) or b"") for root in roots[:3])


def _fault_key(call: Call, fault: Fault) -> str:
    """The same fault of the same file, however the rest of the write differs."""
    return f"{call.target}\n{fault.target or fault.text}"
