"""`signoff agent --plan`: a person's plan, worked on in a session, signed by a run of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from signoff.testing.conversation import ScriptedCall
from signoff.testing.script import Script, Turn, say, use
from tests.cli.ended import Ended
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.test_agent import Played, did, plan, played

WORK = [did(1, "a.txt"), did(2, "b.txt"), say("done")]


@pytest.fixture
def desk(desk: Desk) -> Iterator[Desk]:
    desk.variable(no_proxy="127.0.0.1", NO_PROXY="127.0.0.1")
    desk.agent("true").plan(step("Write a", "test -f a.txt"), step("Write b", "test -f b.txt"))
    yield desk


def work(desk: Desk, *turns: Turn, more: tuple[str, ...] = ()) -> tuple[Ended, Played]:
    stage = played(desk, list(turns))
    with stage.server:
        return stage.agent("do what the plan says", "--plan", "PLAN.md", *more), stage


def test_a_plan_that_nobody_approved_is_worked_on_by_nobody(desk: Desk) -> None:
    ended, stage = work(desk, *WORK)
    ended.fails(6, "is not approved", hint="signoff approve")
    assert not stage.script.received and not (desk.workspace / "a.txt").exists()
    desk.about_plan("approve", "--yes").exits(0)
    desk.edit_plan("test -f b.txt", "true")
    ended, stage = work(desk, *WORK)
    ended.fails(6, "is not approved as it is now")


def test_its_own_chain_tells_the_same_as_the_session(desk: Desk) -> None:
    desk.about_plan("approve", "--yes").exits(0)
    ended, stage = work(desk, use(plan("x")), did(1, "a.txt"), say("done"), *WORK[1:])
    ended.exits(0).shows(": done\n", "the work is signed off").hides("self-set", "awaits sign-off")
    assert "only people change it" in stage.script.received[1].results[0].text
    session = ended.stdout.partition("session-")[2].split(":")[0]
    assert desk.status()["status"] == "done" and desk.status()["gate"] == "open"
    desk.about_plan("audit").exits(0)
    (started,) = desk.entries("run.started")
    assert started["data"]["roles"] == {}
    assert started["data"]["session"]["id"] == f"session-{session}"
    shown = desk.signoff("status", f"session-{session}", "--json").exits(0).json
    assert (shown["standing"], shown["plan"], shown["done"]) == ("done", "PLAN", True)
    (line,) = desk.signoff("sessions", "--json").json["sessions"]
    assert (line["id"], line["standing"], line["plan"]) == (f"session-{session}", "done", "PLAN")
    audited = desk.signoff("audit", line["id"], "--json").exits(0).json
    assert (audited["plan"], audited["self_set"]) == ("PLAN", False), "it is the plan's sign-off"
    assert desk.signoff("receipt", "export", line["id"], "--json").exits(0).json["plan"] == "PLAN"
    assert desk.signoff("stats", line["id"], "--json").exits(0).json["plans"] == 1
    again, _ = work(desk, say("done"))
    again.fails(2, "signed off already", hint="signoff approve")


def test_what_has_no_contract_is_asked_of_a_person_by_the_plan(desk: Desk) -> None:
    reviewed = [("It was reviewed by hand", None)]
    desk.plan(step("Write a", "test -f a.txt"), post=reviewed)
    desk.about_plan("approve", "--yes").exits(0)
    lie = ScriptedCall("postcondition_verify", {"postcondition_number": 1, "evidence": "tool:c2"})
    ended, _ = work(desk, did(1, "a.txt"), use(lie), say("done"), say("done"))
    ended.exits(6).shows("next: signoff inbox").hides(": done\n")
    session = ended.stdout.partition(":")[0].split()[-1]
    items = [item for item in desk.inbox() if item["plan"] == "PLAN"]
    assert len(items) == 1, "asked by the plan's own run"
    assert desk.status()["status"] == "in-progress"
    desk.signoff("status", session).exits(6).shows("waiting for a person")
    desk.signoff("sign", session).exits(6).hides("done (")
    desk.signoff("answer", items[0]["id"], "waive").exits(0)
    desk.run().exits(0)
    desk.signoff("status", session).exits(0)
    assert desk.status()["status"] == "done"


def test_a_session_cannot_be_signed_around_its_plan(desk: Desk) -> None:
    """The session is judged by the plan's own run, also when it is named by its id."""
    desk.about_plan("approve", "--yes").exits(0)
    ended, _ = work(desk, did(1, "a.txt"), more=("--max-turns", "1"))
    session = ended.exits(1).stdout.partition(":")[0].split()[-1]
    desk.signoff("sign", session).exits(1).shows("not done", "missing: 2")
    assert desk.entries("run.started") == []
    desk.file("b.txt", "a person wrote it")
    desk.signoff("sign", session).exits(0).shows("signed off")
    assert desk.status()["status"] == "done"


