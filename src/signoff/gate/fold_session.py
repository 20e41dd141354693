"""Fold an agent's own entries into the state: plans, claims, calls, final answers, sign-offs.

Work after a sign-off is not signed: it needs a new sign-off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from signoff.domain import facts
from signoff.domain.ledger import Entry
from signoff.domain.plan import Author, Budget, Contract, Cost, Plan, Postcondition, Step
from signoff.domain.session import AskedCondition, ClaimStatus, Declared, ToolCall, normal
from signoff.gate.record import Claim, DerivedPlan, Record, Rewrite, Share, Signed
from signoff.gate.state import Schedule, State
from signoff.planfile.parse import parse


class PlanChange(Struct, frozen=True):
    """Difference between two plans of an agent, in ids of the old one."""

    split: tuple[str, ...]
    dropped: tuple[str, ...]
    weakened: tuple[str, ...]
    split_words: tuple[str, ...] = ()  # of `split`, those that only words can be compared of
    aims_elsewhere: bool = False  # the objective is another one

    @property
    def loosens(self) -> bool:
        """True when less is promised than before, or when only a person could tell."""
        return bool(self.dropped or self.weakened or self.split_words or self.aims_elsewhere)


def turn(
    old: Plan, new: Plan, before: Mapping[str, Declared], now: Mapping[str, Declared]
) -> PlanChange:
    """Compare two plans by what their parts say; a number means nothing.

    A step that is done counts like any other: whoever drops it is rid of having to keep it.
    """
    pairs = _paired(old, new)
    taken = set(pairs.values())
    gone = [s.id for s in old.subjects if s.id not in taken]
    became = {was: frozenset((now_id,)) for now_id, was in pairs.items()}
    became |= {i: _parts(new, i, now) for i in gone}
    split = tuple(i for i in gone if _is_split(old, new, i, before, now, became))
    by_id = {s.id: s for s in old.subjects}
    weakened = [
        pairs[s.id]
        for s in new.subjects
        if s.id in pairs
        and (
            _is_weaker(by_id[pairs[s.id]].contract, s.contract)
            or not _conditions(before.get(pairs[s.id]), became) <= _conditions(now.get(s.id))
        )
    ]
    return PlanChange(
        split=split,
        dropped=tuple(i for i in gone if i not in split),
        weakened=tuple(weakened),
        split_words=tuple(i for i in split if by_id[i].contract is None),
        aims_elsewhere=normal(old.title) != normal(new.title),
    )


def carried_from(old: Plan, new: Plan) -> dict[str, str]:
    """New id → old id, for parts that say the same and are decided the same way."""
    by_id = {s.id: s for s in old.subjects}
    return {
        s.id: was
        for s in new.subjects
        if (was := _paired(old, new).get(s.id)) is not None and by_id[was].contract == s.contract
    }


def _paired(old: Plan, new: Plan) -> dict[str, str]:
    """New id → old id by description; of two equal ones the first goes with the first."""
    waiting: dict[tuple[type, str], list[str]] = {}
    for subject in old.subjects:
        waiting.setdefault(_kind_and_name(subject), []).append(subject.id)
    pairs = {}
    for subject in new.subjects:
        found = waiting.get(_kind_and_name(subject))
        if found:
            pairs[subject.id] = found.pop(0)
    return pairs


def _kind_and_name(subject: Step | Postcondition) -> tuple[type, str]:
    return type(subject), normal(subject.wording)


def _is_weaker(old: Contract | None, new: Contract | None) -> bool:
    """Anything but the same command with as much expected of it; nobody can tell otherwise."""
    if old is None:
        return False
    if new is None or old.command != new.command:
        return True
    return not set(old.all_expectations()) <= set(new.all_expectations())


_Condition = Contract | str  # what is waited for: a check, or a step by its id in the new plan


def _conditions(
    declared: Declared | None, became: Mapping[str, frozenset[str]] | None = None
) -> set[_Condition]:
    """Conditions that a step waits for; of a step that was split, all parts are waited for.

    One that is gone altogether is not waited for: that it is dropped is said already.
    """
    found: set[_Condition] = set()
    for condition in declared.preconditions if declared is not None else ():
        if condition.contract is not None:
            found.add(condition.contract)
        elif became is None:
            found.add(condition.step)
        else:
            found |= became.get(condition.step, frozenset())
    return found


def _parts(new: Plan, gone: str, now: Mapping[str, Declared]) -> frozenset[str]:
    return frozenset(s.id for s in new.steps if now.get(s.id, Declared()).splits == gone)


def _is_split(
    old: Plan,
    new: Plan,
    gone: str,
    before: Mapping[str, Declared],
    now: Mapping[str, Declared],
    became: Mapping[str, frozenset[str]],
) -> bool:
    """True when at least two new steps claim to be parts of it, and together keep all it had.

    One of them has all its contract, each waits for what it waited for, and what it touches is
    touched by one of them.
    """
    was = next((s for s in old.steps if s.id == gone), None)
    parts = [s for s in new.steps if s.id in became[gone]]
    if was is None or len(parts) < 2:
        return False
    declared = before.get(gone, Declared())
    wanted = _conditions(declared, became)
    if not all(wanted <= _conditions(now.get(p.id)) for p in parts):
        return False
    touched = {glob for p in parts for glob in now.get(p.id, Declared()).touches}
    if not set(declared.touches) <= touched:
        return False
    return was.contract is None or any(not _is_weaker(was.contract, p.contract) for p in parts)


MOST_TOUCHED = 2_000  # files that are kept in mind; the ledger has them all


def started(state: State, _entry: Entry, fact: facts.SessionStarted) -> None:
    """Taken up again: the count of refusals begins anew, and nothing is over."""
    session = state.session
    session.started = session.started or fact
    session.ended, session.accepted = "", False
    session.signed = None
    session.forget_refusals()


def plan_written(state: State, entry: Entry, fact: facts.PlanWritten) -> None:
    """A plan that waits for a person comes into force when they say so."""
    if state.author is Author.PERSON:
        return
    if fact.question:
        state.session.pending = fact
    else:
        adopt(state, fact, entry.seq)


def adopt(state: State, fact: facts.PlanWritten, since: int) -> None:
    """A written plan comes into force; what it took over keeps its history.

    What was derived from a person's words stays due beside a plan that the agent writes.
    """
    session, old, earlier = state.session, state.plan, _task_records(state)
    plan = parse(fact.text).plan
    session.accepted, session.signed = False, None
    if fact.derived and fact.task is not None:
        state.task = DerivedPlan(plan, fact)
        if old is not None and state.author is Author.AGENT:
            _put_beside(state, earlier, since)
            return
    elif state.author is Author.DERIVED and state.task is not None:
        old = None  # the agent's first plan of its own: it rewrites nothing
    if old is not None and (fact.dropped or not fact.derived):
        rewrite = Rewrite(since, fact.reason, fact.dropped, fact.weakened, fact.question)
        session.rewrites.append(rewrite)
    same = carried_from(old, plan) if old is not None else {}
    kept = {s.id: state.records.get(same.get(s.id, "")) for s in plan.subjects}
    state.records = {i: found or Record(claim=Claim(since=since)) for i, found in kept.items()}
    state.author = Author.DERIVED if fact.derived else Author.AGENT
    state.plan, state.schedule, session.declared = plan, Schedule(plan), fact.declared
    if state.task is not None and state.author is Author.AGENT:
        _put_beside(state, earlier, since)
    elif state.task is not None:
        state.task_files = _files_of(state.task)
        checked = (s.id for s in plan.subjects if s.contract is not None)
        state.task_checks = frozenset(checked) - state.task_files.keys()


_Said = tuple[str, Contract | None]


def _said(subject: Step | Postcondition) -> _Said:
    return normal(subject.wording), subject.contract


def _task_records(state: State) -> dict[_Said, Record]:
    """Records of the parts of the derived plan in force, by the text of the part."""
    derived = state.author is Author.DERIVED and state.plan is not None
    parts = state.plan.subjects if derived and state.plan is not None else state.beside
    return {_said(part): state.records[part.id] for part in parts}


def _files_of(task: DerivedPlan) -> dict[str, str]:
    return {i: said.touches[0] for i, said in task.fact.declared.items() if said.touches}


def _put_beside(state: State, earlier: dict[_Said, Record], since: int) -> None:
    """Files that a person asked for, and checks; the agent's own items are the agent's."""
    task = state.task
    assert task is not None and task.fact.task is not None
    files, asked = _files_of(task), frozenset(task.fact.task.asked)
    due = [
        s
        for s in task.plan.subjects
        if not isinstance(s, Step) or s.id in asked or (s.contract and s.id not in files)
    ]
    made = {s.id: AskedCondition(n, s.wording, s.contract) for n, s in enumerate(due, 1)}
    state.beside = tuple(made.values())
    state.task_files = {c.id: files[i] for i, c in made.items() if i in files}
    checked = (c.id for c in state.beside if c.contract is not None)
    state.task_checks = frozenset(checked) - state.task_files.keys()
    for condition in state.beside:
        found = earlier.get(_said(condition))
        state.records[condition.id] = found or Record(claim=Claim(since=since))


def step_claimed(state: State, entry: Entry, fact: facts.StepClaimed) -> None:
    """A claim proves nothing; accepted evidence stands behind it, or a contract decides."""
    session, record = state.session, state.records.get(entry.step or "")
    if record is None or (fact.status is ClaimStatus.DROPPED and not _may_go(state, entry)):
        return
    claim, status = record.claim, fact.status
    session.accepted, session.signed = False, None
    if fact.ruling is not None:
        claim.ruling = f"{fact.ruling.model}: {fact.ruling.reason}"
        if not fact.ruling.accepted:
            return  # the step stands as it stood
    reopens = claim.status is ClaimStatus.DONE and status is not ClaimStatus.DONE
    if reopens:
        claim.reopened += 1
        claim.basis = None
    if reopens or (status is ClaimStatus.IN_PROGRESS and claim.status is not status):
        claim.begun = entry.seq
    claim.status = status
    claim.evidence = fact.evidence or claim.evidence
    claim.notes = fact.notes or claim.notes
    record.question, record.let_go = fact.question, fact.let_go
    if status is ClaimStatus.DONE and fact.basis is not None:
        claim.basis = fact.basis
        session.silent_urls -= set(fact.basis.urls)  # just asked, and they answered


def _may_go(state: State, entry: Entry) -> bool:
    """Only files and items of a derived plan can be dropped; a check stays, whoever says what."""
    derived = state.author is Author.DERIVED or entry.step in state.task_files
    return derived and entry.step not in state.task_checks


def tool_called(state: State, entry: Entry, call: ToolCall) -> None:
    """The first call with an id is the one that evidence cites."""
    state.session.calls.setdefault(call.id, (entry.seq, call))
    state.session.signed = None
    _touch(state, entry, (*call.writes, *call.touched))


def rolled_back(state: State, entry: Entry, fact: facts.RolledBack) -> None:
    """Files are as they were; what was signed stays signed, of the content it was signed on."""
    _touch(state, entry, fact.replaced)


def _touch(state: State, entry: Entry, paths: Iterable[str]) -> None:
    session, changed = state.session, dict.fromkeys(paths)
    if not changed:
        return
    session.mutated, session.changed_at = True, entry.seq
    for path in changed:
        session.touched.pop(path, None)
    session.touched |= changed
    for path in list(session.touched)[:-MOST_TOUCHED]:
        del session.touched[path]


def note_kept(state: State, entry: Entry, fact: facts.NoteKept) -> None:
    """The newest text under a key counts."""
    state.session.notes[fact.key] = (entry.seq, fact.text)


def step_strayed(state: State, _entry: Entry, fact: facts.StepStrayed) -> None:
    """Files changed that the step in progress does not declare."""
    state.session.strayed.update(dict.fromkeys(fact.paths))
    state.session.mutated = True


def delegated(state: State, entry: Entry, fact: facts.SessionDelegated) -> None:
    """The step is the child's from now on."""
    step = entry.step or ""
    state.session.shares[fact.child] = Share(step, Budget(fact.tokens, fact.usd))
    record = state.records.get(step)
    if record is not None:
        record.claim.children = (*record.claim.children, fact.child)


