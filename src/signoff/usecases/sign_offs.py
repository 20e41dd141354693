"""Read a sign-off's proof from the ledger: the one way receipts are made and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from signoff.domain.ledger import Choice, Entry, Kind, Outcome
from signoff.domain.plan import Plan, Postcondition, Step
from signoff.domain.receipt import (
    AcceptanceProof,
    Agent,
    ApprovalProof,
    AttemptProof,
    JudgedBy,
    LedgerSlice,
    OpinionNote,
    PlanName,
    Receipt,
    RunSpan,
    SubjectProof,
    VerdictProof,
    WaiverProof,
    contract_proof,
)
from signoff.errors import LedgerBroken
from signoff.gate.fold import fold
from signoff.gate.gate import Gate, GateReport, evaluate
from signoff.gate.state import State
from signoff.gate.subjects import Content, OpinionStanding, Standing, StepState
from signoff.planfile.parse import parse
from signoff.usecases.worked import Work, work_of, worked
from signoff.verification.pins import Pins, differences

_BEGINS = (Kind.RUN_STARTED, Kind.RUN_RESUMED)
ReadPins = Callable[[str], Pins]
# What entries that were made up, not written by us, can raise when they are read.
SENSELESS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class SignOff(Struct, frozen=True):
    """One entry that signs off a run or an agent's session, and every entry up to it."""

    run: str
    entries: tuple[Entry, ...]

    @property
    def finished(self) -> Entry:
        return self.entries[-1]


def sign_offs(entries: Sequence[Entry]) -> Iterator[SignOff]:
    """Every sign-off in the chain of a plan or a session, oldest first."""
    for number, entry in enumerate(entries, 1):
        done = entry.kind is Kind.RUN_FINISHED and entry.data.get("outcome") == Outcome.DONE
        run = entry.run if done else None
        if entry.kind is Kind.SESSION_SIGNED and entry.data.get("open"):
            run = f"signed-{entry.seq}"  # a session has no runs, but may be signed more than once
        if run is not None:
            yield SignOff(run, tuple(entries[:number]))


def fold_entries(signed: SignOff, plan: Plan) -> State:
    """State of the run when it was signed off, from its entries alone."""
    return fold(State(plan, signed.run), signed.entries)


def receipt_of(
    signed: SignOff,
    name: str,
    read_pins: ReadPins,
    previous: str | None,
    folded: Callable[[SignOff, Plan], State] = fold_entries,
) -> Receipt:
    """The receipt of a sign-off; LedgerBroken when the entries before it do not bear it out.

    The gate is asked again: an entry that says "done" proves nothing by itself.
    """
    run, entries, finished = signed.run, signed.entries, signed.finished
    if finished.kind is Kind.SESSION_SIGNED:
        return _receipt_of_session(signed, name, previous)
    begun = [e for e in entries if e.run == run and e.kind in _BEGINS]
    starts = [e for e in begun if e.kind is Kind.RUN_STARTED]
    if len(starts) != 1:
        raise LedgerBroken(f"run `{run}` was started {len(starts)} times, not once")
    started, runners = starts[0], (e.data.get("runner") for e in begun)
    approval = _approval(entries, started, read_pins)
    pins = read_pins(started.data["pins"])
    plan = parse(pins.plan_text).plan
    if not plan.plan_digest == pins.plan_digest == started.data["plan_digest"]:
        raise _unproved(signed, "the pinned plan is not the one that was approved")
    state = folded(signed, plan)
    report = evaluate(state, finished.data["snapshot"])
    _require_open(signed, report)
    attempts = worked(entries, run, pins)
    agents = tuple(dict.fromkeys(work.agent for work in attempts))
    by_seq = {entry.seq: entry for entry in entries}
    subjects = list(zip(state.schedule.steps, report.steps, strict=True))
    posts = list(zip(plan.postconditions, report.postconditions, strict=True))
    return Receipt(
        workspace=PurePosixPath(pins.workspace).name or "/",
        snapshot=finished.data["snapshot"],
        plan=PlanName(finished.plan, name, plan.title, plan.plan_digest),
        run=RunSpan(run, started.at, finished.at, started.data.get("resumes")),
        approval=approval,
        pins=started.data["pins"],
        ledger=LedgerSlice(entries[0].seq, finished.seq, finished.hash),
        # Of old versions nobody said.
        runner=tuple(dict.fromkeys(str(said) for said in runners if said)),
        steps=tuple(_subject(step, s, state, by_seq) for step, s in subjects),
        postconditions=tuple(_subject(post, s, state, by_seq) for post, s in posts),
        waivers=waivers_of(entries, run, report.waived),
        agents=agents,
        attempts=tuple(_attempt(work, agents.index(work.agent)) for work in attempts),
        previous=previous,
        workers=judged_by(entries, run),
        acceptances=tuple(
            _acceptance(entries, run, subject, finished.data["snapshot"])
            for subject in (
                *(post.id for post in report.postconditions if post.state is StepState.ACCEPTED),
                *([None] if report.held_before_accepted_by else []),
            )
        ),
    )


