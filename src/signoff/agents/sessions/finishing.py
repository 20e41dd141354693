"""Finalization: an answer with a shut gate is refused and in the end escalated; signing."""

from __future__ import annotations

from dataclasses import dataclass

from signoff.agents.sessions.desk import Desk
from signoff.agents.sessions.showing import show_missing, show_name, show_verdict
from signoff.domain.escalation import Cause
from signoff.domain.ledger import Draft, Kind
from signoff.domain.session import Decision, SessionStanding
from signoff.gate.gate import GateReport
from signoff.gate.task import asked_drops
from signoff.settings.agent import SelfSetRule, SessionPolicy

MOST_REFUSALS = 60  # of any kind since a person looked: toggling what is missing leads nowhere


@dataclass(frozen=True)
class Finalization:
    """What became of a final answer; `text` is for the model, or for the user once it is over."""

    decision: Decision
    text: str
    gate: GateReport
    question: str | None = None


def finish(desk: Desk, answer: str, limit_s: float | None) -> Finalization:
    """Judge what is pending, ask the gate, and accept, refuse or hand over to a person.

    What a person asked for and the agent gave up is on record: nothing is done without them.
    """
    state = desk.look()
    over = bool(state.session.ended or state.aborted)
    if not over:
        desk.judge_pending(limit_s)
    gate = desk.gate()
    kept = desk.ledger.put_text(answer)
    if gate.open:
        data = {"answer": kept, "planned": gate.planned, "dropped": list(asked_drops(desk.state))}
        desk.append(Draft(Kind.ANSWER_ACCEPTED, data))
        desk.withdraw_settled(gate)
        return Finalization(Decision.ACCEPTED, _accepted(desk, gate), gate)
    if over:
        ended = f"{state.session.ended}; a person has to look at it"
        why = "a person ended it" if state.aborted else ended
        text = f"this session is over: {why}"
        return Finalization(Decision.ESCALATED, text, gate, _newest_question(desk))
    refused = Draft(
        Kind.ANSWER_REFUSED,
        {
            "answer": kept,
            "missing_digest": gate.missing_digest,
            "missing": [f"{m.subject}: {m.what}" for m in gate.missing],
        },
    )
    if gate.waits_for_people:
        return _wait(desk, gate, refused)
    desk.append(refused)
    session = desk.state.session
    too_often = session.refused_lately >= MOST_REFUSALS
    if session.repeated >= desk.policy.escalate_after or too_often:
        return _escalate(desk, gate)
    return Finalization(Decision.REFUSED, _refusal(desk, gate), gate)


def sign(desk: Desk, by: str) -> None:
    """Judge every contract once more and put on record what the gate says with the agent gone."""
    desk.judge_pending(provisional=False)
    silent = desk.silent_urls()
    gate = desk.gate(silent)
    data = {
        "snapshot": desk.content(),
        "open": gate.open,
        "self_set": gate.self_set,
        "self_set_accepted": accepts_self_set(desk.policy) and not desk.state.session.dropped,
        "missing": [f"{m.subject}: {m.what}" for m in gate.missing],
        "waived": list(gate.waived),
        "for_person": list(gate.for_person),
        "silent_urls": sorted(silent),
        "by": by,
    }
    desk.append(Draft(Kind.SESSION_SIGNED, data))
    desk.withdraw_settled(gate)


def _accepted(desk: Desk, gate: GateReport) -> str:
    if not gate.planned:
        return "accepted; there was no plan, so nothing was proved"
    without = f"; without {', '.join(gate.waived)}" if gate.waived else ""
    if gate.for_person:
        without += f"; a person is asked about {', '.join(gate.for_person)}"
    label = "" if accepts_self_set(desk.policy) or not gate.self_set else " (self-set checks)"
    return f"accepted provisionally{label}{without}; the plan awaits sign-off by the harness"


def _refusal(desk: Desk, gate: GateReport) -> str:
    times, policy = desk.state.session.repeated, desk.policy
    if times <= policy.shorten_after:
        return (
            "Your answer is not accepted yet: the plan is not proved. It stays in the transcript."
            f" Missing:\n{show_missing(gate, why_broken(desk, gate))}\n"
            'Do that, or say honestly what cannot be done: step_update(…, "blocked", notes=why),'
            " postcondition_verify(…, unattainable_because=why)."
        )
    first = gate.missing[0]
    left = policy.escalate_after - times
    return (
        f"Refused {times} times for the same reason; {left} more and a person takes over."
        f" Missing is {show_name(first.subject)}: {first.what}. Do only this now: {first.next}"
    )


def why_broken(desk: Desk, gate: GateReport) -> str:
    """What the first check that does not hold printed: nobody can repair an exit code."""
    verdicts = (desk.state.record(s.id).latest for s in gate.subjects if not s.proved)
    first = next((v for v in verdicts if v and not v.kept and v.output_tail), None)
    return "" if first is None else show_verdict(first)


def _wait(desk: Desk, gate: GateReport, refused: Draft) -> Finalization:
    """Nothing the agent could do would help: no refusals, the session waits."""
    drafts = [refused]
    question = _newest_question(desk)
    if question is None:
        asked = desk.question(
            Cause.REFUSED,
            f"the session cannot go on by itself: {'; '.join(m.what for m in gate.missing)}",
            None,
            {"missing": show_missing(gate)},
        )
        question = str(asked.data["id"])
        drafts.insert(0, asked)
    ended = Draft(Kind.SESSION_ENDED, {"how": SessionStanding.WAITING})
    desk.append(*drafts, ended)
    text = f"the rest waits for a person (`{question}`):\n{show_missing(gate)}"
    return Finalization(Decision.ESCALATED, text, gate, question)


def _escalate(desk: Desk, gate: GateReport) -> Finalization:
    proved = ", ".join(gate.proved) or "nothing"
    asked = desk.question(
        Cause.REFUSED,
        f"the agent's final answer was refused {desk.state.session.refusals} times; proved so far:"
        f" {proved}. retry lets the session be taken up again, abort ends it",
        None,
        {"missing": show_missing(gate)},
    )
    ended = Draft(Kind.SESSION_ENDED, {"how": SessionStanding.ESCALATED})
    desk.append(asked, ended)
    question = str(asked.data["id"])
    text = f"the session ends here, not done; a person takes over (`{question}`)"
    return Finalization(Decision.ESCALATED, text, gate, question)


def _newest_question(desk: Desk) -> str | None:
    return next(reversed(desk.state.questions), None)


def accepts_self_set(policy: SessionPolicy) -> bool:
    """Whether the user takes checks that an agent chose for an answer."""
    return policy.self_set is SelfSetRule.ACCEPT
