"""The questions a run asks a person, with everything needed to answer them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from signoff.domain.escalation import Cause, Choice
from signoff.domain.globs import literal
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Postcondition, Step
from signoff.domain.verdict import Reason
from signoff.errors import StorageFailed
from signoff.gate.record import Judged, Record
from signoff.gate.state import State

_EVERY = (Choice.RETRY, Choice.REVISE, Choice.ABORT, Choice.WAIVE)
_FOR_THE_PLAN = (Choice.RETRY, Choice.REVISE, Choice.ABORT)
_BY_WORD = (Choice.ACCEPT, *_EVERY)


def ask(
    state: State,
    cause: Cause,
    question: str,
    *,
    step: str | None = None,
    context: dict[str, Any] | None = None,
    waivable: bool = True,
) -> Draft:
    """The entry that opens an escalation."""
    choices = _EVERY if step is not None and waivable else _FOR_THE_PLAN
    allow = _allowable(state, step) if step is not None and state.schedule.has(step) else []
    return Draft(
        Kind.ESCALATION_OPENED,
        {
            "id": f"{state.run}-{state.questions_asked + 1}",
            "cause": cause,
            "question": question,
            "context": context or {},
            "choices": [*([Choice.ALLOW] if allow else []), *choices],
            **({"allow": allow} if allow else {}),
        },
        run=state.run,
        step=step,
    )


def _allowable(state: State, step: str) -> list[str]:
    """The files that a line in the plan would let the step change, of the latest verdict."""
    latest = state.record(step).latest
    if latest is None or latest.reason not in (Reason.INFLUENCED, Reason.OUTSIDE):
        return []
    return sorted(map(literal, latest.tampered))


def ask_for_word(state: State, post: Postcondition, content: str, *, allowed: bool) -> Draft:
    """The question whether a postcondition without a contract holds, of exactly this content."""
    how = "accept says that it holds"
    if not allowed:
        how = "the policy forbids to go by anybody's word: revise, and give it a contract"
    question = f"postcondition {post.number} is yours to judge: {post.text}; {how}"
    draft = ask(state, Cause.POSTCONDITION, question, step=post.id, waivable=allowed)
    choices = list(_BY_WORD if allowed else _FOR_THE_PLAN)
    return replace(draft, data={**draft.data, "choices": choices, "snapshot": content})


def about(cause: Cause, step: Step, record: Record) -> tuple[str, dict[str, Any]]:
    """The question for one cause, and the evidence so far."""
    context = _evidence(step, record)
    if cause is Cause.HELD_BEFORE:
        return (
            f"the contract of step {step.id} ({step.title}) already holds, "
            "so keeping it would prove nothing; retry dispatches the step all the same"
        ), context
    if cause is Cause.HANDOFF:
        return (
            f"step {step.id} ({step.title}) left files that make other programs act: "
            f"{', '.join(record.handoff)}; look at them, retry goes on with them"
        ), context
    latest = record.latest or record.before
    assert latest is not None, "a step fails by a verdict"
    tries = f"{record.attempts} attempt" + ("" if record.attempts == 1 else "s")
    said = f"step {step.id} ({step.title}) is {latest.result} after {tries}: {latest.message}"
    why = _WHY.get(cause, "").format(answer=record.answer)
    if cause is Cause.TAMPERED and record.tamperings == 1:
        why = ""  # the step allows no retry, so nothing had been put back
    in_trouble = record.worked is not None and record.worked.in_trouble
    agent = f"; the agent ended: {record.worked}" if in_trouble else ""
    return f"{said}{agent}{f'; {why}' if why else ''}", context


_WHY = {
    Cause.TAMPERED: "the check was changed again after it had been put back",
    Cause.REPEATED: "the same content failed the same way twice, so another attempt was not made",
    Cause.INFRASTRUCTURE: "it could not be judged, so no attempt is counted; retry judges it again",
    Cause.FLAKY: (
        "the contract answers differently on the same content; retry dispatches the step again"
    ),
    Cause.AGENT_ANSWER: "the agent says: {answer}",
    Cause.INFLUENCED: "allow adds that line and judges the same content again",
}


def about_blocked(step: Step, record: Record, error: StorageFailed) -> tuple[str, dict[str, Any]]:
    """The question when what an agent changed cannot be put back by us."""
    question = (
        f"step {step.id} ({step.title}) changed what is protected, and {error}; "
        "move away what stands in its place, then answer retry"
    )
    context = {"cannot be put back": list(error.facts.get("paths", ()))}
    return question, {**_evidence(step, record), **context}


def _evidence(step: Step, record: Record) -> dict[str, Any]:
    """Everything a person needs to decide without opening the ledger."""
    latest = record.latest or record.before
    context: dict[str, Any] = {"contract": step.contract.command if step.contract else ""}
    if latest is not None:
        context |= {
            "ledger entry": latest.seq,
            "output_tail": latest.output_tail,
            "tampered": list(latest.tampered),
        }
        context |= held_out_output(latest)
    context["suspects"] = list(record.suspects)
    if record.restored:
        context["put back or removed again"] = list(record.restored)
    if record.worked is not None:
        context["the agent ended"] = str(record.worked) if record.worked.in_trouble else ""
        context["the agent's last output"] = record.worked.output_tail
    if record.answer is not None:
        context["the agent's reason"] = record.answer_reason
    if record.handoff:
        context["files that make other programs act"] = list(record.handoff)
    return context


def held_out_output(latest: Judged | None) -> dict[str, Any]:
    """Why a held-out check could not be run: a person repairs it, and no agent is to read it."""
    said = latest.heldout_tail if latest is not None else ""
    return {"the held-out check's last output": said} if said else {}


def about_human(step: Step, record: Record) -> tuple[str, dict[str, Any]]:
    """The question when the step is a person's to do, or to do again."""
    whose = f"step {step.id} ({step.title}) is yours to do"
    latest = record.latest
    if latest is None or latest.kept:
        return f"{whose}; answer retry when it can be judged", {
            "task": step.task,
            "contract": step.contract.command if step.contract else "",
        }
    question = f"{whose}; it was judged and is {latest.result}: {latest.message}; answer retry "
    return f"{question}when it can be judged again", {"task": step.task, **_evidence(step, record)}
