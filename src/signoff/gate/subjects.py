"""State of one step or postcondition: by its contract, by evidence, or by a person's word."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field

from signoff.domain.ledger import Outcome
from signoff.domain.plan import Author, Contract, Postcondition, Step
from signoff.domain.second_look import OpinionGiven, Strength
from signoff.domain.session import AskedCondition, ClaimStatus
from signoff.domain.text import escape_line, shown_list
from signoff.domain.verdict import Result, TestCounts
from signoff.gate.record import Record
from signoff.gate.state import State

LONGEST_MESSAGE = 400


class StepState(StrEnum):
    """State of one step or postcondition."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"  # it waits for a person
    WAIVED = "waived"
    ACCEPTED = "accepted"  # a person says that it holds; nothing was judged
    LET_GO = "let go"  # an agent calls it blocked, and the user's policy takes that for an answer
    FOR_PERSON = "for a person"  # whoever wrote the plan is asked at sign-off, not the agent
    TICKED = "ticked"  # an item of a derived plan that the model calls done; nothing decides it
    DROPPED = "dropped"  # a part of a derived plan that the model gave up, with a reason


NOT_PROVED = frozenset(
    {
        StepState.WAIVED,
        StepState.LET_GO,
        StepState.FOR_PERSON,
        StepState.TICKED,
        StepState.DROPPED,
    }
)


class Content(Struct, frozen=True):
    """The content in question, as far as proofs rest on it."""

    digest: str = ""  # of the workspace; empty when nothing rests on all of it
    files: Mapping[str, str] = field(default_factory=dict)  # of files that evidence cites
    shut_children: frozenset[str] = frozenset()  # child sessions whose own gate is shut
    silent_urls: frozenset[str] | None = None  # None: as the last sign-off found them


class OpinionStanding(Struct, frozen=True):
    """The newest opinion about a rubric, as it is shown; never a proof."""

    given: OpinionGiven
    stale: bool  # it was given on other content
    overruled: bool  # a person accepted the work in its place
    measured: str  # how good this model's opinions were found to be; empty: nobody knows


class Standing(Struct, frozen=True):
    """One step or postcondition: computed, never set."""

    id: str
    title: str
    state: StepState
    attempts: int
    verdict: Result | None
    stale: bool
    held_before: bool | None
    carried: bool
    tests: TestCounts | None = None
    handoff: tuple[str, ...] = ()
    accepted_by: str | None = None
    opinion: OpinionStanding | None = None  # of a model, about its rubric; it opens nothing
    lanes: tuple[int, ...] = ()  # where agents work on it now, beside the workspace
    why: str = ""  # in a session: why it is not proved
    strength: Strength | None = None  # of the contract, measured on the step's last change
    unwatched: str = ""  # why it could not be told what its check read

    @property
    def proved(self) -> bool:
        """Done, and about the content in question."""
        return self.state is StepState.DONE and not self.stale


def is_stale(contract: Contract | None, record: Record, digest: str | None) -> bool:
    """True when the newest verdict is about other content than the one in question, or other pins.

    One that was made beside the workspace lets work land; nothing is signed off on it.
    """
    if record.latest is None or contract is None or contract.judged_once:
        return False
    elsewhere = record.latest.snapshot != digest or record.latest.beside
    return not digest or record.repinned or elsewhere


def ended_unproved(state: State) -> bool:
    """The run is over without a sign-off: nobody is at work on it, and nobody is asked any more."""
    return state.outcome is not None and state.outcome is not Outcome.DONE


class _Proof(Struct, frozen=True):
    """Proof of a subject: if it holds, if on this content, and if not, why."""

    holds: bool
    stale: bool = False
    why: str = ""


def standing_of(state: State, subject: Step | Postcondition, content: Content) -> Standing:
    record = state.record(subject.id) if state.driven else state.records.get(subject.id, Record())
    contract, is_step = subject.contract, isinstance(subject, Step)
    proof = _driven_proof(subject, record, content) if state.driven else _session_proof(
        state, subject, record, content
    )  # fmt: skip
    vouched = record.vouched if not is_step and contract is None else None
    return Standing(
        id=subject.id,
        title=subject.title,
        state=_state_of(state, subject, record, proof),
        attempts=record.tries if is_step else 0,
        verdict=record.latest.result if record.latest else None,
        stale=proof.stale,
        held_before=record.held_before if is_step else None,
        carried=record.carried and is_step,
        tests=record.latest.tests if record.latest else None,
        handoff=record.handoff if is_step else (),
        accepted_by=vouched.by if vouched else None,
        opinion=_opinion_of(state, record, content),
        lanes=() if ended_unproved(state) else record.lanes,
        why=proof.why,
        strength=record.strength if is_step else None,
        unwatched=record.latest.unwatched if record.latest else "",
    )


def _driven_proof(subject: Step | Postcondition, record: Record, content: Content) -> _Proof:
    """A step must have been accepted; of a postcondition the newest verdict, or a person's word."""
    stale = is_stale(subject.contract, record, content.digest)
    if lacks_opinion(subject, record):
        return _Proof(False)
    if isinstance(subject, Step):
        return _Proof(record.done, stale)
    if subject.contract is None:
        said = record.vouched
        return _Proof(said is not None, said is not None and said.snapshot != content.digest)
    return _Proof(record.latest is not None and record.latest.kept, stale)


