"""`signoff agent --confirm`: nothing changes that the person did not allow."""

from __future__ import annotations

from signoff.testing.conversation import ScriptedCall
from signoff.testing.script import Script, say, use
from tests.cli.ended import Ended
from tests.cli.kit import Desk
from tests.scripted.server import ScriptedServer


def play(desk: Desk, typed: str, *calls: ScriptedCall) -> Ended:
    script = Script([*(use(call) for call in calls), say("That is all.")])
    desk.variable(no_proxy="127.0.0.1", NO_PROXY="127.0.0.1")
    with ScriptedServer(script) as server:
        options = ("--model", "openai:some-model", "--base-url", server.openai_url, "--confirm")
        return desk.at_terminal("agent", *options, "--no-plan", "do it", typed=typed)


def write(name: str) -> ScriptedCall:
    return ScriptedCall("write", {"path": name, "content": "x"})


def test_a_call_is_made_when_the_person_allows_it_and_only_then(desk: Desk) -> None:
    ended = play(desk, "n\ny\n", write("a.txt"), write("b.txt"))
    assert "may it call write" in ended.stdout and "the user said no" in ended.stdout
    assert not (desk.workspace / "a.txt").exists()
    assert (desk.workspace / "b.txt").read_text() == "x"


def test_looks_need_no_permission(desk: Desk) -> None:
    desk.file("a.txt", "hello")
    ended = play(desk, "", ScriptedCall("read", {"path": "a.txt"}))
    assert "may it call" not in ended.stdout and "That is all." in ended.stdout


def test_without_a_terminal_nobody_can_be_asked(desk: Desk) -> None:
    options = ("--model", "openai:m", "--confirm", "do it")
    desk.signoff("agent", *options).exits(2).shows("--confirm asks at a terminal")