def _receipt_of_session(signed: SignOff, name: str, previous: str | None) -> Receipt:
    """An agent's own plan: nobody approved it, and what no check decides rests on evidence."""
    entries, finished = signed.entries, signed.finished
    started = next((e for e in entries if e.kind is Kind.SESSION_STARTED), None)
    state = fold(State(None, driven=False), entries)
    plan, snapshot = state.plan, finished.data["snapshot"]
    if started is None or plan is None or state.session.signed is None:
        raise _unproved(signed, "no plan of an agent was proved by it")
    # The sign-off recorded that cited files and children were as they should be.
    cited = (r.claim.basis.files for r in state.records.values() if r.claim.basis is not None)
    files = {path: digest for found in cited for path, digest in found.items()}
    report = evaluate(state, Content(snapshot, files))
    _require_open(signed, report)
    by_seq = {entry.seq: entry for entry in entries}
    steps = zip(plan.steps, report.steps, strict=True)
    posts = zip(plan.postconditions, report.postconditions, strict=True)
    return Receipt(
        workspace=PurePosixPath(started.data["workspace"]).name or "/",
        snapshot=snapshot,
        plan=PlanName(finished.plan, name, plan.title, plan.plan_digest),
        run=RunSpan(signed.run, started.at, finished.at, None),
        approval=None,
        pins=started.data["pins"],
        ledger=LedgerSlice(entries[0].seq, finished.seq, finished.hash),
        runner=(),
        steps=tuple(_subject(step, s, state, by_seq) for step, s in steps),
        postconditions=tuple(_subject(post, s, state, by_seq) for post, s in posts),
        waivers=waivers_of(entries, None, report.ids(StepState.WAIVED)),
        agents=(Agent("agent", "", work_of(finished.plan, entries, entries)),),
        attempts=(),
        previous=previous,
        self_set=True,
    )


def _require_open(signed: SignOff, report: GateReport) -> None:
    if report.gate is Gate.SHUT:
        missing = "; ".join(f"{m.subject}: {m.what}" for m in report.missing)
        raise _unproved(signed, f"the gate is shut: {missing}")
    if sorted(report.waived) != sorted(signed.finished.data["waived"]):
        raise _unproved(signed, "its waived subjects are not those that people waived")


def _subject(
    subject: Step | Postcondition, standing: Standing, state: State, by_seq: dict[int, Entry]
) -> SubjectProof:
    latest, claim = state.record(subject.id).latest, state.record(subject.id).claim
    strength = state.strength_at_end.get(subject.id)  # what is measured later is not of it
    return SubjectProof(
        id=subject.id,
        title=standing.title,
        state=standing.state,
        contract=contract_proof(subject.contract) if subject.contract is not None else None,
        verdict=_verdict(by_seq[latest.seq]) if latest is not None else None,
        attempts=standing.attempts,
        held_before=standing.held_before,
        carried=standing.carried,
        evidence=claim.evidence if subject.contract is None and claim.evidence else None,
        strength=str(strength) if strength is not None else None,
        opinion=None if standing.opinion is None else _opinion(standing.opinion),
    )