def test_a_resumed_session_still_works_on_its_plan(desk: Desk) -> None:
    desk.about_plan("approve", "--yes").exits(0)
    stage = played(desk, WORK)
    with stage.server:
        first = stage.agent("do it", "--plan", "PLAN.md", "--max-turns", "1").exits(1)
        session = first.stdout.partition(":")[0].split()[-1]
        stage.agent("--resume", session).exits(0).shows("the work is signed off")
    assert desk.status()["status"] == "done"


def test_in_a_client_it_awaits_a_sign_off_at_a_terminal(desk: Desk) -> None:
    desk.about_plan("approve", "--yes").exits(0)
    desk.variable(CLAUDECODE="1")
    ended, _ = work(desk, *WORK)
    ended.exits(6).shows("awaiting sign-off", "next: signoff sign session-")
    del desk.variables["CLAUDECODE"]
    assert desk.status()["status"] == "approved"
    desk.signoff("sign", "PLAN.md").exits(0)


def test_a_run_that_is_not_over_is_not_disturbed(desk: Desk) -> None:
    desk.agent("exit 1").run("--yes").exits(6)
    ended, stage = work(desk, *WORK)
    ended.fails(5, "is not over", hint="signoff run")
    assert not stage.script.received


def test_the_next_step_is_one_that_helps(desk: Desk) -> None:
    own = Script([use(plan("a.txt")), did(1, "a.txt"), say("done")])
    stage = played(desk, own)
    with stage.server:
        kept = stage.agent("write a.txt").exits(6)
    session = kept.stdout.partition(":")[0].split()[-1]
    assert 'self_set = "accept"' in kept.stdout and f"; then signoff sign {session}" in kept.stdout
    assert "--resume" not in kept.stdout and "awaits sign-off" not in kept.stdout
    desk.person('[agent]\nself_set = "accept"\n')
    desk.signoff("sign", session).exits(0)
    stage = played(desk, [use(plan("c.txt"))])
    place = ("--workspace", str(desk.workspace))
    with stage.server:
        limited = stage.agent("write c.txt", "--max-turns", "1", *place).exits(1)
        address = stage.server.openai_url
    again = next(line for line in limited.stdout.splitlines() if line.startswith("next: "))
    assert again.endswith(f" --base-url {address} --workspace {desk.workspace}")


def test_the_answer_is_shown_once_at_a_terminal(desk: Desk) -> None:
    stage = played(desk, [say("forty-two")])
    with stage.server:
        ended = desk.at_terminal("agent", *stage.options(), "what is it?", "--no-plan")
    assert ended.stdout.count("forty-two") == 1, ended.stdout
    assert "forty-twosession" not in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "says", "hint"),
    [
        (("--model", "openai:x", "--system", "/nope"), "/nope", "--help"),
        (("--model", "openai:x", "--base-url", "nonsense"), "not an address", "--help"),
        (("--model", "openai:x", "--max-usd", "nan"), "is not a number above 0", "--help"),
        (("--model", "openai:x", "--max-minutes", "inf"), "is not a number above 0", "--help"),
        (("--model", "foo:bar"), "Unknown model", "name a provider"),
        (("--model", "mistral:q"), "needs another package", "pip install"),
    ],
)
def test_a_slip_of_the_pen_is_told_with_what_helps(
    desk: Desk, arguments: tuple[str, ...], says: str, hint: str
) -> None:
    ended = desk.signoff("agent", "x", *arguments)
    ended.fails(ended.code, says, hint=hint)
    assert ended.code in (2, 4)
