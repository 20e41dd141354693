"""A batch: every call gets an outcome, mutations in order, looks beside each other, limits."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from signoff.gate.task import RoundStatus
from signoff.toolbatch.calls import (
    ANSWER,
    Call,
    CallResult,
    NextAction,
    Responded,
    ResultKind,
    Steered,
    ToolResulted,
)
from signoff.toolbatch.pipeline import NOT_FINISHED, BatchEnding
from signoff.toolbatch.view import BatchLimits
from tests.toolbatch.batch_kit import Scene

TWO_PAGES = "Create `site/one.html` and `site/two.html`."


def test_every_call_of_a_batch_has_an_outcome_in_the_order_of_the_calls(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "A")
    result = scene.play(
        ("read", {"path": "a.txt"}),
        ("read", {"path": "gone.txt"}),
        ("write", {"path": "b.txt", "content": "B"}),
        ("write", {"path": "b.txt"}),
        ("read", "not json"),
        ("read", {"path": "b.txt"}),
    )
    kinds = [outcome.kind for outcome in result.results]
    assert kinds == [
        ResultKind.EXECUTED,
        ResultKind.EXECUTED,
        ResultKind.EXECUTED,
        ResultKind.BLOCKED,
        ResultKind.BLOCKED,
        ResultKind.EXECUTED,
    ]
    assert [outcome.call.id for outcome in result.results] == [f"c{n}" for n in range(1, 7)]
    assert all(outcome.text for outcome in result.results)
    assert [event.result for event in scene.seen(ToolResulted)] == list(result.results)


def test_neighbouring_looks_run_beside_each_other(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for name in "abc":
        scene.put(f"{name}.txt", name)
    together = threading.Barrier(3, timeout=20)

    def look(_call: Call) -> None:
        together.wait()

    scene.tools.inside = look
    result = scene.play(*(("read", {"path": f"{name}.txt"}) for name in "abc"))
    assert [outcome.text for outcome in result.results] == ["a", "b", "c"]


def test_a_look_after_a_change_in_the_same_batch_sees_the_change(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "old")
    result = scene.play(
        ("read", {"path": "a.txt"}),
        ("write", {"path": "a.txt", "content": "new"}),
        ("read", {"path": "a.txt"}),
    )
    assert [outcome.text for outcome in result.results] == ["old", "wrote a.txt", "new"]


def test_the_same_look_twice_in_one_batch_is_made_once(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt")
    result = scene.play(("read", {"path": "a.txt"}), ("read", {"path": "a.txt"}))
    assert [o.kind for o in result.results] == [ResultKind.EXECUTED, ResultKind.DUPLICATE]
    assert scene.tools.made == ["read a.txt"]


def test_three_errors_in_a_row_end_the_turn_also_across_batches(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert scene.play(("bash", {"command": "no-such-1"})).ending is BatchEnding.CONTINUE
    assert scene.play(("read", {"path": "gone.txt"})).ending is BatchEnding.CONTINUE
    result = scene.play(
        ("bash", {"command": "sleep 60", "timeout_s": 0.2}),
        ("write", {"path": "late.txt", "content": "x"}),
    )
    assert result.ending is BatchEnding.HALT
    assert "3 calls in a row failed" in result.response
    assert "not done" in result.response
    assert result.results[1].text.startswith("not made: ")
    assert not (scene.root / "late.txt").exists()
    assert scene.seen(Responded) == [Responded(result.response, failed=True)]


def test_looks_that_were_proposed_together_fail_as_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    looks = [("read", {"path": f"{name}/gone.txt"}) for name in "abcd"]
    assert scene.play(*looks).ending is BatchEnding.CONTINUE
    assert scene.state.counts.errors == 1


def test_a_success_between_errors_starts_the_count_anew(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for number in range(6):
        assert scene.play(("read", {"path": f"{number}/gone"})).ending is BatchEnding.CONTINUE
        if number % 2:
            scene.one("write", path="a.txt", content=str(number))


def test_guidance_neither_counts_as_an_error_nor_forgives_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "one")
    scene.one("read", path="a/gone")
    scene.one("read", path="b/gone")
    blocked = scene.one("bash", command="sed -i s/one/two/ a.txt")
    assert blocked.kind is ResultKind.BLOCKED
    assert not blocked.is_error
    assert scene.state.counts.errors == 2
    assert scene.play(("read", {"path": "c/gone"})).ending is BatchEnding.HALT


def test_duplicates_do_not_hide_a_row_of_errors(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt")
    scene.one("read", path="a.txt")
    for folder in ("a", "b"):
        scene.one("read", path=f"{folder}/gone")
        assert scene.one("read", path="a.txt").kind is ResultKind.DUPLICATE
    assert scene.play(("read", {"path": "c/gone"})).ending is BatchEnding.HALT


def test_what_a_person_declines_is_no_error(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.tools.answers = lambda _question: None
    for number in range(4):
        outcome = scene.one("ask_user", question=f"may I {number}?")
        assert outcome.kind is ResultKind.DECLINED
        assert not outcome.is_error
    assert scene.state.counts.errors == 0


def test_the_confidence_gate_keeps_a_call_from_being_made(tmp_path: Path) -> None:
    scene = Scene(tmp_path, confidence=lambda call: "not sure" if call.tool == "bash" else None)
    outcome = scene.one("bash", command="echo hi")
    assert (outcome.kind, outcome.text) == (ResultKind.BLOCKED, "skipped: not sure")
    assert scene.tools.made == []


def test_interrupted_every_call_still_gets_an_outcome(tmp_path: Path) -> None:
    scene = Scene(tmp_path)

    def interrupt(call: Call) -> None:
        if call.tool == "bash":
            raise KeyboardInterrupt

    scene.tools.inside = interrupt
    outcomes: list[CallResult] = []
    calls = scene.calls(
        ("write", {"path": "a.txt", "content": "x"}),
        ("bash", {"command": "echo hi"}),
        ("read", {"path": "a.txt"}),
    )
    with pytest.raises(KeyboardInterrupt):
        scene.runner.run(calls, outcomes)
    texts = [outcome.text for outcome in outcomes]
    assert texts == ["wrote a.txt", NOT_FINISHED, NOT_FINISHED]


def test_interrupted_beside_each_other_no_look_goes_on_behind_the_back(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for name in "ab":
        scene.put(f"{name}.txt", name)
    ended: list[str] = []
    both = threading.Barrier(2, timeout=20)

    def look(call: Call) -> None:
        both.wait()
        if call.target == "a.txt":
            raise KeyboardInterrupt
        ended.append(call.target)

    scene.tools.inside = look
    with pytest.raises(KeyboardInterrupt):
        scene.play(("read", {"path": "a.txt"}), ("read", {"path": "b.txt"}))
    assert ended == ["b.txt"]


def test_when_everything_is_built_looks_questions_and_lists_are_told_to_answer(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, "Create `one.md`.", limits=BatchLimits(looks=2))
    scene.one("write", path="one.md", content="# one")
    asked = scene.play(("ask_user", {"question": "is this fine?"})).results[0]
    assert asked.kind is ResultKind.BLOCKED and asked.next_action == NextAction(ANSWER)
    listed = scene.play(("todo", {"items": [{"text": "write one.md", "done": True}]}))
    assert listed.steering is not None and listed.steering.next_action == NextAction(ANSWER)
    looked = [scene.play(("glob", {"pattern": "*"})) for _ in range(2)][-1]
    assert looked.steering is not None and looked.steering.next_action == NextAction(ANSWER)


def test_files_that_were_there_before_are_nothing_to_hand_over(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.put("one.md")
    for name in "abcdef":
        scene.put(f"{name}.txt", name)
        assert scene.play(("read", {"path": f"{name}.txt"})).ending is BatchEnding.CONTINUE


def test_an_answer_before_anything_is_built_is_told_what_is_missing(tmp_path: Path) -> None:
    scene = Scene(tmp_path, TWO_PAGES)
    result = scene.runner.answer("All done!")
    assert result.ending is BatchEnding.CONTINUE
    assert result.steering is not None
    assert result.steering.next_action.target == "site/one.html"


def test_an_answer_when_everything_is_there_is_handed_over(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.one("write", path="one.md", content="# one")
    assert scene.runner.answer("All done!").ending is BatchEnding.VERIFY


def test_empty_answers_end_the_turn(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    endings = [scene.runner.answer("  ").ending for _ in range(3)]
    assert endings == [BatchEnding.CONTINUE, BatchEnding.CONTINUE, BatchEnding.HALT]


def test_at_most_one_message_a_turn_however_many_calls(tmp_path: Path) -> None:
    scene = Scene(tmp_path, TWO_PAGES)
    scene.put("a.txt")
    scene.one("read", path="a.txt")
    before = len(scene.seen(Steered))
    result = scene.play(
        ("read", {"path": "a.txt"}),
        ("write", {"path": "site/one.html", "content": "<p>1"}),
        ("todo", {"items": ["write two"]}),
    )
    assert scene.seen(Steered)[before:] == ([result.steering] if result.steering else [])
    assert result.steering is not None


def test_without_steering_calls_are_made_and_nothing_is_said(tmp_path: Path) -> None:
    scene = Scene(tmp_path, TWO_PAGES, steering=False)
    scene.put("a.txt")
    kinds = [scene.one("read", path="a.txt").kind for _ in range(4)]
    assert kinds == [ResultKind.EXECUTED] * 4
    assert scene.seen(Steered) == []
    assert scene.runner.answer("done").ending is BatchEnding.CONTINUE


def test_the_same_blocked_call_again_and_again_stops_the_turn(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "one")
    results = [scene.play(("bash", {"command": "sed -i s/a/b/ a.txt"})) for _ in range(4)]
    assert [result.ending for result in results] == [*[BatchEnding.CONTINUE] * 3, BatchEnding.HALT]
    assert "blocked again and again" in results[3].response


def test_a_change_in_between_makes_blocked_calls_count_anew(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "one")
    for number in range(6):
        assert (
            scene.play(("bash", {"command": "sed -i s/a/b/ a.txt"})).ending is BatchEnding.CONTINUE
        )
        scene.one("write", path="b.txt", content=str(number))


def test_a_user_can_set_how_many_errors_end_a_turn(tmp_path: Path) -> None:
    scene = Scene(tmp_path, limits=BatchLimits(errors=1))
    assert scene.play(("read", {"path": "gone"})).ending is BatchEnding.HALT


def test_the_list_shows_what_is_known_and_not_what_was_claimed(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    outcome = scene.one("todo", items=[{"text": "create one.md", "done": True}])
    assert "[ ] one.md" in outcome.text


def test_a_command_whose_effect_nobody_saw_makes_a_kept_round_stale(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.one("write", path="one.md", content="# one")
    held = scene.runner.judge()
    assert held is not None
    assert held.status is RoundStatus.KEPT
    scene.tools.content = lambda: ""  # type: ignore[method-assign]
    scene.one("bash", command="make nothing || true")
    assert not scene.done
    assert scene.task.round is not None and scene.task.round.status is RoundStatus.STALE


def test_a_broken_round_opens_a_repair_that_ends_with_the_next_round(tmp_path: Path) -> None:
    scene = Scene(tmp_path, TWO_PAGES)
    scene.put("notes.txt")
    scene.one("write", path="site/one.html", content="<p>1")
    scene.one("write", path="site/two.html", content="<p>2")
    scene.judge.against = (("site/two.html", "link to nowhere"),)
    scene.runner.judge()
    assert scene.one("read", path="notes.txt").ok, "reading is never held against anyone"
    assert scene.one("write", path="site/one.html", content="x").rule == "out_of_scope"
    assert scene.one("write", path="site/two.html", content="<p>2!").ok
    assert scene.play(("read", {"path": "site/two.html"})).ending is BatchEnding.CONTINUE
    result = scene.runner.answer("It is repaired.")
    assert result.ending is BatchEnding.VERIFY
    scene.judge.against = ()
    scene.runner.judge()
    assert scene.done
    assert scene.one("read", path="notes.txt").ok


def test_a_list_sent_during_a_repair_tidies_nothing_away(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.one("todo", items=["create one.md", "polish one.md"])
    scene.one("write", path="one.md", content="# one")
    scene.judge.against = (("one.md", "thin"),)
    scene.runner.judge()
    before = scene.task.items
    scene.one("todo", items=[{"text": "polish one.md", "done": True}])
    assert scene.task.items == before


def test_a_change_makes_a_kept_round_stale(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.one("write", path="one.md", content="# one")
    held = scene.runner.judge()
    assert held is not None and held.status is RoundStatus.KEPT
    scene.one("write", path="one.md", content="# two")
    assert scene.task.round is not None and scene.task.round.status is RoundStatus.STALE
