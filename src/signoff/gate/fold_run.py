"""Fold a driver's entries into the state: lists, attempts, verdicts, acceptances."""

from __future__ import annotations

from msgspec.structs import replace

from signoff.domain import facts
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Cost
from signoff.domain.second_look import JudgeCalibrated, OpinionGiven, OpinionResult
from signoff.domain.snapshot import Product
from signoff.domain.verdict import Ending, Phase, Reason, TestCounts
from signoff.gate.record import MOST_TURNED_BACK, CandidateAttempt, Judged, Record, Worked
from signoff.gate.state import State

_NEVER_RAN = frozenset({Ending.NOT_STARTED, Ending.NOT_FOUND, Ending.NOT_EXECUTABLE})


def apply_other_run(state: State, entry: Entry) -> None:
    """Take over from an earlier run the steps it finished and its first test counts.

    A run that failed may have removed tests, so its beginning counts until somebody approves again.
    """
    data = entry.data
    if entry.kind is Kind.OPINION_GIVEN:
        _keep_opinion(state, entry, facts.read_fact(OpinionGiven, data))
    elif entry.kind is Kind.JUDGE_CALIBRATED:
        judge_calibrated(state, entry, facts.read_fact(JudgeCalibrated, data))
    elif entry.kind is Kind.STEP_DONE and data.get("step_digest"):
        state.history.add(data["step_digest"])
    elif entry.kind is Kind.PLAN_APPROVED:
        state.baselines.clear()
        state.read_sets.clear()
        state.outgrew_room.clear()
        state.wrote.clear()
        state.tried.clear()
    elif entry.kind is Kind.VERDICT and data.get("phase") in (Phase.BASELINE, Phase.BEFORE):
        counts = TestCounts.from_data(data.get("counts"))
        of_step = data.get("subject") == entry.step and not data.get("provisional")
        known = state.baselines.get(entry.step or "")
        if counts is not None and of_step and not (known and known.counted):
            state.baselines[entry.step or ""] = counts
        if of_step:
            wrote = tuple(data.get("wrote", ()))
            state.tried.add(entry.step or "")
            _seen_first(
                state, entry.step or "", data["room"] if data.get("outgrew_room") else "", wrote
            )
        if of_step and data.get("read"):
            kept = state.read_sets.get(entry.step or "", ())
            state.read_sets[entry.step or ""] = (*kept, data["read"])


def _seen_first(state: State, subject: str, outgrew: str, wrote: tuple[str, ...]) -> None:
    """Remember how a check behaved before anybody worked; `outgrew` says why in no clean room."""
    if outgrew:
        state.outgrew_room[subject] = outgrew
    if wrote:
        state.wrote[subject] = tuple(dict.fromkeys((*state.wrote.get(subject, ()), *wrote)))


def run_started(state: State, entry: Entry, fact: facts.RunStarted) -> None:
    """The run says whose tests are counted before anybody works, unless they were before."""
    run_resumed(state, entry, fact)
    state.asks_held_before = fact.asks_held_before
    state.approved_content = fact.approved_content
    state.counted = frozenset(fact.counted)
    lists = {step.id for step in state.schedule.steps if step.for_each is not None}
    for subject, counts in state.baselines.items():
        state.record(subject).baseline = counts
    for subject, read in state.read_sets.items():
        state.record(subject).read_sets = read
    tried = frozenset(fact.tried) - state.tried
    state.uncounted = sorted((state.counted | tried) - lists - state.baselines.keys())


def run_resumed(state: State, _entry: Entry, fact: facts.RunStarted) -> None:
    """A driver took it over, perhaps to sign what a session did."""
    state.earlier_work = fact.session or state.earlier_work


def run_finished(state: State, _entry: Entry, fact: facts.RunFinished) -> None:
    """The run is over."""
    state.outcome = fact.outcome
    records = state.records.items()
    state.strength_at_end = {i: r.strength for i, r in records if r.strength is not None}


def plan_edited(state: State, _entry: Entry, fact: facts.PlanEdited) -> None:
    """An edit is asked about once."""
    state.noticed.add(fact.digest)


