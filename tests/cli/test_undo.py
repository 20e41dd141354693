"""`signoff undo`: what an agent changed is put back, unless somebody else changed it since."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from signoff.testing import Call, Script, ScriptedServer, Turn, say, use
from tests.cli.kit import Desk


@pytest.fixture
def desk(desk: Desk) -> Iterator[Desk]:
    desk.variable(no_proxy="127.0.0.1", NO_PROXY="127.0.0.1")
    yield desk


def write(path: str, content: str) -> Turn:
    return use(Call("write", {"path": path, "content": content}))


def bash(command: str) -> Turn:
    return use(Call("bash", {"command": command}))


def worked(desk: Desk, *turns: Turn) -> None:
    """An agent made these changes and is gone."""
    with ScriptedServer(Script([*turns, say("done")])) as server:
        desk.signoff(
            "agent",
            "change things",
            "--model",
            "openai:some-model",
            "--base-url",
            server.openai_url,
        ).exits(3)


def test_the_last_change_is_put_back(desk: Desk) -> None:
    desk.file("a.txt", "before\n")
    worked(desk, write("a.txt", "one\n"), write("a.txt", "two\n"))
    ended = desk.signoff("undo").exits(0)
    assert "2. a.txt: restored" in ended.stdout and "1 change left" in ended.stdout
    assert desk.read("a.txt") == "one\n"
    desk.signoff("undo").exits(0)
    assert desk.read("a.txt") == "before\n"
    desk.signoff("undo").exits(2)


def test_several_at_once_and_what_a_command_did(desk: Desk) -> None:
    desk.file("a.txt", "before\n")
    worked(desk, write("new.txt", "x"), bash("rm a.txt; mkdir d; echo y > d/b.txt"))
    data = desk.signoff("undo", "2", "--json").exits(0).json
    assert data["schema_version"] == 1 and data["undone"] is True and data["left"] == 0
    assert {(f["path"], f["doing"]) for f in data["files"]} == {
        ("a.txt", "restore"),
        ("d/b.txt", "remove"),
        ("new.txt", "remove"),
    }
    assert desk.read("a.txt") == "before\n"
    assert not (desk.workspace / "new.txt").exists() and not (desk.workspace / "d").exists()


def test_a_dry_run_says_what_would_happen_and_does_nothing(desk: Desk) -> None:
    worked(desk, write("a.txt", "one\n"))
    assert "1. a.txt: would be removed" in desk.signoff("undo", "--dry-run").exits(0).stdout
    assert desk.read("a.txt") == "one\n"


def test_what_a_person_changed_since_is_not_overwritten_unless_forced(desk: Desk) -> None:
    desk.file("a.txt", "before\n")
    worked(desk, write("a.txt", "one\n"))
    desk.file("a.txt", "mine\n")
    ended = desk.signoff("undo").exits(5)
    assert "`a.txt`" in ended.stderr and "--force" in ended.stderr
    assert desk.read("a.txt") == "mine\n"
    desk.signoff("undo", "--force").exits(0)
    assert desk.read("a.txt") == "before\n"


def test_a_session_is_chosen_by_its_id(desk: Desk) -> None:
    worked(desk, write("a.txt", "one\n"))
    first = desk.signoff("undo", "--dry-run", "--json").exits(0).json["session"]
    worked(desk, write("b.txt", "two\n"))
    desk.signoff("undo", "--session", first).exits(0)
    assert not (desk.workspace / "a.txt").exists() and desk.read("b.txt") == "two\n"


def test_where_nothing_was_changed_there_is_nothing_to_undo(desk: Desk) -> None:
    ended = desk.signoff("undo").exits(2)
    assert "no session changed anything" in ended.stderr
    assert "no session has the id" in desk.signoff("undo", "--session", "x").exits(2).stderr


@pytest.mark.parametrize("number", ["0", "-1", "x"])
def test_only_a_number_of_changes_makes_sense(desk: Desk, number: str) -> None:
    desk.signoff("undo", number).exits(2)


def test_undoing_is_a_persons_business(desk: Desk) -> None:
    worked(desk, write("a.txt", "one\n"))
    desk.variable(SIGNOFF_ATTEMPT="1")
    assert "inside an attempt" in desk.signoff("undo").exits(2).stderr
    assert desk.read("a.txt") == "one\n"
