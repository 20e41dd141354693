"""The questions a run asks a person, with everything needed to answer them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from signoff.agents.assignment import UsageLimit
from signoff.domain.globs import literal
from signoff.domain.ledger import Cause, Choice, Draft, Kind
from signoff.domain.plan import Postcondition, Step
from signoff.domain.text import escape_line, moment, shown_list
from signoff.domain.verdict import Reason
from signoff.errors import SetupFailed, StorageFailed
from signoff.gate.gate import ALL_HELD_BEFORE
from signoff.gate.record import Judged, Record
from signoff.gate.state import State
from signoff.orchestrator.events import Doing
from signoff.orchestrator.openrun import OpenRun
from signoff.planfile.verify.rules_contract import unfit_items

OPINION = "a model's opinion, no proof"
_ITEMS_NAMED = 5
_LOOK_AGAIN_S = 2.0  # while parked: a person may answer meanwhile
_TICK_S = 0.1
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
    opinion = state.record(step).opinion if step is not None and cause is Cause.OPINION else None
    overrules = {"opinion": opinion.about} if opinion is not None and waivable else {}
    allow = _allowable(state, step) if step is not None and state.schedule.has(step) else []
    return Draft(
        Kind.ESCALATION_OPENED,
        {
            "id": f"{state.run}-{state.questions_asked + 1}",
            "cause": cause,
            "question": question,
            "context": context or {},
            "choices": [
                *([Choice.ALLOW] if allow else []),
                *([Choice.ACCEPT] if overrules else []),
                *choices,
            ],
            **({"allow": allow} if allow else {}),
            **overrules,
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


def ask_for_word(
    state: State, post: Postcondition, content: str, opinion: tuple[str, ...], *, allowed: bool
) -> Draft:
    """The question whether a postcondition without a contract holds, of exactly this content."""
    how = "accept says that it holds"
    if not allowed:
        how = "the policy does not let a person decide it: revise, and give it a contract"
    question = f"postcondition {post.number} is yours to judge: {post.text}; {how}"
    context = {OPINION: list(opinion)}
    draft = ask(
        state, Cause.POSTCONDITION, question, step=post.id, context=context, waivable=allowed
    )
    choices = list(_BY_WORD if allowed else _FOR_THE_PLAN)
    return replace(draft, data={**draft.data, "choices": choices, "snapshot": content})


def ask_held_before(state: State, *, allowed: bool) -> Draft:
    """The question whether a plan is done all of whose contracts held before the work."""
    better = "revise, and give a step a contract that fails first, or `**red_first:** off (why)`"
    how = f"accept calls it done all the same; or {better}" if allowed else better
    draft = ask(state, Cause.HELD_BEFORE, f"{ALL_HELD_BEFORE}; {how}")
    choices = [Choice.ACCEPT, Choice.REVISE, Choice.ABORT][not allowed :]
    return replace(draft, data={**draft.data, "choices": choices})


def about(cause: Cause, step: Step, record: Record) -> tuple[str, dict[str, Any]]:
    """The question for one cause, and the evidence so far."""
    context = _evidence(step, record)
    if cause is Cause.HELD_BEFORE:
        return (
            f"the contract of step {step.id} ({step.title}) already holds, "
            "so keeping it would prove nothing; retry starts an agent all the same"
        ), context
    if cause is Cause.HANDOFF:
        return (
            f"step {step.id} ({step.title}) changed files that other tools execute: "
            f"{', '.join(record.handoff)}; look at them, retry goes on with them"
        ), context
    if cause is Cause.OBSTACLE and record.hindered:
        said = f"the agent of step {step.id} ({step.title}) changed nothing, and was denied"
        return f"{said} something: {record.hindered}; then retry starts an agent again", context
    latest = record.latest or record.before
    assert latest is not None, "a step fails by a verdict"
    tries = f"{record.tries} attempt" + ("" if record.tries == 1 else "s")
    said = f"step {step.id} ({step.title}) is {latest.result} after {tries}: {latest.message}"
    why = _WHY.get(cause, "").format(answer=record.answer)
    if cause is Cause.TAMPERED and record.tamperings == 1:
        why = ""  # the step allows no retry, so nothing had been put back
    if cause is Cause.OBSTACLE and record.attempts:
        why += "; if the work is at fault, revise"
    in_trouble = record.worked is not None and record.worked.in_trouble
    agent = f"; the agent ended: {record.worked}" if in_trouble else ""
    return f"{said}{agent}{f'; {why}' if why else ''}", context


_WHY = {
    Cause.TAMPERED: "the check was changed again after it had been put back",
    Cause.REPEATED: "the same content failed the same way twice, so another attempt was not made",
    Cause.INFRASTRUCTURE: "it could not be judged, so no attempt is counted; retry judges it again",
    Cause.FLAKY: (
        "the contract answers differently on the same content; retry starts an agent again"
    ),
    Cause.AGENT_ANSWER: "the agent says: {answer}",
    Cause.OBSTACLE: "no attempt is counted; retry judges it again when mended, revise a new plan",
    Cause.OPINION: "accept takes the work as it is, retry has an agent try again",
    Cause.INFLUENCED: "allow adds that line and judges the same content again",
}


def about_setup(step: Step, failed: SetupFailed) -> tuple[str, dict[str, Any]]:
    """The question when no lane can be set up for a step, on the approved content either."""
    question = (
        f"step {step.id} ({step.title}) was not begun: {failed.message}; {failed.hint};"
        " retry sets it up again"
    )
    return question, {"output_tail": failed.facts["output_tail"]}


def about_obstacle(subject: Step | Postcondition, judged: Judged) -> tuple[str, dict[str, Any]]:
    """The question when a check does not work here, asked before anybody is paid."""
    name = f"step {subject.id}" if isinstance(subject, Step) else f"postcondition {subject.number}"
    question = f"the check of {name} does not work here, so no agent was started: {judged.message}"
    context = {
        "contract": subject.contract.command if subject.contract else "",
        "ledger entry": judged.seq,
        "output_tail": judged.output_tail,
    }
    return f"{question}; retry tries it again when mended, revise a new plan", context


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
        context |= held_out_output(latest) | opinion_beside(record)
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
    """Output of a held-out check that could not be run: for the person, never for an agent."""
    said = latest.heldout_tail if latest is not None else ""
    return {"the held-out check's last output": said} if said else {}


def opinion_beside(record: Record) -> dict[str, Any]:
    """The newest opinion about the rubric, for the person; no proof."""
    told = record.opinion
    if told is None:
        return {}
    return {OPINION: [f"{told.model}: {told.result}", *told.lines]}


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


# A park is a question that answers itself: it stands in the ledger with the time at which it is
# withdrawn, so it survives every crash, and a person can answer it before.
LONGEST_PARK_S = 24 * 3600.0  # of one step altogether, until a person says to go on
SHORTEST_PARK_S = 5.0
FIRST_BACKOFF_S = 60.0  # doubled each time
_LONGEST_QUOTE = 200


def park_s(record: Record, limit: UsageLimit, now: float) -> float | None:
    """Seconds to park the step; None when it would be too long, and a person is asked.

    A reset that the client named is believed once. Who runs into the limit again, or makes it up,
    waits twice as long each time: ten parks fill a day.
    """
    backoff_s = FIRST_BACKOFF_S * 2.0**record.parks
    wait_s = backoff_s
    if limit.until is not None:
        named_s = max(SHORTEST_PARK_S, limit.until - now + 1.0)
        wait_s = max(named_s, backoff_s) if record.parks else named_s
    return None if record.parked_s + wait_s > LONGEST_PARK_S else round(wait_s, 3)


def park(state: State, step: Step, limit: UsageLimit, now: float) -> Draft:
    """The entry that parks the step, or asks a person whether to go on."""
    record = state.record(step.id)
    wait_s = park_s(record, limit, now)
    said = f"`{escape_line(limit.said[:_LONGEST_QUOTE])}`"
    head = f"step {step.id} ({step.title}): `{step.target}` ran into a usage limit of its model"
    context = {"the client said": limit.said, "parked before": record.parks}
    if wait_s is None:
        named = f", which ends at {moment(limit.until)}" if limit.until is not None else ""
        text = f"{head}{named}: {said}; no step is parked for more than 24 h: retry tries again now"
        return ask(state, Cause.USAGE_LIMIT, text, step=step.id, context=context)
    until = round(now + wait_s, 3)
    text = (
        f"{head}: {said}; no attempt is counted, and it goes on by itself at {moment(until)}"
        " (`signoff run --wait`, or the next `signoff run`); retry tries again now"
    )
    draft = ask(state, Cause.USAGE_LIMIT, text, step=step.id, context=context)
    return replace(draft, data={**draft.data, "until": until, "parked_s": wait_s})


def next_due(state: State) -> float | None:
    """Time at which the first parked step goes on; None while none is parked."""
    return min((q.until for q in state.questions.values() if q.until is not None), default=None)


def withdrawals(state: State, now: float) -> Iterable[Draft]:
    """The entries that end every park whose time has come."""
    for asked in state.questions.values():
        if asked.until is not None and asked.until <= now:
            data = {
                "id": asked.id,
                "choice": Choice.RETRY,
                "note": "the time has come",
                "by": "signoff",
                "interactive": False,
                "withdrawn": True,
            }
            yield Draft(Kind.ESCALATION_ANSWERED, data, run=state.run, step=asked.subject)


def stay_parked(work: OpenRun, state: State) -> bool:
    """Wait a moment for a usage limit to end; False when nobody asked for that, or none is."""
    due = next_due(state) if work.wait else None
    if due is None:
        return False
    asked = next(q for q in state.questions.values() if q.until == due)
    work.reporter.tell(Doing(asked.subject or "", f"parked until {moment(due)}"))
    look_at = work.clock() + _LOOK_AGAIN_S
    while work.clock() < min(due, look_at) and not work.cancelled():
        time.sleep(_TICK_S)
    return True


def wrong_with_list(step: Step, items: tuple[str, ...]) -> str:
    """The reason why a step cannot be done for each of these items; empty when it can."""
    if not items:
        return "the list is empty"
    unfit = unfit_items(step.contract.command if step.contract else "", items)
    if not unfit:
        return ""
    named = shown_list(unfit, _ITEMS_NAMED)
    why = "is in quotes there, and the shell would read what these items say"
    return f"`{{item}}` in its contract {why}: {named}"