def used(state: State, _entry: Entry, fact: Cost) -> None:
    """Add the usage of a turn."""
    state.spent += Cost(int(fact.tokens), fact.usd)


def answer_refused(state: State, _entry: Entry, fact: facts.AnswerRefused) -> None:
    """Equal refusals in a row are counted, however the answer was worded."""
    session = state.session
    session.repeated = session.repeated + 1 if fact.missing_digest == session.refusal else 1
    session.refusal = fact.missing_digest
    session.refusals += 1
    session.refused_lately += 1
    session.accepted, session.signed = False, None


def answer_accepted(state: State, _entry: Entry, fact: facts.AnswerAccepted) -> None:
    """Provisionally: the agent may still be alive."""
    state.session.accepted = True
    state.session.signed = None
    state.session.forget_refusals()
    state.session.dropped = fact.dropped


def ended(state: State, _entry: Entry, fact: facts.SessionEnded) -> None:
    """Note that the session ended without an accepted answer."""
    state.session.ended = fact.how


def signed(state: State, entry: Entry, fact: facts.SessionSigned) -> None:
    """Counts only when every contract was kept on that content with the agent gone."""
    session = state.session
    session.signed, session.silent_urls = None, frozenset(fact.silent_urls)
    for subject in state.subjects:
        record = state.record(subject.id)
        if subject.contract is None or record.given_up:
            continue
        latest = record.latest
        if latest is None or latest.provisional or not latest.kept:
            return
        if latest.snapshot != fact.snapshot:
            return
    if state.plan is not None and fact.open and state.provable:
        accepted = fact.self_set_accepted
        session.signed = Signed(entry.seq, fact.snapshot, fact.self_set, accepted)
