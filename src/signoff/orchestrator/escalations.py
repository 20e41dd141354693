"""The questions a run asks a person, with everything needed to answer them."""

from __future__ import annotations

from typing import Any

from signoff.domain.escalation import Cause, Choice
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Step
from signoff.gate import Record, RunState

_EVERY = (Choice.RETRY, Choice.REVISE, Choice.ABORT, Choice.WAIVE)
_FOR_THE_PLAN = (Choice.RETRY, Choice.REVISE, Choice.ABORT)


def ask(
    state: RunState,
    cause: Cause,
    question: str,
    *,
    step: str | None = None,
    context: dict[str, Any] | None = None,
    waivable: bool = True,
) -> Draft:
    """The entry that opens an escalation."""
    choices = _EVERY if step is not None and waivable else _FOR_THE_PLAN
    return Draft(
        Kind.ESCALATION_OPENED,
        {
            "id": f"{state.run}-{state.escalations_opened + 1}",
            "cause": cause,
            "question": question,
            "context": context or {},
            "choices": list(choices),
        },
        run=state.run,
        step=step,
    )


def about_contract(step: Step, record: Record) -> tuple[str, dict[str, Any]]:
    """The question when a step's retries are used up."""
    latest = record.latest
    assert latest is not None, "a step fails by a verdict"
    tries = f"{record.attempts} attempt" + ("" if record.attempts == 1 else "s")
    question = f"step {step.id} ({step.title}) is {latest.result} after {tries}: {latest.message}"
    return question, {
        "contract": step.contract.command if step.contract else "",
        "ledger entry": latest.seq,
        "output_tail": latest.output_tail,
        "tampered": list(latest.tampered),
        "suspects": list(record.suspects),
    }


def about_held_before(step: Step) -> tuple[str, dict[str, Any]]:
    """The question when red first is required and the contract was green."""
    question = (
        f"the contract of step {step.id} ({step.title}) already holds, "
        "so keeping it would prove nothing; retry dispatches the step all the same"
    )
    return question, {"contract": step.contract.command if step.contract else ""}


def about_human(step: Step) -> tuple[str, dict[str, Any]]:
    """The question when the step is a person's to do."""
    question = f"step {step.id} ({step.title}) is yours to do; answer retry when it can be judged"
    return question, {
        "task": step.task,
        "contract": step.contract.command if step.contract else "",
    }
