"""Finalization and sign-off: no answer is ever taken for done past a shut gate."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.domain.ledger import Cause, Choice, Kind
from signoff.domain.plan import Cost
from signoff.domain.session import Decision, SessionStanding, session_id_of
from signoff.settings.policy import SelfSetRule, SessionPolicy
from tests.agents.session_kit import Bureau, checked

MADE = checked("Make it", "file_exists", path="made")


@pytest.fixture
def bureau(tmp_path: Path) -> Bureau:
    return Bureau(tmp_path)


def test_premature_finalization_is_refused_with_what_is_missing(bureau: Bureau) -> None:
    bureau.plan("first file", "second file", "third file", posts=("winner named",))
    for number in (1, 2):
        bureau.session.step_update(number, "done", f"tool:{bureau.call()}")
    ended = bureau.session.try_finish("All three were measured.")
    assert ended.decision is Decision.REFUSED
    assert [m.subject for m in ended.gate.missing] == ["3", "postcondition:1"]
    assert 'step_update(3, "done"' in ended.text
    assert "postcondition_verify(1" in ended.text


def test_a_final_answer_has_pending_checks_judged_for_it(bureau: Bureau) -> None:
    bureau.plan(MADE, {**MADE, "description": "Make it again"})
    bureau.write("made")
    accepted = bureau.session.try_finish("done")
    assert accepted.decision is Decision.ACCEPTED
    assert "provisionally (self-set checks)" in accepted.text
    assert len(bureau.entries(Kind.VERDICT)) == 2
    assert all(e.data["provisional"] for e in bureau.entries(Kind.VERDICT))
    assert bureau.session.standing is SessionStanding.AWAITING_SIGN_OFF


def test_an_answer_for_this_content_is_not_asked_for_twice(bureau: Bureau) -> None:
    bureau.plan(MADE)
    for _ in range(3):
        bureau.session.try_finish("done")
    assert len(bureau.entries(Kind.VERDICT)) == 1


def test_identical_refusals_get_shorter_and_end_with_a_person(bureau: Bureau) -> None:
    bureau.plan("one")
    ends = [bureau.session.try_finish("done!") for _ in range(7)]
    refused, escalated = Decision.REFUSED, Decision.ESCALATED
    assert [e.decision for e in ends] == [refused] * 5 + [escalated] * 2
    assert ends[0].text == ends[2].text
    assert len(ends[3].text) < len(ends[2].text)
    assert "Do only this now: step_update(1" in ends[3].text
    (item,) = bureau.inbox()
    assert item.id in ends[5].text
    assert bureau.entries(Kind.ESCALATION_OPENED)[0].data["cause"] == Cause.REFUSED
    assert bureau.session.report().refusals == 6
    assert bureau.session.standing is SessionStanding.ESCALATED


def test_the_user_says_how_many_identical_refusals_are_enough(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, SessionPolicy(shorten_after=1, escalate_after=3))
    bureau.plan("one")
    ends = [bureau.session.try_finish("done!") for _ in range(3)]
    refused, escalated = Decision.REFUSED, Decision.ESCALATED
    assert [e.decision for e in ends] == [refused, refused, escalated]
    assert "Missing:" in ends[0].text
    assert ends[1].text.startswith("Refused 2 times for the same reason; 1 more")


def test_toggling_claims_does_not_start_the_count_anew(bureau: Bureau) -> None:
    bureau.plan("one")
    decisions = []
    for turn in range(6):
        bureau.session.step_update(1, ("in_progress", "pending")[turn % 2], notes=f"try {turn}")
        decisions.append(bureau.session.try_finish(f"answer {turn}").decision)
    assert decisions[-1] is Decision.ESCALATED


def test_an_endless_stream_of_new_steps_ends_too(bureau: Bureau) -> None:
    steps = ["step 0"]
    for turn in range(1, 100):
        bureau.plan(*steps)
        if bureau.session.try_finish("done").decision is Decision.ESCALATED:
            break
        steps.append(f"step {turn}")
    assert bureau.session.standing is SessionStanding.ESCALATED
    assert turn <= 60


def test_an_ended_session_stays_ended_for_whoever_opens_it(bureau: Bureau) -> None:
    bureau.plan("one")
    for _ in range(6):
        bureau.session.try_finish("done!")
    again = bureau.again()
    assert again.try_finish("done!").decision is Decision.ESCALATED
    assert bureau.session.report().refusals == 6
    bureau.answer(Choice.RETRY)
    assert again.try_finish("done!").decision is Decision.REFUSED


def test_a_session_can_be_taken_up_again_on_purpose(bureau: Bureau) -> None:
    bureau.plan("one")
    for _ in range(6):
        bureau.session.try_finish("done!")
    assert bureau.again(resume=True).try_finish("done!").decision is Decision.REFUSED
    assert [e.data["resumed"] for e in bureau.entries(Kind.SESSION_STARTED)] == [False, True]


def test_a_person_can_end_a_session(bureau: Bureau) -> None:
    bureau.plan("one")
    bureau.session.step_update(1, "blocked", notes="too hard")
    bureau.answer(Choice.ABORT)
    assert bureau.session.try_finish("done").decision is Decision.ESCALATED
    assert bureau.session.standing is SessionStanding.ENDED
    assert bureau.sign().standing is SessionStanding.ENDED


def test_without_a_plan_nothing_is_called_done(bureau: Bureau) -> None:
    ended = bureau.session.try_finish("done")
    assert ended.decision is Decision.ACCEPTED
    assert "nothing was proved" in ended.text
    assert bureau.session.standing is SessionStanding.UNPLANNED
    assert not bureau.sign().done


def test_who_changes_files_can_be_required_to_have_a_plan(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, SessionPolicy(require_plan=True))
    assert bureau.session.try_finish("42").decision is Decision.ACCEPTED
    bureau.write("a.txt")
    ended = bureau.session.try_finish("done")
    assert ended.decision is Decision.REFUSED
    assert "plan_create" in ended.text


def test_self_set_checks_yield_plain_done_only_by_the_users_policy(tmp_path: Path) -> None:
    for rule, standing in (
        (SelfSetRule.LABEL, SessionStanding.KEPT_SELF_SET),
        (SelfSetRule.ACCEPT, SessionStanding.DONE),
    ):
        config = f'[agent]\nself_set = "{rule}"\n'
        bureau = Bureau(tmp_path / rule, config=config)
        bureau.plan(MADE)
        bureau.write("made")
        bureau.session.try_finish("done")
        report = bureau.sign()
        assert (report.standing, report.self_set) == (standing, True)


def test_signing_judges_everything_once_more(bureau: Bureau) -> None:
    bureau.plan(MADE)
    bureau.write("made")
    assert bureau.session.try_finish("done").decision is Decision.ACCEPTED
    (bureau.root / "made").unlink()
    report = bureau.sign()
    assert report.standing is SessionStanding.WORKING
    assert report.gate.missing[0].subject == "1"
    (signed,) = bureau.entries(Kind.SESSION_SIGNED)
    assert signed.data["open"] is False
    assert [e.data["provisional"] for e in bureau.entries(Kind.VERDICT)] == [True, False]


def test_a_sign_off_happened_whatever_changes_later(bureau: Bureau) -> None:
    bureau.plan(MADE)
    bureau.write("made")
    assert bureau.sign().standing is SessionStanding.KEPT_SELF_SET
    (bureau.root / "made").unlink()
    report = bureau.session.report()
    assert report.standing is SessionStanding.KEPT_SELF_SET
    assert report.gate.stale == ("1",)


def _signed(tmp_path: Path) -> Bureau:
    bureau = Bureau(tmp_path, config='[agent]\nself_set = "accept"\n')
    bureau.plan(MADE)
    bureau.write("made")
    bureau.session.try_finish("done")
    assert bureau.sign().done
    return bureau


def test_a_signed_session_taken_up_again_is_done_only_by_a_new_sign_off(tmp_path: Path) -> None:
    bureau = _signed(tmp_path)
    again = bureau.again(resume=True)
    assert not again.report().done
    (bureau.root / "made").unlink()
    for _ in range(6):
        ended = again.try_finish("done")
    assert ended.decision is Decision.ESCALATED
    assert again.standing is SessionStanding.ESCALATED and not again.report().done
    bureau.write("made")
    assert not again.report().done
    assert bureau.sign().done


@pytest.mark.parametrize("act", ["call", "claim", "answer"])
def test_what_an_agent_does_after_the_sign_off_is_not_signed(tmp_path: Path, act: str) -> None:
    """Whoever opens a signed session works in it: no word of taking it up again is needed."""
    bureau = _signed(tmp_path)
    match act:
        case "call":
            bureau.write("made", "something else\n")
        case "claim":
            bureau.session.step_update(1, "in_progress")
        case "answer":
            bureau.session.try_finish("done once more")
    assert not bureau.session.report().done
    assert bureau.sign().done


def test_a_sign_off_that_finds_the_gate_shut_takes_the_place_of_the_one_before(
    tmp_path: Path,
) -> None:
    bureau = _signed(tmp_path)
    (bureau.root / "made").unlink()
    assert bureau.session.report().done, "it happened"
    assert not bureau.sign().done


def test_a_plan_written_after_the_sign_off_is_not_signed(bureau: Bureau) -> None:
    bureau.plan(MADE)
    bureau.write("made")
    bureau.sign()
    bureau.plan(MADE, "one more")
    assert bureau.session.standing is SessionStanding.WORKING


def test_rules_for_ignored_files_are_those_from_when_the_session_began(bureau: Bureau) -> None:
    bureau.plan(checked("Keep it", "file_contains", path="kept.txt", text="good"))
    bureau.write("kept.txt", "good\n")
    bureau.session.step_update(1, "done")
    (bureau.root / ".gitignore").write_text("kept.txt\n.gitignore\n")
    (bureau.root / "kept.txt").write_text("bad\n")
    assert bureau.again().gate().stale == ("1",)


def test_the_report_counts_cost_per_verified_step(bureau: Bureau) -> None:
    bureau.plan(MADE, "two")
    assert bureau.session.report().per_verified_step is None
    bureau.session.record_usage(900, 0.3)
    bureau.session.record_usage(100, 0.1)
    bureau.write("made")
    bureau.session.step_check(1)
    report = bureau.session.report()
    assert report.spent == Cost(1000, 0.4)
    assert report.per_verified_step == Cost(1000, 0.4)
    assert (report.claimed, report.proved) == ((), ("1",))


def test_a_limit_in_time_leaves_the_rest_unjudged_and_shut(bureau: Bureau) -> None:
    bureau.plan(MADE)
    bureau.write("made")
    ended = bureau.session.try_finish("done", limit_s=0.0)
    assert ended.decision is Decision.REFUSED
    assert "not judged yet" in ended.text


def test_a_mutation_outside_the_step_in_progress_is_told_and_reported(bureau: Bureau) -> None:
    bureau.plan({"description": "Change b", "touches": ["src/b/**"]}, "Read src/a.py", "Think")
    session = bureau.session
    assert "no step is in progress" in session.note_mutation(["src/b/x.py"])
    session.step_update(1, "in_progress")
    assert session.note_mutation(["src/b/x.py", str(bureau.root / "src/b/y.py")]) == ""
    said = session.note_mutation(["src/c.py"], "call-7")
    assert "`src/c.py` changed" in said
    session.step_update(1, "pending")
    session.step_update(2, "in_progress")
    assert session.note_mutation(["src/a.py"]) == ""
    session.step_update(2, "pending")
    session.step_update(3, "in_progress")
    assert session.note_mutation(["anything"]) == ""
    assert session.report().strayed == ("src/b/x.py", "src/c.py")


def test_a_clients_own_session_id_always_leads_to_the_same_session(bureau: Bureau) -> None:
    named = session_id_of("0f3c-client")
    assert named == session_id_of("0f3c-client") == session_id_of(named)
    one = bureau.again(session_id="0f3c-client")
    one.plan_create("Aim", ["one"], [])
    other = bureau.again(session_id="0f3c-client")
    assert other.id == one.id == named
    assert other.has_plan
