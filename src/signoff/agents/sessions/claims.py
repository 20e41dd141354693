"""Plan tools for an agent's plans and claims: each returns text. Checks decide, else evidence."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

from msgspec import to_builtins

from signoff.agents.sessions.chain import Refused, SessionChain
from signoff.agents.sessions.evidence import HOW, resolve
from signoff.agents.sessions.finishing import show_verdict
from signoff.domain.ledger import Cause, Draft, Kind
from signoff.domain.plan import Author, Plan, Postcondition, Step
from signoff.domain.session import ClaimStatus
from signoff.domain.text import escape_line, shown_list
from signoff.gate.fold_session import turn
from signoff.gate.subjects import is_derived
from signoff.planfile.diff import diff_plans
from signoff.settings.policy import BlockedRule, RatchetRule

if TYPE_CHECKING:
    from signoff.agents.sessions.writing import WrittenPlan

LONGEST_TEXT = 2_000
NO_PLAN = "there is no plan yet; call plan_create(objective, steps, postconditions) first"
_STATUSES = ("pending", "in_progress", "done", "blocked")
_P = ParamSpec("_P")


def _answering(tool: Callable[_P, str]) -> Callable[_P, str]:
    """A plan tool never raises for what a model sends: what does not hold is its answer."""

    @wraps(tool)
    def answered(*args: _P.args, **kwargs: _P.kwargs) -> str:
        try:
            return tool(*args, **kwargs)
        except Refused as refused:
            return str(refused)

    return answered


def create_plan(
    session: SessionChain, objective: Any, steps: Any, postconditions: Any = (), reason: Any = ""
) -> str:
    """Write the plan, or write it anew; a rewrite is recorded with what it drops."""
    state = session.look()
    if state.author is Author.PERSON:
        return (
            "refused: this session works on a plan that a person wrote, and only people change it."
            " plan_show shows it"
        )
    if state.session.pending is not None:
        asked = state.session.pending.question
        return (
            f"refused: a new plan already waits for a person (`{asked}`); work on the current one"
        )
    from signoff.agents.sessions.writing import write_plan  # noqa: PLC0415 - verifies; hooks do not

    clean = session.ledger.redactor.data
    try:
        written = write_plan(clean(objective), clean(steps), clean(postconditions))
    except Refused as error:
        return f"error: {error}"
    because = reason.strip()[:LONGEST_TEXT] if isinstance(reason, str) else ""
    if state.plan is not None and (state.author is not Author.DERIVED or state.task is None):
        return _rewrite(session, state.plan, written, because)
    session.append(Draft(Kind.PLAN_WRITTEN, _written(written, because)))
    return _created(written.plan)


def _rewrite(session: SessionChain, old: Plan, written: WrittenPlan, reason: str) -> str:
    """A plan in place of another; what it drops or weakens needs a reason and is shown."""
    changed = turn(old, written.plan, session.state.session.declared, written.declared)
    texts = {s.id: s.task if isinstance(s, Step) else s.text for s in old.subjects}
    objective = [old.title] if changed.aims_elsewhere else []
    dropped = [texts[i] for i in changed.dropped]
    weakened = [texts[i] for i in changed.weakened]
    split = [texts[i] for i in changed.split_words]  # only a person can compare words
    named = [f"replaces the objective `{o}`" for o in objective]
    named += [f"drops `{d}`" for d in dropped]
    named += [f"weakens `{w}`" for w in weakened]
    named += [f"splits `{s}` (it has no check to keep)" for s in split]
    said = ", ".join(escape_line(n) for n in named)
    data = _written(written, reason) | {
        "difference": to_builtins(diff_plans(old, written.plan)),
        "split": list(changed.split),
        "loosened": [*changed.dropped, *changed.weakened, *changed.split_words],
        "dropped": [*dropped, *objective],
        "weakened": [*weakened, *split],
    }
    if changed.loosens and not reason:
        return (
            f"refused: the new plan {said}. Keep that, or call plan_create again with a"
            " `reason`; the user is shown both"
        )
    if not changed.loosens or session.policy.ratchet is not RatchetRule.APPROVE:
        session.append(Draft(Kind.PLAN_WRITTEN, data))
        session.withdraw_moot()
        shown = f"recorded and shown to the user: it {said}" if said else "the rewrite is recorded"
        return f"{_created(written.plan)}; {shown}"
    asked = session.question(
        Cause.RATCHET,
        f"the agent's new plan {said}; its reason: {escape_line(reason)}. "
        "waive lets the new plan come into force, retry keeps the old one",
        None,
        {
            "dropped": data["dropped"],
            "weakened": data["weakened"],
            "the agent's reason": reason,
            "the new plan": written.text,
        },
    )
    session.append(asked, Draft(Kind.PLAN_WRITTEN, {**data, "question": asked.data["id"]}))
    return (
        f"the new plan {said}, so it waits for a person (`{asked.data['id']}`);"
        " until then the old plan holds"
    )


def _written(written: WrittenPlan, reason: str) -> dict[str, Any]:
    return {
        "text": written.text,
        "plan_digest": written.plan.plan_digest,
        "declared": {i: d.to_data() for i, d in written.declared.items()},
        "reason": reason,
        "difference": None,
        "split": [],
        "loosened": [],
        "dropped": [],
        "weakened": [],
        "self_set": True,
    }


def _created(plan: Plan) -> str:
    checked = sum(s.contract is not None for s in plan.subjects)
    return (
        f"plan created with {len(plan.steps)} steps and {len(plan.postconditions)} postconditions"
        f" ({checked} with a check that the harness decides)"
    )


@_answering
def update_step(
    session: SessionChain, step_number: Any, status: Any, evidence: Any = "", notes: Any = ""
) -> str:
    """Say where a step stands; `done` is a request that a check or evidence decides."""
    step, at = _pick(session, step_number, "step")
    evidence, notes = _text("evidence", evidence), _text("notes", notes)
    word = str(status).strip().lower().replace("-", "_")
    if word not in _STATUSES:
        return f"error: invalid status {status!r}; use {', '.join(_STATUSES)}"
    wanted = ClaimStatus(word)
    if wanted is ClaimStatus.BLOCKED:
        return _block(session, step, at, notes or evidence)
    claim = session.state.record(step.id).claim
    begins = wanted is ClaimStatus.IN_PROGRESS or not claim.begun
    if wanted is not ClaimStatus.PENDING and begins:
        _refuse_unmet(session, step, at)
    if wanted is ClaimStatus.DONE:
        return _finish(session, step, f"step {at}", evidence, notes)
    reopened = claim.status is ClaimStatus.DONE
    _claim(session, step.id, wanted, evidence, notes)
    said = " (it was done; reopening it is recorded)" if reopened else ""
    return f"step {at} → {wanted}{said}"


@_answering
def check_step(session: SessionChain, step_number: Any) -> str:
    """Judge a step's check now, provisionally."""
    step, at = _pick(session, step_number, "step")
    if step.contract is None:
        return f'step {at} has no check; prove it with step_update({at}, "done", evidence=…): {HOW}'
    verdict = session.run_contract(step.id, step.contract)
    if verdict.kept:
        return (
            f"step {at}: the check holds now (provisionally; the harness judges again at the end)"
        )
    return f"step {at}: {show_verdict(verdict)}"


