"""Pre-flight rules: what is not made, why, and what to do instead."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from signoff.toolbatch.calls import ANSWER, NextAction, ResultKind
from signoff.toolbatch.preflight import PREFLIGHT, decide
from signoff.toolbatch.view import Fault
from tests.toolbatch.batch_kit import Scene
from tests.toolbatch.random_views import some_view

CHAPTERS = "Create `book/index.html`, `book/ch1.html`, `book/ch2.html` and `book/ch3.html`."


def test_the_table_is_in_its_order_and_every_rule_says_what_it_is_about() -> None:
    assert all(
        (rule.__doc__ or "").endswith(".") and "\n" not in (rule.__doc__ or "")
        for rule in PREFLIGHT
    )
    assert len(set(PREFLIGHT)) == len(PREFLIGHT)


@pytest.mark.parametrize(
    ("tool", "arguments", "lacking"),
    [
        ("write", {"path": "a.txt"}, "`content`"),
        ("write", {"content": "x"}, "`path`"),
        ("edit", {"path": "a.txt", "new": "x"}, "`old`"),
        ("edit", {"path": "a.txt", "old": "x"}, "`new`"),
        ("bash", {"command": ""}, "`command`"),
    ],
)
def test_a_change_without_target_or_text_is_an_error_with_the_right_shape(
    tmp_path: Path, tool: str, arguments: dict[str, str], lacking: str
) -> None:
    scene = Scene(tmp_path)
    outcome = scene.one(tool, **arguments)
    assert (outcome.kind, outcome.rule) == (ResultKind.BLOCKED, "missing_payload")
    assert lacking in outcome.text
    assert outcome.is_error
    assert scene.tools.made == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write", {"path": "pkg/__init__.py", "content": ""}),
        ("write", {"path": ".gitkeep", "content": ""}),
        ("write", {"path": "tests/conftest.py", "content": ""}),
        ("write", {"path": "a.txt", "content": ""}),
        ("write", {"path": "empty.csv", "content": " "}),
        ("edit", {"path": "a.txt", "old": "x", "new": ""}),
        ("edit", {"path": "a.txt", "old": "  ", "new": "x"}),
    ],
)
def test_what_may_be_empty_is_let_through(
    tmp_path: Path, tool: str, arguments: dict[str, str]
) -> None:
    scene = Scene(tmp_path)
    scene.put("a.txt", "x  y")
    assert scene.one(tool, **arguments).kind is ResultKind.EXECUTED


@pytest.mark.parametrize(
    ("command", "tool"),
    [
        ("sed -i s/a/b/ a.html", "edit"),
        ("perl -pi -e 's/a/b/' a.html", "edit"),
        ("cat > a.html <<'X'\nhi\nX", "write"),
        ("bash -c 'echo hi > a.html'", "write"),
    ],
)
def test_a_text_file_is_not_rewritten_through_the_shell(
    tmp_path: Path, command: str, tool: str
) -> None:
    scene = Scene(tmp_path)
    scene.put("a.html", "a")
    outcome = scene.one("bash", command=command)
    assert (outcome.rule, outcome.next_action) == ("shell_rewrite", NextAction(tool, "a.html"))
    assert not outcome.is_error
    assert scene.text("a.html") == "a"


@pytest.mark.parametrize(
    "command",
    [
        "echo hi > new.html",
        "echo hi > log.bin",
        "ls > list.txt",
        "cp a.html b.html",
        "sed -i s/a/b/ a.html list.txt",
    ],
)
def test_other_uses_of_the_shell_are_let_through(tmp_path: Path, command: str) -> None:
    scene = Scene(tmp_path)
    scene.put("a.html", "a")
    scene.put("list.txt", "a")
    assert scene.one("bash", command=command).kind is ResultKind.EXECUTED


def test_early_on_reference_material_may_be_read(tmp_path: Path) -> None:
    scene = Scene(tmp_path, CHAPTERS)
    for number in range(6):
        scene.put(f"ref/{number}.html", str(number))
        assert scene.one("read", path=f"ref/{number}.html").rule == ""


def test_code_grows_helpers_where_it_likes(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `pkg/a.py`, `pkg/b.py`, `tests/test_a.py`, `tests/test_b.py`.")
    for path in ("pkg/__init__.py", "pkg/helpers.py", "tests/conftest.py", "tests/test_c.py"):
        assert scene.one("write", path=path, content="x = 1\n").rule == ""


def test_files_of_another_kind_or_place_are_nobodys_business(tmp_path: Path) -> None:
    scene = Scene(tmp_path, CHAPTERS)
    for path in ("book/style.css", "notes.html", "book/img/a.html", "tests/test_book.py"):
        assert scene.one("write", path=path, content="x").rule == ""


def test_a_write_that_brings_in_a_broken_link_is_not_made(tmp_path: Path) -> None:
    scene = Scene(
        tmp_path,
        check_write=lambda call: (
            [Fault("a.html:1: `gone.html` is not there", "gone.html")]
            if "gone" in str(call.arguments.get("content"))
            else []
        ),
    )
    outcome = scene.one("write", path="a.html", content="<a href=gone.html>")
    assert outcome.rule == "broken_link"
    assert "gone.html" in outcome.text
    assert not (scene.root / "a.html").exists()
    assert scene.one("write", path="a.html", content="<a href=#x>").ok


def test_a_link_to_what_is_planned_is_fine_before_it_is_there(tmp_path: Path) -> None:
    scene = Scene(tmp_path, CHAPTERS)
    page = "<!doctype html><title>b</title><p>words <a href='ch1.html'>1</a>"
    assert scene.one("write", path="book/index.html", content=page).ok


def test_a_link_to_what_nobody_plans_is_not_brought_in(tmp_path: Path) -> None:
    scene = Scene(tmp_path, CHAPTERS)
    page = "<!doctype html><title>b</title><p>words <a href='{}'>1</a>"
    outcome = scene.one("write", path="book/ch1.html", content=page.format("ch9.html"))
    assert outcome.rule == "broken_link"
    assert "ch9.html" in outcome.text
    scene.one("write", path="book/ch1.html", content=page.format("ch2.html"))
    edited = scene.one("edit", path="book/ch1.html", old="ch2.html", new="ch8.html")
    assert edited.rule == "broken_link"
    assert "ch2.html" in scene.text("book/ch1.html")
    assert scene.one("write", path="book/index.html", content=page.format("x/gone.html")).rule


def test_a_link_that_was_broken_before_is_no_reason_to_refuse_a_write(tmp_path: Path) -> None:
    scene = Scene(tmp_path, CHAPTERS)
    page = "<!doctype html><title>b</title><p>{} <a href='gone.html'>1</a>"
    scene.put("book/index.html", page.format("words"))
    assert scene.one("write", path="book/index.html", content=page.format("more words")).ok


def test_a_person_may_be_asked_as_long_as_something_is_to_be_built(tmp_path: Path) -> None:
    scene = Scene(tmp_path, CHAPTERS)
    assert scene.one("ask_user", question="which font?").kind is ResultKind.EXECUTED


def test_without_file_tools_the_shell_may_write(tmp_path: Path) -> None:
    scene = Scene(tmp_path, tools=("bash", "read"))
    scene.put("a.html", "a")
    assert scene.one("bash", command="sed -i s/a/b/ a.html").ok


def test_every_decision_names_an_action_that_can_be_taken() -> None:
    spoken = set()
    for seed in range(3_000):
        view = some_view(Random(seed))
        repeated = "" if seed % 3 else "seen already"
        found = decide(replace(view, result=None, repeated=repeated, exists=seed % 2 == 0))
        if found is None:
            continue
        name, decision = found
        spoken.add(name)
        action = decision.next_action
        assert action is None or action.tool in view.tools | {ANSWER}
        assert 0 < len(decision.text) < 1_000
    assert spoken >= {"missing_payload", "out_of_scope", "duplicate_mutation", "late_question"}


def test_the_answer_is_what_a_late_call_is_told(tmp_path: Path) -> None:
    scene = Scene(tmp_path, "Create `one.md`.")
    scene.one("write", path="one.md", content="# one")
    assert scene.one("ask_user", question="fine?").next_action == NextAction(ANSWER)
