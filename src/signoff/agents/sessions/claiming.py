"""What an agent claims of steps and postconditions: judged where there is a check, else proved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signoff.agents.sessions.adjudicating import Ruling, claim_of, used_by
from signoff.agents.sessions.desk import Desk
from signoff.agents.sessions.evidence import HOW, Unresolved, resolve
from signoff.agents.sessions.showing import show_verdict
from signoff.domain.escalation import Cause
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Author, Postcondition, Step
from signoff.domain.session import ClaimStatus, shown_list
from signoff.domain.text import escape_line
from signoff.gate.subjects import is_derived
from signoff.settings.agent import BlockedRule

LONGEST_TEXT = 2_000
NO_PLAN = "there is no plan yet; call plan_create(objective, steps, postconditions) first"
_STATUSES = {
    s.value: s
    for s in (
        ClaimStatus.PENDING,
        ClaimStatus.IN_PROGRESS,
        ClaimStatus.DONE,
        ClaimStatus.BLOCKED,
    )
}


def update_step(desk: Desk, number: Any, status: Any, evidence: Any, notes: Any) -> str:
    """One claim about a step; text that says what came of it."""
    found = _pick(desk, number, "step")
    texts = _texts(evidence=evidence, notes=notes)
    if isinstance(found, str) or isinstance(texts, str):
        return found if isinstance(found, str) else str(texts)
    step, at = found
    wanted = _STATUSES.get(str(status).strip().lower().replace("-", "_"))
    if wanted is None:
        return f"error: invalid status {status!r}; use {', '.join(_STATUSES)}"
    if wanted is ClaimStatus.BLOCKED:
        return _block(desk, step, at, texts)
    begins = wanted is ClaimStatus.IN_PROGRESS or not desk.state.record(step.id).claim.begun
    if wanted in (ClaimStatus.IN_PROGRESS, ClaimStatus.DONE) and begins:
        unmet = _unmet(desk, step)
        if unmet:
            return f"refused: step {at} cannot begin: {unmet}"
    if wanted is ClaimStatus.DONE:
        return _finish(desk, step, f"step {at}", texts)
    reopened = desk.state.record(step.id).claim.status is ClaimStatus.DONE
    _claim(desk, step.id, wanted, texts)
    return f"step {at} → {wanted}" + (
        " (it was done; reopening it is recorded)" if reopened else ""
    )


def check_step(desk: Desk, number: Any) -> str:
    """Judge a step's contract now."""
    found = _pick(desk, number, "step")
    if isinstance(found, str):
        return found
    step, at = found
    if step.contract is None:
        return f'step {at} has no check; prove it with step_update({at}, "done", evidence=…): {HOW}'
    verdict = desk.run_contract(step.id, step.contract)
    if verdict.kept:
        return (
            f"step {at}: the check holds now (provisionally; the harness judges again at the end)"
        )
    return f"step {at}: {show_verdict(verdict)}"


def verify_postcondition(desk: Desk, number: Any, evidence: Any, unattainable_because: Any) -> str:
    """Judge or prove a postcondition, or hand it to a person."""
    found = _pick(desk, number, "postcondition")
    texts = _texts(evidence=evidence, notes=unattainable_because)
    if isinstance(found, str) or isinstance(texts, str):
        return found if isinstance(found, str) else str(texts)
    post, at = found
    if not texts["notes"].strip():
        return _finish(desk, post, f"postcondition {at}", texts)
    known = desk.state.record(post.id).question
    if known is not None:
        return f"postcondition {at} waits for a person already (`{known}`)"
    said = f"postcondition {at} ({post.text if isinstance(post, Postcondition) else ''})"
    return _hand_over(desk, post.id, said, ClaimStatus.UNATTAINABLE, texts)


def _pick(desk: Desk, number: Any, kind: str) -> tuple[Step | Postcondition, int] | str:
    """A part of the plan by its 1-based number; text when there is none."""
    plan = desk.look().plan
    if plan is None:
        return f"error: {NO_PLAN}"
    parts: tuple[Step | Postcondition, ...] = plan.steps if kind == "step" else plan.postconditions
    if isinstance(number, str) and number.strip().isascii() and number.strip().isdigit():
        number = int(number.strip()[:9])
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if type(number) is not int:
        return f"error: {kind}_number must be a number from 1 to {len(parts)}"
    if not 1 <= number <= len(parts):
        return f"error: {kind}_number {number} out of range (1..{len(parts)})"
    return parts[number - 1], number


def _texts(**given: Any) -> dict[str, str] | str:
    for name, text in given.items():
        if not isinstance(text, str):
            return f"error: `{name}` must be a text"
        if len(text) > LONGEST_TEXT:
            return f"error: `{name}` is longer than {LONGEST_TEXT} characters; say it shorter"
    return given


def _claim(
    desk: Desk, subject: str, status: ClaimStatus, texts: dict[str, str], **more: Any
) -> None:
    data = {
        "status": status,
        "evidence": texts["evidence"].strip(),
        "notes": texts["notes"].strip(),
        **more,
    }
    drafts = [Draft(Kind.STEP_CLAIMED, data, step=subject)]
    asked = desk.state.record(subject).question
    if asked in desk.state.questions and asked != more.get("question"):
        drafts.append(desk.withdrawal(str(asked), f"the agent went on; it is {status} now"))
    desk.append(*drafts)