def _opinion_of(state: State, record: Record, content: Content) -> OpinionStanding | None:
    given = record.opinion
    if given is None:
        return None
    overruled, stale = given.about in record.overruled, given.snapshot != content.digest
    return OpinionStanding(given, stale, overruled, state.measured.get(given.model, ""))


def lacks_opinion(subject: Step | Postcondition, record: Record) -> bool:
    """True when a contract was kept, and nobody gave an opinion about the rubric beside it.

    Where an earlier run did the step, that run's opinion was needed there.
    """
    asked = bool(subject.rubric) and subject.contract is not None
    kept = record.latest is not None and record.latest.kept
    return asked and kept and not record.carried and not record.opinion_lets_pass


def _session_proof(
    state: State, subject: Step | Postcondition, record: Record, content: Content
) -> _Proof:
    """Proof by contract, else by accepted evidence; and by every session it was handed to."""
    if subject.contract is not None:
        proof = _by_contract(subject.contract, record, content)
    elif state.author is Author.PERSON:
        return _Proof(False)
    elif is_derived(state, subject):
        open_ = isinstance(subject, Step)
        return _Proof(False, why="it is not ticked yet" if open_ else "nobody can tell any more")
    else:
        proof = _by_evidence(state, record, content)
    shut = sorted(set(record.claim.children) & content.shut_children)
    if shut and proof.holds and not proof.stale:
        return _Proof(False, why=f"its child session {shown_list(shut)} is not finished")
    return proof


def _by_contract(contract: Contract, record: Record, content: Content) -> _Proof:
    latest = record.latest
    if latest is None:
        return _Proof(False, why="its check was not judged yet")
    if not latest.kept:
        said = escape_line(latest.message[:LONGEST_MESSAGE])
        return _Proof(False, why=f"its check is {latest.result}: {said}")
    if is_stale(contract, record, content.digest):
        return _Proof(True, True, "its check held on older content; files changed since")
    return _Proof(True)


def _by_evidence(state: State, record: Record, content: Content) -> _Proof:
    basis = record.claim.basis
    if record.claim.status is not ClaimStatus.DONE:
        return _Proof(False, why="nobody proved it yet")
    if basis is None:
        return _Proof(False, why="it was called done, but its evidence was not accepted")
    changed = [p for p, digest in basis.files.items() if content.files.get(p) != digest]
    if changed:
        return _Proof(True, True, f"its evidence is about older content of {shown_list(changed)}")
    if basis.content and basis.content != content.digest:
        why = "its evidence is about older content: files changed since that call"
        return _Proof(True, True, why)
    known = state.session.silent_urls
    silent = known if content.silent_urls is None else content.silent_urls
    if not silent.isdisjoint(basis.urls):
        urls = shown_list(escape_line(url) for url in basis.urls if url in silent)
        return _Proof(True, True, f"{urls} did not answer when the harness asked again")
    for cited in basis.contracts:
        other, contract = state.records.get(cited), state.contract(cited)
        if other is None or contract is None:
            why = f"it rests on the check of `{cited}`, which is not in the plan"
            return _Proof(True, True, why)
        rests_on = _by_contract(contract, other, content)
        if not rests_on.holds or rests_on.stale:
            why = f"it rests on the check of `{cited}`, which does not hold now"
            return _Proof(True, True, why)
    return _Proof(True)


def _state_of(
    state: State, subject: Step | Postcondition, record: Record, proof: _Proof
) -> StepState:
    """State of a subject: in a run a question outranks the proof; in a session the proof wins."""
    if not state.driven and proof.holds and not proof.stale:
        return StepState.DONE
    if is_derived(state, subject):
        if record.claim.status is ClaimStatus.DROPPED:
            return StepState.DROPPED
        ticked = subject.contract is None and isinstance(subject, Step)
        if ticked and record.claim.status is ClaimStatus.DONE:
            return StepState.TICKED
    if record.waived:
        return StepState.WAIVED
    if record.failed:
        return StepState.FAILED
    if record.let_go:
        return StepState.LET_GO
    over = ended_unproved(state)
    pending = state.session.pending
    asked = record.question is not None or (pending and subject.id in pending.loosened)
    if not over and asked:
        return StepState.BLOCKED
    if not state.driven and subject.contract is None and state.author is Author.PERSON:
        return StepState.FOR_PERSON
    if proof.holds and isinstance(subject, Step):
        return StepState.DONE
    if not over and (record.at_work or record.candidates or record.unjudged is not None):
        return StepState.RUNNING
    if proof.holds:
        person = subject.contract is None and state.driven
        return StepState.ACCEPTED if person else StepState.DONE
    return StepState.PENDING


def is_derived(state: State, subject: Step | Postcondition) -> bool:
    """True when the harness derived it from the task."""
    return not state.driven and (
        state.author is Author.DERIVED or isinstance(subject, AskedCondition)
    )