@_answering
def verify_postcondition(
    session: SessionChain,
    postcondition_number: Any,
    evidence: Any = "",
    unattainable_because: Any = "",
) -> str:
    """Judge or prove a postcondition, or hand it to a person as unattainable."""
    post, at = _pick(session, postcondition_number, "postcondition")
    evidence, reason = (
        _text("evidence", evidence),
        _text("unattainable_because", unattainable_because),
    )
    if not reason:
        return _finish(session, post, f"postcondition {at}", evidence, "")
    known = session.state.record(post.id).question
    if known is not None:
        return f"postcondition {at} waits for a person already (`{known}`)"
    named = f"postcondition {at} ({post.text if isinstance(post, Postcondition) else ''})"
    return _hand_over(session, post.id, named, ClaimStatus.UNATTAINABLE, reason, evidence)


def _pick(session: SessionChain, number: Any, kind: str) -> tuple[Step | Postcondition, int]:
    """A part of the plan by its 1-based number."""
    plan = session.look().plan
    if plan is None:
        raise Refused(f"error: {NO_PLAN}")
    parts: tuple[Step | Postcondition, ...] = plan.steps if kind == "step" else plan.postconditions
    if isinstance(number, str) and number.strip().isascii() and number.strip().isdigit():
        number = int(number.strip()[:9])
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if type(number) is not int:
        raise Refused(f"error: {kind}_number must be a number from 1 to {len(parts)}")
    if not 1 <= number <= len(parts):
        raise Refused(f"error: {kind}_number {number} out of range (1..{len(parts)})")
    return parts[number - 1], number