def plan_amended(state: State, _entry: Entry, fact: facts.PlanAmended) -> None:
    """The plan file says what a person allowed: that is no edit behind the pins.

    Where a person approved again what an older version had, every verdict is judged again.
    """
    state.noticed.add(fact.seen)
    for record in state.records.values() if fact.upgraded is not None else ():
        record.repinned = record.latest is not None


def step_listed(state: State, entry: Entry, fact: facts.ListRead) -> None:
    """The first look counts: a later one cannot make an item vanish."""
    step_id = entry.step or ""
    record = state.record(step_id)
    if record.listed is None:
        record.listed = fact.items
    state.unlisted = [i for i in state.unlisted if i != step_id]


def step_expanded(state: State, entry: Entry, fact: facts.ListRead) -> None:
    """Counts only for a list that still stands, with every item of the first look."""
    step_id, items = entry.step or "", tuple(dict.fromkeys(fact.items))
    if not state.schedule.has(step_id) or state.schedule.step(step_id).for_each is None:
        return
    if items and set(state.record(step_id).listed or ()) <= set(items):
        state.schedule.expand(step_id, items)
        state.unlisted = [i for i in state.unlisted if i != step_id]
        if step_id in state.counted:
            made = [s.id for s in state.schedule.steps if s.parent == step_id]
            state.uncounted += [i for i in made if state.record(i).baseline is None]


def attempt_started(state: State, entry: Entry, fact: facts.AttemptStarted) -> None:
    """A step was dispatched."""
    record = state.record(entry.step or "")
    record.attempts = entry.attempt or record.attempts + 1
    record.unjudged = record.turned_back_by = record.picked = None
    record.restored = tuple(sorted({*record.restored, *fact.restored}))
    _step_back(state, entry.step)
    if fact.candidate:
        begun = CandidateAttempt(fact.candidate, fact.base, fact.lane)
        record.candidates[record.attempts] = begun
        return
    record.in_flight = record.attempts
    record.lane = fact.lane
    if fact.lane:
        record.base = record.began = fact.base
    elif record.began is None:  # else the attempt before was lost, with what it had changed
        record.began = state.snapshot or ""
    if not fact.lane:
        record.base, state.landed = "", None


def attempt_finished(state: State, entry: Entry, fact: facts.AttemptFinished) -> None:
    """The work is there to be judged, unless the attempt was lost; what it cost counts anyway."""
    record = state.record(entry.step or "")
    state.attempts_ended += 1
    state.any_worked |= not fact.lost
    _count_usage(state, fact)
    state.spent_s += fact.duration_s
    record.lost += fact.lost
    attempt = entry.attempt or 0
    if attempt not in record.candidates:
        _leave_work(state, record, entry, fact)
    elif fact.lost:
        del record.candidates[attempt]
    else:
        record.candidates[attempt] = replace(record.candidates[attempt], ended=fact)


def _leave_work(state: State, record: Record, entry: Entry, fact: facts.AttemptFinished) -> None:
    """Make what an attempt left the work that is to be judged."""
    record.in_flight = None
    record.unjudged = None if fact.lost else entry.attempt
    record.strength = None
    record.answer = fact.answer.kind if fact.answer is not None else None
    record.answer_reason = fact.answer.reason if fact.answer is not None else ""
    record.worked = Worked.of(fact)
    record.hindered = fact.obstacle
    record.left_ignored = fact.left_ignored
    # Files that other tools execute: told once, and again only when they change again.
    state.handoff.update(fact.handoff)
    record.handoff = tuple(sorted({*record.handoff, *fact.handoff}))
    if fact.snapshot is not None:
        record.spans = (*record.spans, (record.began or "", fact.snapshot))
        record.began = None
    if fact.snapshot is not None and not fact.lane:
        state.snapshot = fact.snapshot
        label = f"step {entry.step}, attempt {entry.attempt}"
        state.moments.append((entry.seq, label, fact.snapshot))


def _count_usage(state: State, fact: facts.AttemptFinished) -> None:
    """Count usage: untold is unknown, not zero; for a session only one attempt is counted."""
    if fact.session in state.usage_told or fact.ending in _NEVER_RAN:
        return
    used = fact.usage or facts.UsageTold()
    state.spent += Cost(int(used.tokens or 0), used.usd or 0.0)
    state.untold_tokens += used.tokens is None
    state.untold_usd += used.usd is None
    if fact.session and fact.usage is not None:
        state.usage_told.add(fact.session)


