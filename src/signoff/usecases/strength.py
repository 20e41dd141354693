"""`strength`: judge wrong versions of what the steps of a plan changed.

measure_plan → approved_by → open_work → StrengthMeter.measure → StrengthReport
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, to_builtins

from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Step
from signoff.domain.second_look import Strength
from signoff.domain.text import shown_list
from signoff.domain.verdict import Phase
from signoff.errors import NoSuchRun, UsageError
from signoff.gate.actions import required_strength
from signoff.gate.state import State
from signoff.orchestrator.strength import StrengthMeter
from signoff.storage.records import Holder
from signoff.usecases.harness import Harness, PlanLocation
from signoff.usecases.history import approved_by, trusted_history
from signoff.usecases.lanes import strength_rooms
from signoff.usecases.openwork import OpenWork, open_work, taken
from signoff.verification.guards import case_of


class StepStrength(Struct, frozen=True):
    """Strength of one step's contract, or why there is none."""

    step: str
    title: str
    required: int  # per cent; 0 where nobody asks
    strength: Strength | None = None
    why_not: str = ""

    @property
    def weak(self) -> bool:
        """True when the plan or the policy demands more."""
        return bool(self.required and self.strength and not self.strength.meets(self.required))


class StrengthReport(Struct, frozen=True):
    """The strength of every contract that was asked about."""

    place: PlanLocation
    steps: tuple[StepStrength, ...]

    @property
    def weak(self) -> bool:
        """True when a contract rejects less than it has to."""
        return any(step.weak for step in self.steps)

    @property
    def measured(self) -> bool:
        """True when all of it was measured to its end."""
        found = [step.strength for step in self.steps if step.strength is not None]
        return bool(found) and not any(strength.incomplete for strength in found)


def measure_plan(
    harness: Harness,
    place: PlanLocation,
    step_id: str | None = None,
    *,
    jobs: int | None = None,
    most: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> StrengthReport:
    """Measure the contracts of accepted steps, and record what came of it."""
    _, history = trusted_history(harness.ledger, place.id)
    if history.run is None:
        raise NoSuchRun(f"plan `{place.name}` was never run, so no work is there to measure with")
    approved = approved_by(harness.ledger, place, history, history.run)
    steps = _steps(approved.state, step_id)
    with taken(harness, place, Holder.current(str(place.path))):
        work = open_work(harness, approved)
        meter = StrengthMeter(
            work.judge,
            strength_rooms(harness, work, jobs or harness.settings.jobs),
            lambda: False,
            most=most,
            known=approved.state.strengths.get,
        )
        found = []
        for step in steps:
            tell(f"step {step.id}: measuring")
            found.append(_measured(harness, work, step, meter))
    return StrengthReport(place, tuple(found))


def _steps(state: State, step_id: str | None) -> list[Step]:
    """The step that was asked about, or all of them."""
    steps = state.schedule.steps
    if step_id is None:
        return list(steps)
    if state.schedule.has(step_id):
        return [state.schedule.step(step_id)]
    raise UsageError(
        f"the plan has no step `{step_id}`",
        f"its steps are {shown_list(step.id for step in steps)}",
    )


def _measured(harness: Harness, work: OpenWork, step: Step, meter: StrengthMeter) -> StepStrength:
    state = work.approved.state
    record = state.record(step.id)
    required = required_strength(step, work.approved.settings.policy)
    why_not = ""
    if step.contract is None:
        why_not = "it has no contract"
    elif step.contract.judged_once:
        why_not = "its contract is judged once"
    elif not record.done:
        why_not = "its contract was not kept yet"
    elif not record.change:
        why_not = "no attempt of this run changed anything for it"
    if why_not:
        return StepStrength(step.id, step.title, required, why_not=why_not)
    case = case_of(state, work.guards, step, Phase.ATTEMPT)
    found = meter.measure(case, record.change)
    draft = Draft(Kind.STRENGTH_MEASURED, to_builtins(found), run=state.run, step=step.id)
    harness.ledger.append(work.approved.place.id, [draft])
    return StepStrength(step.id, step.title, required, found)
