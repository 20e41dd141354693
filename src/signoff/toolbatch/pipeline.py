"""Carry out a batch of calls that a model proposes.

BatchRunner.run
  each group             neighbouring looks beside each other, everything else by itself
    refuse               malformed, not confident, or a pre-flight rule: skipped, blocked
    execute              with what is about to change kept for undoing
    settle               the derived plan, recovery, counts; every call has a result
    stop                 too many errors in a row, a call blocked again and again
  end                    the one most specific steering message; go on, or halt
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.ledger import Draft, Kind
from signoff.domain.session import ToolCall
from signoff.domain.text import shown_list
from signoff.gate.task import SOMETHING, Round
from signoff.toolbatch import todo
from signoff.toolbatch.calls import (
    ANSWER,
    Call,
    CallResult,
    Nature,
    Responded,
    ResultKind,
    Steered,
    Stream,
    TimelineNoted,
    ToolCalled,
    ToolResulted,
    ToolShape,
)
from signoff.toolbatch.duplicates import key_of
from signoff.toolbatch.kept import Rollbacks
from signoff.toolbatch.looking import BatchState
from signoff.toolbatch.preflight import decide, must_stop, worded
from signoff.toolbatch.recovery import Category, Failed, ToolFailure, advise, failure_in
from signoff.toolbatch.shellwork import looks
from signoff.toolbatch.steering import most_specific
from signoff.toolbatch.taskplan import TaskPlan
from signoff.toolbatch.view import CallView

MOST_BESIDE = 8
NOT_FINISHED = (
    "error: the harness was stopped before this call gave a result. It may have run in part: look "
    "at what is there before you repeat it."
)
# Carries out one call. What goes wrong with it is a Result; looks may come from threads.
Execute = Callable[[Call], CallResult]
Confidence = Callable[[Call], str | None]
Record = Callable[[Call, CallResult], CallResult]


class BatchEnding(StrEnum):
    CONTINUE = "continue"
    VERIFY = "verify"  # an answer that is judged now
    HALT = "halt"


class BatchResult(Struct, frozen=True):
    """Result of a batch; `response` says why it was halted."""

    results: tuple[CallResult, ...]
    ending: BatchEnding
    steering: Steered | None = None
    response: str = ""


@dataclass
class BatchRunner:
    """Runs batches; what is counted is counted across them."""

    execute: Execute
    state: BatchState
    plan: TaskPlan
    stream: Stream = field(default_factory=Stream)
    keep: Rollbacks | None = None
    confidence: Confidence | None = None
    record: Record | None = None  # records each result in order, and may add to its text
    steering: bool = True  # off: calls are made, recorded and kept; nothing is said or stopped
    _stopped: str = field(default="", init=False)  # why this turn ends

    def run(self, calls: Sequence[Call], results: list[CallResult] | None = None) -> BatchResult:
        """Make every call that may be made; `results` is right even when this is interrupted."""
        results = [] if results is None else results
        self._stopped, views = "", list[CallView]()
        self.state.begin(calls)
        try:
            for group in groups_of(calls):
                settled = self._through(group)
                results += settled
                views = self._around(settled)
                self._stopped = self._stopped or _first(map(self._stop, views))
                if self._stopped:
                    break
        finally:
            results += [_not_made(call, self._stopped) for call in calls[len(results) :]]
        # What the last group saw is how it stands; calls before it are looked at once more.
        seen = views if len(views) == len(results) else self._around(results)
        return self._end(results, seen)

    def answer(self, text: str) -> BatchResult:
        """The model made no call: an empty answer is a failure, any other is to be judged."""
        call = Call(ANSWER, ANSWER, {"text": text}, ToolShape(Nature.OTHER))
        self._stopped = ""
        self.state.begin(())
        result = CallResult(text.strip() and text, ok=bool(text.strip()), call=call)
        if result.ok:
            views = self._around([result])
            for view in views:
                # Not judged where it is plain that it comes too early.
                worked_on = view.repair is None or view.repair.changed
                if not view.settled and not view.missing and worked_on:
                    return BatchResult((result,), BatchEnding.VERIFY)
            return self._end([result], views)
        view = self.state.around(call)
        result = self._recovered(view, result, ToolFailure(Category.EMPTY))
        self.state.after(view, result)
        views = self._around([result])
        self._stopped = self._stopped or _first(map(self._stop, views))
        return self._end([result], views)

    def judge(self) -> Round | None:
        """Judge everything that is due now; None where nothing can be."""
        known, held = self.plan.refused, self.plan.judge().round
        self.state.begin(())
        for why in (said for said in self.plan.refused if said not in known):
            self.stream.emit(TimelineNoted("no_check", why))
        return held

    def _through(self, group: Sequence[Call]) -> list[CallResult]:
        """One group: refused or executed, and the results in the order of the calls."""
        for call in group:
            self.stream.emit(ToolCalled(call))
        look = self.state.before if self.steering else self.state.around
        views, errors = [look(call) for call in group], self.state.counts.errors
        refused = [self._refused(view) for view in views]
        made = [view.call for view, result in zip(views, refused, strict=True) if result is None]
        executed = self._executed(made)
        results = []
        for view, blocked in zip(views, refused, strict=True):
            result = self._booked(blocked if blocked is not None else next(executed))
            result = self._recovered(view, result, failure_in(result))
            self.state.after(view, result)
            self.stream.emit(ToolResulted(result))
            results.append(result)
        self.state.count_together(errors, results)
        return results

    def _around(self, results: Sequence[CallResult]) -> list[CallView]:
        """Views of the state after these calls; none where nothing is said or stopped."""
        return [self.state.around(r.call, r) for r in results] if self.steering else []

    def _refused(self, view: CallView) -> CallResult | None:
        """Refuse a call before it is made; None: it is made."""
        call = view.call
        blocked = CallResult("", ok=False, kind=ResultKind.BLOCKED, call=call)
        if call.malformed:
            return replace(blocked, text=f"error: {call.malformed}", rule="malformed")
        doubt = self.confidence(call) if self.confidence is not None else None
        if doubt:
            return replace(blocked, text=f"skipped: {doubt}", guidance=True)
        found = decide(view) if self.steering else None
        if found is None:
            return None
        rule, said = found
        skipped = said.kind is ResultKind.DUPLICATE
        begin = "duplicate" if skipped else "blocked" if said.guidance else "error"
        return replace(
            blocked,
            text=f"{begin}: {worded(view, said)}",
            ok=skipped,
            kind=said.kind,
            rule=rule,
            guidance=said.guidance,
            next_action=said.next_action,
        )

    def _executed(self, calls: Sequence[Call]) -> Iterator[CallResult]:
        results: dict[int, CallResult] = {}
        if self.keep is not None:
            for call in calls:
                self.keep.begin(call)
        try:
            execute_beside(self.execute, calls, results)
        finally:
            for place, call in enumerate(calls):
                results |= self._kept(place, call, results.get(place))
        return (self._recorded(call, results[place]) for place, call in enumerate(calls))

    def _kept(self, place: int, call: Call, result: CallResult | None) -> dict[int, CallResult]:
        """Keep what it changed for undoing; a tool that we do not know may not tell of it."""
        if result is None and not call.shape.reads_only:
            # Interrupted: it may have changed anything, so nothing is proved any more.
            self._append(call, CallResult("", ok=False, touched=(SOMETHING,)))
        kept = self.keep.end() if self.keep is not None else None
        if result is None or kept is None or call.shape.nature is not Nature.OTHER:
            return {}
        named = {*result.writes, *result.touched}
        unnamed = [file.path for file in kept.files if file.path not in named]
        return {place: replace(result, touched=(*result.touched, *unnamed))}

    def _recorded(self, call: Call, result: CallResult) -> CallResult:
        unseen = call.shape.nature is Nature.SHELL and not looks(call)
        if unseen and not (result.content or result.writes or result.touched):
            # It may have changed files that nobody saw: then nothing is proved any more.
            result = replace(result, touched=(SOMETHING,))
        if self.record is not None:
            result = self.record(call, result)
        elif result.writes or result.touched:
            self._append(call, result)
        return replace(result, call=call)

    def _append(self, call: Call, result: CallResult) -> None:
        touched = tuple(dict.fromkeys((*result.writes, *result.touched)))
        seen = ToolCall(call.id, call.tool, result.ok, touched=touched)
        self.plan.books.append(Draft(Kind.TOOL_CALLED, seen.to_data()), durable=False)

    def _booked(self, result: CallResult) -> CallResult:
        """The plan knows what the call did; the list shows what it knows."""
        call = result.call
        if result.kind is not ResultKind.EXECUTED:
            return result
        if result.writes or result.touched:
            self.plan.work_began()
            done = todo.complete(self.plan, result)
            self.state.completed |= {} if done is None else {call.id: done}
        if call.shape.nature is not Nature.LIST or not result.ok:
            return result
        open_before = {item.id for item in self.plan.task().pending}
        sent = next((call.arguments.get(name) for name in call.shape.payload), None)
        taken = todo.take_list(self.plan, sent, repairing=self.state.repair is not None)
        task = self.plan.task()
        ticked = [item for item in task.items if item.done and item.id in open_before]
        self.state.completed |= {call.id: ticked[0]} if ticked else {}
        # Where the model has a plan of its own, the list is a note.
        if not self.steering or self.plan.is_own or not self.plan.derives:
            return result
        return replace(result, text=todo.show(task, self.state.missing(), taken))

    def _recovered(
        self, view: CallView, result: CallResult, failure: ToolFailure | None
    ) -> CallResult:
        """A failure with a name gets a follow-up."""
        if failure is None:
            return result
        result = replace(result, category=str(failure.category))
        if not self.steering:
            return result
        if result.kind is ResultKind.BLOCKED and result.next_action:
            return result
        text, action = advise(Failed(view, result, failure, self.state.disk))
        return replace(result, text=f"{result.text}\n{text}".strip(), next_action=action)

    def _stop(self, view: CallView) -> str:
        limits = self.state.limits
        if self.state.counts.errors >= limits.errors:
            return f"{limits.errors} calls in a row failed; the last was `{view.call.label}`"
        return f"`{view.call.label}` was blocked again and again" if must_stop(view) else ""

    def _end(self, results: Sequence[CallResult], views: Sequence[CallView]) -> BatchResult:
        """One message at most, and what comes next."""
        made = tuple(results)
        if self._stopped:
            text = self._honest(self._stopped)
            self.stream.emit(Responded(text, failed=True))
            return BatchResult(made, BatchEnding.HALT, None, text)
        if not self.steering:
            return BatchResult(made, BatchEnding.CONTINUE)
        said = most_specific(views)
        self.state.said(said)
        if said is not None:
            self.stream.emit(said)
        return BatchResult(made, BatchEnding.CONTINUE, said)

    def _honest(self, why: str) -> str:
        """The text for a person: why it ended, and that it is not done."""
        task, missing = self.plan.task(), self.state.missing()
        parts = [f"missing: {shown_list(map(str, missing), 5)}"] if missing else []
        parts += [f"open: {shown_list((i.text for i in task.pending), 5)}"] if task.pending else []
        parts += [] if task.round is None else [f"{task.round} is {task.round.status}"]
        undone = "; ".join(parts)
        return f"I stopped: {why}. The work is not done" + (f": {undone}." if undone else ".")


def groups_of(calls: Sequence[Call]) -> Iterator[tuple[Call, ...]]:
    """Neighbouring looks together, unless one is there twice; everything else by itself."""
    group: dict[str, Call] = {}
    for call in calls:
        alone = not call.shape.reads_only or bool(call.malformed)
        if group and (alone or key_of(call) in group or len(group) == MOST_BESIDE):
            yield tuple(group.values())
            group = {}
        if alone:
            yield (call,)
        else:
            group[key_of(call)] = call
    if group:
        yield tuple(group.values())


def execute_beside(execute: Execute, calls: Sequence[Call], results: dict[int, CallResult]) -> None:
    """Carry out a group and add each result under its call's place; ids may be there twice.

    Interrupted, what had begun is waited for, so that no thread works on behind the caller's back,
    and what had ended is in `results`.
    """
    if len(calls) <= 1:
        results |= {place: execute(call) for place, call in enumerate(calls)}
        return
    with ThreadPoolExecutor(max_workers=min(len(calls), MOST_BESIDE)) as pool:
        begun = [pool.submit(execute, call) for call in calls]
        try:
            wait(begun, return_when=FIRST_EXCEPTION)
        finally:
            for future in begun:
                future.cancel()
            pool.shutdown(wait=True)
            ended = ((place, f) for place, f in enumerate(begun) if not f.cancelled())
            results |= {place: f.result() for place, f in ended if f.exception() is None}
        for future in begun:
            if not future.cancelled():
                future.result()


def _not_made(call: Call, why: str) -> CallResult:
    """Result of a call that the batch did not get to; without a reason, it was interrupted."""
    if not why:
        return CallResult(NOT_FINISHED, ok=False, call=call)
    blocked = ResultKind.BLOCKED
    return CallResult(
        f"not made: {why}", False, kind=blocked, call=call, rule="ended", guidance=True
    )


def _first(texts: Iterable[str]) -> str:
    return next(filter(None, texts), "")