def verdict(state: State, entry: Entry, fact: Judged) -> None:
    """A verdict counts for the subject it is about; a provisional one only where no driver runs."""
    if fact.subject != entry.step:
        return
    if fact.beside:
        _judged_beside(state, entry, fact)
    known = state.driven or entry.step in state.records  # no precondition, nor of an older plan
    if (fact.provisional and state.driven) or not known:
        return
    judged = replace(fact, seq=entry.seq)
    record = state.record(entry.step or "")
    if not judged.beside:  # the sweep judges again what lies there in the end
        state.verdicts[judged.key] = entry
        if judged.phase is not Phase.BEFORE or not record.attempts:  # else the work is newer
            state.snapshot = judged.snapshot
    state.spent_s += 0.0 if judged.reused_from else judged.duration_s
    state.isolations.add(judged.isolation)
    if judged.kept:
        record.kept_keys.add(judged.key)
    if judged.phase in (Phase.BASELINE, Phase.BEFORE):
        record.read_sets += (judged.read,) if judged.read else ()
        _seen_first(state, judged.subject, judged.room if judged.outgrew_room else "", judged.wrote)
    if judged.phase is Phase.BASELINE:
        record.hold_to(judged.tests)
        state.uncounted = [subject for subject in state.uncounted if subject != entry.step]
        if judged.reason is Reason.OBSTACLE:
            state.obstacles[entry.step or ""] = judged
    elif judged.phase is Phase.BEFORE:
        # A runner that the contract did not show, but that printed its ending.
        record.hold_to(judged.tests)
        if record.before is None:
            record.held_before, record.before = _held_before(state, judged, entry.step), judged
    elif judged.phase in (Phase.ATTEMPT, Phase.SWEEP):
        _judged_work(state, record, judged, entry.step)


def _judged_beside(state: State, entry: Entry, fact: Judged) -> None:
    """A no counts, since whoever says yes to the same content contradicts it; so do candidates."""
    if not fact.kept:
        state.verdicts[fact.key] = entry
    record, attempt = state.records.get(entry.step or ""), entry.attempt or 0
    if record is not None and attempt in record.candidates:
        judged = replace(fact, seq=entry.seq)
        record.candidates[attempt] = replace(record.candidates[attempt], verdict=judged)
        state.spent_s += judged.duration_s


def _judged_work(state: State, record: Record, judged: Judged, step_id: str | None) -> None:
    record.unjudged = record.picked = None
    if not judged.kept:
        record.count_failure(judged)
        _step_back(state, step_id)
        if step_id in state.task_checks and judged.provisional:
            state.session.failed_on.add(judged.snapshot)
    record.latest = judged
    record.looking_again = record.repinned = False


def _held_before(state: State, judged: Judged, step_id: str | None) -> bool | None:
    """True when it held before the work; of work before the run, as its session saw it.

    Where nothing differs from what was approved, that session did no work.
    """
    unchanged = judged.snapshot == state.approved_content
    if state.earlier_work is None or not judged.kept or unchanged:
        return judged.kept
    return False if step_id in state.earlier_work.red else None


def _step_back(state: State, step_id: str | None) -> None:
    """A step that was settled may need work again."""
    if step_id is not None and state.schedule.has(step_id):
        state.cursor = min(state.cursor, state.schedule.position(step_id))


def candidate_picked(state: State, entry: Entry, fact: facts.CandidatePicked) -> None:
    """One candidate's work becomes the step's, as if it had been the only attempt."""
    record = state.record(entry.step or "")
    chosen = record.candidates.get(fact.attempt)
    if chosen is None or chosen.ended is None:
        return
    record.candidates, record.lane = {}, chosen.lane
    record.base = record.began = chosen.base
    _leave_work(state, record, replace(entry, attempt=fact.attempt), chosen.ended)
    record.picked = chosen.verdict


def step_landed(state: State, entry: Entry, fact: facts.StepLanded) -> None:
    """Make the content that was kept in a lane the workspace's content."""
    record = state.record(entry.step or "")
    record.base, record.turned_back = "", 0
    state.snapshot, state.landed = fact.snapshot, fact
    label = f"step {entry.step}, attempt {record.attempts}"
    state.moments.append((entry.seq, label, fact.snapshot))


