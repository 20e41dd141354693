"""What is missing between a plan and done, and what would settle each of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from signoff.domain.escalation import Outcome
from signoff.domain.plan import Author, Postcondition, RedFirst, Step
from signoff.domain.task import ROUND_BUDGET
from signoff.domain.text import escape_line
from signoff.gate.record import Record
from signoff.gate.state import State
from signoff.gate.subjects import NOT_PROVED, Standing, StepState, ended_unproved, is_derived


@dataclass(frozen=True)
class Missing:
    """One thing between the plan and `done`, and what would settle it."""

    subject: str
    what: str
    next: str
    waiting: bool = False  # only a person can settle it


VERIFICATION = "verification"  # the subject when the rounds of a task failed too often
ENDED_BY_PERSON = Missing("plan", "a person ended this session", "stop", waiting=True)


def missing_of_subjects(
    state: State, subjects: Sequence[Step | Postcondition], standings: tuple[Standing, ...]
) -> list[Missing]:
    """Each subject that is neither proved nor let go."""
    found: list[Missing] = []
    for number, (subject, standing) in enumerate(zip(subjects, standings, strict=True), 1):
        record = state.records.get(subject.id, Record())
        if standing.state in NOT_PROVED:
            continue
        if not state.driven:
            found += _missing_in_session(state, subject, standing, record, number)
        elif isinstance(subject, Step):
            found += _missing_of_step(subject, standing, record)
        else:
            found += _missing_of_post(subject, standing, record)
    return found


def _missing_of_step(step: Step, standing: Standing, record: Record) -> list[Missing]:
    if step.for_each is not None:
        return [Missing(step.id, "its list was not read yet", "signoff run")]
    if standing.state is not StepState.DONE:
        waits = standing.state is StepState.BLOCKED
        next_ = "signoff inbox" if waits else "signoff run"
        return [Missing(step.id, _why_not_done(standing, record), next_)]
    if standing.stale:
        return [Missing(step.id, "its verdict is about older content", "signoff run")]
    required = step.contract is not None and step.contract.red_first is RedFirst.REQUIRED
    if required and record.never_red and not record.held_before_accepted:
        return [Missing(step.id, "its contract held before any work was done", "signoff inbox")]
    return []


def _why_not_done(standing: Standing, record: Record) -> str:
    if standing.state is StepState.FAILED:
        return "it failed: " + (record.latest.message if record.latest else "no verdict")
    if standing.state is StepState.BLOCKED:
        return f"it waits for a person ({record.question})"
    if record.reopened:
        return "a later change broke it: " + (record.latest.message if record.latest else "")
    if record.latest is not None:
        return f"its contract is {record.latest.result}: {record.latest.message}"
    return "its contract was never kept"


def _missing_of_post(post: Postcondition, standing: Standing, record: Record) -> list[Missing]:
    if standing.state is StepState.ACCEPTED:
        old = Missing(post.id, "a person said so about older content", "signoff run")
        return [old] if standing.stale else []
    if post.contract is None:
        return [Missing(post.id, "it has no contract, so a person must decide", "signoff inbox")]
    if standing.state is StepState.BLOCKED:
        return [Missing(post.id, f"it waits for a person ({record.question})", "signoff inbox")]
    if record.latest is None:
        return [Missing(post.id, "it was not judged yet", "signoff run")]
    if not record.latest.kept:
        what = f"it is {record.latest.result}: {record.latest.message}"
        return [Missing(post.id, what, "signoff inbox")]
    if standing.stale:
        return [Missing(post.id, "its verdict is about older content", "signoff run")]
    return []


def _missing_in_session(
    state: State, subject: Step | Postcondition, standing: Standing, record: Record, number: int
) -> list[Missing]:
    if standing.proved:
        return []
    what, waits = standing.why, standing.state is StepState.BLOCKED
    if is_derived(state, subject):
        what = f"{escape_line(standing.title)}: {what}"
        return [Missing(subject.id, what, _next_derived(subject, state), waits)]
    if waits and record.question is not None:
        what = f"it waits for a person (`{record.question}`)"
    elif waits and state.session.pending is not None:
        asked = state.session.pending.question
        what = f"{what}; a person is asked whether it may go (`{asked}`)"
    return [Missing(subject.id, what, _next(subject, standing, record, number), waits)]


def _next_derived(subject: Step | Postcondition, state: State) -> str:
    if subject.id in state.task_files:
        return f"make {state.task_files[subject.id]}; {how_to_drop(state.task_files[subject.id])}"
    if subject.contract is not None:
        return "repair what it names; it is judged again with your answer"
    if isinstance(subject, Step):
        return f"do it, and list it as done; {how_to_drop(subject.task)}"
    return "put back what was there when the work began"


def how_to_drop(what: str) -> str:
    """How the model gives up something planned: an item by its text, a file by its path."""
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


def given_up(state: State) -> list[Missing]:
    """Once the checks of a task failed on too many contents, only a person can go on."""
    if len(state.session.failed_on) < ROUND_BUDGET:
        return []
    what = f"judging failed {ROUND_BUDGET} times, so a person has to look"
    return [Missing(VERIFICATION, what, "stop, and say what you know", waiting=True)]


def missing_of_plan(
    state: State,
    steps: tuple[Standing, ...],
    posts: tuple[Standing, ...],
    *,
    require_plan: bool,
) -> list[Missing]:
    """What belongs to no single step."""
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
