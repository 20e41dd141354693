"""The todo list: what items ask for, what calls complete, and what a list cannot talk away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.definition import (
    MOST_ITEMS,
    Artifact,
    Definition,
    DefinitionStatus,
    Item,
)
from signoff.gate.definition import ArtifactsSeen, Fact, Stated, Touched, apply, apply_all
from signoff.toolbatch.artifacts import stated_in
from signoff.toolbatch.calls import Outcome, OutcomeKind
from signoff.toolbatch.todo import (
    MOST_LISTED,
    dropped,
    facts_of,
    items_of,
    listed,
    next_item,
    show,
)
from tests.gate.facts_of_definitions import A, fold
from tests.toolbatch.definition_kit import call, executed

NOWHERE = Path("/nowhere")
THERE = (Artifact("src/parser.py"), Artifact("docs/a.md"))


def stated(*texts: str) -> Definition:
    """Items; what lies in `src/` and `docs/` was there before."""
    items = (
        replace(i, artifacts=tuple(a for a in i.artifacts if a not in THERE)) for i in _of(texts)
    )
    return fold(Stated("t", items=tuple(items)))


def _of(texts: Sequence[str]) -> tuple[Item, ...]:
    return items_of(texts, NOWHERE)


def facts(
    definition: Definition, outcome: Outcome, *existing: str, repairing: bool = False
) -> tuple[Fact, ...]:
    return facts_of(definition, outcome, NOWHERE, lambda: existing, repairing=repairing)


def after(definition: Definition, outcome: Outcome, *existing: str) -> Definition:
    return apply_all(definition, facts(definition, outcome, *existing))


def wrote(path: str) -> Outcome:
    return executed(call("write", path, content="x"), changed=(path,))


def done(definition: Definition) -> list[str]:
    return [item.text for item in definition.completed]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Create all pages in site/", "site/"),
        ("index.html", "index.html"),
        ("Test a.txt and `pkg/b.py`", "a.txt pkg/b.py"),
        ("Update src/app.py", ""),
        ("Fix the login bug and run the tests", ""),
        ("", ""),
        ("日本語", ""),
    ],
)
def test_an_item_plans_the_paths_it_names_that_are_not_there(
    text: str, paths: str, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").touch()
    (item,) = items_of([text], tmp_path)
    assert [str(a) for a in item.artifacts] == paths.split()


def test_a_list_beside_planned_files_of_the_same_names_plans_nothing_new() -> None:
    task = stated_in("Write guide/index.html and guide/a.html", NOWHERE)
    sent = ["write index.html", "write a.html", "check everything"]
    definition = fold(task, listed(sent, NOWHERE, task.artifacts))
    assert [a.path for a in definition.artifacts] == ["guide/index.html", "guide/a.html"]
    seen = ArtifactsSeen(("guide/index.html", "guide/a.html"))
    assert done(apply(definition, seen)) == sent[:2]


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
    assert [(i.text, i.done) for i in listed(items, NOWHERE).items] == [
        ("Fix it", True),
        ("Read b", False),
    ]


@pytest.mark.parametrize("items", [None, 3, {}, {"items": []}, [[]], b"x", [{"text": None}]])
def test_what_is_no_list_lists_nothing(items: Any) -> None:
    assert listed(items, NOWHERE).items == ()


def test_a_change_completes_the_item_that_names_the_file_and_no_other() -> None:
    opened = stated("Fix the parser", "Update docs/a.md", "Tidy src/parser.py", "Run the tests")
    assert done(after(opened, wrote("notes.txt"))) == []
    definition = after(opened, wrote("docs/a.md"))
    assert done(definition) == ["Update docs/a.md"]
    tidied = after(definition, wrote("src/parser.py"))
    assert done(tidied) == ["Update docs/a.md", "Tidy src/parser.py"]
    ticked = listed(["[x] Fix the parser", "[x] Run the tests"], NOWHERE)
    assert apply(tidied, ticked).pending == ()


@pytest.mark.parametrize(
    "entry",
    [
        {"text": "Create a.txt", "dropped": "not needed"},
        {"text": "a.txt", "done": False, "dropped": " not needed "},
        {"content": "Create a.txt", "status": "cancelled", "reason": "not needed"},
    ],
)
def test_an_entry_with_a_reason_gives_an_item_up(entry: dict[str, Any]) -> None:
    definition = apply_all(
        stated("Create a.txt", "Fix it"), (listed([entry], NOWHERE), *dropped([entry]))
    )
    assert [i.text for i in definition.items] == ["Fix it"] and definition.artifacts == ()
    assert "(dropped: not needed)" in show(definition)
    assert "left out `Create a.txt`" not in show(definition)


@pytest.mark.parametrize("why", [True, 1, ["x"], " "])
def test_an_entry_is_not_given_up_without_a_reason(why: Any) -> None:
    entry = {"text": "Create a.txt", "dropped": why}
    definition = apply_all(stated("Create a.txt"), (listed([entry], NOWHERE), *dropped([entry])))
    assert definition.artifacts and definition.dropped == ()
    assert "not dropped: Create a.txt: say why in `dropped`" in show(definition)


@pytest.mark.parametrize("entry", [{"text": "Fix it", "dropped": ""}, {"text": "Fix it"}, "Fix it"])
def test_an_entry_that_gives_up_nothing_is_an_item(entry: Any) -> None:
    assert dropped([entry]) == () and [i.text for i in listed([entry], NOWHERE).items] == ["Fix it"]


def test_a_list_sent_during_a_repair_is_left_aside_and_says_so() -> None:
    definition = apply(stated("Fix it"), Touched(("a.txt",)))
    made = call("todo", items=[{"text": "Fix it", "done": True}, {"text": "More"}])
    definition = apply_all(definition, facts(definition, executed(made), repairing=True))
    assert [(i.text, i.done) for i in definition.items] == [("Fix it", False)]
    assert "a repair is open: your list (2 items) is left aside" in show(definition)


def test_what_stands_in_the_way_of_a_repair_may_be_dropped_during_it() -> None:
    definition = fold(Stated("t", (A,)), Touched(("b",)))
    made = call("todo", items=[{"text": "a.txt", "dropped": "it is the name of a host"}])
    dropped_it = facts(definition, executed(made), repairing=True)
    assert apply_all(definition, dropped_it).missing == ()


def test_what_is_planned_without_an_item_is_shown_and_how_to_give_it_up() -> None:
    shown = show(fold(Stated("t", (A,))))
    assert "planned, not built: `a.txt`" in shown
    assert '{"text": "a.txt", "dropped": "why"}' in shown


def test_an_item_with_a_file_is_done_by_that_file_alone() -> None:
    definition = stated("Create a.txt", "Create b.txt")
    definition = after(definition, wrote("a.txt"), "a.txt")
    assert done(definition) == ["Create a.txt"]
    assert done(after(definition, wrote("c.txt"), "a.txt")) == ["Create a.txt"]


def test_an_item_is_done_when_all_of_its_artifacts_exist() -> None:
    definition = stated("Create all of a.txt and b.txt")
    definition = after(definition, wrote("a.txt"), "a.txt")
    assert done(definition) == []
    definition = apply(definition, listed(["[x] Create all of a.txt and b.txt"], NOWHERE))
    assert done(definition) == []
    built = after(definition, wrote("b.txt"), "a.txt", "b.txt")
    assert done(built) == ["Create all of a.txt and b.txt"]


@pytest.mark.parametrize("kind", [k for k in OutcomeKind if k is not OutcomeKind.EXECUTED])
def test_a_call_that_was_not_made_completes_nothing(kind: OutcomeKind) -> None:
    made = replace(wrote("src/parser.py"), kind=kind)
    assert facts(stated("Fix src/parser.py"), made) == ()


def test_a_call_that_failed_completes_nothing() -> None:
    opened = stated("Fix src/parser.py")
    assert done(apply_all(opened, facts(opened, replace(wrote("src/parser.py"), ok=False)))) == []


def test_the_shown_list_is_what_is_true_and_not_what_was_sent() -> None:
    definition = stated("Create a.txt", "Fix it", "Run the tests")
    sent = ["[x] Create a.txt", "[x] Run the tests", "Read b"]
    definition = apply(definition, listed(sent, NOWHERE))
    assert show(definition).split("\n") == [
        "todo: 1 done, 3 open",
        "[x] Run the tests",
        "[ ] Create a.txt (missing: `a.txt`)",
        "[ ] Fix it",
        "[ ] Read b",
        "your list left out `Fix it`: open as before; list it as done when it is done",
        'not needed after all? list it as {"text": "Fix it", "dropped": "why"}',
        "next: Create a.txt",
    ]


def test_an_empty_list_empties_nothing() -> None:
    definition = apply(stated("Create a.txt"), listed([], NOWHERE))
    assert "left out `Create a.txt`" in show(definition) and definition.pending


def test_a_flood_of_items_is_cut_and_said() -> None:
    fact = listed([f"[x] look at {n}" for n in range(10_000)], NOWHERE)
    assert len(fact.items) == MOST_LISTED
    definition = apply(stated("Create a.txt"), fact)
    assert len(definition.items) == MOST_ITEMS and definition.status is not DefinitionStatus.DONE
    shown = show(definition)
    assert f"{MOST_LISTED + 1 - MOST_ITEMS} items did not fit" in shown and len(shown) < 10_000
    assert "Create a.txt" in {i.text for i in definition.pending}


@pytest.mark.parametrize("text", ["a\nb", "a\x1b[2Jb", "a\u202eb", "\0", "\udcff", "x" * 100_000])
def test_no_wording_breaks_the_list_or_hides_a_line_of_it(text: str) -> None:
    shown = show(apply(stated("Fix it"), listed([{"text": text}], NOWHERE)))
    assert "\x1b" not in shown and "\u202e" not in shown and "\0" not in shown
    assert shown.split("\n")[1] == "[ ] Fix it" and len(shown) < 2_000


@given(st.lists(st.text(max_size=30), max_size=6), st.lists(st.text(max_size=30), max_size=6))
def test_no_list_ever_closes_or_loses_what_an_earlier_one_opened(
    first: list[str], second: list[str]
) -> None:
    opened = apply(
        stated("Create a.txt", "Run the tests"), listed([{"text": t} for t in first], NOWHERE)
    )
    claims = [{"text": text, "done": True} for text in second]
    closed = apply(opened, listed(claims, NOWHERE))
    still = {i.text for i in closed.items}
    assert {i.text for i in opened.items} <= still
    assert "Create a.txt" in {i.text for i in closed.pending}
    assert show(closed)


def test_next_is_who_makes_the_missing_file_then_what_is_open() -> None:
    definition = stated("Run the tests", "Create a.txt")
    first = next_item(definition, definition.missing)
    assert first is not None and first.text == "Create a.txt"
    built = after(definition, wrote("a.txt"), "a.txt")
    last = next_item(built, built.missing)
    assert last is not None and last.text == "Run the tests"
    assert next_item(fold(), ()) is None