def _opinion(shown: OpinionStanding) -> OpinionNote:
    told = shown.given
    return OpinionNote(
        told.model, told.result, told.input, told.prompts, shown.overruled, told.measured
    )


def _verdict(entry: Entry) -> VerdictProof:
    data = entry.data
    return VerdictProof(
        seq=entry.seq,
        phase=data["phase"],
        result=data["result"],
        reason=data["reason"],
        key=data["key"],
        snapshot=data["snapshot"],
        environment=data["environment"],
        isolation=data["isolation"],
        judged_in=data.get("judged_in"),
        reused_from=data["reused_from"],
        tests=data.get("counts"),
        heldout=data.get("heldout"),
    )


def _attempt(work: Work, agent: int) -> AttemptProof:
    return AttemptProof(
        step=work.step,
        attempt=work.attempt,
        agent=agent,
        seq=work.seq,
        ending=work.ending,
        isolation=work.isolation,
        model=work.model,
        tokens=work.tokens,
        usd=work.usd,
    )


def judged_by(entries: Sequence[Entry], run: str | None) -> tuple[JudgedBy, ...]:
    """The workers that judged in a run; their signatures were checked as the entries were read."""
    said = (e.data.get("worker") for e in entries if e.run == run and e.kind is Kind.VERDICT)
    found = {(by["name"], by["key_id"]): None for by in said if by}
    return tuple(JudgedBy(name, key_id) for name, key_id in found)


def waivers_of(
    entries: Sequence[Entry], run: str | None, waived: tuple[str, ...]
) -> tuple[WaiverProof, ...]:
    """The person's own entry for each waived subject; the newest, should there be two."""
    found = {
        entry.step: WaiverProof(
            subject=entry.step,
            seq=entry.seq,
            escalation=entry.data["escalation"],
            by=entry.data["by"],
            note=entry.data["note"],
        )
        for entry in entries
        if entry.run == run and entry.kind is Kind.STEP_WAIVED and entry.step is not None
    }
    # An agent that writes its plan anew may give a waived step another number.
    known = [subject for subject in waived if run is not None or subject in found]
    return tuple(found[subject] for subject in known)


def _acceptance(
    entries: Sequence[Entry], run: str, subject: str | None, snapshot: str
) -> AcceptanceProof:
    """The newest answer of a person that it holds, or of the plan; the gate says there is one."""
    answered = [
        entry
        for entry in entries
        if entry.run == run
        and entry.kind is Kind.ESCALATION_ANSWERED
        and entry.step == subject
        and entry.data["choice"] == Choice.ACCEPT
    ]
    data = answered[-1].data
    return AcceptanceProof(
        subject or "plan", answered[-1].seq, data["id"], data["by"], data["note"], snapshot
    )


def _approval(entries: Sequence[Entry], started: Entry, read_pins: ReadPins) -> ApprovalProof:
    """The newest approval before the run began; it must be the one the run obeys.

    In another worktree a run obeys pins taken there, which say the same of everything approved.
    """
    before = [e for e in entries if e.seq < started.seq and e.kind is Kind.PLAN_APPROVED]
    pinned, obeyed = before[-1].data["pins"] if before else None, started.data["pins"]
    same = pinned == obeyed or (
        pinned is not None and not differences(read_pins(pinned), read_pins(obeyed))
    )
    if not same:
        raise LedgerBroken(f"run `{started.run}` used pins that nobody approved")
    entry, data = before[-1], before[-1].data
    return ApprovalProof(entry.seq, entry.at, data["by"], data["interactive"], data["policy"])


def _unproved(signed: SignOff, why: str) -> LedgerBroken:
    return LedgerBroken(
        f"the ledger does not prove the sign-off of run `{signed.run}`: {why}",
        facts={"run": signed.run, "seq": signed.finished.seq},
    )
