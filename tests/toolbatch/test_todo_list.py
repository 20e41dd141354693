"""The todo list: what items ask for, what calls complete, and what a list cannot talk away."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.domain.definition import (
    MOST_ITEMS,
    Definition,
    DefinitionStatus,
    Item,
    ItemKind,
)
from signoff.gate.definition import (
    ArtifactsSeen,
    Fact,
    ItemCompleted,
    Stated,
    Touched,
    apply,
    apply_all,
)
from signoff.toolbatch.bookkeeping import facts_of
from signoff.toolbatch.calls import Outcome, OutcomeKind
from signoff.toolbatch.todo import (
    MOST_LISTED,
    advance,
    dropped,
    item_of,
    listed,
    next_item,
    show,
)
from tests.gate.facts_of_definitions import PYTEST, A, fold, kept
from tests.toolbatch.definition_kit import call, executed


def stated(*texts: str) -> Definition:
    return fold(Stated("t", items=tuple(item_of(text) for text in texts)))


def after(definition: Definition, outcome: Outcome, *facts: Fact) -> Definition:
    """As the runtime does it: what was touched and seen, then what that completed."""
    if outcome.changed:
        facts = (Touched(outcome.changed, outcome.call.id, outcome.call.tool), *facts)
    definition = apply_all(definition, facts)
    return apply_all(definition, advance(definition, outcome.call, outcome))


def wrote(path: str) -> Outcome:
    return executed(call("write", path, content="x"), changed=(path,))


def read(path: str) -> Outcome:
    return executed(call("read", path))


def done(definition: Definition) -> list[str]:
    return [item.text for item in definition.completed]


@pytest.mark.parametrize(
    ("text", "kind", "paths"),
    [
        ("Create all pages", ItemKind.AGGREGATE, ""),
        ("Create all pages in site/", ItemKind.AGGREGATE, "site/"),
        ("Writing the remaining chapters", ItemKind.AGGREGATE, ""),
        ("Creating chapters/01.html", ItemKind.BUILD, "chapters/01.html"),
        ("index.html", ItemKind.BUILD, "index.html"),
        ("Fix the login bug", ItemKind.BUILD, ""),
        ("Update docs/a.md", ItemKind.BUILD, ""),
        ("Delete old.txt", ItemKind.BUILD, ""),
        ("Create tests and run them", ItemKind.BUILD, ""),
        ("Read the spec in spec.md", ItemKind.LOOK, ""),
        ("Check existing files", ItemKind.LOOK, ""),
        ("Look at the test files", ItemKind.LOOK, ""),
        ("Ensure links are consistent", ItemKind.REVIEW, ""),
        ("Review index.html", ItemKind.REVIEW, ""),
        ("Run the tests", ItemKind.VERIFY, ""),
        ("Make sure tests pass", ItemKind.VERIFY, ""),
        ("Check that the build works", ItemKind.VERIFY, ""),
        ("Collect verification evidence", ItemKind.VERIFY, ""),
        ("Verify all links work", ItemKind.VERIFY, ""),
        ("", ItemKind.BUILD, ""),
        ("日本語", ItemKind.BUILD, ""),
    ],
)
def test_the_words_of_an_item_say_what_it_takes(text: str, kind: ItemKind, paths: str) -> None:
    item = item_of(text)
    assert item.kind is kind and [str(a) for a in item.artifacts] == paths.split()


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
    assert [(i.text, i.done) for i in listed(items).items] == [("Fix it", True), ("Read b", False)]


@pytest.mark.parametrize("items", [None, 3, {}, {"items": []}, [[]], b"x", [{"text": None}]])
def test_what_is_no_list_lists_nothing(items: Any) -> None:
    assert listed(items).items == ()


def test_a_change_completes_the_item_that_speaks_of_the_file() -> None:
    definition = stated("Fix the parser", "Update docs/a.md", "Read spec.md", "Run the tests")
    definition = after(definition, wrote("docs/a.md"))
    assert done(definition) == ["Update docs/a.md"]
    definition = after(definition, wrote("src/parser.py"))
    assert done(definition) == ["Fix the parser", "Update docs/a.md"]
    assert done(after(definition, wrote("spec.md"))) == done(definition)


def test_a_change_elsewhere_completes_nothing() -> None:
    definition = stated("Implement the parser", "Fix the login bug", "Update the user guide")
    for path in ("notes.txt", "tests/test_login.py", "src/main.py"):
        assert done(after(definition, wrote(path))) == []
    assert done(after(definition, wrote("docs/guide.md"))) == ["Update the user guide"]
    assert done(after(stated("Add tests of the login"), wrote("tests/test_login.py"))) != []


def test_no_change_completes_many_things_without_a_name_and_a_claim_needs_as_many_files() -> None:
    definition = stated("create all 12 pages")
    definition = after(definition, wrote("pages/1.html"))
    assert done(definition) == []
    claim = listed(["[x] create all 12 pages"])
    assert done(apply(definition, claim)) == []
    definition = apply(definition, Touched(tuple(f"pages/{n}.html" for n in range(12))))
    assert done(apply(definition, claim)) == ["create all 12 pages"]


@pytest.mark.parametrize(
    "text", ["decided against new_module.py", "create new_module.py maybe", "new_module.py is bad"]
)
def test_an_item_that_only_speaks_of_a_file_plans_none(text: str) -> None:
    assert item_of(text).artifacts == ()


@pytest.mark.parametrize(
    "entry",
    [
        {"text": "Create a.txt", "dropped": "not needed"},
        {"text": "a.txt", "done": False, "dropped": " not needed "},
        {"content": "Create a.txt", "status": "cancelled", "reason": "not needed"},
    ],
)
def test_an_entry_with_a_reason_gives_an_item_up(entry: dict[str, Any]) -> None:
    definition = apply_all(stated("Create a.txt", "Fix it"), (listed([entry]), *dropped([entry])))
    assert [i.text for i in definition.items] == ["Fix it"] and definition.artifacts == ()
    assert "(dropped: not needed)" in show(definition)
    assert "left out `Create a.txt`" not in show(definition)


@pytest.mark.parametrize("why", [True, 1, ["x"], " "])
def test_an_entry_is_not_given_up_without_a_reason(why: Any) -> None:
    entry = {"text": "Create a.txt", "dropped": why}
    definition = apply_all(stated("Create a.txt"), (listed([entry]), *dropped([entry])))
    assert definition.artifacts and definition.dropped == ()
    assert "not dropped: Create a.txt: say why in `dropped`" in show(definition)


@pytest.mark.parametrize("entry", [{"text": "Fix it", "dropped": ""}, {"text": "Fix it"}, "Fix it"])
def test_an_entry_that_gives_up_nothing_is_an_item(entry: Any) -> None:
    assert dropped([entry]) == () and [i.text for i in listed([entry]).items] == ["Fix it"]


def test_a_list_sent_during_a_repair_is_left_aside_and_says_so() -> None:
    definition = apply(stated("Fix it"), Touched(("a.txt",)))
    made = call("todo", items=[{"text": "Fix it", "done": True}, {"text": "More"}])
    facts = facts_of(definition, executed(made), tuple, repairing=True)
    definition = apply_all(definition, facts)
    assert [(i.text, i.done) for i in definition.items] == [("Fix it", False)]
    assert "a repair is open: your list (2 items) is left aside" in show(definition)


def test_what_stands_in_the_way_of_a_repair_may_be_dropped_during_it() -> None:
    definition = fold(Stated("t", (A,)), Touched(("b",)))
    made = call("todo", items=[{"text": "a.txt", "dropped": "it is the name of a host"}])
    facts = facts_of(definition, executed(made), tuple, repairing=True)
    assert apply_all(definition, facts).missing == ()


def test_what_is_planned_without_an_item_is_shown_and_how_to_give_it_up() -> None:
    shown = show(fold(Stated("t", (A,))))
    assert "planned, not built: `a.txt`" in shown
    assert '{"text": "a.txt", "dropped": "why"}' in shown


def test_an_item_with_a_file_is_done_by_that_file_alone() -> None:
    definition = stated("Create a.txt", "Create b.txt")
    definition = after(definition, wrote("a.txt"), ArtifactsSeen(("a.txt",)))
    assert done(definition) == ["Create a.txt"]
    assert done(after(definition, wrote("c.txt"), ArtifactsSeen(("a.txt",)))) == ["Create a.txt"]


def test_an_aggregate_is_done_when_all_of_its_artifacts_exist() -> None:
    definition = stated("Create all of a.txt and b.txt")
    assert definition.items[0].kind is ItemKind.AGGREGATE
    definition = after(definition, wrote("a.txt"), ArtifactsSeen(("a.txt",)))
    assert done(definition) == []
    definition = apply(definition, listed(["[x] Create all of a.txt and b.txt"]))
    assert done(definition) == []
    both = ArtifactsSeen(("a.txt", "b.txt"))
    assert done(after(definition, wrote("b.txt"), both)) == ["Create all of a.txt and b.txt"]


def test_an_aggregate_without_files_of_its_own_waits_for_every_planned_one() -> None:
    definition = apply(stated("Create a.txt", "Write every page"), Touched(("c.txt",)))
    claim = listed(["[x] Write every page"])
    assert done(apply(definition, claim)) == []
    assert "Write every page" in done(
        apply_all(definition, (Touched(("a.txt",)), ArtifactsSeen(("a.txt",)), claim))
    )


def test_writing_never_completes_a_verification() -> None:
    definition = stated("Run the tests in tests/test_a.py")
    definition = after(definition, wrote("tests/test_a.py"))
    definition = apply(definition, ItemCompleted("Run the tests in tests/test_a.py"))
    assert done(apply(definition, listed(["[x] Run the tests in tests/test_a.py"]))) == []
    assert done(apply_all(definition, kept(PYTEST))) == ["Run the tests in tests/test_a.py"]


def test_a_look_completes_what_is_to_be_looked_at_and_nothing_else() -> None:
    definition = stated("Read spec.md", "Understand the layout", "Fix it", "Run the tests")
    definition = after(definition, read("src/a.py"))
    assert done(definition) == ["Understand the layout"]
    assert done(after(definition, read("src/a.py"))) == ["Understand the layout"]
    assert done(after(definition, read("spec.md"))) == ["Read spec.md", "Understand the layout"]


def test_a_review_comes_after_everything_is_built() -> None:
    definition = stated("Create a.txt", "Review the wording")
    assert done(after(definition, read("a.txt"))) == []
    built = after(definition, wrote("a.txt"), ArtifactsSeen(("a.txt",)))
    assert done(built) == ["Create a.txt"]
    assert done(after(built, read("elsewhere.txt"))) == ["Create a.txt"]
    assert done(after(built, read("a.txt"))) == ["Create a.txt", "Review the wording"]


@pytest.mark.parametrize("kind", [OutcomeKind.BLOCKED, OutcomeKind.DECLINED])
def test_a_call_that_was_not_made_completes_nothing(kind: OutcomeKind) -> None:
    made = call("read", "a.txt")
    assert advance(stated("Look around"), made, Outcome(made, kind, "", ok=True)) == ()


def test_a_call_that_failed_or_only_kept_books_completes_nothing() -> None:
    definition = stated("Look around", "Fix it")
    assert advance(definition, call("read", "a"), executed(call("read", "a"), ok=False)) == ()
    for tool in ("todo", "scratchpad", "ask_user"):
        assert advance(definition, call(tool), executed(call(tool))) == ()


def test_the_shown_list_is_what_is_true_and_not_what_was_sent() -> None:
    definition = stated("Create a.txt", "Fix it", "Run the tests")
    definition = apply(definition, listed(["[x] Create a.txt", "[x] Run the tests", "Read b"]))
    assert show(definition).split("\n") == [
        "todo: 0 done, 4 open",
        "[ ] Create a.txt (missing: `a.txt`)",
        "[ ] Fix it",
        "[ ] Run the tests (only judging completes it)",
        "[ ] Read b",
        "your list left out `Fix it`: open as before; list it as done when it is done",
        'not needed after all? list it as {"text": "Fix it", "dropped": "why"}',
        "next: Create a.txt",
    ]


def test_an_empty_list_empties_nothing() -> None:
    definition = apply(stated("Create a.txt"), listed([]))
    assert "left out `Create a.txt`" in show(definition) and definition.pending


def test_a_flood_of_items_is_cut_and_said() -> None:
    fact = listed([f"[x] look at {n}" for n in range(10_000)])
    assert len(fact.items) == MOST_LISTED
    definition = apply(stated("Create a.txt"), fact)
    assert len(definition.items) == MOST_ITEMS and definition.status is not DefinitionStatus.DONE
    shown = show(definition)
    assert f"{MOST_LISTED + 1 - MOST_ITEMS} items did not fit" in shown and len(shown) < 10_000
    assert "Create a.txt" in {i.text for i in definition.pending}


@pytest.mark.parametrize("text", ["a\nb", "a\x1b[2Jb", "a\u202eb", "\0", "\udcff", "x" * 100_000])
def test_no_wording_breaks_the_list_or_hides_a_line_of_it(text: str) -> None:
    shown = show(apply(stated("Fix it"), listed([{"text": text}])))
    assert "\x1b" not in shown and "\u202e" not in shown and "\0" not in shown
    assert shown.split("\n")[1] == "[ ] Fix it" and len(shown) < 2_000


@given(st.lists(st.text(max_size=30), max_size=6), st.lists(st.text(max_size=30), max_size=6))
def test_no_list_ever_closes_or_loses_what_an_earlier_one_opened(
    first: list[str], second: list[str]
) -> None:
    opened = apply(stated("Create a.txt", "Run the tests"), listed([{"text": t} for t in first]))
    claims = [{"text": text, "done": True} for text in second]
    closed = apply(opened, listed(claims))
    still = {i.text for i in closed.items}
    assert {i.text for i in opened.items} <= still
    assert {"Create a.txt", "Run the tests"} <= {i.text for i in closed.pending}
    assert show(closed)


def test_next_is_who_makes_the_missing_file_then_work_then_review_then_judging() -> None:
    definition = stated("Run the tests", "Review it", "Fix it", "Create a.txt")
    order = []
    for fact in (
        Touched(("a.txt",)),
        ArtifactsSeen(("a.txt",)),
        ItemCompleted("Fix it"),
        ItemCompleted("Review it"),
    ):
        item = next_item(definition, definition.missing)
        order.append(item.text if item else "")
        definition = apply(definition, fact)
    last = next_item(definition, definition.missing)
    assert [*order, last.text if last else ""] == [
        "Create a.txt",
        "Create a.txt",
        "Fix it",
        "Review it",
        "Run the tests",
    ]
    assert next_item(fold(Stated("t", items=(Item("x", ItemKind.LOOK),))), ()) is not None
    assert next_item(fold(), ()) is None
