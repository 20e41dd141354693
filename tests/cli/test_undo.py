"""`signoff undo`: what an agent changed is put back, unless somebody else changed it since."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from signoff.testing.conversation import ScriptedCall
from signoff.testing.script import Script, Turn, say, use
from tests.cli.kit import Desk
from tests.scripted.server import ScriptedServer


@pytest.fixture
def desk(desk: Desk) -> Iterator[Desk]:
    desk.variable(no_proxy="127.0.0.1", NO_PROXY="127.0.0.1")
    yield desk


def write(path: str, content: str) -> Turn:
    return use(ScriptedCall("write", {"path": path, "content": content}))


def bash(command: str) -> Turn:
    return use(ScriptedCall("bash", {"command": command}))


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


def planned(*calls: ScriptedCall) -> Turn:
    plan = {"objective": "aim", "steps": ["first", "second"], "postconditions": []}
    return use(ScriptedCall("plan_create", plan), *calls)


def begins(step: int) -> Turn:
    return use(ScriptedCall("step_update", {"step_number": step, "status": "in_progress"}))


def test_a_step_goes_back_to_where_it_began_and_a_session_too(desk: Desk) -> None:
    desk.file("a.txt", "before\n")
    worked(
        desk,
        planned(),
        begins(1),
        write("a.txt", "first\n"),
        begins(2),
        write("a.txt", "second\n"),
        bash("mkdir made; rm a.txt"),
    )
    shown = desk.signoff("undo", "--step", "--dry-run", "--json").exits(0).json
    assert {file["change"] for file in shown["files"]} == {2, 3} and not shown["undone"]
    desk.signoff("undo", "--step").exits(0)
    assert desk.read("a.txt") == "first\n" and not (desk.workspace / "made").exists()
    assert "nothing was changed since then" in desk.signoff("undo", "--step").exits(0).stdout
    desk.signoff("undo", "--all").exits(0)
    assert desk.read("a.txt") == "before\n"


@pytest.mark.parametrize("words", [("2", "--step"), ("--all", "--step"), ("1", "--all")])
def test_how_far_is_said_once(desk: Desk, words: tuple[str, ...]) -> None:
    assert "exclude each other" in desk.signoff("undo", *words).exits(2).stderr


def test_permissions_links_and_large_files_come_back(desk: Desk) -> None:
    desk.file("secret.key", "s3cret\n")
    (desk.workspace / "secret.key").chmod(0o600)
    (desk.workspace / "big.txt").write_bytes(b"L" * 11_000_000)
    (desk.workspace / "link").symlink_to("secret.key")
    worked(desk, bash("rm secret.key link"), write("big.txt", "small\n"))
    desk.signoff("undo", "--all").exits(0)
    assert (desk.workspace / "secret.key").stat().st_mode & 0o777 == 0o600
    assert (desk.workspace / "link").is_symlink()
    assert (desk.workspace / "big.txt").stat().st_size == 11_000_000


def test_a_persons_folder_in_the_way_stops_everything(desk: Desk) -> None:
    worked(desk, write("x", "agent\n"), write("a.txt", "agent\n"))
    (desk.workspace / "x").unlink()
    desk.file("x/mine.txt", "mine\n")
    for words in ((), ("--force",)):
        ended = desk.signoff("undo", "2", *words).exits(5)
        assert "`x`: a folder with other things" in ended.stderr
        assert desk.read("a.txt") == "agent\n" and desk.read("x/mine.txt") == "mine\n"
    shown = desk.signoff("undo", "2", "--dry-run").exits(0).stdout
    assert "1. x: cannot be put back: a folder with other things in it" in shown


def test_what_could_not_be_kept_is_said(desk: Desk) -> None:
    desk.file(".gitignore", "*.log\n")
    desk.file("a.log", "before\n")
    worked(desk, bash("echo agent > a.log"))
    ended = desk.signoff("undo").exits(2)
    assert "something changed: what is ignored is not kept" in ended.stderr
    worked(desk, write("b.txt", "agent\n"), bash("echo more >> a.log"))
    data = desk.signoff("undo", "--json").exits(0).json
    assert data["lost"] == [
        {
            "change": 2,
            "path": None,
            "why": "ignored",
            "text": "what is ignored is not kept",
        }
    ]
    assert [file["path"] for file in data["files"]] == ["b.txt"]


def test_what_was_undone_does_not_count_as_there(desk: Desk) -> None:
    """What was proved is not proved any more, and the log says what was put back."""
    with ScriptedServer(Script([write("a.md", "# A\n"), say("done")], last_repeats=True)) as server:
        model = ("--model", "openai:some-model", "--base-url", server.openai_url)
        desk.signoff("agent", "Create `a.md`.", *model)
    session = desk.signoff("undo", "--all", "--json").exits(0).json["session"]
    lines = desk.signoff("log", session, "--json").exits(0).stdout.splitlines()
    last = json.loads(lines[-1])
    assert last["kind"] == "rollback.restored" and list(last["data"]["replaced"]) == ["a.md"]
    desk.signoff("sign", session).exits(1).shows("not done", "make a.md")