def step_turned_back(state: State, entry: Entry, fact: facts.StepTurnedBack) -> None:
    """Done again on what others made of the content; that is no attempt that failed."""
    record = state.record(entry.step or "")
    record.unjudged, record.base, record.spans = None, "", ()
    more = MOST_TURNED_BACK if fact.in_workspace else 1
    record.turned_back, record.turned_back_by = record.turned_back + more, fact


def step_done(state: State, entry: Entry, fact: facts.StepAccepted) -> None:
    """Counts only when a kept verdict of this run stands behind it."""
    record = state.record(entry.step or "")
    if fact.key not in record.kept_keys:
        return
    if fact.carried:
        before = record.before
        step = entry.step or ""
        known = state.schedule.has(step) and state.schedule.step(step).digest in state.history
        held = before is not None and before.kept and before.key == fact.key
        if not (known and held and record.latest is None):
            return
        record.latest, record.held_before, record.carried = before, None, True
    elif record.latest is None or record.latest.key != fact.key or not record.latest.kept:
        return
    record.accepted, record.change, record.spans = True, record.spans, ()
    _remember_produced(state, entry, fact)


def _remember_produced(state: State, entry: Entry, fact: facts.StepAccepted) -> None:
    """Pin the files that an accepted step produced; the newest owner wins."""
    step = entry.step or ""
    for owned in state.produced.values():
        for path in fact.produced:
            owned.pop(path, None)
    if fact.produced:
        state.produced[step] = dict(fact.produced)
    remember_products(state.products, step, fact)


def remember_products(products: dict[str, Product], step: str, fact: facts.StepAccepted) -> None:
    """Take in what an acceptance says: files declared, files named, files its check relied on.

    The newest step that names a file answers for it, since steps build on each other. Once an
    accepted check relied on it, only its own step does, or one that the plan allows to change it:
    naming a check must not be a way to replace it.
    """
    for path, seen in fact.named.items():
        known = products.get(path)
        if known is None or known.step == step or not known.relied_on:
            relied_on = known is not None and known.relied_on
            products[path] = Product(step, fact.snapshot, seen, relied_on)
    for path, seen in fact.produced.items():
        products[path] = Product(step, fact.snapshot, seen, relied_on=True)
    for path in fact.relies_on:
        if path in products:
            products[path] = replace(products[path], relied_on=True)


def step_failed(state: State, entry: Entry, _fact: facts.StepFailed) -> None:
    """The policy says abort."""
    state.record(entry.step or "").failed = True
    state.any_failed = True


def step_reopened(state: State, entry: Entry, fact: facts.StepReopened) -> None:
    """A later change broke a step that was done."""
    record = state.record(entry.step or "")
    record.reopened = True
    record.suspects = fact.suspects


def step_restored(state: State, entry: Entry, fact: facts.StepAccepted) -> None:
    """A reopened step is kept again."""
    record = state.record(entry.step or "")
    record.change, record.reopened = record.spans or record.change, False
    record.spans = ()
    _remember_produced(state, entry, fact)


def step_cleared(state: State, entry: Entry, fact: facts.StepCleared) -> None:
    """Note that files which a waiting step had tampered with were put back for the others."""
    record = state.record(entry.step or "")
    record.cleared = entry.seq
    record.restored = tuple(sorted({*record.restored, *fact.paths}))


def opinion_given(state: State, entry: Entry, fact: OpinionGiven) -> None:
    """A model's opinion costs what it costs; what it does to the work, the verdict says."""
    _keep_opinion(state, entry, fact)
    if entry.step is not None:
        state.record(entry.step).opinion = fact
    state.spent += Cost(fact.tokens or 0, fact.usd or 0.0)
    state.untold_tokens += fact.tokens is None
    state.untold_usd += fact.usd is None
    state.spent_s += fact.duration_s


def _keep_opinion(state: State, entry: Entry, fact: OpinionGiven) -> None:
    """Remember an opinion; a void one is asked for again."""
    if fact.result is not OpinionResult.VOID:
        state.opinions[fact.input] = entry.seq, fact


def judge_calibrated(state: State, entry: Entry, fact: JudgeCalibrated) -> None:
    """The newest measurement of a model counts."""
    state.measured[fact.model] = fact.measured(entry.at)