def _text(name: str, given: Any) -> str:
    if not isinstance(given, str):
        raise Refused(f"error: `{name}` must be a text")
    if len(given) > LONGEST_TEXT:
        raise Refused(f"error: `{name}` is longer than {LONGEST_TEXT} characters; say it shorter")
    return given.strip()


def _claim(
    session: SessionChain, subject: str, status: ClaimStatus, evidence: str, notes: str, **more: Any
) -> None:
    data = {"status": status, "evidence": evidence, "notes": notes, **more}
    drafts = [Draft(Kind.STEP_CLAIMED, data, step=subject)]
    asked = session.state.record(subject).question
    if asked in session.state.questions and asked != more.get("question"):
        drafts.append(session.withdrawal(str(asked), f"the agent went on; it is {status} now"))
    session.append(*drafts)


def _refuse_unmet(session: SessionChain, step: Step | Postcondition, at: int) -> None:
    """Refuse to begin a step while one of its preconditions does not hold."""
    cannot = f"refused: step {at} cannot begin:"
    declared = session.state.session.declared.get(step.id)
    for number, condition in enumerate(declared.preconditions if declared else (), 1):
        if condition.step:
            gate = session.gate()
            if condition.step not in (*gate.proved, *gate.waived):
                raise Refused(f"{cannot} step {condition.step} is not done yet")
        elif condition.contract is not None:
            verdict = session.run_contract(f"precondition:{step.id}:{number}", condition.contract)
            if not verdict.kept:
                why = show_verdict(verdict)
                raise Refused(f"{cannot} its precondition `{condition.text}` does not hold: {why}")


def _finish(
    session: SessionChain, part: Step | Postcondition, name: str, evidence: str, notes: str
) -> str:
    """`done` is a request: a check decides, else evidence that resolves."""
    claim = session.state.record(part.id).claim
    shut = sorted(session.shut_children() & set(claim.children))
    if shut:
        return f"refused: {name} has a child session that is not finished: {shown_list(shut)}"
    basis: dict[str, Any] = {}
    said = f"{name} → done"
    if part.contract is not None:
        verdict = session.run_contract(part.id, part.contract)
        if not verdict.kept:
            return f"refused: {name} is not done: {show_verdict(verdict)}"
        said += ": its check holds (provisionally; judged again at the end)"
    elif not (is_derived(session.state, part) and isinstance(part, Step)):
        if session.state.author is Author.PERSON:
            return (
                f"refused: {name} has no check and is a person's to decide; they are asked at"
                " sign-off. It does not hold you up: go on with the rest"
            )
        if not evidence:
            return f"error: marking {name} done requires evidence; {HOW}"
        try:
            basis["basis"] = resolve(evidence, claim, session).to_data()
        except Refused as error:
            return f"refused: {name} is not done: {error}"
    _claim(session, part.id, ClaimStatus.DONE, evidence, notes, **basis)
    return said


def _block(session: SessionChain, step: Step | Postcondition, at: int, reason: str) -> str:
    """The policy lets a blocked step go; else a person decides."""
    if not reason:
        return f"error: calling step {at} blocked needs a reason in `notes`"
    blocked, policy = ClaimStatus.BLOCKED, session.policy
    if policy.blocked is BlockedRule.ACCEPT and not policy.forbid_waivers:
        _claim(session, step.id, blocked, "", reason, let_go=True)
        return f"step {at} → blocked; the report names it, it is never called done"
    asked = session.state.record(step.id).question
    if asked is not None:
        _claim(session, step.id, blocked, "", reason, question=asked)
        return f"step {at} waits for a person already (`{asked}`); go on with the other steps"
    title = step.title if isinstance(step, Step) else ""
    return _hand_over(session, step.id, f"step {at} ({title})", blocked, reason, "")


def _hand_over(
    session: SessionChain, subject: str, name: str, status: ClaimStatus, reason: str, evidence: str
) -> str:
    """A question for a person, in one transaction with the claim that raised it."""
    cause = Cause.BLOCKED if status is ClaimStatus.BLOCKED else Cause.UNATTAINABLE
    asked = session.question(
        cause,
        f"{escape_line(name)} is {status}, says the agent: {escape_line(reason)}. "
        "waive goes on without it, retry sends the agent back to it",
        subject,
        {"the agent's reason": reason},
    )
    question = asked.data["id"]
    data = {"status": status, "evidence": evidence, "notes": reason, "question": question}
    session.append(asked, Draft(Kind.STEP_CLAIMED, data, step=subject))
    return (
        f"{name} → {status}; a person decides (`{question}`). Go on with the rest, then"
        " give your final answer: it will wait for the person"
    )
