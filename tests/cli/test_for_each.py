"""`for_each`: the list is the harness's, so "did 4 of 6" is impossible."""

from __future__ import annotations

from tests.cli.kit import Desk
from tests.cli.plans import step

SUMMARISE = step("Summarise {item}", "test -s sums/{item}", for_each="ls notes", on_fail="escalate")
# The agent finds its item in the id of its step, as `1[item]`.
ITEM = "item=${SIGNOFF_STEP#*[}; item=${item%]}; mkdir -p sums; "


def test_four_of_six_is_not_all(desk: Desk) -> None:
    for name in "abcdef":
        desk.file(f"notes/{name}", "text")
    desk.agent('mkdir -p sums; for i in a b c d; do echo sum > "sums/$i"; done; echo All six.')
    desk.plan(SUMMARISE).run("--yes").exits(6)
    steps = {s["id"]: s["state"] for s in desk.status()["steps"]}
    assert [i for i, state in steps.items() if state == "done"] == [f"1[{i}]" for i in "abcd"]
    assert steps["1[e]"] == "blocked" and len(steps) == 6
    assert "### 1. ⛔ Summarise {item}" in desk.read("PLAN.md")
    assert "Summarise e" in desk.attempts()[4].prompt


def test_items_are_data_for_the_shell(desk: Desk) -> None:
    names = ["two words", "it's", 'say "hi"', "$(touch owned)", "`touch owned`", "-rf", "a;b", "ü*"]
    for name in names:
        desk.file(f"notes/{name}", "text")
    desk.agent(ITEM + 'echo sum > "sums/$item"').plan(SUMMARISE)
    desk.run("--yes").exits(0)
    assert sorted(p.name for p in (desk.workspace / "sums").iterdir()) == sorted(names)
    assert {s["title"] for s in desk.status()["steps"]} == {f"Summarise {n}" for n in names}
    assert not (desk.workspace / "owned").exists()


def test_an_empty_list_is_a_question_and_never_done(desk: Desk) -> None:
    (desk.workspace / "notes").mkdir()
    desk.agent(ITEM + 'echo sum > "sums/$item"').plan(SUMMARISE)
    desk.run("--yes").exits(6).shows("the list is empty", "ls notes")
    desk.file("notes/late", "text")
    desk.answer("retry")
    desk.run().exits(0).shows("[x] 1[late]  Summarise late")


def test_a_list_that_cannot_be_read_is_a_question(desk: Desk) -> None:
    desk.agent("true").plan(step("See {item}", "test -e {item}", for_each="echo half; exit 3"))
    desk.run("--yes").exits(6).shows("the list could not be read")
    assert desk.attempts() == []


def test_an_earlier_step_can_add_items_and_cannot_make_one_vanish(desk: Desk) -> None:
    desk.file("notes/hard", "text").file("notes/easy", "text")
    tidy = "rm notes/hard; echo text > notes/new; echo tidy > tidy"
    desk.agent(f'[ "$SIGNOFF_STEP" = 1 ] && {{ {tidy}; exit; }}; {ITEM} echo sum > "sums/$item"')
    desk.plan(step("Tidy up", "test -s tidy"), SUMMARISE).run("--yes").exits(0)
    ids = [s["id"] for s in desk.status()["steps"]]
    assert ids == ["1", "2[easy]", "2[hard]", "2[new]"]


def test_the_next_step_waits_for_every_item(desk: Desk) -> None:
    desk.file("notes/a", "text").file("notes/b", "text")
    desk.agent(ITEM + '[ "$SIGNOFF_STEP" = "1[a]" ] && echo sum > sums/a')
    desk.plan(SUMMARISE, step("Index", "test -s index")).run("--yes").exits(6)
    assert desk.dispatched() == ["1[a]", "1[b]"]
    assert desk.status()["steps"][-1]["state"] == "pending"


def test_who_writes_the_list_cannot_write_the_contract_with_it(desk: Desk) -> None:
    """`{item}` stands in quotes of its own, in which an item could end them."""
    desk.file("list", '";exit 0;"\nplain\n')
    check = 'test -s out/plain || { echo "no {item}"; exit 1; }'
    desk.agent("true").plan(step("Make", check, for_each="cat list", on_fail="abort"))
    desk.run("--yes").exits(6).shows("the shell would read what these items say")
    assert desk.entries("step.done") == []
