"""A script answers in order, once each, and keeps what it was sent."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from signoff.errors import ScriptUnusable
from signoff.testing.conversation import (
    Message,
    OfferedTool,
    ScriptedCall,
    ScriptedRequest,
    Speaker,
    ToolResult,
)
from signoff.testing.script import (
    FailureKind,
    Script,
    Turn,
    say,
    use,
)

USER = Message(Speaker.USER, "Do it.")
HELLO = ScriptedRequest((USER,), (OfferedTool("bash"),))


def test_turns_are_heard_in_order_and_the_end_is_an_error() -> None:
    script = Script([say("one"), say("two")])
    assert [script.answer(HELLO).whole_text for _ in range(2)] == ["one", "two"]
    with pytest.raises(ScriptUnusable, match="request 3 came after the last of 2 scripted turns"):
        script.answer(HELLO)
    assert script.received == (HELLO, HELLO, HELLO)
    assert script.requests == 3


def test_a_last_turn_can_repeat_for_ever() -> None:
    script = Script([say("work"), say("done!")], last_repeats=True)
    heard = [script.answer(HELLO).whole_text for _ in range(5)]
    assert heard == ["work", "done!", "done!", "done!", "done!"]


def test_only_the_latest_requests_are_kept_where_that_is_asked_for() -> None:
    script = Script([say("on")], last_repeats=True, keep=2)
    asked = [ScriptedRequest((Message(Speaker.USER, str(n)),)) for n in range(5)]
    for conversation in asked:
        script.answer(conversation)
    assert (script.received, script.requests) == (tuple(asked[-2:]), 5)


def test_hundred_askers_at_once_hear_every_turn_exactly_once() -> None:
    script = Script([say(str(number)) for number in range(100)])
    heard: Counter[str] = Counter()
    together = threading.Barrier(20)

    def ask() -> None:
        together.wait()
        for _ in range(5):
            heard[script.answer(HELLO).whole_text] += 1

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard == Counter({str(number): 1 for number in range(100)})
    assert script.requests == 100


def test_a_function_that_waits_keeps_nobody_else_waiting() -> None:
    release, waiting = threading.Event(), threading.Event()

    def respond(conversation: ScriptedRequest) -> Turn:
        if conversation is slow:
            waiting.set()
            release.wait(60)
        return say("ok")

    slow = ScriptedRequest((USER,), (OfferedTool("slow"),))
    script = Script(respond=respond)
    asker = threading.Thread(target=script.answer, args=(slow,))
    asker.start()
    assert waiting.wait(60)
    try:
        assert script.answer(HELLO).whole_text == "ok"
    finally:
        release.set()
        asker.join()


def test_calls_get_ids_that_repeat_nowhere_unless_the_script_wants_it() -> None:
    script = Script(
        [use(ScriptedCall("a"), ScriptedCall("a"), ScriptedCall("b", id="mine"))], last_repeats=True
    )
    calls = [call for _ in range(50) for call in script.answer(HELLO).calls]
    made = [call.id for call in calls if call.name == "a"]
    assert len(set(made)) == 100
    assert {call.id for call in calls if call.name == "b"} == {"mine"}


ASKED = Message(Speaker.MODEL, calls=(ScriptedCall("a", {}, "1"), ScriptedCall("a", {}, "2")))
TORN = [
    ((USER, ASKED), "no result follows the tool call `1`"),
    ((USER, ASKED, USER), "no result follows the tool call `1`"),
    (
        (USER, ASKED, Message(Speaker.TOOL, results=(ToolResult("1", "ok"),))),
        "no result follows the tool call `2`",
    ),
    (
        (USER, Message(Speaker.TOOL, results=(ToolResult("9", "ok"),))),
        "the tool result `9` answers no call of the message before it",
    ),
]


@pytest.mark.parametrize(("messages", "reason"), TORN)
def test_a_conversation_no_provider_accepts_is_refused_without_using_a_turn(
    messages: tuple[Message, ...], reason: str
) -> None:
    script = Script([say("fine")])
    failure = script.answer(ScriptedRequest(messages)).failure
    assert failure is not None
    assert (failure.kind, failure.status, failure.message) == (FailureKind.STATUS, 400, reason)
    assert (script.answer(HELLO).whole_text, script.requests) == ("fine", 2)


def test_a_function_that_returns_no_turn_is_named() -> None:
    script = Script(respond=lambda _: "done")  # type: ignore[arg-type, return-value]
    with pytest.raises(ScriptUnusable, match="`respond` returned `str`, not a turn"):
        script.answer(HELLO)


def test_a_script_says_something_one_way_or_the_other() -> None:
    for arguments in ({}, {"turns": [say("a")], "respond": lambda _: say("b")}):
        with pytest.raises(ScriptUnusable, match="either turns or a function"):
            Script(**arguments)  # type: ignore[arg-type]


def test_a_string_is_no_list_of_chunks() -> None:
    with pytest.raises(ScriptUnusable, match="tuple of chunks"):
        Turn("Hello")  # type: ignore[arg-type]
