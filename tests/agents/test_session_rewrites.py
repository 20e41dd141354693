"""Drift: a plan may be written anew, but never get easier behind the user's back."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.domain.ledger import Cause, Choice, Kind
from signoff.domain.session import Decision
from signoff.settings.policy import RatchetRule, SessionPolicy
from tests.agents.session_kit import Bureau, checked

APPROVE = SessionPolicy(ratchet=RatchetRule.APPROVE)
MADE = checked("Make it", "file_exists", path="made")


@pytest.fixture
def bureau(tmp_path: Path) -> Bureau:
    return Bureau(tmp_path)


def test_every_plan_after_the_first_is_a_recorded_rewrite(bureau: Bureau) -> None:
    bureau.plan("one")
    bureau.plan("one", "two")
    bureau.plan("one", "two")
    first, second, third = bureau.entries(Kind.PLAN_WRITTEN)
    assert first.data["difference"] is None
    assert second.data["difference"]["added_steps"] == ["2"]
    assert "### 2. two" in third.data["text"]
    assert len(bureau.session.report().rewrites) == 2


def test_steps_may_be_added_and_keep_their_history_wherever_they_move(bureau: Bureau) -> None:
    bureau.plan("one", "two")
    bureau.session.step_update(1, "done", f"tool:{bureau.call()}")
    assert "the rewrite is recorded" in bureau.plan("zero", "TWO ", "one", posts=("four",))
    assert bureau.session.report().claimed == ("3",)
    assert bureau.session.report().dropped == ()


def test_dropping_a_step_without_a_reason_is_refused(bureau: Bureau) -> None:
    bureau.plan("easy", "tedious", posts=("all six",))
    for lighter in (("easy",), ("easy", "tedious, partly")):
        said = bureau.plan(*lighter, posts=("all six",))
        assert said.startswith("refused: the new plan drops `tedious`")
    assert "drops `all six`" in bureau.plan("easy", "tedious", reason="  ")
    assert "2. [ ] tedious" in bureau.session.plan_show()


def test_dropping_with_a_reason_is_recorded_and_shown(bureau: Bureau) -> None:
    bureau.plan("easy", "tedious")
    said = bureau.plan("easy", reason="the tedious part is generated")
    assert "shown to the user: it drops `tedious`" in said
    report = bureau.session.report()
    assert report.dropped == ("tedious",)
    assert report.rewrites[0].reason == "the tedious part is generated"


@pytest.mark.parametrize(
    "weaker",
    [
        "Make it",
        {"description": "Make it", "contract": "test -d src"},
        checked("Make it", "file_exists", path="other"),
    ],
)
def test_a_check_that_goes_or_changes_counts_as_weakened(bureau: Bureau, weaker: object) -> None:
    bureau.plan(MADE)
    assert bureau.plan(weaker).startswith("refused: the new plan weakens `Make it`")
    bureau.plan(weaker, reason="another name")
    assert bureau.session.report().weakened == ("Make it",)


def test_another_number_of_tests_is_another_check(bureau: Bureau) -> None:
    def tests(count: int) -> dict[str, object]:
        return checked("Test it", "tests_pass", command="pytest -q", min_count=count)

    bureau.plan(tests(3))
    assert bureau.plan(tests(1)).startswith("refused: the new plan weakens")
    assert bureau.plan(tests(5)).startswith("refused: the new plan weakens")


def test_a_step_may_get_a_check_it_did_not_have(bureau: Bureau) -> None:
    bureau.plan("Make it")
    bureau.session.step_update(1, "done", f"tool:{bureau.call()}")
    assert "recorded" in bureau.plan(MADE)
    assert not bureau.session.gate().open


def test_a_done_step_cannot_be_dropped_to_be_broken_afterwards(bureau: Bureau) -> None:
    bureau.plan(MADE, "two")
    bureau.write("made")
    bureau.session.step_update(1, "done")
    assert bureau.plan("two").startswith("refused: the new plan drops `Make it`")


def test_of_two_equal_steps_one_cannot_vanish(bureau: Bureau) -> None:
    bureau.plan("check a file", "check a file")
    assert bureau.plan("check a file").startswith("refused: the new plan drops")


def test_a_step_may_be_split_if_its_check_stays(bureau: Bureau) -> None:
    bureau.plan(MADE)
    parts = [{"description": f"part {n}", "splits": "1"} for n in (1, 2)]
    assert bureau.plan(*parts).startswith("refused: the new plan drops `Make it`")
    assert bureau.plan(parts[0]).startswith("refused")
    whole = {**MADE, "description": "part 3", "splits": "1"}
    assert "the rewrite is recorded" in bureau.plan(*parts, whole)
    assert bureau.session.report().dropped == ()


def test_a_split_of_words_alone_needs_a_reason_and_is_shown(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path)
    parts = [{"description": f"look {n}", "splits": "1"} for n in (1, 2)]
    bureau.plan("migrate the database schema", "docs")
    assert bureau.plan(*parts, "docs").startswith(
        "refused: the new plan splits `migrate the database schema` (it has no check to keep)"
    )
    assert "shown to the user" in bureau.plan(*parts, "docs", reason="it was too large")
    report = bureau.session.report()
    assert (report.dropped, report.weakened) == ((), ("migrate the database schema",))


def test_a_split_of_words_alone_waits_for_approval_where_the_user_wants_it(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, APPROVE)
    bureau.plan("migrate the database schema")
    parts = [{"description": f"look {n}", "splits": "1"} for n in (1, 2)]
    assert "waits for a person" in bureau.plan(*parts, reason="it was too large")
    assert "migrate the database schema" in bureau.session.plan_show()


READY = {"description": "ready", "check": {"kind": "file_exists", "path": "in"}}


@pytest.mark.parametrize(
    "lost",
    [
        {"preconditions": ["step:1"]},
        {"preconditions": [READY]},
        {"touches": []},
        {"touches": ["docs/**"]},
    ],
)
def test_a_split_keeps_preconditions_and_what_is_touched(
    bureau: Bureau, lost: dict[str, object]
) -> None:
    had = {"preconditions": ["step:1", READY], "touches": ["src/**"]}
    bureau.plan("first", {**MADE, **had})
    keeping = [{**MADE, **had, "description": f"part {n}", "splits": "2"} for n in (1, 2)]
    losing = [{**part, **lost} for part in keeping]
    assert bureau.plan("first", *losing).startswith("refused: the new plan drops `Make it`")
    assert "the rewrite is recorded" in bureau.plan("first", *keeping)


def test_a_step_cannot_stop_waiting_for_another_in_passing(bureau: Bureau) -> None:
    bureau.plan("one", {"description": "two", "preconditions": ["step:1"]})
    assert bureau.plan("one", "two").startswith("refused: the new plan weakens `two`")
    moved = {"description": "two", "preconditions": ["step:2"]}
    assert "the rewrite is recorded" in bureau.plan("zero", "one", moved), "the same step, moved"


def test_another_objective_needs_a_reason_and_is_shown(bureau: Bureau) -> None:
    bureau.plan("one")
    session = bureau.session
    said = session.plan_create("Something trivial", ["one"], [])
    assert said.startswith("refused: the new plan replaces the objective `Get it done`")
    assert "recorded" in session.plan_create(" get it  DONE", ["one"], []), "the same words"
    assert "shown to the user" in session.plan_create("Less", ["one"], [], "it was too much")
    assert session.report().dropped == ("get it DONE",)


def test_a_precondition_cannot_lose_its_check_in_passing(bureau: Bureau) -> None:
    ready = {"description": "ready", "check": {"kind": "file_exists", "path": "in"}}
    bureau.plan({"description": "one", "preconditions": [ready]})
    assert bureau.plan("one").startswith("refused: the new plan weakens `one`")


def test_under_approval_the_old_plan_holds_until_a_person_decides(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, APPROVE)
    bureau.plan(MADE, "tedious")
    bureau.write("made")
    assert "drops `tedious`" in bureau.plan(MADE)  # no reason: refused, nobody is asked
    assert not bureau.inbox()
    assert "waits for a person" in bureau.plan(MADE, reason="it is tedious")
    assert bureau.entries(Kind.ESCALATION_OPENED)[0].data["cause"] == Cause.RATCHET
    assert "2. [ ] tedious" in bureau.session.plan_show()
    assert "already waits" in bureau.plan(MADE, reason="please")
    waiting = bureau.session.try_finish("done")
    assert waiting.decision is Decision.ESCALATED
    bureau.answer(Choice.WAIVE)
    assert bureau.session.try_finish("done").decision is Decision.ACCEPTED
    assert bureau.session.report().dropped == ("tedious",)


def test_a_person_who_says_no_keeps_the_old_plan(tmp_path: Path) -> None:
    bureau = Bureau(tmp_path, APPROVE)
    bureau.plan(MADE, "tedious")
    bureau.plan(MADE, reason="it is tedious")
    bureau.answer(Choice.RETRY)
    assert "2. [ ] tedious" in bureau.session.plan_show()
    assert bureau.session.report().rewrites == ()
    assert "waits for a person" in bureau.plan(MADE, reason="it is really tedious")


@pytest.mark.parametrize(
    "text",
    [
        "a\n### 9. b",
        "**contract:** true",
        "```",
        "<!-- x",
        "✅ a",
        "a ###",
        "1. a",
        "| \\",
        "{item}",
    ],
)
def test_what_a_description_says_is_never_taken_for_structure(bureau: Bureau, text: str) -> None:
    said = bureau.plan(text, "two", posts=(text, "four"))
    if said.startswith("error"):
        return
    session = bureau.session
    shown = session.plan_show()
    assert len(session.gate().subjects) == 4
    assert "check:" not in shown
    assert "[x]" not in shown


@pytest.mark.parametrize(
    "contract",
    [
        *("true", "pytest || true", "touch a; test -f a", "echo ok", ":", "exit 0", "/bin/true"),
        *("/usr/bin/env true", "for i in; do false; done", "$X; for i in; do false; done"),
    ],
)
def test_a_check_that_cannot_fail_is_refused(bureau: Bureau, contract: str) -> None:
    said = bureau.plan({"description": "one", "contract": contract})
    assert said.startswith("error: ")
    assert not bureau.session.has_plan


@pytest.mark.parametrize(
    "step",
    [
        {"description": "x", "check": {"kind": "nope"}},
        {"description": "x", "check": "file_exists"},
        {"description": "x", "check": {"kind": "file_exists"}},
        {"description": "x", "check": {"kind": "file_contains", "path": "a", "text": ""}},
        {"description": "x", "check": {"kind": "file_contains", "path": "a", "text": "b\nc"}},
        {"description": "x", "check": {"kind": "tests_pass", "command": "pytest", "min_count": 0}},
        {"description": "x", "check": {"kind": "tests_pass"}},
        {"description": "x", "check": {"kind": "command_succeeds", "command": "a\u202eb"}},
        {"description": "x", "contract": "a", "check": {"kind": "file_exists", "path": "a"}},
        {"description": "x", "contract": "make", "expect": ["nothing"]},
        {"description": "x", "preconditions": ["the weather is good"]},
        {"description": "x", "preconditions": ["step:1"]},
        {"description": "x", "touches": "src"},
        {"descripton": "x"},
        {"description": " "},
        7,
        None,
    ],
)
def test_a_step_that_cannot_be_had_comes_back_as_text(bureau: Bureau, step: object) -> None:
    said = bureau.session.plan_create("Aim", [step], [])
    assert said.startswith("error: ")
    assert not bureau.session.has_plan


@pytest.mark.parametrize("steps", ["one", None, {}, 3])
def test_steps_that_are_no_list_come_back_as_text(bureau: Bureau, steps: object) -> None:
    assert bureau.session.plan_create("Aim", steps, []).startswith("error: ")


def test_built_in_checks_quote_what_they_are_given(bureau: Bureau) -> None:
    odd = "it's; touch pwned #"
    bureau.plan(
        checked("one", "file_exists", path=odd),
        checked("two", "file_contains", path="-rf", text="$(touch pwned)`x`"),
    )
    bureau.session.judge_pending()
    assert not (bureau.root / "pwned").exists()
    bureau.write(odd)
    bureau.write("-rf", "$(touch pwned)`x`\n")
    bureau.session.judge_pending()
    assert bureau.session.report().proved == ("1", "2")


@pytest.mark.parametrize(
    "command",
    [
        "python3 -c \"print('5 passed in 0.1s')\"",
        "bash run.sh",
        'pytest --version; echo "5 passed in 0.01s"',
        "pytest --version && cat results.txt",
        "./pytest -q",
        "PATH=.:$PATH pytest",
        "pytest() { echo 5 passed in 0.1s; }; pytest",
        "python3 manage.py test",
        "make test",
    ],
)
def test_a_number_of_tests_is_believed_to_a_test_runner_alone(bureau: Bureau, command: str) -> None:
    assert "read from a test runner alone" in bureau.plan(
        checked("Test it", "tests_pass", command=command, min_count=5)
    )
    assert "read from a test runner alone" in bureau.plan(
        {"description": "Test it", "contract": command, "expect": ["tests >= 5"]}
    )


@pytest.mark.parametrize(
    "command",
    [
        "pytest -q",
        "cd sub && uv run pytest -x tests",
        ". .venv/bin/activate && python -m pytest",
        "timeout 60 .venv/bin/pytest -q",
        "npx jest",
        "cargo test",
        "go test ./...",
        "uv sync && uv run python -m unittest",
    ],
)
def test_an_honest_way_to_run_tests_can_be_counted(bureau: Bureau, command: str) -> None:
    said = bureau.plan(checked("Test it", "tests_pass", command=command, min_count=5))
    assert said.startswith("plan created")


def test_tests_pass_counts_the_tests(bureau: Bureau) -> None:
    bureau.write(
        "test_it.py",
        "import unittest\n\n\nclass T(unittest.TestCase):\n"
        "    def test_a(self) -> None:\n        self.assertTrue(True)\n",
    )
    run = "python3 -m unittest -v test_it"
    bureau.plan(
        checked("enough", "tests_pass", command=run, min_count=1),
        checked("too few", "tests_pass", command=run, min_count=2),
    )
    bureau.session.judge_pending()
    assert bureau.session.report().proved == ("1",)
