"""What happens to a batch of calls that a model proposes.

BatchRunner.run
  announce               the calls, as things under way
  each group             neighbouring looks beside each other, everything else by itself
    settle early         malformed, not confident, or a pre-flight rule: skipped, blocked, rewritten
    execute              with what is about to change kept for undoing
    settle               the derived plan, recovery, counts; every call has an outcome
    stop                 too many errors in a row, a call blocked again and again
  end                    the one most specific steering message; go on, be judged, or halt
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from signoff.domain.ledger import Draft, Kind
from signoff.domain.session import ToolCall
from signoff.gate.task import SOMETHING, Round, RoundStatus
from signoff.toolbatch import todo
from signoff.toolbatch.calls import (
    ANSWER,
    BOOKKEEPING,
    Call,
    Nature,
    Outcome,
    OutcomeKind,
    Result,
    ToolShape,
)
from signoff.toolbatch.events import (
    RecoverySuggested,
    Responded,
    RoundChanged,
    Steered,
    Stream,
    TimelineNoted,
    TodoUpdated,
    ToolCalled,
    ToolResulted,
)
from signoff.toolbatch.executing import (
    Execute,
    execute_beside,
    failure_in,
    groups_of,
    honest,
    hopeless,
    not_made,
    outcome_of,
    with_unnamed,
)
from signoff.toolbatch.kept import Rollbacks
from signoff.toolbatch.looking import Looker
from signoff.toolbatch.preflight import decide, must_stop, only_judging_left, worded
from signoff.toolbatch.recovery.advice import Failed, advise
from signoff.toolbatch.recovery.categories import Category, Episodes, Failure
from signoff.toolbatch.shellwork import looks
from signoff.toolbatch.steering import idles, most_specific
from signoff.toolbatch.taskplan import TaskPlan
from signoff.toolbatch.view import Block, Skip, View

_ENDLESS = 3  # times the looks that are usual before something is made
Confidence = Callable[[Call], str | None]
Record = Callable[[Call, Result], Result]


class Ending(StrEnum):
    """What comes after a batch."""

    CONTINUE = "continue"
    VERIFY = "verify"  # hand over to judging
    HALT = "halt"


@dataclass(frozen=True)
class BatchResult:
    """What became of a batch; `response` says why it is judged or was halted."""

    outcomes: tuple[Outcome, ...]
    ending: Ending
    steering: Steered | None = None
    response: str = ""


@dataclass
class BatchRunner:
    """Runs batches; what is counted is counted across them."""

    execute: Execute
    looker: Looker
    plan: TaskPlan
    stream: Stream = field(default_factory=Stream)
    keep: Rollbacks | None = None
    confidence: Confidence | None = None
    record: Record | None = None  # records each result in order, and may add to its text
    steering: bool = True  # off: calls are made, recorded and kept; nothing is said or stopped
    announced: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._episodes = Episodes(self.looker.limits.recoveries)
        self._stopped = ""

    def run(self, calls: Sequence[Call], outcomes: list[Outcome] | None = None) -> BatchResult:
        """Make every call that may be made; `outcomes` is right even when this is interrupted."""
        outcomes = [] if outcomes is None else outcomes
        self._stopped, handed, views = "", "", list[View]()
        self._announce(calls)
        try:
            for group in groups_of(calls):
                settled = self._through(group)
                outcomes += settled
                views = self._around(settled)
                self._stopped = self._stopped or _first(map(self._stop, views))
                handed = handed or _first(map(handed_over, views))
                if self._stopped or handed:
                    break
        finally:
            self.announced.clear()
            why = self._stopped or handed
            outcomes += [not_made(call, why) for call in calls[len(outcomes) :]]
        # What the last group saw is how it stands; calls before it are looked at once more.
        seen = views if len(views) == len(outcomes) else self._around(outcomes)
        return self._end(outcomes, seen, handed)

    def answer(self, text: str) -> BatchResult:
        """The model made no call: an empty answer is a failure, any other is to be judged."""
        call = Call(ANSWER, ANSWER, {"text": text}, ToolShape(Nature.OTHER))
        self._stopped = ""
        self.looker.begin(())
        if text.strip():
            self._episodes.answered()
            answered = [Outcome(call, OutcomeKind.EXECUTED, text, ok=True)]
            return self._end(answered, self._around(answered))
        failure = Failure(Category.EMPTY, "")
        view = self.looker.around(call)
        outcome = Outcome(call, OutcomeKind.EXECUTED, "", ok=False)
        outcome = self._recovered(view, outcome, failure)
        self.looker.after(view, outcome)
        views = self._around([outcome])
        self._stopped = self._stopped or _first(map(self._stop, views))
        return self._end([outcome], views)

    def judge(self) -> Round | None:
        """Have everything judged that is due now; None where nothing can be."""
        known, held = self.plan.refused, self.plan.judge().round
        self.looker.begin(())
        for why in (said for said in self.plan.refused if said not in known):
            self.stream.emit(TimelineNoted("no_check", why))
        if held is not None:
            self.stream.emit(RoundChanged(held))
        return held

    def _announce(self, calls: Sequence[Call]) -> None:
        self.looker.begin(calls)
        self._episodes.answered()
        labels = tuple(call.label for call in calls)
        self.stream.emit(TodoUpdated(self.plan.task().items, labels))

    def _through(self, group: Sequence[Call]) -> list[Outcome]:
        """One group: settled early or executed, and the outcomes in the order of the calls."""
        for call in group:
            if call.id not in self.announced:  # a streamed call was announced as it came
                self.stream.emit(ToolCalled(call))
        look = self.looker.before if self.steering else self.looker.around
        views, errors = [look(call) for call in group], self.looker.counts.errors
        early = [self._early(view) for view in views]
        made = [view.call for view, outcome in zip(views, early, strict=True) if outcome is None]
        results = self._executed(made)
        outcomes = []
        for view, outcome in zip(views, early, strict=True):
            settled = outcome if outcome is not None else outcome_of(view.call, next(results))
            outcomes.append(self._settle(view, settled))
        self.looker.count_together(errors, outcomes)
        return outcomes

    def _around(self, outcomes: Sequence[Outcome]) -> list[View]:
        """How it stands after these calls; nobody asks where nothing is said or stopped."""
        return [self.looker.around(o.call, o) for o in outcomes] if self.steering else []

    def _early(self, view: View) -> Outcome | None:
        """What speaks against a call before it is made; None: it is made."""
        call = view.call
        if call.malformed:
            text = f"error: {call.malformed}"
            return Outcome(call, OutcomeKind.BLOCKED, text, ok=False, rule="malformed")
        doubt = self.confidence(call) if self.confidence is not None else None
        if doubt:
            return Outcome(call, OutcomeKind.BLOCKED, f"skipped: {doubt}", ok=False, guidance=True)
        found = decide(view) if self.steering else None
        if found is None:
            return None
        rule, decision = found
        if isinstance(decision, Skip):
            text, action = f"duplicate: {worded(view, decision)}", decision.next_action
            return Outcome(call, OutcomeKind.DUPLICATE, text, True, rule, next_action=action)
        if isinstance(decision, Block):
            said, action = "blocked" if decision.guidance else "error", decision.next_action
            text = f"{said}: {worded(view, decision)}"
            return Outcome(call, OutcomeKind.BLOCKED, text, False, rule, decision.guidance, action)
        rewritten = replace(call, arguments=dict(decision.arguments))
        outcome = outcome_of(rewritten, next(self._executed([rewritten])))
        return replace(outcome, rule=rule, text=f"{decision.text}\n{outcome.text}")

    def _executed(self, calls: Sequence[Call]) -> Iterator[Result]:
        for call in calls:
            self._keep_before(call)
        results: dict[int, Result] = {}
        try:
            execute_beside(self.execute, calls, results)
        finally:
            for place, call in enumerate(calls):
                changed = self._keep_changed(call, results.get(place))
                if place in results:
                    results[place] = with_unnamed(call, results[place], changed)
        return (self._recorded(call, results[place]) for place, call in enumerate(calls))

    def _recorded(self, call: Call, result: Result) -> Result:
        if _may_have_changed(call, result):
            result = replace(result, touched=(*result.touched, SOMETHING))
        if self.record is not None:
            return self.record(call, result)
        if result.writes or result.touched:
            self._append(call, result)
        return result

    def _append(self, call: Call, result: Result) -> None:
        touched = tuple(dict.fromkeys((*result.writes, *result.touched)))
        seen = ToolCall(call.id, call.tool, result.ok, touched=touched)
        self.plan.books.append(Draft(Kind.TOOL_CALLED, seen.to_data()), durable=False)

    def _keep_before(self, call: Call) -> None:
        if self.keep is not None:
            self.keep.begin(call)

    def _keep_changed(self, call: Call, result: Result | None) -> tuple[str, ...]:
        """What it changed, kept for undoing; the paths at which something changed."""
        kept = self.keep.end() if self.keep is not None else None
        paths = () if kept is None else tuple(file.path for file in kept.files)
        if result is None and not call.shape.reads_only:
            # Interrupted: it may have changed anything, so nothing is proved any more.
            self._append(call, Result("", ok=False, touched=(SOMETHING,)))
        return paths

    def _settle(self, view: View, outcome: Outcome) -> Outcome:
        outcome = self._booked(outcome)
        self._episodes.settle(outcome)
        outcome = self._recovered(view, outcome, failure_in(outcome))
        self.looker.after(view, outcome)
        self.stream.emit(ToolResulted(outcome))
        return outcome

    def _booked(self, outcome: Outcome) -> Outcome:
        """The plan knows what the call did; the list shows what it knows."""
        if outcome.kind is not OutcomeKind.EXECUTED:
            return outcome
        call, result, before = outcome.call, outcome.result, self.plan.task()
        if result is not None and (result.writes or result.touched):
            self.plan.work_began()
            done = todo.complete(self.plan, outcome)
            self.looker.completed |= {} if done is None else {call.id: done}
        if call.shape.nature is Nature.LIST and outcome.ok:
            outcome = self._listed(outcome)
        after = self.plan.task()
        if after.items != before.items or after.planned != before.planned:
            self.stream.emit(TodoUpdated(after.items))
        return outcome

    def _listed(self, outcome: Outcome) -> Outcome:
        """The list as it is true; where the model has a plan of its own, the list is a note."""
        call, open_before = outcome.call, self.plan.task().pending
        sent = next((call.arguments.get(name) for name in call.shape.payload), None)
        taken = todo.take_list(self.plan, sent, repairing=self.looker.repair is not None)
        task = self.plan.task()
        ticked = [i for i in task.items if i.done and any(i.id == old.id for old in open_before)]
        self.looker.completed |= {call.id: ticked[0]} if ticked else {}
        if not self.steering or self.plan.is_own or not self.plan.derives:
            return outcome
        return replace(outcome, text=todo.show(task, self.looker.missing(), taken))

    def _recovered(self, view: View, outcome: Outcome, failure: Failure | None) -> Outcome:
        """A failure with a name gets a follow-up, and counts in its episode."""
        if failure is None:
            return outcome
        episode = self._episodes.count(failure, outcome.call)
        advice = advise(Failed(view, outcome.result, episode, self.looker.disk))
        if self.steering:
            self._stopped = self._stopped or hopeless(episode)
        outcome = replace(outcome, category=str(failure.category))
        if not self.steering or (outcome.kind is OutcomeKind.BLOCKED and outcome.next_action):
            return outcome
        self.stream.emit(
            RecoverySuggested(
                str(failure.category),
                failure.subject,
                episode.attempts,
                episode.budget,
                advice.text,
                advice.next_action,
            )
        )
        text = f"{outcome.text}\n{advice.text}".strip()
        return replace(outcome, text=text, next_action=advice.next_action)

    def _stop(self, view: View) -> str:
        limits = self.looker.limits
        if self.looker.counts.errors >= limits.errors:
            return f"{limits.errors} calls in a row failed; the last was `{view.call.label}`"
        return f"`{view.call.label}` was blocked again and again" if must_stop(view) else ""

    def _end(
        self, outcomes: Sequence[Outcome], views: Sequence[View], handed: str = ""
    ) -> BatchResult:
        """One message at most, and what comes next."""
        made = tuple(outcomes)
        if self._stopped:
            text = honest(self._stopped, self.plan.task(), self.looker.missing())
            self.stream.emit(TimelineNoted("halted", self._stopped))
            self.stream.emit(Responded(text, failed=True))
            return BatchResult(made, Ending.HALT, None, text)
        if not self.steering:
            return BatchResult(made, Ending.CONTINUE)
        handed = handed or _first(map(handed_over, views))
        if handed:
            self.stream.emit(TimelineNoted("handed over", handed))
            return BatchResult(made, Ending.VERIFY, None, handed)
        said = most_specific(views)
        self.looker.said(said)
        if said is not None:
            self.stream.emit(said)
        return BatchResult(made, Ending.CONTINUE, said)


def _may_have_changed(call: Call, result: Result) -> bool:
    """Whether a command may have changed files that nobody saw: then nothing is proved any more."""
    unseen = call.shape.nature is Nature.SHELL and not (result.content or result.writes)
    return unseen and not result.touched and not looks(call)


def _first(texts: Iterable[str]) -> str:
    return next(filter(None, texts), "")


def handed_over(view: View) -> str:
    """Why it is judged now, in words; empty: the model goes on."""
    outcome = view.outcome
    if outcome is None or outcome.is_error or view.settled:
        return ""
    if view.call.tool == ANSWER:
        return "the model says that it is finished" if _may_be_judged(view) else ""
    if outcome.changed:
        return ""
    due = view.repair.worked_on if view.repair is not None else only_judging_left(view)
    last = view.task.round
    judged = last is not None and last.status is RoundStatus.KEPT
    if not due or judged or view.open_steps:
        return ""
    return _circling(view)


def _may_be_judged(view: View) -> bool:
    """A final answer is judged unless it is plain that it comes too early."""
    return not view.missing and (view.repair is None or view.repair.worked_on)


def _circling(view: View) -> str:
    outcome, counts, limits = view.outcome, view.counts, view.limits
    assert outcome is not None
    state = "everything is built" if view.repair is None else "the repair was worked on"
    if view.call.shape.nature is Nature.ASK and outcome.kind is OutcomeKind.BLOCKED:
        return f"{state} and the model asks"
    # Something new to look at may be work that nobody planned; but not without end.
    if looks(view.call) and counts.audits > limits.audits:
        return f"{state} and the model keeps looking"
    if (looks(view.call) or idles(view)) and counts.looks > _ENDLESS * limits.looks:
        return f"{state} and nothing is changed any more"
    if view.call.shape.nature in BOOKKEEPING and counts.bookkeeping_turns >= limits.bookkeeping:
        return f"{state} and only books are kept"
    return ""
