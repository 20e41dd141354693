"""The gate: may this plan be called done, and if not, exactly what is missing.

Every door asks it: the driver, the final sweep, hooks, the built-in loop, MCP, audits. Where no
driver dispatches, an open gate is provisional: the agent may still be alive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.digests import digest_of
from signoff.domain.ledger import Outcome
from signoff.domain.plan import Author, Postcondition, RedFirst, Step
from signoff.domain.session import ROUND_BUDGET, SessionStanding
from signoff.domain.text import escape_line
from signoff.gate.record import Record
from signoff.gate.state import State
from signoff.gate.subjects import (
    NOT_PROVED,
    Content,
    Standing,
    StepState,
    ended_unproved,
    is_derived,
    lacks_opinion,
    standing_of,
)


class Gate(StrEnum):
    """The answer for the whole plan."""

    OPEN = "open"
    OPEN_WITH_WAIVERS = "open with waivers"
    SHUT = "shut"


class Missing(Struct, frozen=True):
    """One thing between the plan and `done`, and what would settle it."""

    subject: str
    what: str
    next: str
    waiting: bool = False  # only a person can settle it


ALL_HELD_BEFORE = "every contract held before the work, so none shows that anything was done"
VERIFICATION = "verification"  # the subject when the rounds of a task failed too often
ENDED_BY_PERSON = Missing("plan", "a person ended this session", "stop", waiting=True)


class GateReport(Struct, frozen=True):
    """The gate's whole answer about one plan on one content."""

    gate: Gate
    steps: tuple[Standing, ...] = ()
    postconditions: tuple[Standing, ...] = ()
    missing: tuple[Missing, ...] = ()
    author: Author = Author.PERSON
    planned: bool = True  # without a plan nothing was claimed and nothing is proved
    held_before_accepted_by: str = ""  # who calls it done though every contract held before

    @property
    def open(self) -> bool:
        """True when nothing is missing."""
        return self.gate is not Gate.SHUT

    @property
    def self_set(self) -> bool:
        """True when the agent chose the checks itself."""
        return self.planned and self.author is not Author.PERSON

    @property
    def subjects(self) -> tuple[Standing, ...]:
        """The steps, then the postconditions."""
        return (*self.steps, *self.postconditions)

    def ids(self, *states: StepState) -> tuple[str, ...]:
        """The subjects that stand like this."""
        return tuple(s.id for s in self.subjects if s.state in states)

    @property
    def proved(self) -> tuple[str, ...]:
        """Subjects that are proved on this content."""
        return tuple(s.id for s in self.subjects if s.proved)

    @property
    def stale(self) -> tuple[str, ...]:
        """Subjects that were proved on content that is not there any more."""
        done = (s for s in self.subjects if s.state is StepState.DONE)
        return tuple(s.id for s in done if s.stale)

    @property
    def waived(self) -> tuple[str, ...]:
        """Subjects that a person or the policy let go; never called proved."""
        return self.ids(StepState.WAIVED, StepState.LET_GO)

    @property
    def for_person(self) -> tuple[str, ...]:
        """Subjects that only a person can decide; they hold no agent up, and are not done."""
        return self.ids(StepState.FOR_PERSON)

    @property
    def waits_for_people(self) -> bool:
        """True when nothing that the agent could do would open the gate."""
        over = any(m.waiting and m.subject == VERIFICATION for m in self.missing)
        return over or (not self.open and all(m.waiting for m in self.missing))

    @property
    def missing_digest(self) -> str:
        """Digest of what is missing: equal however the agent words or toggles its claims."""
        return digest_of(sorted(m.subject for m in self.missing))


