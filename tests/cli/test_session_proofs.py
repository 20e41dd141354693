"""A signed session is proved like a plan: `log`, `stats`, `audit` and `receipt` take its id."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from signoff.testing.conversation import ScriptedCall, ScriptedRequest
from signoff.testing.script import Script, Turn, say, use
from tests.cli.kit import Desk
from tests.cli.test_agent import ACCEPT, HONEST, desk, did, plan, played
from tests.cli.touching import rewrite

__all__ = ["desk"]  # a fixture
WRITE_A = {"description": "write a.txt", "check": {"kind": "file_exists", "path": "a.txt"}}
WITHOUT_B = ScriptedCall(
    "plan_create",
    {
        "objective": "files",
        "steps": [WRITE_A],
        "postconditions": [],
        "reason": "b.txt is not needed",
    },
)
CHOSE = "self-set: the agent chose these steps and checks itself"


def signed(desk: Desk, turns: Sequence[Turn] | Script, code: int = 0, config: str = ACCEPT) -> str:
    """The session of an agent that played this."""
    desk.person(config)
    stage = played(desk, turns)
    with stage.server:
        stage.agent("write the files").exits(code)
    return str(desk.signoff("sessions", "--json").exits(0).json["sessions"][-1]["id"])


def cites(conversation: ScriptedRequest) -> Turn:
    """One step that a check decides, and one for which a call is cited."""
    steps: list[Any] = [WRITE_A, "look at a.txt"]
    match conversation.model_turns:
        case 0:
            arguments = {"objective": "files", "steps": steps, "postconditions": []}
            return use(ScriptedCall("plan_create", arguments))
        case 1:
            return did(1, "a.txt")
        case 2:
            begun = ScriptedCall("step_update", {"step_number": 2, "status": "in_progress"})
            return use(begun, ScriptedCall("read", {"path": "a.txt"}))
        case 3:
            said = conversation.results[-1].text.split("[evidence: ")[1].rstrip("]\n")
            done = {"step_number": 2, "status": "done", "evidence": said}
            return use(ScriptedCall("step_update", done))
    return say("done")


def test_the_log_shows_claims_with_evidence_and_rewrites_with_what_they_dropped(desk: Desk) -> None:
    turns = [use(plan("a.txt", "b.txt")), use(WITHOUT_B), *HONEST[1:]]
    session = signed(desk, turns)
    shown = desk.signoff("log", session).exits(0).stdout
    rewrite = "the agent wrote its plan anew; reason: b.txt is not needed; dropped: write b.txt"
    assert rewrite in shown and "step 1 · the agent says: done" in shown
    assert "calls write (c" in shown and "writes `a.txt`" in shown
    assert ", checks self-set" in shown.splitlines()[-1]
    cited = signed(desk, Script(respond=cites))
    told = desk.signoff("log", cited).exits(0).stdout
    assert "step 2 · the agent says: done; evidence: tool:c" in told


def test_rewrites_are_counted_in_every_report_of_a_session(desk: Desk) -> None:
    turns = [use(plan("a.txt", "b.txt")), use(WITHOUT_B), *HONEST[1:]]
    desk.person(ACCEPT)
    stage = played(desk, turns)
    with stage.server:
        body = stage.agent("write the files", "--json").exits(0).json
    assert body["plan"]["rewrite_count"] == 1
    said = "plan rewritten 1 time: b.txt is not needed"
    session = body["session"]
    desk.signoff("status", session).exits(0).shows(said, "dropped from the plan: write b.txt")
    assert desk.signoff("status", session, "--json").json["rewrite_count"] == 1
    signing = desk.signoff("sign", session, "--json").exits(0).json["sessions"][0]
    assert signing["rewrite_count"] == 1
    plain = signed(desk, HONEST)
    desk.signoff("status", plain).hides("rewritten")
    assert desk.signoff("status", plain, "--json").json["rewrite_count"] == 0


def test_an_audit_judges_a_session_again_and_says_who_chose_its_checks(desk: Desk) -> None:
    session = signed(desk, Script(respond=cites))
    ended = desk.signoff("audit", session).exits(0)
    ended.shows("kept       1", "cited      2", f"note: {CHOSE}", "audit: kept (self-set)")
    body = desk.signoff("audit", session, "--json").exits(0).json
    assert body["self_set"] is True and body["drift"] == []
    assert body["signed_off_on"] == body["content"]
    desk.signoff("log", session).shows("audited: kept")
    desk.signoff("status", session).exits(0).shows(": done")


def test_an_audit_of_a_session_sees_what_broke_since(desk: Desk) -> None:
    session = signed(desk, Script(respond=cites))
    (desk.workspace / "other.txt").write_text("a person's")
    desk.signoff("audit", session).exits(0).shows("1 file changed", "other.txt", "audit: kept")
    (desk.workspace / "a.txt").write_text("changed")
    ended = desk.signoff("audit", session).exits(3)
    ended.shows("kept       1", "unknown    2", "older content of `a.txt`")
    (desk.workspace / "a.txt").unlink()
    desk.signoff("audit", session).shows("broken     1")


def test_checks_that_do_not_count_make_no_audit_a_yes(desk: Desk) -> None:
    session = signed(desk, HONEST, 6, "")
    desk.signoff("audit", session).exits(6).shows("audit: kept (self-set)")


def test_a_session_that_nobody_signed_is_not_called_kept(desk: Desk) -> None:
    turns = Script([use(plan("a.txt")), say("Done!")], last_repeats=True)
    session = signed(desk, turns, 6)
    desk.signoff("audit", session).exits(1).shows("unproved   1", "audit: not signed off")
    desk.signoff("receipt", "export", session).fails(2, "was not signed off")
    assert desk.signoff("stats", session, "--json").json["signed_off"] == 0


def test_a_session_has_a_receipt_that_labels_its_checks(desk: Desk) -> None:
    session = signed(desk, Script(respond=cites))
    first = desk.signoff("receipt", "export", session).exits(0).stdout
    assert desk.signoff("receipt", "export", session).exits(0).stdout == first
    file = desk.folder / "receipt.json"
    file.write_text(first)
    shown = desk.signoff("receipt", "verify", str(file)).exits(0)
    shown.shows("kept       1", "cited      2", CHOSE, "receipt: genuine")
    statement = desk.signoff("receipt", "verify", str(file), "--json").json["statement"]
    predicate = statement["predicate"]
    assert predicate["self_set"] is True and predicate["approval"] is None
    assert predicate["agents"][0]["session"]["id"] == session
    assert predicate["steps"][1]["evidence"].startswith("tool:")
    assert desk.signoff("audit", session, "--json").exits(0).json["receipts"] == 1
    anchors = desk.folder / "anchors"
    desk.signoff("receipt", "anchor", session, "--file", str(anchors)).exits(0)
    desk.signoff("audit", session, "--anchor", str(anchors)).exits(0).shows("anchors: 1 head")


def test_a_receipt_of_a_session_that_was_rewritten_is_noticed(desk: Desk) -> None:
    session = signed(desk, HONEST)
    desk.signoff("receipt", "export", session).exits(0)
    (kept,) = (desk.home / "receipts" / session).glob("*.json")
    other = signed(desk, [use(plan("b.txt")), did(1, "b.txt"), say("done")])
    desk.signoff("receipt", "export", other).exits(0)
    (foreign,) = (desk.home / "receipts" / other).glob("*.json")
    kept.write_bytes(foreign.read_bytes())
    desk.signoff("audit", session).fails(3, "is about another ledger")


def test_a_bundle_is_of_a_plan_and_says_what_a_session_has(desk: Desk) -> None:
    session = signed(desk, HONEST)
    ended = desk.signoff("receipt", "bundle", session, "--output", "x.zip")
    ended.fails(2, "only a plan can be bundled", hint="signoff receipt export session-")


def test_stats_count_a_named_session_under_self_set_and_no_other(desk: Desk) -> None:
    session = signed(desk, Script(respond=cites))
    body = desk.signoff("stats", session, "--json").exits(0).json
    assert (body["sessions"], body["signed_off"], body["plans"]) == (1, 1, 0)
    (agent,) = body["agents"]
    assert agent["role"] == "self-set" and agent["model"] == "some-model"
    assert (agent["claims"], agent["kept"], agent["refused"]) == (2, 1, 0)
    assert agent["kept_steps"] == 1 and agent["tokens"] > 0
    desk.signoff("stats", session).exits(0).shows("1 session, 1 signed off", "self-set")
    every = json.loads(desk.signoff("stats", "--json").exits(0).stdout)
    assert (every["sessions"], every["signed_off"], every["agents"]) == (0, 0, [])


def hands_on(conversation: ScriptedRequest) -> Turn:
    """A parent whose only step is done by a sub-agent with a plan of its own."""
    is_child = conversation.messages[1].text.startswith("SUB:")
    begun = ScriptedCall("step_update", {"step_number": 1, "status": "in_progress"})
    match conversation.model_turns, is_child:
        case 0, _:
            return use(plan("a.txt"))
        case 1, True:
            return did(1, "a.txt")
        case 1, False:
            handed = {"step_number": 1, "objective": "SUB: write a.txt"}
            return use(begun, ScriptedCall("delegate", handed))
        case 2, False:
            return use(ScriptedCall("step_update", {"step_number": 1, "status": "done"}))
    return say("done")


def test_what_a_sub_agent_proved_is_audited_with_its_parent(desk: Desk) -> None:
    signed(desk, Script(respond=hands_on))
    sessions = desk.signoff("sessions", "--json").exits(0).json["sessions"]
    (parent,) = [line["id"] for line in sessions if line["parent"] is None]
    (child,) = [line["id"] for line in sessions if line["parent"] is not None]
    lines = desk.signoff("audit", parent, "--json").exits(0).json["lines"]
    # `task:1` is the file that the parent's words to its sub-agent name.
    expected = ["1", f"{child}:1", f"{child}:task:1"]
    assert [(x["subject"], x["finding"]) for x in lines] == [(name, "kept") for name in expected]
    desk.signoff("audit", child).fails(2, "is a part of", "is signed with it")
    desk.signoff("receipt", "export", parent).exits(0)


def test_what_a_person_waived_in_a_session_is_named_and_is_never_kept(desk: Desk) -> None:
    blocked = {"step_number": 2, "status": "blocked", "notes": "no network"}
    turns = [
        use(plan("a.txt", "b.txt")),
        did(1, "a.txt"),
        use(ScriptedCall("step_update", blocked)),
    ]
    session = signed(desk, Script([*turns, say("Done, but b.txt.")], last_repeats=True), 6)
    for item in desk.inbox():
        desk.signoff("answer", item["id"], "waive", "--note", "later").exits(0)
    desk.signoff("sign", session).exits(0)
    ended = desk.signoff("audit", session).exits(0)
    ended.shows("waived     2", "audit: kept, except what was waived: 2 (self-set)")
    desk.signoff("audit", session, "--strict").exits(1)
    file = desk.folder / "receipt.json"
    desk.signoff("receipt", "export", session, "--output", str(file)).exits(0)
    desk.signoff("receipt", "verify", str(file)).exits(0).shows("waived     2")


def test_a_waived_step_that_got_another_number_is_still_waived(desk: Desk) -> None:
    blocked = ScriptedCall(
        "step_update", {"step_number": 1, "status": "blocked", "notes": "no network"}
    )
    turns = [use(plan("b.txt", "a.txt")), use(blocked), say("Done.")]
    session = signed(desk, Script(turns, last_repeats=True), 6)
    for item in desk.inbox():
        desk.signoff("answer", item["id"], "waive" if "waive" in item["choices"] else "retry")
    stage = played(desk, [use(plan("a.txt", "b.txt")), did(1, "a.txt"), say("Done.")])
    with stage.server:
        stage.agent("--resume", session).exits(0)
    desk.signoff("audit", session).exits(0).shows("kept       1", "waived     2")
    desk.signoff("receipt", "export", session).exits(0)


def test_a_session_whose_ledger_was_touched_proves_nothing(desk: Desk) -> None:
    session = signed(desk, HONEST, 6, "")
    said = ('"self_set_accepted":false', '"self_set_accepted":true')
    with closing(sqlite3.connect(desk.ledger_file)) as database, database:
        rewrite("session.signed", *said)(database)
    for verb in (("audit",), ("receipt", "export")):
        desk.signoff(*verb, session).fails(3, "is not to be trusted")
