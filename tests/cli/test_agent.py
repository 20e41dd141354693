"""`signoff agent`: the built-in loop from the command line, against a model server on loopback."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.script import Script, Turn, refuse, say, use
from tests.cli.ended import LIMIT_S, Ended
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.scripted.server import ScriptedServer

ACCEPT = '[agent]\nself_set = "accept"\n'


class Played:
    """A desk with a model server beside it."""

    def __init__(self, desk: Desk, script: Script, server: ScriptedServer):
        self.desk, self.script, self.server = desk, script, server

    def options(self) -> tuple[str, ...]:
        return ("--model", "openai:some-model", "--base-url", self.server.openai_url)

    def agent(self, *arguments: str) -> Ended:
        return self.desk.signoff("agent", *self.options(), *arguments)


@pytest.fixture
def desk(desk: Desk) -> Iterator[Desk]:
    desk.variable(no_proxy="127.0.0.1", NO_PROXY="127.0.0.1")
    yield desk


def played(desk: Desk, turns: Sequence[Turn] | Script) -> Played:
    script = turns if isinstance(turns, Script) else Script(turns)
    return Played(desk, script, ScriptedServer(script))


def plan(*paths: str) -> ScriptedCall:
    steps = [
        {"description": f"write {p}", "check": {"kind": "file_exists", "path": p}} for p in paths
    ]
    return ScriptedCall("plan_create", {"objective": "files", "steps": steps, "postconditions": []})


def did(number: int, path: str) -> Turn:
    return use(
        ScriptedCall("step_update", {"step_number": number, "status": "in_progress"}),
        ScriptedCall("write", {"path": path, "content": "x"}),
        ScriptedCall("step_update", {"step_number": number, "status": "done"}),
    )


HONEST = [use(plan("a.txt")), did(1, "a.txt"), say("a.txt ", "is written.")]


def test_a_task_is_done_proved_and_signed(desk: Desk) -> None:
    desk.person(ACCEPT)
    stage = played(desk, HONEST)
    with stage.server:
        ended = stage.agent("write a.txt").exits(0)
    assert ended.stdout.startswith("a.txt is written.\n\nsession-")
    assert ": done\n" in ended.stdout and "claimed 1, proved 2" in ended.stdout
    assert "→ write " in ended.stderr and "a.txt is written." in ended.stderr
    assert desk.read("a.txt") == "x"


def test_the_report_is_json_for_machines(desk: Desk) -> None:
    desk.person(ACCEPT)
    stage = played(desk, HONEST)
    with stage.server:
        data = stage.agent("write a.txt", "--json").exits(0).json
    assert data["schema_version"] == 1
    assert (data["standing"], data["done"]) == ("done", True)
    assert data["loop"]["turns"] == 3 and data["loop"]["tokens_in"] == 300
    assert data["plan"]["claimed"] == ["1"]


def test_a_lie_is_refused_and_a_person_is_asked(desk: Desk) -> None:
    stage = played(desk, Script([use(plan("a.txt")), say("Done!")], last_repeats=True))
    with stage.server:
        ended = stage.agent("write a.txt").exits(6)
    assert ": escalated\n" in ended.stdout and "missing: 1: " in ended.stdout
    assert ended.stderr.count("final answer refused") == 5
    assert desk.inbox()


def test_checks_the_agent_chose_are_labelled_and_are_not_plain_done(desk: Desk) -> None:
    stage = played(desk, HONEST)
    with stage.server:
        ended = stage.agent("write a.txt").exits(6)
    assert "kept, self-set" in ended.stdout
    assert "the agent chose the checks itself" in ended.stdout


def test_without_a_plan_the_exit_code_says_that_nothing_was_judged(desk: Desk) -> None:
    stage = played(desk, [say("Hello.")])
    with stage.server:
        ended = stage.agent("say hello", "--no-plan").exits(3)
    assert "Hello." in ended.stdout and "unplanned" in ended.stdout
    assert "plan_create" not in [t.name for t in stage.script.received[0].tools]


def test_limits_end_it_and_it_can_be_resumed(desk: Desk) -> None:
    desk.person(ACCEPT)
    stage = played(desk, HONEST)
    with stage.server:
        first = stage.agent("write a.txt", "--max-turns", "1").exits(1)
        assert "limit: the limit of 1 turns is reached" in first.stdout
        session = first.stdout.split(":")[0].strip()
        assert f"next: signoff agent --resume {session}" in first.stdout
        stage.agent("--resume", session).exits(0)
    assert stage.script.received[1].model_turns == 1


def test_ctrl_c_leaves_a_session_that_can_be_resumed(desk: Desk) -> None:
    desk.person(ACCEPT)
    slow = ScriptedCall("bash", {"command": "echo x > begun; sleep 250", "timeout_s": 280})
    stage = played(desk, [use(plan("a.txt")), use(slow), *HONEST[1:]])
    with stage.server:
        running = desk.start("agent", *stage.options(), "write a.txt", "--json")
        give_up = time.monotonic() + LIMIT_S
        while not (desk.workspace / "begun").exists():
            assert time.monotonic() < give_up and running.process.poll() is None
            time.sleep(0.05)
        running.process.send_signal(signal.SIGINT)
        assert running.process.wait(timeout=LIMIT_S) == 130
        data = json.loads(running.out.read_text())
        assert data["loop"]["ended"] == "interrupted"
        again = stage.agent("--resume", data["session"], "go on, please").exits(0)
    assert ": done\n" in again.stdout
    told = stage.script.received[2]
    assert "stopped before this call gave a result" in told.results[0].text
    assert told.last_user_text.startswith("go on, please")


def test_a_dead_provider_is_told_and_nothing_is_called_done(desk: Desk) -> None:
    stage = played(desk, [refuse(401, "bad key")])
    with stage.server:
        ended = stage.agent("write a.txt").exits(3)
    assert "model-failed: status 401: bad key" in ended.stdout


def test_what_the_model_says_cannot_steer_the_terminal(desk: Desk) -> None:
    turns = [use(ScriptedCall("bash", {"command": "printf '\\033[2Jx'"})), say("\x1b[2J\x07ok")]
    stage = played(desk, turns)
    with stage.server:
        ended = stage.agent("say hello", "--no-plan").exits(3)
    assert "\x1b" not in ended.stdout + ended.stderr and "\x07" not in ended.stderr


def test_the_agent_neither_reads_nor_writes_what_is_the_harness_own(desk: Desk) -> None:
    home = str(desk.home)
    reads = [
        ScriptedCall("read", {"path": f"{home}/ledger.sqlite3"}),
        ScriptedCall("glob", {"pattern": "**", "path": home}),
    ]
    writes = [
        ScriptedCall("write", {"path": p, "content": "x"})
        for p in ("signoff.toml", ".harness/PLAN-x.md", ".git/config", "../config.toml")
    ]
    well = ScriptedCall("bash", {"command": "true"})  # three failures in a row would end the turn
    stage = played(desk, [use(*reads, well, *writes[:2], well, *writes[2:]), say("sorry")])
    with stage.server:
        stage.agent("cheat", "--no-plan").exits(3)
    told = [r.text for r in stage.script.received[1].results if r.name != "bash"]
    assert len(told) == len(reads) + len(writes)
    assert [t for t in told if not t.startswith("error: ")] == []
    assert not (desk.workspace / "signoff.toml").exists()


def test_a_person_at_the_terminal_is_asked(desk: Desk) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        if conversation.model_turns == 0:
            return use(ScriptedCall("ask_user", {"question": "Which colour?"}))
        return say(f"They said {conversation.results[0].text}.")

    stage = played(desk, Script(respond=respond))
    with stage.server:
        ended = desk.at_terminal("agent", *stage.options(), "ask", "--no-plan", typed="red\n")
    assert "the agent asks: Which colour?" in ended.stdout
    assert "They said red." in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("agent", "--model", "openai:x"), 2, "name a TASK"),
        (("agent", "x", "--role-prompt", "--model", "openai:x"), 2, "name a TASK"),
        (("agent", "x", "--model", "nobody:x"), 4, "cannot be used"),
        (("agent", "x", "--model", "gpt"), 4, "does not name a model"),
        (("agent", "x", "--model", "openai:gpt-5"), 4, "OPENAI_API_KEY"),
        (
            (
                "agent",
                "--resume",
                "session-0",
                "--model",
                "openai:x",
                "--base-url",
                "http://127.0.0.1:9",
            ),
            2,
            "no transcript",
        ),
        (
            ("agent", "x", "--plan", "y", "--no-plan", "--model", "openai:x"),
            2,
            "do not go together",
        ),
    ],
)
def test_wrong_usage_is_told_with_what_to_do(
    desk: Desk, arguments: tuple[str, ...], code: int, says: str
) -> None:
    ended = desk.signoff(*arguments).exits(code)
    assert says in ended.stderr and "next: " in ended.stderr


def _role(stage: Played, **more: Any) -> str:
    lines = {"agent": "loop", "model": "openai:some-model", "base_url": stage.server.openai_url}
    return "[roles.coder]\n" + "\n".join(
        f"{name} = {json.dumps(value)}" for name, value in {**lines, **more}.items()
    )


def test_the_loop_does_the_steps_of_a_plan_as_a_role(desk: Desk) -> None:
    def respond(conversation: ScriptedRequest) -> Turn:
        if conversation.model_turns:
            return say("It is written.")
        second = "exit code 1" in conversation.last_user_text
        content = "right" if second else "wrong"
        return use(ScriptedCall("write", {"path": "out.txt", "content": content}))

    stage = played(desk, Script(respond=respond))
    desk.plan(step("Write it", "grep -q right out.txt"))
    with stage.server:
        desk.file("signoff.toml", _role(stage))
        desk.run("--yes").exits(0)
    assert desk.read("out.txt") == "right"
    first, second = (e["data"] for e in desk.entries("attempt.finished"))
    assert first["usage"]["tokens"] == 240 and second["usage"]["model"] == "openai:some-model"
    assert "plan_create" not in [t.name for t in stage.script.received[0].tools]


def test_a_role_that_cannot_finish_says_so_instead_of_inventing(desk: Desk) -> None:
    honest = ScriptedCall("give_up", {"kind": "needs input", "reason": "Which colour?"})
    stage = played(desk, Script([use(honest), say("I need to know.")], last_repeats=True))
    desk.plan(step("Write it", "grep -q right out.txt"))
    with stage.server:
        desk.file("signoff.toml", _role(stage))
        desk.run("--yes").exits(6)
    (item,) = desk.inbox()
    assert "Which colour?" in json.dumps(item)


@pytest.mark.parametrize("broken", [{"agent": "loup"}, {"model": ""}, {"command": "x"}])
def test_a_loop_role_is_checked_when_it_is_read(desk: Desk, broken: dict[str, str]) -> None:
    stage = played(desk, [say("x")])
    desk.plan(step("Write it", "true"))
    with stage.server:
        desk.file("signoff.toml", _role(stage, **broken))
    desk.run("--yes").exits(4)


@pytest.mark.parametrize("where", ["option", "settings"])
def test_a_model_that_must_be_sure_makes_no_change_that_it_is_not_sure_of(
    desk: Desk, where: str
) -> None:
    desk.person(f"{ACCEPT}confidence = 0.8\n" if where == "settings" else ACCEPT)
    doubted = ScriptedCall("write", {"path": "a.txt", "content": "x", "confidence": 0.5})
    stage = played(desk, [use(doubted), say("Not done.")])
    options = ("--confidence", "0.8") if where == "option" else ()
    with stage.server:
        stage.agent("write it down", *options).exits(3)
    assert not (desk.workspace / "a.txt").exists()
    assert "0.8 is asked for" in stage.script.received[1].results[-1].text