def _unmet(desk: Desk, step: Step | Postcondition) -> str:
    """The first precondition that does not hold; an empty text when all do."""
    declared = desk.state.session.declared.get(step.id)
    for number, condition in enumerate(declared.preconditions if declared else (), 1):
        if condition.step:
            gate = desk.gate()
            settled = (*gate.proved, *gate.waived)
            if condition.step not in settled:
                return f"step {condition.step} is not done yet"
        elif condition.contract is not None:
            verdict = desk.run_contract(f"precondition:{step.id}:{number}", condition.contract)
            if not verdict.kept:
                return f"its precondition `{condition.text}` does not hold: {show_verdict(verdict)}"
    return ""


def _finish(desk: Desk, part: Step | Postcondition, name: str, texts: dict[str, str]) -> str:
    """`done` is a request: a check decides, else evidence that resolves."""
    shut = sorted(desk.shut_children() & set(desk.state.record(part.id).claim.children))
    if shut:
        return f"refused: {name} has a child session that is not finished: {shown_list(shut)}"
    if part.contract is not None:
        verdict = desk.run_contract(part.id, part.contract)
        if not verdict.kept:
            return f"refused: {name} is not done: {show_verdict(verdict)}"
        _claim(desk, part.id, ClaimStatus.DONE, texts)
        return f"{name} → done: its check holds (provisionally; judged again at the end)"
    if is_derived(desk.state, part) and isinstance(part, Step):
        _claim(desk, part.id, ClaimStatus.DONE, texts)
        return f"{name} → done"
    if desk.state.author is Author.PERSON:
        return (
            f"refused: {name} has no check and is a person's to decide; they are asked at sign-off."
            " It does not hold you up: go on with the rest"
        )
    if not texts["evidence"].strip():
        return f"error: marking {name} done requires evidence; {HOW}"
    try:
        basis = resolve(
            texts["evidence"],
            desk.state.record(part.id).claim,
            desk.sources(),
            desk.policy.evidence,
        )
    except Unresolved as error:
        return f"refused: {name} is not done: {error}"
    _claim(desk, part.id, ClaimStatus.DONE, texts, basis=basis.to_data())
    return f"{name} → done"


def _block(desk: Desk, step: Step | Postcondition, at: int, texts: dict[str, str]) -> str:
    reason = texts["notes"].strip() or texts["evidence"].strip()
    if not reason:
        return f"error: calling step {at} blocked needs a reason in `notes`"
    cited = texts["evidence"].strip()
    texts = {"evidence": "", "notes": reason}
    if desk.policy.blocked is BlockedRule.ACCEPT and not desk.policy.forbid_waivers:
        _claim(desk, step.id, ClaimStatus.BLOCKED, texts, let_go=True)
        return f"step {at} → blocked; the report names it, it is never called done"
    known = desk.state.record(step.id).question
    if known is not None:
        _claim(desk, step.id, ClaimStatus.BLOCKED, texts, question=known)
        return f"step {at} waits for a person already (`{known}`); go on with the other steps"
    ruling = _ruling(desk, step, reason, cited)
    if ruling is not None and ruling.accepted is not None:
        let_go = {"let_go": True} if ruling.accepted else {}
        _claim(desk, step.id, ClaimStatus.BLOCKED, texts, **let_go, ruling=ruling.to_data())
        if ruling.accepted:
            return f"step {at} → blocked; {ruling.said}. The report names it, it is never done"
        return (
            f"refused: step {at} is not blocked; {ruling.said}. Go on with it; calling it blocked"
            " again asks a person"
        )
    title = step.title if isinstance(step, Step) else ""
    said = {} if ruling is None else {"the second model": ruling.said}
    return _hand_over(desk, step.id, f"step {at} ({title})", ClaimStatus.BLOCKED, texts, said)


def _ruling(desk: Desk, step: Step | Postcondition, reason: str, cited: str) -> Ruling | None:
    """What a second model says, where the policy asks for one and it did not rule before."""
    policy, ask = desk.policy, desk.adjudicator
    if policy.blocked is not BlockedRule.MODEL or policy.forbid_waivers or ask is None:
        return None
    if desk.state.record(step.id).claim.ruling:
        return None
    ruling = ask.rule(claim_of(desk.state, step, reason, cited))
    if ruling.tokens or ruling.usd:
        desk.append(used_by(ruling))
    return ruling


def _hand_over(
    desk: Desk,
    subject: str,
    name: str,
    status: ClaimStatus,
    texts: dict[str, str],
    more: Mapping[str, str] | None = None,
) -> str:
    """A question for a person, in one transaction with the claim that raised it."""
    reason = texts["notes"].strip()
    cause = Cause.BLOCKED if status is ClaimStatus.BLOCKED else Cause.UNATTAINABLE
    asked = desk.question(
        cause,
        f"{escape_line(name)} is {status}, says the agent: {escape_line(reason)}. "
        "waive goes on without it, retry sends the agent back to it",
        subject,
        {"the agent's reason": reason, **(more or {})},
    )
    data = {
        "status": status,
        "evidence": texts["evidence"].strip(),
        "notes": reason,
        "question": asked.data["id"],
    }
    desk.append(asked, Draft(Kind.STEP_CLAIMED, data, step=subject))
    return (
        f"{name} → {status}; a person decides (`{asked.data['id']}`). Go on with the rest, then"
        " give your final answer: it will wait for the person"
    )
