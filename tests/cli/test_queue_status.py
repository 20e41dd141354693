"""`signoff queue-status`: one line per plan, whatever is broken, and never a failure."""

from __future__ import annotations

import os
import sqlite3
from typing import Any

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import plan_text, step
from tests.cli.vaults import approve, repository, vault_file, write_plan


def line(desk: Desk, name: str) -> dict[str, Any]:
    """What is said of one plan."""
    found = desk.signoff("list", "--json").exits(0).json
    assert found["schema_version"] == 1
    (plan,) = [plan for plan in found["plans"] if plan["plan"] == name]
    assert isinstance(plan, dict)
    return plan


def progress(desk: Desk, name: str, text: str) -> None:
    """Something somebody wrote down."""
    (desk.workspace / ".harness" / f"progress-{name}.md").write_text(text)


def test_each_plan_has_a_line_with_its_steps_and_its_last_word(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "a")
    write_plan(desk, "b", after=["a"])
    write_plan(desk, "c")
    staged = desk.workspace / ".harness" / "queued-plans"
    staged.mkdir()
    (staged / "PLAN-later.md").write_text(plan_text([step("x", "true"), step("y", "true")]))
    desk.signoff("run", "a", "--yes").exits(0)
    approve(desk, "c")
    desk.signoff("next", "--worker", "ann").exits(0)
    progress(desk, "a", "- over\n")
    progress(desk, "b", "- one\n- and another\n\n")
    shown = desk.signoff("list").exits(0)
    lines = [" ".join(text.split()) for text in shown.normal(shown.stdout).splitlines()]
    assert [text.replace("SECONDS", "0 s") for text in lines] == [
        "a done 1/1 0 s - over",
        "b ready 0/1 0 s - and another",
        "c running 0/1 0 s worker ann since TIME (claimed)",
        "later staged 0/2 0 s",
    ]


def test_people_at_a_terminal_see_what_each_column_is(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "a")
    head = desk.at_terminal("list").exits(0).stdout.splitlines()[0]
    assert head.split()[:4] == ["plan", "state", "steps", "age"]
    desk.signoff("list").exits(0).hides("holder, last progress")


def test_steps_are_counted_by_the_ledger_and_not_by_marks(desk: Desk) -> None:
    repository(desk, agent="test $SIGNOFF_STEP = 1 && mkdir -p out && echo 1 > out/1")
    path = vault_file(desk, "a")
    text = plan_text([step("One", "test -s out/1"), step("Two", "test -s out/2")])
    path.write_text(text.replace("### 2. Two", "### 2. ✅ Two").replace("draft", "done"))
    assert (line(desk, "a")["done"], line(desk, "a")["total"]) == (0, 2)
    desk.signoff("run", "a", "--yes").exits(6)
    found = line(desk, "a")
    assert (found["state"], found["done"], found["total"]) == ("waiting", 1, 2)
    assert found["why"] == "waits for a person"


def test_steps_added_before_anybody_began_are_counted(desk: Desk) -> None:
    repository(desk)
    path = write_plan(desk, "a")
    desk.signoff("verify", "a").exits(0)
    assert line(desk, "a")["total"] == 1
    path.write_text(plan_text([step("One", "test -s 1"), step("Two", "test -s 2")]))
    assert (line(desk, "a")["done"], line(desk, "a")["total"]) == (0, 2)


def test_a_standing_that_was_forged_or_fell_behind_is_computed_again(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "a")
    desk.signoff("run", "a", "--yes").exits(0)
    ledger = sqlite3.connect(desk.ledger_file)
    ledger.execute("UPDATE standings SET seq = seq - 1, done = 7, total = 9")
    ledger.commit()
    ledger.close()
    assert (line(desk, "a")["done"], line(desk, "a")["total"]) == (1, 1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", None),
        ("\n\n  \n", None),
        ("first\nlast", "last"),
        ("x" * 500, "x" * 119 + "…"),
        ("a\x1b[2Jb\u202e\rc\n", "a\\x1b[2Jb\\u202e\\x0dc"),
        ("\x1b" * 100, ("\\x1b" * 100)[:119] + "…"),
    ],
)
def test_the_last_word_is_escaped_and_short(desk: Desk, text: str, shown: str | None) -> None:
    repository(desk)
    write_plan(desk, "a")
    progress(desk, "a", text)
    assert line(desk, "a")["progress"] == shown
    desk.signoff("list").exits(0).is_plain()


def test_what_is_no_progress_file_is_not_waited_for(desk: Desk) -> None:
    repository(desk)
    for name in ("a", "b", "c"):
        write_plan(desk, name)
    vault = desk.workspace / ".harness"
    os.mkfifo(vault / "progress-a.md")
    (vault / "progress-b.md").mkdir()
    (vault / "progress-c.md").symlink_to("/etc/passwd")
    assert [line(desk, name)["progress"] for name in ("a", "b", "c")] == [None, None, None]


def test_a_huge_progress_file_is_read_from_its_end(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "a")
    progress(desk, "a", "early\n" * 1_000_000 + "late\n")
    assert line(desk, "a")["progress"] == "late"


def test_a_broken_plan_is_a_line_that_says_so(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "good")
    vault_file(desk, "bad").write_bytes(b"\xff")
    vault_file(desk, "gone").symlink_to("nowhere")
    assert "UTF-8" in line(desk, "bad")["problem"]
    assert line(desk, "bad")["total"] is None
    assert line(desk, "gone")["problem"]
    assert line(desk, "good")["problem"] is None


def test_a_broken_staged_plan_is_a_line_too(desk: Desk) -> None:
    repository(desk)
    staged = desk.workspace / ".harness" / "queued-plans"
    staged.mkdir()
    (staged / "PLAN-x.md").write_bytes(b"\xff")
    (staged / "notes.txt").write_text("no plan")
    assert line(desk, "x")["state"] == "staged"
    assert "UTF-8" in line(desk, "x")["problem"]


def test_no_vault_is_no_accident(desk: Desk) -> None:
    desk.git()
    desk.signoff("list").exits(0).shows("cannot tell: no vault at")


def test_no_plans_is_no_accident(desk: Desk) -> None:
    desk.git()
    (desk.workspace / ".harness").mkdir()
    desk.signoff("list").exits(0).prints("no plans")


@pytest.mark.parametrize("what", ["database", "settings"])
def test_what_cannot_be_opened_is_said_and_is_no_failure(desk: Desk, what: str) -> None:
    repository(desk)
    write_plan(desk, "a")
    approve(desk, "a")
    if what == "database":
        desk.ledger_file.write_bytes(b"this is no database, however long it is" * 100)
    else:
        desk.file("signoff.toml", "no toml at all [")
    desk.signoff("list").exits(0).shows("cannot tell: ").hides("Traceback")
    assert desk.signoff("list", "--json").exits(0).json["problem"]
