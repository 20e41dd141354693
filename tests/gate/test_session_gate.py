"""The pure gate of a session, asked about made-up histories, forged ones among them."""

from __future__ import annotations

from typing import Any

from signoff.domain.ledger import Entry, Kind
from signoff.domain.session import SessionStanding
from signoff.gate.fold import fold
from signoff.gate.gate import evaluate, session_standing
from signoff.gate.state import State
from signoff.gate.subjects import Content

TEXT = (
    "# Aim\n\n## Steps\n\n### 1. one\n\n**target:** agent\n**task:** one\n\n"
    "### 2. two\n\n**target:** agent\n**task:** two\n\n**contract:**\n```shell\ntest -f x\n```\n"
)
WRITTEN = {"text": TEXT, "declared": {}, "reason": "", "dropped": [], "weakened": []}
BASIS = {"files": {"a": "sha-a"}, "content": "", "contracts": []}


def _state(*events: tuple[Kind, str | None, dict[str, Any]]) -> State:
    state = State(None, driven=False)
    for seq, (kind, step, data) in enumerate(events, 1):
        fold(state, [Entry("session-1", seq, "", kind, None, step, None, data, "", "")])
    return state


def _verdict(result: str, snapshot: str = "d1", **more: Any) -> tuple[Kind, str, dict[str, Any]]:
    data = {
        "phase": "attempt",
        "key": "k",
        "subject": "2",
        "result": result,
        "reason": "held",
        "message": "",
        "snapshot": snapshot,
        "provisional": True,
        "exit_code": 0,
        "output_tail": "",
    }
    return Kind.VERDICT, "2", data | more


def _claim(status: str, **more: Any) -> tuple[Kind, str, dict[str, Any]]:
    return Kind.STEP_CLAIMED, "1", {"status": status, "evidence": "tool:1", **more}


PLAN = (Kind.PLAN_WRITTEN, None, WRITTEN)
NOW = Content("d1", {"a": "sha-a"})


def _open(state: State, content: Content = NOW) -> bool:
    return evaluate(state, content).open


def test_the_gate_opens_when_everything_is_proved_on_this_content() -> None:
    state = _state(PLAN, _claim("done", basis=BASIS), _verdict("kept"))
    gate = evaluate(state, NOW)
    assert (gate.open, gate.self_set) == (True, True)
    assert not _open(state, Content("d2", {"a": "sha-a"}))
    assert not _open(state, Content("d1", {"a": "other"}))
    assert not _open(state, Content("", {"a": "sha-a"}))


def test_a_claim_without_accepted_evidence_opens_nothing() -> None:
    assert not _open(_state(PLAN, _claim("done"), _verdict("kept")))


def test_a_claim_says_nothing_about_a_step_with_a_check() -> None:
    claimed = (Kind.STEP_CLAIMED, "2", {"status": "done", "basis": BASIS})
    state = _state(PLAN, _claim("done", basis=BASIS), claimed)
    assert evaluate(state, NOW).proved == ("1",)


def test_a_verdict_about_something_else_is_not_taken_for_this_steps() -> None:
    state = _state(PLAN, _claim("done", basis=BASIS), _verdict("kept", subject="1"))
    assert not _open(state)


def test_unknown_is_never_kept() -> None:
    assert not _open(_state(PLAN, _claim("done", basis=BASIS), _verdict("unknown")))


def test_a_later_broken_verdict_outranks_an_earlier_kept_one() -> None:
    state = _state(PLAN, _claim("done", basis=BASIS), _verdict("kept"), _verdict("broken"))
    assert not _open(state)


def test_a_waiver_needs_a_question_that_offered_it() -> None:
    answer = (Kind.ESCALATION_ANSWERED, "1", {"id": "q", "choice": "waive"})
    waived = (Kind.STEP_WAIVED, "1", {"escalation": "q"})
    blocked = _claim("blocked", question="q")
    asked = {"id": "q", "cause": "blocked", "choices": ["retry"]}
    for forged in ((waived,), (answer,), ((Kind.ESCALATION_OPENED, "1", asked), blocked, answer)):
        assert not _open(_state(PLAN, _verdict("kept"), *forged))
    asked["choices"] = ["retry", "waive"]
    real = ((Kind.ESCALATION_OPENED, "1", asked), blocked, answer)
    assert _open(_state(PLAN, _verdict("kept"), *real))


def test_a_signature_counts_only_over_verdicts_made_with_the_agent_gone() -> None:
    signed = {"snapshot": "d1", "open": True, "self_set": True, "self_set_accepted": True}
    proved = (PLAN, _claim("done", basis=BASIS))
    sign = (Kind.SESSION_SIGNED, None, signed)
    for verdict in (_verdict("kept"), _verdict("kept", "d0", provisional=False)):
        assert _state(*proved, verdict, sign).session.signed is None
    state = _state(*proved, _verdict("kept", provisional=False), sign)
    gate = evaluate(state, NOW)
    assert session_standing(state, gate) is SessionStanding.DONE
    labelled = (Kind.SESSION_SIGNED, None, signed | {"self_set_accepted": False})
    state = _state(*proved, _verdict("kept", provisional=False), labelled)
    assert session_standing(state, gate) is SessionStanding.KEPT_SELF_SET


def test_without_a_plan_nothing_can_be_signed() -> None:
    signed = {"snapshot": "d1", "open": True, "self_set": False, "self_set_accepted": True}
    assert _state((Kind.SESSION_SIGNED, None, signed)).session.signed is None


def test_the_same_things_missing_are_the_same_refusal() -> None:
    before = evaluate(_state(PLAN), NOW)
    toggled = evaluate(_state(PLAN, _claim("in_progress", notes="x")), NOW)
    less = evaluate(_state(PLAN, _claim("done", basis=BASIS)), NOW)
    assert before.missing_digest == toggled.missing_digest != less.missing_digest


def test_an_entry_is_folded_once() -> None:
    state = _state(PLAN, (Kind.SESSION_USAGE, None, {"tokens": 5, "usd": 0.0}))
    used = {"tokens": 5, "usd": 0.0}
    fold(state, [Entry("s", 2, "", Kind.SESSION_USAGE, None, None, None, used, "", "")])
    assert state.spent.tokens == 5