def evaluate(
    state: State, content: Content | str | None, *, require_plan: bool = False
) -> GateReport:
    """Ask the gate. Without a digest nothing can be told stale, so nothing counts as current."""
    if not isinstance(content, Content):
        content = Content(content or "")
    steps = tuple(standing_of(state, step, content) for step in state.schedule.steps)
    conditions = (*state.schedule.plan.postconditions, *state.beside)
    posts = tuple(standing_of(state, post, content) for post in conditions)
    missing = [
        *_missing_of_subjects(state, state.schedule.steps, steps),
        *_missing_of_subjects(state, conditions, posts),
        *_missing_of_plan(state, steps, posts, require_plan=require_plan),
    ]
    if missing and not state.driven and len(state.session.failed_on) >= ROUND_BUDGET:
        what = f"judging failed {ROUND_BUDGET} times, so a person has to look"
        missing.append(Missing(VERIFICATION, what, "stop, and say what you know", waiting=True))
    if state.aborted and not state.driven:
        steps, posts, missing = (), (), [ENDED_BY_PERSON]
    if ended_unproved(state):
        again = "signoff approve" if state.outcome is Outcome.REVISED else "signoff run"
        missing = [replace(m, next=again) for m in missing]
    planned = state.provable and bool(state.schedule.steps)
    by = state.held_before_accepted_by if state.all_held_before else ""
    report = GateReport(Gate.SHUT, steps, posts, tuple(missing), state.author, planned, by)
    if missing:
        return report
    return replace(report, gate=Gate.OPEN_WITH_WAIVERS if report.waived else Gate.OPEN)


def session_standing(state: State, gate: GateReport) -> SessionStanding:
    """Compute the state of a session."""
    session = state.session
    if state.aborted:
        return SessionStanding.ENDED
    if session.signed is not None and gate.for_person:
        return SessionStanding.WAITING
    if session.signed is not None:
        plain = not session.signed.self_set or session.signed.accepted
        return SessionStanding.DONE if plain else SessionStanding.KEPT_SELF_SET
    if session.ended:
        return SessionStanding(session.ended)
    if session.accepted and gate.open:
        return SessionStanding.AWAITING_SIGN_OFF if gate.planned else SessionStanding.UNPLANNED
    return SessionStanding.WORKING


def _missing_of_subjects(
    state: State, subjects: Sequence[Step | Postcondition], standings: tuple[Standing, ...]
) -> Iterator[Missing]:
    """Each subject that is neither proved nor let go."""
    for number, (subject, standing) in enumerate(zip(subjects, standings, strict=True), 1):
        record = state.records.get(subject.id, Record())
        if standing.state in NOT_PROVED:
            continue
        if state.driven:
            asked = state.questions.get(record.question or "")
            parked = asked is not None and asked.until is not None
            lack = _lack_in_run(subject, standing, record, parked)
        else:
            lack = _lack_in_session(state, subject, standing, record, number)
        if lack is not None:
            waits = standing.state is StepState.BLOCKED and not state.driven
            yield Missing(subject.id, *lack, waits)


def _lack_in_run(
    subject: Step | Postcondition, standing: Standing, record: Record, parked: bool
) -> tuple[str, str] | None:
    """The gap that a driver has to close, and the command for it; None when it is proved."""
    contract, latest, step = subject.contract, record.latest, isinstance(subject, Step)
    said = f"{latest.result}: {latest.message}" if latest is not None else ""
    said += ", and no opinion on its rubric lets it pass" * lacks_opinion(subject, record)
    if isinstance(subject, Step) and subject.for_each is not None:
        return "its list was not read yet", "signoff run"
    if not step and contract is None and standing.state is not StepState.ACCEPTED:
        return "it has no contract, so a person must decide", "signoff inbox"
    if standing.state is StepState.BLOCKED and parked:
        return f"a usage limit parks it ({record.question})", "signoff run --wait"
    if standing.state is StepState.BLOCKED:
        return f"it waits for a person ({record.question})", "signoff inbox"
    if standing.state is StepState.FAILED:
        return f"it failed: {latest.message if latest else 'no verdict'}", "signoff run"
    if standing.state in (StepState.DONE, StepState.ACCEPTED):
        if standing.stale and standing.state is StepState.ACCEPTED:
            return "a person said so about older content", "signoff run"
        if standing.stale:
            return "its verdict is about older content", "signoff run"
        required = step and contract is not None and contract.red_first is RedFirst.REQUIRED
        if required and record.never_red and not record.held_before_accepted:
            return "its contract held before any work was done", "signoff inbox"
        return None
    if not step and said:
        return f"it is {said}", "signoff inbox"
    if not step:
        return "it was not judged yet", "signoff run"
    if record.reopened:
        return f"a later change broke it: {latest.message if latest else ''}", "signoff run"
    return f"its contract is {said}" if said else "its contract was never kept", "signoff run"


