"""Where a run stands: the ledger's entries folded, one after the other, into facts per step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from signoff.domain.counts import TestCounts
from signoff.domain.escalation import Outcome
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Cost, Plan
from signoff.domain.product import Product
from signoff.domain.sessionwork import SessionWork
from signoff.domain.verdict import Isolation, Phase, Reason, Result
from signoff.gate.products import remember_products
from signoff.gate.questions import escalation_answered, escalation_opened, step_waived
from signoff.gate.record import Judged, Record, Worked
from signoff.gate.schedule import Schedule


class RunState:
    """The fold. Only `apply` changes it; everything else reads."""

    def __init__(self, plan: Plan, run: str):
        self.run = run
        self.schedule = Schedule(plan)
        self.records: dict[str, Record] = {}
        self.escalations: dict[str, Entry] = {}
        self.escalations_opened = 0
        self.history: set[str] = set()
        self.spent = Cost()
        self.spent_s = 0.0
        self.attempts_ended = 0
        self.budget_grants = 1
        self.any_failed = False
        self.aborted = False
        self.revised = False
        self.outcome: Outcome | None = None
        self.noticed: set[str] = set()
        self.verdicts: dict[str, Entry] = {}
        self.snapshot: str | None = None
        self.produced: dict[str, dict[str, str]] = {}
        self.products: dict[str, Product] = {}  # those, and what contracts of accepted steps name
        self.moments: list[tuple[int, str, str]] = []
        self.unlisted = [step.id for step in plan.steps if step.for_each is not None]
        self.counted: frozenset[str] = frozenset()
        self.uncounted: list[str] = []
        self.baselines: dict[str, TestCounts] = {}  # of earlier runs of the same approval
        self.handoff: dict[str, str] = {}
        self.isolations: set[Isolation] = set()
        self.session: SessionWork | None = None  # did the work before this run began
        self.usage_told: set[str] = set()  # sessions whose usage is counted already
        self.seq = 0
        self.cursor = 0

    def record(self, subject: str) -> Record:
        """The facts about one subject, empty if nothing happened yet."""
        found = self.records.get(subject)
        if found is None:
            found = self.records[subject] = Record()
        return found

    def find_verdict(self, key: str) -> Entry | None:
        """The newest verdict of this run with this evidence key."""
        return self.verdicts.get(key)

    def verdicts_on(self, subject: str, snapshot: str) -> list[Entry]:
        """The verdicts of this run about one subject on one content, whatever lay beside it."""
        about = (e for e in self.verdicts.values() if e.data["subject"] == subject)
        return [entry for entry in about if entry.data["snapshot"] == snapshot]

    def apply_all(self, entries: Iterable[Entry]) -> RunState:
        """Fold several entries; returns itself."""
        for entry in entries:
            self.apply(entry)
        return self

    def apply(self, entry: Entry) -> None:
        """Fold one entry, once. Entries of other runs only add to the history."""
        if entry.seq <= self.seq:
            return
        self.seq = entry.seq
        if entry.run != self.run:
            _apply_other_run(self, entry)
            return
        handler = _HANDLERS.get(entry.kind)
        if handler is not None:
            handler(self, entry)

    def settle_cursor(self) -> int:
        """The position of the first step that still needs something."""
        steps = self.schedule.steps
        while self.cursor < len(steps) and self.record(steps[self.cursor].id).settled:
            self.cursor += 1
        return self.cursor


def _apply_other_run(state: RunState, entry: Entry) -> None:
    """What an earlier run leaves: steps it finished, and how many tests there were to begin with.

    A run that failed may have removed tests, so its beginning counts until somebody approves again.
    """
    data = entry.data
    if entry.kind is Kind.STEP_DONE and data.get("step_digest"):
        state.history.add(data["step_digest"])
    elif entry.kind is Kind.PLAN_APPROVED:
        state.baselines.clear()
    elif entry.kind is Kind.VERDICT and data.get("phase") in (Phase.BASELINE, Phase.BEFORE):
        counts = TestCounts.from_data(data.get("counts"))
        of_step = data.get("subject") == entry.step and not data.get("provisional")
        known = state.baselines.get(entry.step or "")
        if counts is not None and of_step and not (known and known.counted):
            state.baselines[entry.step or ""] = counts


def _started(state: RunState, entry: Entry) -> None:
    """The run says whose tests are counted before anybody works, unless they were before."""
    _take_session(state, entry)
    state.counted = frozenset(str(subject) for subject in entry.data.get("counted", ()))
    lists = {step.id for step in state.schedule.steps if step.for_each is not None}
    for subject, counts in state.baselines.items():
        state.record(subject).baseline = counts
    state.uncounted = sorted(state.counted - lists - state.baselines.keys())


def _take_session(state: RunState, entry: Entry) -> None:
    if said := entry.data.get("session"):
        state.session = SessionWork.from_data(said)


def _finished(state: RunState, entry: Entry) -> None:
    state.outcome = Outcome(entry.data["outcome"])


def _edited(state: RunState, entry: Entry) -> None:
    state.noticed.add(entry.data["digest"])


def _amended(state: RunState, entry: Entry) -> None:
    """The plan file says what a person allowed: that is no edit behind the pins."""
    state.noticed.add(str(entry.data.get("seen", "")))


def _listed(state: RunState, entry: Entry) -> None:
    """The first look counts: a later one cannot make an item vanish."""
    step_id = entry.step or ""
    record = state.record(step_id)
    if record.listed is None:
        record.listed = tuple(entry.data["items"])
    state.unlisted = [i for i in state.unlisted if i != step_id]


def _expanded(state: RunState, entry: Entry) -> None:
    """Counts only for a list that still stands, with every item of the first look."""
    step_id, items = entry.step or "", tuple(dict.fromkeys(entry.data["items"]))
    if not state.schedule.has(step_id) or state.schedule.step(step_id).for_each is None:
        return
    if items and set(state.record(step_id).listed or ()) <= set(items):
        state.schedule.expand(step_id, items)
        if step_id in state.counted:
            made = [s.id for s in state.schedule.steps if s.parent == step_id]
            state.uncounted += [i for i in made if state.record(i).baseline is None]


def _attempt_started(state: RunState, entry: Entry) -> None:
    record = state.record(entry.step or "")
    record.attempts = entry.attempt or record.attempts + 1
    record.in_flight = record.attempts
    record.unjudged = None
    record.restored = tuple(sorted({*record.restored, *entry.data.get("restored", ())}))
    _step_back(state, entry.step)


def _attempt_finished(state: RunState, entry: Entry) -> None:
    record = state.record(entry.step or "")
    record.in_flight = None
    record.unjudged = None if entry.data.get("lost") else entry.attempt
    answer = entry.data.get("answer") or {}
    record.answer, record.answer_reason = answer.get("kind"), answer.get("reason", "")
    record.worked = _worked(entry.data)
    _remember_handoff(state, record, entry)
    state.attempts_ended += 1
    usage = entry.data.get("usage") or {}
    if usage and entry.data.get("session"):
        state.usage_told.add(entry.data["session"])
    state.spent += Cost(int(usage.get("tokens", 0)), float(usage.get("usd", 0.0)))
    state.spent_s += float(entry.data.get("duration_s", 0.0))
    if "snapshot" in entry.data:
        state.snapshot = entry.data["snapshot"]
        label = f"step {entry.step}, attempt {entry.attempt}"
        state.moments.append((entry.seq, label, entry.data["snapshot"]))


def _worked(data: Mapping[str, Any]) -> Worked | None:
    """None of a lost attempt, and of work that was done in a session."""
    if data.get("lost") or "exit_code" not in data:
        return None
    return Worked.from_data(data)


def _remember_handoff(state: RunState, record: Record, entry: Entry) -> None:
    """Files that make other programs act: told once, and again only when they change again."""
    found: dict[str, str] = entry.data.get("handoff") or {}
    state.handoff.update(found)
    record.handoff = tuple(sorted({*record.handoff, *found}))


def _verdict(state: RunState, entry: Entry) -> None:
    data = entry.data
    if data.get("provisional") or data.get("subject") != entry.step:
        return
    judged = _judged(entry)
    state.verdicts[judged.key] = entry
    record = state.record(entry.step or "")
    state.snapshot = judged.snapshot
    state.spent_s += 0.0 if data.get("reused_from") else float(data.get("duration_s", 0.0))
    state.isolations.add(Isolation(data["isolation"]))
    if judged.kept:
        record.kept_keys.add(judged.key)
    if judged.phase is Phase.BASELINE:
        record.hold_to(judged.counts)
        state.uncounted = [subject for subject in state.uncounted if subject != entry.step]
    elif judged.phase is Phase.BEFORE:
        # A runner that the contract did not show, but that printed its ending.
        record.hold_to(judged.counts)
        if record.before is None:
            record.held_before, record.before = _held_before(state, judged, entry.step), judged
    elif judged.phase in (Phase.ATTEMPT, Phase.SWEEP):
        record.unjudged = None
        if not judged.kept:
            record.count_failure(judged)
            _step_back(state, entry.step)
        record.latest = judged
        record.looking_again = False


def _held_before(state: RunState, judged: Judged, step_id: str | None) -> bool | None:
    """Of work that was done before the run began: what its session saw, else nobody knows."""
    if state.session is None or not judged.kept:
        return judged.kept
    return False if step_id in state.session.red else None


def _step_back(state: RunState, step_id: str | None) -> None:
    """A step that was settled may need work again."""
    if step_id is not None and state.schedule.has(step_id):
        state.cursor = min(state.cursor, state.schedule.position(step_id))


def _judged(entry: Entry) -> Judged:
    data = entry.data
    return Judged(
        seq=entry.seq,
        phase=Phase(data["phase"]),
        result=Result(data["result"]),
        reason=Reason(data["reason"]),
        key=data["key"],
        snapshot=data["snapshot"],
        message=data.get("message", ""),
        exit_code=data.get("exit_code"),
        output_tail=data.get("output_tail", ""),
        tampered=tuple(data.get("tampered", ())),
        counts=TestCounts.from_data(data.get("counts")),
        heldout_tail=data.get("heldout_tail", ""),
    )


def _step_done(state: RunState, entry: Entry) -> None:
    """Counts only when a kept verdict of this run stands behind it."""
    record = state.record(entry.step or "")
    key = entry.data.get("key")
    if key not in record.kept_keys:
        return
    if entry.data.get("carried"):
        before = record.before
        known = entry.step is not None and _digest_of(state, entry.step) in state.history
        held = before is not None and before.kept and before.key == key
        if not (known and held and record.latest is None):
            return
        record.latest, record.held_before, record.carried = before, None, True
    elif record.latest is None or record.latest.key != key or not record.latest.kept:
        return
    record.accepted = True
    _remember_produced(state, entry)


def _digest_of(state: RunState, step_id: str) -> str | None:
    return state.schedule.step(step_id).digest if state.schedule.has(step_id) else None


def _remember_produced(state: RunState, entry: Entry) -> None:
    """What an accepted step produced is pinned from then on; the newest owner wins."""
    produced: dict[str, str] = entry.data.get("produced", {})
    for owned in state.produced.values():
        for path in produced:
            owned.pop(path, None)
    if produced:
        state.produced[entry.step or ""] = dict(produced)
    remember_products(state.products, entry)


def _step_failed(state: RunState, entry: Entry) -> None:
    state.record(entry.step or "").failed = True
    state.any_failed = True


def _step_reopened(state: RunState, entry: Entry) -> None:
    record = state.record(entry.step or "")
    record.reopened = True
    record.suspects = tuple(entry.data.get("suspects", ()))


def _step_restored(state: RunState, entry: Entry) -> None:
    state.record(entry.step or "").reopened = False
    _remember_produced(state, entry)


def _step_cleared(state: RunState, entry: Entry) -> None:
    record = state.record(entry.step or "")
    record.cleared = entry.seq
    record.restored = tuple(sorted({*record.restored, *entry.data["paths"]}))


_HANDLERS: dict[Kind, Any] = {
    Kind.RUN_STARTED: _started,
    Kind.RUN_RESUMED: _take_session,
    Kind.RUN_FINISHED: _finished,
    Kind.PLAN_EDITED: _edited,
    Kind.PLAN_AMENDED: _amended,
    Kind.STEP_LISTED: _listed,
    Kind.STEP_EXPANDED: _expanded,
    Kind.ATTEMPT_STARTED: _attempt_started,
    Kind.ATTEMPT_FINISHED: _attempt_finished,
    Kind.VERDICT: _verdict,
    Kind.STEP_DONE: _step_done,
    Kind.STEP_FAILED: _step_failed,
    Kind.STEP_REOPENED: _step_reopened,
    Kind.STEP_RESTORED: _step_restored,
    Kind.STEP_CLEARED: _step_cleared,
    Kind.STEP_WAIVED: step_waived,
    Kind.ESCALATION_OPENED: escalation_opened,
    Kind.ESCALATION_ANSWERED: escalation_answered,
}
