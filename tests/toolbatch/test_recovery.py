"""Recovery: failures that have a name, each with a concrete way on."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from signoff.toolbatch.calls import ANSWER, STANDARD_SHAPES, Call, CallResult, NextAction
from signoff.toolbatch.pipeline import BatchEnding
from signoff.toolbatch.recovery import Category, failure_in
from signoff.toolbatch.view import BatchLimits
from tests.toolbatch.batch_kit import Scene

PATIENT = BatchLimits(errors=1_000)
FILE = "one\ntwo\nthe quick brown fox\nfour\nfive\nsix\nseven\neight\n"
# Far above what is needed, far below what a quadratic reader takes.
PATIENCE_S = 60.0


def test_a_file_that_is_not_there_is_answered_with_the_nearest_names(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("docs/guide.md")
    outcome = scene.one("read", path="docs/giude.md")
    assert "`docs/guide.md`" in outcome.text
    assert outcome.next_action == NextAction("read", "docs/guide.md")
    assert outcome.category == Category.NOT_FOUND


def test_a_file_in_the_wrong_folder_is_found_among_those_that_were_written(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.one("write", path="docs/guide.md", content="# guide")
    assert scene.one("read", path="guide.md").next_action == NextAction("read", "docs/guide.md")


def test_an_edit_that_does_not_match_is_shown_the_lines_as_they_are(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", FILE)
    outcome = scene.one("edit", path="a.txt", old="the quick browne fox\n", new="x")
    assert "3: the quick brown fox" in outcome.text
    assert "6: six" in outcome.text
    assert "7: seven" not in outcome.text
    assert outcome.next_action == NextAction("edit", "a.txt")


def test_after_two_edits_that_do_not_match_the_advice_is_to_write(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", FILE)
    scene.one("edit", path="a.txt", old="nine", new="x")
    outcome = scene.one("edit", path="a.txt", old="ten", new="x")
    assert outcome.next_action == NextAction("write", "a.txt")


def test_lines_are_shown_only_of_a_file_that_the_tool_itself_has_read(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("secret.txt", "the password is fox")
    refuse = "error: `secret.txt` is the harness's own; context does not apply"
    scene.runner.execute = lambda _call: _failed(refuse)
    outcome = scene.one("edit", path="secret.txt", old="the password", new="x")
    assert "fox" not in outcome.text


def _failed(text: str) -> CallResult:
    return CallResult(text, ok=False)


def _failing(text: str, _call: Call) -> CallResult:
    return _failed(text)


def test_a_command_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    outcome = scene.one("bash", command="sleep 60", timeout_s=0.2)
    assert outcome.category == Category.TIMEOUT


def test_a_failing_test_run_has_no_category(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    outcome = scene.one("bash", command="echo '3 failed, 2 passed'; exit 1")
    assert outcome.category == ""


def test_arguments_that_cannot_be_read_are_answered_with_the_right_shape(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    outcome = scene.play(("write", '{"path": "a.txt", "content": "x')).results[0]
    assert "write(path, content)" in outcome.text
    assert outcome.category == Category.MALFORMED
    assert outcome.next_action == NextAction("write", "")


def test_a_tool_that_does_not_exist_is_answered_with_the_nearest(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    outcome = scene.one("write_file", path="a.txt", content="x")
    assert outcome.next_action == NextAction("write")
    assert "write(path, content)" in outcome.text


def test_a_field_that_is_wrong_is_named(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.runner.execute = lambda _call: _failed("error: `path` must be text")
    outcome = scene.one("glob", pattern="*", path=3)
    assert "`path` is wrong" in outcome.text
    assert "glob(pattern, path)" in outcome.text


def test_an_empty_answer_is_told_what_is_next(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    (result,) = scene.runner.answer("").results
    assert result.next_action == NextAction("write", "one.md")


def test_looking_for_one_file_after_the_other_is_a_search_and_no_dead_end(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("k", "1")
    for number, name in enumerate(
        ("setup.py", "tox.ini", "Makefile", "go.mod", "a", "b", "c", "d")
    ):
        assert scene.play(("read", {"path": name})).ending is BatchEnding.CONTINUE
        scene.one("bash", command=f"ls -{'l' * (number + 1)}")


def test_recoveries_count_towards_the_errors_in_a_row(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for name in "ab":
        scene.one("read", path=f"{name}/x.md")
    assert scene.play(("read", {"path": "c/x.md"})).ending is BatchEnding.HALT


def test_the_next_action_of_every_advice_can_be_taken(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.", limits=PATIENT)
    names = {*STANDARD_SHAPES, ANSWER}
    texts = (
        "no such file or directory",
        "`old` does not occur in `a`",
        "permission denied",
        "it timed out",
        "missing argument",
    )
    for tool in STANDARD_SHAPES:
        for text in texts:
            scene.runner.execute = partial(_failing, text)
            for _ in range(5):
                scene.state.forget()
                outcome = scene.one(
                    tool, path="a.txt", old="x", new="y", content="z", command="x y", items=["q"]
                )
                assert outcome.next_action is None or outcome.next_action.tool in names


def test_hostile_texts_are_read_in_bounded_time() -> None:
    call = Call("1", "bash", {"command": "x"}, STANDARD_SHAPES["bash"])
    for text in ("`" * 200_000, "no file " * 50_000, "missing " + "a" * 100_000, "\n" * 100_000):
        began = time.monotonic()
        failure_in(CallResult(text, ok=False, call=call))
        assert time.monotonic() - began < PATIENCE_S
