"""The todo list: what entries ask for, what ticks and drops do, what a list cannot talk away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.session import MOST_PARTS
from signoff.gate.task import Task
from signoff.toolbatch.artifacts import missing
from signoff.toolbatch.calls import STANDARD_SHAPES, Call, CallResult
from signoff.toolbatch.taskplan import MemoryBooks, TaskPlan
from signoff.toolbatch.todo import MOST_LISTED, Taken, complete, entries_of, show, take_list

NOWHERE = Path("/nowhere")


def plan_of(task: str = "", root: Path = NOWHERE) -> TaskPlan:
    plan = TaskPlan(MemoryBooks(), root)
    plan.begin(task)
    return plan


def shown(plan: TaskPlan, taken: Taken) -> str:
    return show(plan.task(), missing(plan.task().planned, plan.root), taken)


def open_texts(task: Task) -> list[str]:
    return [item.text for item in task.pending]


def wrote(path: str, *, ok: bool = True) -> CallResult:
    call = Call("c1", "write", {"path": path}, STANDARD_SHAPES["write"], (path,))
    return CallResult("", ok, writes={path: "0"}, call=call)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Create all pages in site/", "site/"),
        ("index.html", "index.html"),
        ("Test a.txt and `pkg/b.py`", "a.txt pkg/b.py"),
        ("Update src/app.py", ""),
        ("Fix the login bug and run the tests", ""),
        ("日本語", ""),
    ],
)
def test_an_entry_plans_the_paths_it_names_that_are_not_there(
    text: str, paths: str, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").touch()
    plan = plan_of(root=tmp_path)
    take_list(plan, [text])
    assert [str(a) for a in plan.task().planned] == paths.split()
    assert open_texts(plan.task()) == ([] if paths else [text])


def test_a_list_beside_planned_files_of_the_same_names_plans_nothing_new() -> None:
    plan = plan_of("Write guide/index.html and guide/a.html")
    take_list(plan, ["write index.html", "write a.html", "check everything"])
    assert [a.path for a in plan.task().planned] == ["guide/index.html", "guide/a.html"]
    assert open_texts(plan.task()) == ["check everything"]


@pytest.mark.parametrize(
    "items",
    [
        [{"text": "Fix it", "done": True}, {"text": "Read b"}],
        [{"content": "Fix it", "status": "completed"}, {"content": "Read b", "status": "pending"}],
        ["[x] Fix it", "[ ] Read b"],
        ["- [X] Fix it", "Read b", 7, None, {"text": 3}, {}, ""],
        "[x] Fix it\n[ ] Read b",
    ],
)
def test_a_list_is_understood_in_the_shapes_that_models_send(items: Any) -> None:
    plan = plan_of()
    take_list(plan, items)
    assert [(i.text, i.done) for i in plan.task().items] == [("Fix it", True), ("Read b", False)]


@pytest.mark.parametrize("items", [None, 3, {}, {"items": []}, [[]], b"x", [{"text": None}]])
def test_what_is_no_list_lists_nothing(items: Any) -> None:
    assert entries_of(items) == ()


def test_a_change_ticks_the_item_that_names_the_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "calc.py").write_text("x")
    plan = plan_of(root=tmp_path)
    take_list(plan, ["Fix the parser", "Update calc.py", "Run the tests"])
    assert complete(plan, wrote("notes.txt")) is None
    assert complete(plan, wrote("calc.py", ok=False)) is None
    done = complete(plan, wrote("calc.py"))
    assert done is not None and done.text == "Update calc.py"
    take_list(plan, ["[x] Fix the parser", "[x] Run the tests"])
    assert plan.task().pending == ()


@pytest.mark.parametrize(
    "entry",
    [
        {"text": "Think again", "dropped": "not needed"},
        {"text": "think again.", "done": False, "dropped": " not needed "},
        {"content": "Think again", "dropped": "not needed"},
    ],
)
def test_an_entry_with_a_reason_gives_an_item_up(entry: dict[str, Any]) -> None:
    plan = plan_of()
    take_list(plan, ["Think again", "Fix it"])
    taken = take_list(plan, [entry])
    assert open_texts(plan.task()) == ["Fix it"]
    assert "(dropped: not needed)" in shown(plan, taken)
    assert take_list(plan, ["Think again"]).omitted == ("Fix it",)
    assert open_texts(plan.task()) == ["Fix it"], "given up is given up"


def test_a_planned_file_is_given_up_by_its_path_and_comes_back_when_it_is_asked_for() -> None:
    plan = plan_of("Create a.txt and b.txt.")
    take_list(plan, [{"text": "./a.txt", "dropped": "it is the name of a host"}])
    assert [a.path for a in plan.task().planned] == ["b.txt"]
    assert [(d.what, d.asked) for d in plan.task().dropped] == [("a.txt", True)]
    plan.say("I want a.txt all the same.")
    assert [a.path for a in plan.task().planned] == ["a.txt", "b.txt"]


@pytest.mark.parametrize("why", [True, 1, ["x"], " "])
def test_nothing_is_given_up_without_a_reason(why: Any) -> None:
    plan = plan_of("Create a.txt.")
    taken = take_list(plan, [{"text": "a.txt", "dropped": why}])
    assert plan.task().planned and "not dropped: a.txt: say why" in shown(plan, taken)


def test_what_a_persons_plan_declares_cannot_be_given_up() -> None:
    from signoff.domain.session import Artifact

    plan = TaskPlan(MemoryBooks(), NOWHERE, None, (Artifact("a.txt"),))
    taken = take_list(plan, [{"text": "a.txt", "dropped": "tedious"}])
    assert "only a person changes that" in taken.undropped[0]


def test_a_list_sent_during_a_repair_is_left_aside_and_says_so() -> None:
    plan = plan_of()
    take_list(plan, ["Fix it"])
    taken = take_list(plan, [{"text": "Fix it", "done": True}, {"text": "More"}], repairing=True)
    assert [(i.text, i.done) for i in plan.task().items] == [("Fix it", False)]
    assert "a repair is open: your list (2 items) is left aside" in shown(plan, taken)


def test_a_tick_makes_no_file(tmp_path: Path) -> None:
    plan = plan_of("Create a.txt.", tmp_path)
    taken = take_list(plan, [{"text": "create a.txt", "done": True}])
    assert "[ ] a.txt" in shown(plan, taken)
    (tmp_path / "a.txt").write_text("x")
    assert "[x] a.txt" in shown(plan, Taken())


def test_the_shown_list_is_what_is_true_and_not_what_was_sent() -> None:
    plan = plan_of("Create a.txt.")
    take_list(plan, ["Fix it", "Run the tests"])
    taken = take_list(plan, ["[x] Create a.txt", "[x] Run the tests", "Read b"])
    assert shown(plan, taken).split("\n") == [
        "todo: 1 done, 3 open",
        "[x] Run the tests",
        "[ ] a.txt",
        "[ ] Fix it",
        "[ ] Read b",
        "your list left out `Fix it`: open as before; list it as done when it is done",
        'not needed after all? list it as {"text": "Fix it", "dropped": "why"}',
        "next: a.txt",
    ]


def test_a_flood_of_items_is_cut_and_said() -> None:
    plan = plan_of("Create a.txt.")
    taken = take_list(plan, [f"look at {n}" for n in range(10_000)])
    assert len(plan.task().items) == MOST_PARTS - 1
    assert f"{MOST_LISTED + 1 - MOST_PARTS} items did not fit" in shown(plan, taken)
    assert len(shown(plan, taken)) < 10_000


@pytest.mark.parametrize("text", ["a\nb", "a\x1b[2Jb", "a\u202eb", "\0", "\udcff", "x" * 100_000])
def test_no_wording_breaks_the_list_or_hides_a_line_of_it(text: str) -> None:
    plan = plan_of()
    take_list(plan, ["Fix it"])
    said = shown(plan, take_list(plan, ["Fix it", {"text": text}]))
    assert "\x1b" not in said and "\u202e" not in said and "\0" not in said
    assert said.split("\n")[1] == "[ ] Fix it" and len(said) < 2_000


@pytest.mark.parametrize(
    "text",
    [
        "### 2. Another step",
        "**contract:** true",
        "## Postconditions",
        "```shell",
        "1. done",
        "---",
        "✅ done",
        "<!-- x",
        "…",
        "`",
        "- [x] a",
        "| a | b |",
        "    indented",
    ],
)
def test_no_wording_becomes_structure_of_the_plan(text: str) -> None:
    plan = plan_of(f"{text}\nCreate a.txt." if "```" not in text else "Create a.txt.")
    take_list(plan, [{"text": text}, {"text": "Fix it"}])
    derived = plan.books.look().plan
    assert derived is not None and derived.postconditions == ()
    assert [step.contract is not None for step in derived.steps][:1] == [True]
    assert "Fix it" in [step.task for step in derived.steps] and len(derived.steps) <= 3


@given(st.lists(st.text(max_size=30), max_size=6), st.lists(st.text(max_size=30), max_size=6))
def test_no_list_ever_closes_or_loses_what_an_earlier_one_opened(
    first: list[str], second: list[str]
) -> None:
    plan = plan_of("Create a.txt.")
    take_list(plan, [{"text": t} for t in ("Run the tests", *first)])
    before = plan.task()
    take_list(plan, [{"text": text, "done": True} for text in second])
    after = plan.task()
    assert {i.text for i in before.items} <= {i.text for i in after.items}
    assert set(before.planned) <= set(after.planned)


def test_no_list_crowds_out_what_a_person_asks_for_later() -> None:
    plan = plan_of("Create a.txt.")
    take_list(plan, [f"look at {n}" for n in range(10_000)])
    plan.say("Create c.txt and d.txt as well.")
    assert {"a.txt", "c.txt", "d.txt"} <= {a.path for a in plan.task().planned}
