"""Everything that can be written into a ledger about a small plan, honest and hostile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from signoff.domain.ledger import Cause, Choice, Kind, Outcome
from signoff.domain.plan import (
    Contract,
    Effects,
    Holds,
    Plan,
    Postcondition,
    RedFirst,
    Step,
)
from signoff.domain.verdict import Phase, Result
from tests.gate.scribe import (
    BEFORE_NOW,
    EARLIER_RUN,
    NOW,
    RUN,
    Scribe,
    contract,
    key_of,
    plan_of,
    step,
)

ITEMS = ("a", "b")
QUESTIONS = ("q1", "q2", "q3")


@st.composite
def contracts(draw: st.DrawFn) -> Contract:
    """Mostly plain ones."""
    return draw(
        st.sampled_from(
            [
                contract(),
                contract(),
                contract(red_first=RedFirst.REQUIRED),
                contract(red_first=RedFirst.OFF),
                contract(effects=Effects.EXTERNAL),
                contract(holds=Holds.AT_STEP),
            ]
        )
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """One to four steps in some order of need, some of them lists; up to two postconditions."""
    steps: list[Step] = []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        needs = [s.id for s in steps if draw(st.booleans())]
        steps.append(
            step(
                str(number),
                *needs,
                retries=draw(st.integers(0, 2)),
                for_each=draw(st.sampled_from([None, None, None, "ls"])),
                judged=draw(contracts()),
            )
        )
    posts = [
        Postcondition(n, f"promise {n}", draw(st.none() | contracts()))
        for n in range(1, draw(st.integers(0, 2)) + 1)
    ]
    return plan_of(*steps, posts=tuple(posts))


@dataclass(frozen=True)
class Act:
    """One act with every choice it may need; each act reads those it knows."""

    name: str
    pick: int
    other: int
    result: Result
    phase: Phase
    snapshot: str
    run: str
    question: str
    choice: Choice
    cause: Cause
    flag: bool


@dataclass(frozen=True)
class Verdicted:
    """A verdict, honest unless told otherwise."""

    result: Result = Result.KEPT
    phase: Phase = Phase.ATTEMPT
    snapshot: str = NOW
    run: str = RUN
    provisional: bool = False


@dataclass(frozen=True)
class Accepted:
    """A `step.done`, honest unless told otherwise."""

    snapshot: str = NOW
    run: str = RUN
    carried: bool = False


NEARLY_SETTLED: tuple[tuple[Verdicted | Accepted, ...], ...] = (
    (Verdicted(provisional=True), Accepted()),
    (Verdicted(run=EARLIER_RUN), Accepted()),
    (Verdicted(), Accepted(run=EARLIER_RUN)),
    (Verdicted(run=EARLIER_RUN), Accepted(run=EARLIER_RUN)),
    (Verdicted(Result.BROKEN), Accepted()),
    (Verdicted(Result.UNKNOWN), Accepted()),
    (Verdicted(phase=Phase.BEFORE), Accepted()),
    (Verdicted(phase=Phase.AUDIT), Accepted()),
    (Verdicted(phase=Phase.BEFORE), Accepted(carried=True)),
    (Verdicted(), Accepted(carried=True)),
    (Verdicted(snapshot=BEFORE_NOW), Accepted(snapshot=BEFORE_NOW)),
    (Verdicted(snapshot=BEFORE_NOW), Verdicted(), Accepted(snapshot=BEFORE_NOW)),
    (Verdicted(), Verdicted(Result.BROKEN), Accepted()),
    (Verdicted(), Accepted(), Verdicted(Result.UNKNOWN, Phase.SWEEP)),
    (Accepted(), Verdicted()),
)


def subjects_of(plan: Plan) -> list[str]:
    """Everything that can be judged, and what only looks like it."""
    ids: list[str] = []
    for each in plan.steps:
        ids.append(each.id)
        if each.for_each is not None:
            ids.extend(f"{each.id}[{item}]" for item in ITEMS)
    return [*ids, *(p.id for p in plan.postconditions)]


def perform(ledger: Scribe, act: Act) -> None:
    """Write what the act writes."""
    ACTS[act.name](ledger, act)


def _subject(ledger: Scribe, pick: int) -> str:
    subjects = subjects_of(ledger.plan)
    return subjects[pick % len(subjects)]


def _verdict(ledger: Scribe, act: Act) -> None:
    subject = _subject(ledger, act.pick)
    ledger.verdict(subject, act.result, phase=act.phase, snapshot=act.snapshot, run=act.run)


def _provisional_verdict(ledger: Scribe, act: Act) -> None:
    subject = _subject(ledger, act.pick)
    ledger.verdict(subject, phase=act.phase, snapshot=act.snapshot, provisional=True)


def _misfiled_verdict(ledger: Scribe, act: Act) -> None:
    """A verdict about one subject, written down under another."""
    kept = [e for e in ledger.entries if e.kind is Kind.VERDICT]
    if kept:
        verdict = kept[act.other % len(kept)]
        subject = _subject(ledger, act.pick)
        ledger.write(Kind.VERDICT, verdict.data, subject)
        done = {"key": verdict.data["key"], "step_digest": "", "carried": act.flag}
        ledger.write(Kind.STEP_DONE, done, subject)


def _done(ledger: Scribe, act: Act) -> None:
    """Whether or not anything stands behind it."""
    subject = _subject(ledger, act.pick)
    ledger.done(subject, snapshot=act.snapshot, run=act.run, carried=act.flag)


def _done_with_foreign_key(ledger: Scribe, act: Act) -> None:
    subject, other = _subject(ledger, act.pick), _subject(ledger, act.other)
    ledger.done(subject, key=key_of(other, act.snapshot), snapshot=act.snapshot)


def _nearly_settle(ledger: Scribe, act: Act) -> None:
    """All that settles a step, but for one detail."""
    write_nearly(ledger, _subject(ledger, act.pick), act.other % len(NEARLY_SETTLED))


def write_nearly(ledger: Scribe, subject: str, which: int) -> None:
    """One of the sequences that lack a detail."""
    for wrong in NEARLY_SETTLED[which]:
        if isinstance(wrong, Verdicted):
            ledger.verdict(
                subject,
                wrong.result,
                phase=wrong.phase,
                snapshot=wrong.snapshot,
                run=wrong.run,
                provisional=wrong.provisional,
            )
        else:
            ledger.done(subject, snapshot=wrong.snapshot, run=wrong.run, carried=wrong.carried)


def _nearly_waive(ledger: Scribe, act: Act) -> None:
    """All that waives a step, but for one detail."""
    subject, other = _subject(ledger, act.pick), _subject(ledger, act.pick + 1)
    question = f"near {len(ledger.entries)}"
    wrong = act.other % 5
    about = other if wrong == 0 and other != subject else None if wrong == 0 else subject
    ledger.ask(question, about, run=EARLIER_RUN if wrong == 1 else RUN)
    choice = Choice.RETRY if wrong == 2 else Choice.WAIVE
    if wrong != 3:
        ledger.answer(question, choice, run=EARLIER_RUN if wrong == 4 else RUN)
    ledger.waived(subject, question)


def _settle(ledger: Scribe, act: Act) -> None:
    ledger.settle(_subject(ledger, act.pick), act.snapshot)


def _restored(ledger: Scribe, act: Act) -> None:
    ledger.done(_subject(ledger, act.pick), snapshot=act.snapshot, again=True)


def _reopened(ledger: Scribe, act: Act) -> None:
    ledger.reopened(_subject(ledger, act.pick))


def _attempt(ledger: Scribe, act: Act) -> None:
    subject = _subject(ledger, act.pick)
    ledger.started(subject, 1 + act.other % 3)
    if act.flag:
        ledger.finished(subject, 1 + act.other % 3, snapshot=act.snapshot)


def _lost(ledger: Scribe, act: Act) -> None:
    ledger.lost(_subject(ledger, act.pick))


def _ask(ledger: Scribe, act: Act) -> None:
    subject = None if act.flag else _subject(ledger, act.pick)
    ledger.ask(act.question, subject, act.cause, run=act.run, snapshot=act.snapshot)


def _answer(ledger: Scribe, act: Act) -> None:
    """Of a question that may not exist, be about something else or be answered already."""
    ledger.answer(act.question, act.choice, run=act.run)


def _waived(ledger: Scribe, act: Act) -> None:
    """Whether or not a person said so."""
    ledger.waived(_subject(ledger, act.pick), act.question, run=act.run)


def _waive(ledger: Scribe, act: Act) -> None:
    ledger.waive(_subject(ledger, act.pick), act.question)


def _accept(ledger: Scribe, act: Act) -> None:
    """Of whatever subject, also of one that a contract judges."""
    ledger.accept(_subject(ledger, act.pick), act.question, snapshot=act.snapshot)


def _listed(ledger: Scribe, act: Act) -> None:
    ledger.listed(_subject(ledger, act.pick), *ITEMS[: act.other % 3])


def _expanded(ledger: Scribe, act: Act) -> None:
    """Of a list or of what is none, for the first time or again, with or without items."""
    ledger.expanded(_subject(ledger, act.pick), *ITEMS[: act.other % 3])


def _failed(ledger: Scribe, act: Act) -> None:
    ledger.failed(_subject(ledger, act.pick))


def _ended(ledger: Scribe, act: Act) -> None:
    ledger.ended(Outcome.DONE if act.flag else Outcome.FAILED, run=act.run)


def _repeat(ledger: Scribe, act: Act) -> None:
    """The same entry once more, further down the chain."""
    if ledger.entries:
        old = ledger.entries[act.other % len(ledger.entries)]
        ledger.write(old.kind, old.data, old.step, attempt=old.attempt, run=old.run)


ACTS: dict[str, Callable[[Scribe, Act], None]] = {
    "verdict": _verdict,
    "provisional verdict": _provisional_verdict,
    "misfiled verdict": _misfiled_verdict,
    "done": _done,
    "done with foreign key": _done_with_foreign_key,
    "nearly settle": _nearly_settle,
    "nearly waive": _nearly_waive,
    "settle": _settle,
    "restored": _restored,
    "reopened": _reopened,
    "attempt": _attempt,
    "lost": _lost,
    "ask": _ask,
    "answer": _answer,
    "waived": _waived,
    "waive": _waive,
    "accept": _accept,
    "listed": _listed,
    "expanded": _expanded,
    "failed": _failed,
    "ended": _ended,
    "repeat": _repeat,
}


def acts(names: tuple[str, ...] = tuple(ACTS)) -> st.SearchStrategy[Act]:
    """Any act; mostly in this run and about the content in question."""
    return st.builds(
        Act,
        name=st.sampled_from(names),
        pick=st.integers(0, 11),
        other=st.integers(0, 40),
        result=st.sampled_from([Result.KEPT, Result.KEPT, Result.BROKEN, Result.UNKNOWN]),
        phase=st.sampled_from([Phase.ATTEMPT, Phase.ATTEMPT, *Phase]),
        snapshot=st.sampled_from([NOW, NOW, BEFORE_NOW]),
        run=st.sampled_from([RUN, RUN, RUN, EARLIER_RUN]),
        question=st.sampled_from(QUESTIONS),
        choice=st.sampled_from([Choice.WAIVE, *Choice]),
        cause=st.sampled_from(list(Cause)),
        flag=st.booleans(),
    )
