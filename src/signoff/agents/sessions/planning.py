"""`plan_create`: the first plan, and every rewrite with what it drops and weakens."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from signoff.agents.sessions.checks import BadRequest
from signoff.agents.sessions.desk import Desk
from signoff.agents.sessions.writing import WrittenPlan, write_plan
from signoff.domain.escalation import Cause
from signoff.domain.ledger import Draft, Kind
from signoff.domain.plan import Author, Plan, Step
from signoff.domain.text import escape_line
from signoff.gate.ratchet import Turn, turn
from signoff.planfile.diff import diff_plans
from signoff.settings.agent import RatchetRule

LONGEST_REASON = 2_000


@dataclass(frozen=True)
class _Rewriting:
    """A rewrite, described."""

    turn: Turn
    dropped: tuple[str, ...]
    weakened: tuple[str, ...]
    split: tuple[str, ...]  # without a check, so that only a person can compare
    objective: str  # that was replaced

    @property
    def said(self) -> str:
        named = [f"replaces the objective `{self.objective}`"] if self.objective else []
        named += [f"drops `{d}`" for d in self.dropped]
        named += [f"weakens `{w}`" for w in self.weakened]
        named += [f"splits `{s}` (it has no check to keep)" for s in self.split]
        return ", ".join(escape_line(n) for n in named)

    @property
    def gone(self) -> tuple[str, ...]:
        """What is shown as dropped."""
        return (*self.dropped, *((self.objective,) if self.objective else ()))

    @property
    def less(self) -> tuple[str, ...]:
        """What is shown as weakened."""
        return (*self.weakened, *self.split)


def create_plan(desk: Desk, objective: Any, steps: Any, postconditions: Any, reason: Any) -> str:
    """Write the plan down, or say what to change."""
    state = desk.look()
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
    clean = desk.ledger.redactor.data
    try:
        written = write_plan(
            clean(objective), clean(steps), clean(postconditions), desk.policy.hosts
        )
    except BadRequest as error:
        return f"error: {error}"
    because = reason.strip()[:LONGEST_REASON] if isinstance(reason, str) else ""
    if state.plan is None or (state.author is Author.DERIVED and state.task is not None):
        desk.append(Draft(Kind.PLAN_WRITTEN, _data(written, because, None, None)))
        return _created(written.plan)
    return _rewrite(desk, state.plan, written, because)


def _rewrite(desk: Desk, old: Plan, written: WrittenPlan, reason: str) -> str:
    changed = turn(old, written.plan, desk.state.session.declared, written.declared)
    rewriting = _Rewriting(
        changed,
        _described(old, changed.dropped),
        _described(old, changed.weakened),
        _described(old, changed.split_words),
        old.title if changed.aims_elsewhere else "",
    )
    data = _data(written, reason, old, rewriting)
    if not changed.loosens:
        _adopt(desk, data)
        return f"{_created(written.plan)}; the rewrite is recorded"
    if not reason:
        return (
            f"refused: the new plan {rewriting.said}. Keep that, or call plan_create again with a"
            " `reason`; the user is shown both"
        )
    if desk.policy.ratchet is not RatchetRule.APPROVE:
        _adopt(desk, data)
        return f"{_created(written.plan)}; recorded and shown to the user: it {rewriting.said}"
    asked = desk.question(
        Cause.RATCHET,
        f"the agent's new plan {rewriting.said}; its reason: {escape_line(reason)}. "
        "waive lets the new plan come into force, retry keeps the old one",
        None,
        {
            "dropped": list(rewriting.gone),
            "weakened": list(rewriting.less),
            "the agent's reason": reason,
            "the new plan": written.text,
        },
    )
    desk.append(asked, Draft(Kind.PLAN_WRITTEN, {**data, "question": asked.data["id"]}))
    return (
        f"the new plan {rewriting.said}, so it waits for a person (`{asked.data['id']}`);"
        " until then the old plan holds"
    )


def _adopt(desk: Desk, data: dict[str, Any]) -> None:
    """The new plan holds; nobody need be asked about a step that is not in it any more."""
    desk.append(Draft(Kind.PLAN_WRITTEN, data))
    desk.withdraw_pointless()


def _data(
    written: WrittenPlan, reason: str, old: Plan | None, rewriting: _Rewriting | None
) -> dict[str, Any]:
    changed = rewriting.turn if rewriting is not None else Turn((), (), (), ())
    return {
        "text": written.text,
        "plan_digest": written.plan.plan_digest,
        "declared": {i: d.to_data() for i, d in written.declared.items()},
        "reason": reason,
        "difference": asdict(diff_plans(old, written.plan)) if old is not None else None,
        "split": list(changed.split),
        "loosened": [*changed.dropped, *changed.weakened, *changed.split_words],
        "dropped": list(rewriting.gone) if rewriting is not None else [],
        "weakened": list(rewriting.less) if rewriting is not None else [],
        "self_set": True,
    }


def _described(plan: Plan, ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(s.task if isinstance(s, Step) else s.text for s in plan.subjects if s.id in ids)


def _created(plan: Plan) -> str:
    checked = sum(s.contract is not None for s in plan.subjects)
    return (
        f"plan created with {len(plan.steps)} steps and {len(plan.postconditions)} postconditions"
        f" ({checked} with a check that the harness decides)"
    )
