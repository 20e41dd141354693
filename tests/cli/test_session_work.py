"""Work in a session is told as what it is: whose it was, what it used, what was seen before it."""

from __future__ import annotations

import base64
import json
import signal
from typing import Any

import pytest

from signoff.testing.conversation import ScriptedCall
from signoff.testing.script import Turn, say, use
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.test_agent import did, played


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.variable(no_proxy="127.0.0.1", NO_PROXY="127.0.0.1")
    return desk.plan(step("Write a", "test -f a.txt"), step("Write b", "test -f b.txt"))


def _signed(desk: Desk, *turns: Turn) -> str:
    """The id of the session that did it."""
    desk.about_plan("approve", "--yes", "--role", "coder=false").exits(0)
    stage = played(desk, list(turns))
    with stage.server:
        ended = stage.agent("do what the plan says", "--plan", "PLAN.md").exits(0)
    return f"session-{ended.stdout.partition('session-')[2].split(':')[0]}"


def _statement(desk: Desk) -> dict[str, Any]:
    exported = desk.signoff("receipt", "export", "PLAN.md").exits(0).json
    found: dict[str, Any] = json.loads(base64.b64decode(exported["payload"]))
    return found


def test_a_receipt_names_the_session_its_model_and_what_it_used(desk: Desk) -> None:
    session = _signed(desk, did(1, "a.txt"), did(2, "b.txt"), say("done"))

    predicate = _statement(desk)["predicate"]

    (agent,) = predicate["agents"]
    assert (agent["role"], agent["command"]) == ("coder", "")
    assert (agent["session"]["id"], agent["session"]["agent"]) == (session, "signoff agent")
    assert agent["session"]["model"] and agent["session"]["tokens"] > 0
    first, second = predicate["attempts"]
    assert (first["tokens"], second["tokens"]) == (agent["session"]["tokens"], None)
    assert first["model"] == second["model"] == agent["session"]["model"]
    assert "true session" not in json.dumps(predicate)
    desk.about_plan("audit").exits(0)


def test_status_and_stats_count_what_the_session_used(desk: Desk) -> None:
    _signed(desk, did(1, "a.txt"), did(2, "b.txt"), say("done"))

    tokens = desk.status()["spent"]["tokens"]
    assert tokens > 0
    desk.about_plan("status").exits(0).shows(f"spent: {tokens:,} tokens").hides("no usage")
    (row,) = desk.signoff("stats", "--json").exits(0).json["agents"]
    assert (row["role"], row["command"], row["tokens"]) == ("coder", "signoff agent", tokens)
    assert (row["kept_steps"], row["tokens_per_kept_step"]) == (2, tokens / 2)


def test_work_in_a_session_is_never_said_to_have_held_before(desk: Desk) -> None:
    look = use(ScriptedCall("step_check", {"step_number": 1}))
    _signed(desk, look, did(1, "a.txt"), did(2, "b.txt"), say("done"))

    assert [one["held_before"] for one in desk.status()["steps"]] == [False, None]
    desk.about_plan("status").exits(0).hides("held before")


def test_a_step_that_must_be_red_first_needs_a_session_that_saw_it_broken(desk: Desk) -> None:
    strict = step("Write a", "test -f a.txt", red_first="required")
    desk.plan(strict)
    desk.about_plan("approve", "--yes", "--role", "coder=false").exits(0)
    stage = played(desk, [did(1, "a.txt"), say("done")])
    with stage.server:
        stage.agent("do it", "--plan", "PLAN.md").exits(6)

    (item,) = desk.inbox()
    assert "already holds" in item["question"]


def test_a_step_that_must_be_red_first_is_signed_where_the_session_saw_it_broken(
    desk: Desk,
) -> None:
    desk.plan(step("Write a", "test -f a.txt", red_first="required"))
    look = use(ScriptedCall("step_check", {"step_number": 1}))

    _signed(desk, look, did(1, "a.txt"), say("done"))

    assert desk.status()["status"] == "done"


@pytest.mark.parametrize("point", ["run-started", "verdict-appended:2", "before-finish"])
def test_a_signing_run_that_was_killed_is_finished_by_the_next_run(desk: Desk, point: str) -> None:
    desk.about_plan("approve", "--yes", "--role", "coder=false").exits(0)
    stage = played(desk, [did(1, "a.txt"), did(2, "b.txt"), say("done")])
    desk.variable(SIGNOFF_CRASH_AT=point)
    with stage.server:
        stage.agent("do what the plan says", "--plan", "PLAN.md").exits(-signal.SIGKILL)
    assert desk.status()["status"] != "done"

    desk.variable(SIGNOFF_CRASH_AT="").run().exits(0)

    assert desk.status()["status"] == "done"
    (agent,) = _statement(desk)["predicate"]["agents"]
    assert agent["command"] == "" and agent["session"]["agent"] == "signoff agent"
    desk.about_plan("audit").exits(0)
