"""Builds the views that rules read: what happened lately, counted; what is missing; what is next.

What is on disk is looked at when a batch begins and after a change, not for every rule; everything
that grows with the session is bounded.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from signoff.domain.task import Artifact
from signoff.domain.text import escape_line
from signoff.gate.task import Item, Task
from signoff.toolbatch import artifacts, repair
from signoff.toolbatch.calls import (
    BOOKKEEPING,
    STANDARD_SHAPES,
    Call,
    Nature,
    NextAction,
    Outcome,
    OutcomeKind,
    ToolShape,
)
from signoff.toolbatch.disk import Disk
from signoff.toolbatch.duplicates import WHOLE, Duplicates, key_of
from signoff.toolbatch.events import Steered
from signoff.toolbatch.preflight import refers
from signoff.toolbatch.sets import declared, is_summary
from signoff.toolbatch.shellwork import looks, rewritten
from signoff.toolbatch.taskplan import TaskPlan
from signoff.toolbatch.view import BatchLimits, Counts, Fault, RepairFocus, Target, View

MOST_COUNTED = 256  # calls or files that a count is kept for
CheckWrite = Callable[[Call], Sequence[Fault]]
QUIET = 5  # turns before the same is said again to a model that does not react; then twice as many
STANDING = "standing"
# They tell of progress: that is news once.
NEWS = frozenset({"next_item", "missing_artifact", "everything_built", "verification_stale"})


class Spoken:
    """Counts turns, and remembers which rules spoke about the state as it is."""

    def __init__(self) -> None:
        self._turn = 0
        self._state: Hashable = None
        self._said: dict[str, tuple[int, int]] = {}  # when, and for how long it is enough

    def turn(self) -> None:
        """Another one begins."""
        self._turn += 1

    def note(self, rule: str) -> None:
        """It spoke in this turn."""
        before = self._said.get(rule)
        self._said[rule] = self._turn, QUIET if before is None else 2 * before[1] + 1

    def heard(self, state: Hashable) -> frozenset[str]:
        """The rules that spoke lately about this state."""
        if state != self._state:
            self._state = state
            self._said.clear()
        lately = {
            rule
            for rule, (when, enough) in self._said.items()
            if self._turn < when + enough or rule in NEWS
        }
        # What stands is a reminder: not in the turns after another message.
        just_now = any(self._turn < when + QUIET for when, _ in self._said.values())
        return frozenset(lately | {STANDING}) if just_now else frozenset(lately)


def state_of(task: Task, missing: Sequence[Artifact], repair: RepairFocus | None) -> Hashable:
    """What messages are about: what is open, what was judged, what is repaired."""
    judged = (task.round.number, task.round.status) if task.round is not None else None
    repaired = None
    if repair is not None:
        repaired = (repair.round, repair.changed, tuple(t.visited for t in repair.targets))
    return task.items, tuple(missing), judged, repaired


@dataclass(frozen=True)
class _OnDisk:
    """What a look at the disk gave."""

    planned: tuple[Artifact, ...]
    missing: tuple[Artifact, ...]
    substantive: int
    target: Target | None


class _Tally:
    """Counts by name, of the latest names only."""

    def __init__(self) -> None:
        self._counts: OrderedDict[str, int] = OrderedDict()

    def add(self, name: str) -> None:
        self._counts[name] = self._counts.pop(name, 0) + 1
        if len(self._counts) > MOST_COUNTED:
            self._counts.popitem(last=False)

    def of(self, name: str) -> int:
        return self._counts.get(name, 0)

    def drop(self, name: str) -> None:
        self._counts.pop(name, None)

    def drop_all(self, start: str) -> None:
        for name in [name for name in self._counts if name.startswith(start)]:
            del self._counts[name]

    def clear(self) -> None:
        self._counts.clear()


@dataclass
class Looker:
    """Sees every call before it and after it; `check_write` finds what a write would break."""

    plan: TaskPlan
    disk: Disk
    tools: frozenset[str]
    limits: BatchLimits = field(default_factory=BatchLimits)
    shapes: Mapping[str, ToolShape] = field(default_factory=lambda: STANDARD_SHAPES)
    check_write: CheckWrite | None = None
    repair: RepairFocus | None = None
    lasting: NextAction | None = None
    counts: Counts = field(default_factory=Counts)
    last_written: str = ""
    open_steps: Callable[[], int] = lambda: 0  # of the model's own plan, where somebody keeps one

    def __post_init__(self) -> None:
        self.duplicates = Duplicates(self.disk)
        self._blocked, self._failed_edits, self._said_no = _Tally(), _Tally(), _Tally()
        self._shown, self._faults = _Tally(), _Tally()
        self._failed_edit = ""
        self._spoken = Spoken()
        self._wrote_whole = ""
        self._widened: tuple[str, ...] = ()
        self._facts: deque[str] = deque(maxlen=max(1, self.limits.facts))
        self._disk_now: _OnDisk | None = None
        self._fresh = False
        self._focused: Hashable = None
        self.completed: dict[str, Item] = {}  # by the calls of this batch

    def begin(self, calls: Sequence[Call]) -> None:
        """A batch: the disk is looked at afresh, and a round that was decided since is known."""
        self._fresh = False
        self.completed = {}
        self._spoken.turn()
        books = bool(calls) and all(call.shape.nature in BOOKKEEPING for call in calls)
        turns = self.counts.bookkeeping_turns + 1 if books else 0
        self.counts = replace(self.counts, bookkeeping_turns=turns)
        self._focus()

    def before(self, call: Call) -> View:
        """The view that pre-flight rules read."""
        view, breaks = self.around(call), self._breaks(call)
        named = rewritten(call.command) or (call.target,)
        keys = [*(_fault_key(call, fault) for fault in breaks), f"shell\n{named[0]}"]
        again = max(map(self._faults.of, keys))
        exists = any(self.disk.exists(path) for path in named if path)
        return replace(
            view,
            repeated=self.duplicates.repeated(call),
            exists=exists,
            breaks=breaks,
            counts=replace(view.counts, broken_alike=again),
            named_first=not exists and self._named_first(view),
        )

    def after(self, view: View, outcome: Outcome) -> None:
        """Count what came of a call."""
        call = outcome.call
        executed = outcome.kind is OutcomeKind.EXECUTED
        counts = self._with_error(outcome)
        if outcome.kind is OutcomeKind.BLOCKED:
            self._blocked.add(key_of(call))
            for fault in view.breaks if outcome.rule == "broken_link" else ():
                self._faults.add(_fault_key(call, fault))
            for path in rewritten(call.command)[:1] if outcome.rule == "shell_rewrite" else ():
                self._faults.add(f"shell\n{path}")
        elif looks(call):
            repaired = self.repair is not None and self.repair.changed
            seen_all = repaired or (view.built and bool(view.task.touched))
            counts = replace(
                counts,
                looks=counts.looks + 1,
                audits=counts.audits + (seen_all and self._known(view, outcome)),
                reference_reads=counts.reference_reads + refers(view),
            )
        elif executed and call.shape.nature is Nature.SHELL:
            counts = replace(counts, looks=counts.looks + 1)  # a change begins the count anew
        if call.shape.nature is Nature.ASK:
            counts = replace(counts, questions=counts.questions + 1)
        self.counts = counts
        for path in outcome.result.reads if outcome.result is not None else ():
            self._shown.add(path)
        self._count_edits(outcome)
        if outcome.changed:
            self._changed(outcome)
        if self.repair is not None:
            self.repair = repair.after(self.repair, outcome)
        if executed and outcome.result is not None:
            self.duplicates.note(call, outcome.result)
            self._fresh = self._fresh and call.shape.nature is not Nature.SHELL

    def count_together(self, errors: int, outcomes: Sequence[Outcome]) -> None:
        """Looks that were proposed together fail together: nobody could learn in between."""
        if len(outcomes) < 2 or not any(outcome.is_error for outcome in outcomes):
            return
        went_well = any(o.ok and o.kind is OutcomeKind.EXECUTED for o in outcomes)
        self.counts = replace(self.counts, errors=0 if went_well else errors + 1)

    def said(self, steered: Steered | None) -> None:
        """The message of the turn: it is not said again before something changes, or for long."""
        if steered is not None:
            self.lasting = steered.next_action if steered.lasting else None
            self._spoken.note(steered.rule)

    def widen(self, paths: Iterable[str]) -> None:
        """A person named these: they are in scope of the repair that is open, and of later ones."""
        named = (path.removeprefix("./") for path in paths)
        self._widened = tuple(dict.fromkeys((*self._widened, *named)))
        if self.repair is not None:
            self.repair = repair.widen(self.repair, self._widened)

    def around(self, call: Call, outcome: Outcome | None = None) -> View:
        """The state as it is now, around one call."""
        now = self._look()
        alike, edits = self._blocked.of(key_of(call)), self._failed_edits.of(call.target)
        if outcome is not None and outcome.kind is OutcomeKind.BLOCKED:
            alike = max(0, alike - 1)  # this block is counted by now, and is not one before it
        faults = (self._faults.of(_fault_key(call, f)) for f in self._breaks_of(outcome))
        task = self.plan.task()
        return View(
            task=task,
            call=call,
            outcome=outcome,
            missing=now.missing,
            substantive=now.substantive,
            open_steps=self.open_steps(),
            completed_now=self.completed.get(call.id),
            next_target=now.target,
            repair=self.repair,
            facts=tuple(self._facts)[-self.limits.facts :] if self.limits.facts else (),
            counts=replace(
                self.counts,
                blocked_alike=alike,
                failed_edits=edits,
                broken_alike=max(faults, default=0),
            ),
            limits=self.limits,
            last_written=self.last_written,
            failed_edit=self._failed_edit,
            wrote_whole=self._wrote_whole,
            heard=self._spoken.heard(state_of(task, now.missing, self.repair)),
            lasting=self.lasting,
            tools=self.tools,
            shapes=self.shapes,
        )

    def missing(self) -> tuple[Artifact, ...]:
        """What is planned and not there, looked at again."""
        self._fresh = False
        return self._look().missing

    def ease(self) -> None:
        """It was judged and is not done: looking around is work again, for twice as long."""
        self.counts = replace(self.counts, audits=0)
        self.limits = replace(self.limits, audits=2 * self.limits.audits)

    def forget(self) -> None:
        """What was shown is not before the model any more: looking again is no repetition."""
        self.duplicates.forget()

    def _look(self) -> _OnDisk:
        planned, known = self.plan.task().planned, self._disk_now
        if self._fresh and known is not None and known.planned == planned:
            return known
        missing = artifacts.missing(planned, self.disk.root)
        self._fresh = True
        self._disk_now = _OnDisk(
            planned,
            missing,
            sum(not (a.directory or is_summary(a.path)) for a in planned if a not in missing),
            artifacts.next_target(missing, self.disk.root),
        )
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
        before = self.repair.findings if self.repair is not None else ()
        focus = repair.focus_of(last, task, before)
        if focus is not None:
            focus = repair.widen(focus, (*self._widened, *repair.referred(focus, self.disk)))
        self.repair = focus

    def _changed(self, outcome: Outcome) -> None:
        assert outcome.result is not None
        self.counts = replace(self.counts, looks=0, audits=0, reference_reads=0)
        self._blocked.clear()
        self._said_no.clear()
        self._fresh = False
        call = outcome.call
        by_its_words = WHOLE in call.shape.payload and outcome.changed == (call.target,)
        self._wrote_whole = call.target if by_its_words else ""
        if call.target in outcome.changed:
            self._faults.drop_all(f"{call.target}\n")
        for path, digest in outcome.result.writes.items():
            shown = f"`{escape_line(path)[:100]}`"
            self._note(f"{shown} was written" if digest else f"{shown} was removed")
            self.last_written = path if digest else self.last_written

    def _with_error(self, outcome: Outcome) -> Counts:
        """A command that says no is no error; the very same again, with nothing changed, is one."""
        again = False
        if outcome.observed and not outcome.ok:
            key = key_of(outcome.call)
            again = self._said_no.of(key) > 0 and not outcome.changed
            self._said_no.add(key)
        if outcome.is_error or again:
            return replace(self.counts, errors=self.counts.errors + 1)
        executed = outcome.kind is OutcomeKind.EXECUTED
        return replace(self.counts, errors=0) if executed else self.counts

    def _known(self, view: View, outcome: Outcome) -> bool:
        """Whether a look showed nothing that was not shown or written before."""
        if outcome.kind is OutcomeKind.DUPLICATE:
            return True
        read = outcome.result.reads if outcome.result is not None else {}
        touched = frozenset(view.task.touched)
        return bool(read) and all(self._shown.of(p) > 0 or p in touched for p in read)

    def _note(self, fact: str) -> None:
        if fact in self._facts:
            self._facts.remove(fact)
        self._facts.append(fact)

    def _count_edits(self, outcome: Outcome) -> None:
        call = outcome.call
        if call.shape.nature is not Nature.MUTATE or not call.target:
            return
        if outcome.ok and outcome.changed:
            self._failed_edits.drop(call.target)
            self._failed_edit = ""
        elif outcome.kind is OutcomeKind.DUPLICATE:
            self._failed_edit = ""  # the file holds what was wanted
        elif outcome.kind is OutcomeKind.EXECUTED and not outcome.ok:
            self._failed_edits.add(call.target)
            self._failed_edit = call.target

    def _breaks_of(self, outcome: Outcome | None) -> tuple[Fault, ...]:
        """What a write that was refused for it would have brought in."""
        refused = outcome is not None and outcome.rule == "broken_link"
        return self._breaks(outcome.call) if refused and outcome is not None else ()

    def _breaks(self, call: Call) -> tuple[Fault, ...]:
        if self.check_write is None or call.shape.nature is not Nature.MUTATE:
            return ()
        return tuple(self.check_write(call))

    def _named_first(self, view: View) -> bool:
        """Whether the root file names what the call would make."""
        target = view.call.target
        if view.call.shape.nature is not Nature.MUTATE or not target or declared(view, target):
            return False
        roots = [a.path for a in view.task.planned if is_summary(a.path)]
        name = target.rsplit("/", 1)[-1].encode("utf-8", "replace")
        return any(name in (self.disk.read(root) or b"") for root in roots[:3])


def _fault_key(call: Call, fault: Fault) -> str:
    """The same fault of the same file, however the rest of the write differs."""
    return f"{call.target}\n{fault.target or fault.text}"
