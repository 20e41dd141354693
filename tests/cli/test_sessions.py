"""`signoff sessions`: every agent's session can be found, and looked at by its id."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from signoff.testing.conversation import ScriptedCall
from signoff.testing.script import Script, say, use
from tests.cli.kit import Desk
from tests.cli.test_agent import HONEST, plan, played

UNKNOWN = "session-0123456789abcdef"


@pytest.fixture
def desk(desk: Desk) -> Iterator[Desk]:
    desk.variable(no_proxy="127.0.0.1", NO_PROXY="127.0.0.1")
    yield desk


def test_sessions_are_listed_and_looked_at(desk: Desk) -> None:
    desk.signoff("sessions").exits(0).prints("no agent had a session here")
    stage = played(desk, HONEST)
    with stage.server:
        stage.agent("write a.txt").exits(6)
    body = desk.signoff("sessions", "--json").exits(0).json
    (line,) = body["sessions"]
    assert body["schema_version"] == 1 and line["age_s"] >= 0 and line["plan"] is None
    assert (line["objective"], line["standing"]) == ("files", "kept, self-set")
    session = line["id"]
    desk.signoff("sessions").exits(0).shows("kept, self-set (files)", " ago")
    desk.signoff("status", session).exits(6).shows("kept, self-set (files)", "proved 2")
    assert desk.signoff("status", session, "--json").json["proved"] == ["1", "task:1"]
    desk.signoff("show", session).exits(0).shows("[x]", "write a.txt")
    assert "write a.txt" in desk.signoff("show", session, "--json").json["text"]
    desk.signoff("log", session).exits(0).shows("session begins: ", "signed off by ")
    elsewhere = desk.folder / "elsewhere"
    elsewhere.mkdir()
    desk.signoff("sessions", cwd=elsewhere).exits(0).prints("no agent had a session here")
    everywhere = desk.signoff("sessions", "--all", cwd=elsewhere).exits(0).shows("DESK/work")
    assert everywhere.stdout.startswith(session)
    desk.signoff("status", session, cwd=elsewhere).exits(6).shows("proved 2")


@pytest.mark.parametrize("verb", ["status", "show", "log", "sign", "audit", "stats"])
def test_a_session_that_is_not_there_leads_to_the_list(desk: Desk, verb: str) -> None:
    desk.signoff(verb, UNKNOWN).fails(2, "no session has the id", hint="signoff sessions")


@pytest.mark.parametrize("verb", ["cancel", "approve", "run"])
def test_a_session_is_not_taken_for_a_plan(desk: Desk, verb: str) -> None:
    refused = desk.signoff(verb, UNKNOWN).fails(2, "is an agent's session, not a plan")
    assert refused.stderr.endswith(f"next: signoff status {UNKNOWN}\n")


def test_an_answer_leads_on_with_the_session(desk: Desk) -> None:
    blocked = {"step_number": 1, "status": "blocked", "notes": "no network"}
    turns = [use(plan("a.txt", "b.txt")), use(ScriptedCall("step_update", blocked)), say("Done!")]
    stage = played(desk, Script(turns, last_repeats=True))
    with stage.server:
        ended = stage.agent("write both").exits(6)
    session = ended.stdout.partition("session-")[2].split(":")[0]
    item = next(item for item in desk.inbox() if "is blocked" in item["question"])
    told = desk.signoff("answer", item["id"], "retry").exits(0).stderr
    assert told == f"next: signoff agent --resume session-{session} --model PROVIDER:NAME\n"


def test_after_an_undo_list_status_and_sign_say_the_same_of_a_session(desk: Desk) -> None:
    stage = played(desk, HONEST)
    with stage.server:
        stage.agent("write a.txt").exits(6)
    (line,) = desk.signoff("sessions", "--json").json["sessions"]
    session = line["id"]
    desk.signoff("undo").exits(0)
    desk.signoff("status", session).exits(6).shows("kept, self-set", "changed since then: 1")
    desk.signoff("status", session).hides("missing:")
    signed = desk.signoff("sign", session, "--json").exits(1).json["sessions"][0]
    status = desk.signoff("status", session, "--json").exits(1).json
    (line,) = desk.signoff("sessions", "--json").json["sessions"]
    assert signed["standing"] == status["standing"] == line["standing"] == "not done"


def test_a_session_whose_process_is_gone_is_interrupted(desk: Desk) -> None:
    stage = played(desk, Script([use(plan("a.txt")), say("later")], last_repeats=True))
    with stage.server:
        stage.agent("write a.txt", "--max-turns", "1")
    (line,) = desk.signoff("sessions", "--json").json["sessions"]
    assert line["standing"] == "interrupted"
    desk.signoff("status", line["id"]).exits(1).shows("interrupted (files)", "missing: 1")
