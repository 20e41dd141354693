"""Recovery: failures grouped into episodes, each with a concrete way on."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import pytest

from signoff.toolbatch.calls import ANSWER, STANDARD_SHAPES, Call, CallResult, NextAction
from signoff.toolbatch.episodes import MOST_OPEN, Category, Episode, Episodes, ToolFailure
from signoff.toolbatch.pipeline import BatchEnding
from signoff.toolbatch.recovery import failure_in
from signoff.toolbatch.view import BatchLimits
from tests.toolbatch.batch_kit import Scene

PATIENT = BatchLimits(errors=1_000)
FILE = "one\ntwo\nthe quick brown fox\nfour\nfive\nsix\nseven\neight\n"
# Far above what is needed, far below what a quadratic reader takes.
PATIENCE_S = 60.0


def latest(scene: Scene) -> Episode:
    return scene.runner.episodes.latest


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


@pytest.mark.parametrize(
    ("command", "category"),
    [
        ("cat gone.txt", Category.NOT_FOUND),
        ("no-such-command-at-all", Category.MISSING_COMMAND),
        ("python3 -c 'import no_such_module_at_all'", Category.MISSING_MODULE),
        ("python3 -c 'def ('", Category.SYNTAX),
        ("if then", Category.SYNTAX),
        (
            "cat /proc/1/mem 2>/dev/null; echo 'x: Permission denied' >&2; exit 1",
            Category.PERMISSION,
        ),
    ],
)
def test_what_a_failing_command_says_has_a_category(
    tmp_path: Path, command: str, category: Category
) -> None:
    scene = Scene(tmp_path)
    assert scene.one("bash", command=command).category == category


def test_a_command_that_takes_too_long_is_a_timeout(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    outcome = scene.one("bash", command="sleep 60", timeout_s=0.2)
    assert outcome.category == Category.TIMEOUT


def test_a_failing_test_run_is_no_episode(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    outcome = scene.one("bash", command="echo '3 failed, 2 passed'; exit 1")
    assert outcome.category == ""
    assert len(scene.runner.episodes) == 0


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


def test_similar_failures_are_one_episode_and_all_of_them_count(tmp_path: Path) -> None:
    scene = Scene(tmp_path, limits=PATIENT)
    for number, name in enumerate(("a", "b", "c"), 1):
        scene.one("read", path=f"docs/{name}.md")
        assert (latest(scene).attempts, latest(scene).budget) == (number, 3)
    scene.one("read", path="src/a.py")
    assert latest(scene).attempts == 1


def test_once_the_budget_is_used_up_the_advice_is_something_else(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.", limits=PATIENT)
    outcomes = [scene.one("read", path=f"docs/{n}.md") for n in range(4)]
    assert outcomes[3].next_action == NextAction("write", "one.md")
    assert "leave it" in outcomes[3].text


def test_an_episode_without_end_ends_the_turn(tmp_path: Path) -> None:
    scene = Scene(tmp_path, limits=PATIENT)
    endings = []
    for number in range(7):
        endings.append(scene.play(("read", {"path": "docs/gone.md"})).ending)
        scene.one("write", path="other.txt", content=str(number))
    assert endings == [*[BatchEnding.CONTINUE] * 6, BatchEnding.HALT]


def test_looking_for_one_file_after_the_other_is_a_search_and_no_dead_end(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.put("k", "1")
    for number, name in enumerate(
        ("setup.py", "tox.ini", "Makefile", "go.mod", "a", "b", "c", "d")
    ):
        assert scene.play(("read", {"path": name})).ending is BatchEnding.CONTINUE
        scene.one("bash", command=f"ls -{'l' * (number + 1)}")


def test_only_a_success_that_resolves_it_clears_an_episode(tmp_path: Path) -> None:
    scene = Scene(tmp_path, limits=PATIENT)
    scene.put("a.txt", FILE)
    scene.put("b.txt", "B")
    for number in (1, 2):
        scene.one("edit", path="a.txt", old=f"nine {number}", new="x")
        scene.one("read", path="a.txt", first_line=number)
        scene.one("write", path="b.txt", content=str(number))
        assert latest(scene).attempts == number
    scene.one("write", path="a.txt", content="new")
    scene.one("edit", path="a.txt", old="old", new="x")
    assert latest(scene).attempts == 1


def test_a_command_family_is_cleared_by_its_own_success(tmp_path: Path) -> None:
    scene = Scene(tmp_path, limits=PATIENT)
    scene.one("bash", command="cat gone.txt")
    scene.one("bash", command="ls")
    scene.one("bash", command="cat gone2.txt")
    assert latest(scene).attempts == 2
    scene.put("there.txt")
    scene.one("bash", command="cat there.txt")
    scene.one("bash", command="cat gone.txt")
    assert latest(scene).attempts == 1


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
        "No module named 'x'",
        "x: command not found",
        "SyntaxError: invalid",
        "missing argument",
    )
    for tool in STANDARD_SHAPES:
        for text in texts:
            scene.runner.execute = partial(_failing, text)
            for _ in range(5):
                scene.looker.forget()
                outcome = scene.one(
                    tool, path="a.txt", old="x", new="y", content="z", command="x y", items=["q"]
                )
                assert outcome.next_action is None or outcome.next_action.tool in names


def test_the_number_of_open_episodes_is_bounded() -> None:
    episodes = Episodes(3)
    for number in range(MOST_OPEN + 40):
        episodes.count(ToolFailure(Category.NOT_FOUND, f"folder{number}"))
    assert len(episodes) == MOST_OPEN


def test_hostile_texts_are_read_in_bounded_time() -> None:
    call = Call("1", "bash", {"command": "x"}, STANDARD_SHAPES["bash"])
    for text in ("`" * 200_000, "no file " * 50_000, "missing " + "a" * 100_000, "\n" * 100_000):
        began = time.monotonic()
        failure_in(CallResult(text, ok=False, call=call))
        assert time.monotonic() - began < PATIENCE_S