def _lack_in_session(
    state: State, subject: Step | Postcondition, standing: Standing, record: Record, number: int
) -> tuple[str, str] | None:
    """The gap that the agent has to close, and the call for it; None when it is proved."""
    if standing.proved:
        return None
    what, waits = standing.why, standing.state is StepState.BLOCKED
    if is_derived(state, subject):
        return f"{escape_line(standing.title)}: {what}", _next_derived(subject, state)
    if waits and record.question is not None:
        what = f"it waits for a person (`{record.question}`)"
    elif waits and state.session.pending is not None:
        asked = state.session.pending.question
        what = f"{what}; a person is asked whether it may go (`{asked}`)"
    return what, _next(subject, standing, record, number)


def _next_derived(subject: Step | Postcondition, state: State) -> str:
    if subject.id in state.task_files:
        return f"make {state.task_files[subject.id]}; {how_to_drop(state.task_files[subject.id])}"
    if subject.contract is not None:
        return "repair what it names; it is judged again with your answer"
    if isinstance(subject, Step):
        return f"do it, and list it as done; {how_to_drop(subject.task)}"
    return "put back what was there when the work began"


def how_to_drop(what: str) -> str:
    """Tell the model how to give up something planned: an item by its text, a file by its path."""
    return f'not needed after all? list it as {{"text": "{escape_line(what)}", "dropped": "why"}}'


def _next(subject: Step | Postcondition, standing: Standing, record: Record, number: int) -> str:
    """The agent's next call."""
    is_step = isinstance(subject, Step)
    if standing.state is StepState.BLOCKED:
        return "a person answers it: signoff inbox"
    if subject.contract is not None:
        check = f"step_check({number})" if is_step else f"postcondition_verify({number})"
        return check if standing.stale or record.latest is None else f"repair it, then {check}"
    cited = 'evidence="tool:<call-id> …"'
    if is_step:
        return f'step_update({number}, "done", {cited}), or "blocked" with a reason in notes'
    return f'postcondition_verify({number}, {cited}), or unattainable_because="…"'


def _missing_of_plan(
    state: State,
    steps: tuple[Standing, ...],
    posts: tuple[Standing, ...],
    *,
    require_plan: bool,
) -> list[Missing]:
    """Gaps that belong to no single step."""
    if not state.driven:
        derived = state.author is Author.DERIVED
        return _missing_of_session(
            state, (*steps, *posts) if derived else steps, require_plan=require_plan
        )
    if state.outcome is Outcome.CANCELLED:
        return [Missing("plan", "this run was cancelled", "signoff run")]
    if state.revised:
        return [Missing("plan", "a person took it back to revise it", "signoff run")]
    if state.aborted:
        return [Missing("plan", "a person ended this run", "signoff run")]
    asked = [question.id for question in state.questions.values() if question.subject is None]
    if asked and not ended_unproved(state):
        return [Missing("plan", f"it waits for a person ({asked[0]})", "signoff inbox")]
    if not steps:
        return [Missing("plan", "it has no steps, so nothing can be proved", "signoff verify")]
    if all(s.state is StepState.WAIVED for s in steps):
        return [Missing("plan", "every step was waived, so nothing was proved", "signoff run")]
    settled = all(s.state in (StepState.DONE, StepState.WAIVED) for s in steps)
    if settled and state.needs_word_on_held_before:
        return [Missing("plan", ALL_HELD_BEFORE, "signoff run", waiting=True)]
    return []


def _missing_of_session(
    state: State, steps: tuple[Standing, ...], *, require_plan: bool
) -> list[Missing]:
    session, what, derived = state.session, "", state.author is Author.DERIVED
    if steps and state.provable and not (derived and require_plan):
        gave_up = any(s.state is StepState.DROPPED for s in steps) and not session.mutated
        nothing = gave_up or all(s.state in NOT_PROVED for s in steps)
        what = "no step was done, so nothing was proved"
        return [Missing("plan", what, "work on a step, or stop", waiting=True)] if nothing else []
    if session.started is not None and session.started.parent:
        what = "a sub-agent without a plan proves nothing to whoever delegated to it"
    elif require_plan and session.mutated:
        what = "files were changed without a plan"
    create = "plan_create(objective, steps, postconditions)"
    return [Missing("plan", what, create)] if what else []
