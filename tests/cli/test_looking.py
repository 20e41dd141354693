"""`show`, `log`, `diff`, `audit`: what happened, what changed, and proof without trust."""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground")
WORK = "echo firm > ground"


@pytest.fixture
def built(desk: Desk) -> Desk:
    """A desk with a plan that is signed off."""
    desk.tool("level", "grep -qx firm ground")
    desk.agent(WORK).plan(GROUND, post=[("It is level", "level")])
    desk.run("--yes").exits(0)
    return desk


def test_show_prints_the_plan_as_it_is_written(built: Desk) -> None:
    shown = built.about_plan("show").exits(0)
    assert shown.stdout == built.read("PLAN.md").rstrip("\n") + "\n"
    document = built.about_plan("show", "--json").exits(0).json
    assert document["text"] == built.read("PLAN.md") and document["status"] == "done"


def test_the_log_is_a_chain_that_anybody_can_check(built: Desk) -> None:
    entries = built.log()
    assert [e["seq"] for e in entries] == list(range(1, len(entries) + 1))
    assert entries[0]["prev"] == "0" * 64
    for before, entry in itertools.pairwise(entries):
        assert entry["prev"] == before["hash"]
    assert built.signoff("--json", "log", "PLAN.md").json_lines == entries
    run = entries[-1]["run"]
    assert built.about_plan("log", "--json", "--run", run).json_lines == [
        e for e in entries if e["run"] == run
    ]
    assert built.about_plan("log", "--json", "--after", "3").json_lines == entries[3:]


def test_the_log_of_a_run_that_never_was_is_no_empty_list(built: Desk) -> None:
    built.about_plan("log", "--run", "nope").fails(2, "has no run `nope`", hint="signoff log")


def test_no_isolation_is_named_before_anything_was_judged(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND)
    desk.about_plan("approve", "--yes").exits(0)
    desk.about_plan("status").exits(1).shows("not started").hides("isolation")
    assert desk.status()["isolation"] is None
    desk.run().exits(0).shows("isolation none")


def test_a_question_about_the_whole_plan_is_told_once(desk: Desk) -> None:
    desk.agent(f"{WORK}; sed -i 's/More/Less/' PLAN.md")
    desk.plan(GROUND, step("More", "test -s more"))
    desk.run("--yes").exits(6)
    (item,) = desk.inbox()
    assert item["step"] is None
    shown = desk.about_plan("status").exits(6).stdout
    assert shown.count(f"waits for a person ({item['id']})") == 1, shown


def test_the_inbox_says_where_and_begins_with_this_repository(desk: Desk) -> None:
    other = desk.folder / "other"
    other.mkdir()
    desk.agent("true").plan(step("Do it", "test -s never", on_fail="escalate"))
    (other / "PLAN.md").write_text(desk.read("PLAN.md"))
    desk.signoff("run", "PLAN.md", "--yes", "--role", "coder=true", cwd=other).exits(6)
    desk.run("--yes").exits(6)
    shown = [line for line in desk.signoff("inbox").exits(0).stdout.splitlines() if line[:1] != " "]
    assert [line.split("  ")[1] for line in shown] == ["PLAN.md", f"{other}/PLAN.md"]
    desk.signoff("inbox").hides("ledger entry")


def test_a_second_answer_hears_what_the_first_one_was(desk: Desk) -> None:
    desk.agent("true").plan(step("Do it", "test -s never", on_fail="escalate"))
    desk.run("--yes").exits(6)
    (item,) = desk.inbox()
    desk.signoff("answer", item["id"], "retry").exits(0)
    desk.signoff("answer", item["id"], "abort").fails(2, "is answered: retry, by ")
    desk.signoff("answer", "never-1", "abort").fails(2, "no open question has the id `never-1`")


def test_the_log_reads_as_sentences(built: Desk) -> None:
    by = built.log()[0]["data"]["by"]
    sentences = [
        f"plan approved by {by}, not interactively",
        "run RUN begins in DESK/work",
        "step 1 · before any work · broken: exit code 2, expected 0: "
        "grep: ground: No such file or directory",
        "step 1 · attempt 1 · coder begins",
        "step 1 · attempt 1 · ended: SECONDS",
        "step 1 · attempt 1 · kept: exit code 0",
        "step 1 · done",
        "postcondition 1 · final sweep · kept: exit code 0",
        "the run is over: done, on content DIGEST",
    ]
    lines = [f"{i:>5}  TIME  {sentence}" for i, sentence in enumerate(sentences, 1)]
    shown = built.about_plan("log").exits(0)
    assert shown.normal(shown.stdout) == "\n".join(lines) + "\n"


def test_an_audit_of_untouched_work_is_kept(built: Desk) -> None:
    built.about_plan("audit").exits(0).prints(
        """
        ledger: 9 entries, chain holds
          kept       1  Lay the ground: exit code 0
          kept       postcondition:1  It is level: exit code 0
        signed off at TIME on content DIGEST
        isolation: none
        audit: kept
        """
    ).notes("judging 1\njudging postcondition:1")
    assert built.kinds()[-1] == "audited"


def test_drift_is_shown_and_does_not_undo_the_sign_off(built: Desk) -> None:
    built.file("garden/rose", "red\n")
    built.about_plan("audit").exits(0).shows(
        "drift: 1 file changed since the sign-off", "added garden/rose", "audit: kept"
    )
    report = built.about_plan("audit", "--json").exits(0).json
    assert report["schema_version"] == 1 and report["result"] == "kept"
    assert report["drift"] == [{"path": "garden/rose", "kind": "added"}]
    assert report["signed_off_at"] and report["content"] != report["signed_off_on"]


def test_work_that_was_undone_does_not_pass_an_audit(built: Desk) -> None:
    built.file("ground", "mud\n")
    built.about_plan("audit").exits(1).shows(
        "broken     1  Lay the ground", "modified ground", "signed off at TIME", "audit: broken"
    )
    built.about_plan("status").exits(1).shows("but this content is not it")


def test_an_audit_that_cannot_judge_says_so(built: Desk) -> None:
    (built.tools / "level").unlink()
    built.about_plan("audit").exits(3).shows("unknown    postcondition:1", "audit: unknown")


def test_an_edited_plan_does_not_pass_an_audit(built: Desk) -> None:
    built.edit_plan("grep -qx firm ground", "true # grep -qx firm ground")
    built.about_plan("audit").exits(1).shows("is not what was approved: signoff diff")


def test_a_plan_that_never_ran_cannot_be_audited(desk: Desk) -> None:
    desk.agent("true").plan(GROUND)
    desk.about_plan("audit").fails(2, "plan `PLAN` was never run", hint="signoff run")
    desk.about_plan("diff").fails(2, "plan `PLAN` was never approved", hint="signoff approve")
    desk.about_plan("cancel").fails(2, "has no run to cancel")
    desk.about_plan("log").exits(0).prints("")


def test_an_unfinished_run_does_not_pass_an_audit(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND, step("Put the roof on", "test -s roof", on_fail="escalate"))
    desk.run("--yes").exits(6)
    desk.file("roof", "tiles\n")
    desk.about_plan("audit").exits(1).shows(
        "unproved   2  Put the roof on: it is blocked in the ledger", "audit: not signed off"
    ).hides("broken")
    desk.file("ground", "mud\n")
    desk.about_plan("audit").exits(1).shows("broken     1  Lay the ground", "audit: broken")


def _forge_verdict(database: sqlite3.Connection) -> None:
    """Turn the broken verdict into a kept one, and leave its hash."""
    database.execute(
        "UPDATE entries SET data = CAST(replace(CAST(data AS TEXT), 'broken', 'kept') AS BLOB) "
        "WHERE seq = 3"
    )


def _remove(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM entries WHERE seq = 3")


def _cut_the_end(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM entries WHERE seq >= 8")


def _swap_kind(database: sqlite3.Connection) -> None:
    database.execute("UPDATE entries SET kind = 'step.waived' WHERE kind = 'step.done'")


def _append_forged(database: sqlite3.Connection) -> None:
    plan, at, last = database.execute(
        "SELECT plan, at, hash FROM entries ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    data = json.dumps({"outcome": "done"}).encode()
    forged = hashlib.sha256(data).hexdigest()
    database.execute(
        "INSERT INTO entries (plan, seq, at, kind, data, prev, hash) VALUES (?,?,?,?,?,?,?)",
        (plan, 10, at, "audited", data, last, forged),
    )


@pytest.mark.parametrize(
    "forge", [_forge_verdict, _remove, _cut_the_end, _swap_kind, _append_forged]
)
def test_a_ledger_that_was_tampered_with_is_not_trusted(built: Desk, forge: object) -> None:
    assert callable(forge)
    with sqlite3.connect(built.ledger_file) as database:
        forge(database)
    database.close()
    built.about_plan("audit").fails(3, "of the ledger is not to be trusted", hint="backup")


def test_diff_shows_the_plan_against_its_pin_and_the_work(built: Desk) -> None:
    shown = built.about_plan("diff").exits(0)
    shown.shows("content DIGEST → DIGEST: 1 file changed", "added ground", "+firm")
    built.edit_plan("It is level", "It is flat")
    built.about_plan("diff").exits(0).shows("-1. It is level", "+1. It is flat")
    document = built.about_plan("diff", "--json").exits(0).json
    assert document["changes"] == [{"path": "ground", "kind": "added"}]
    assert "+1. It is flat" in document["plan_diff"]


def test_diff_after_a_second_approval_compares_with_that_approval(built: Desk) -> None:
    built.file("rose", "red\n").about_plan("approve", "--yes").exits(0)
    built.about_plan("diff").exits(0).prints("content DIGEST → DIGEST: 0 files changed")
    built.file("tulip", "yellow\n")
    document = built.about_plan("diff", "--json").exits(0).json
    assert document["changes"] == [{"path": "tulip", "kind": "added"}]
    attempt = built.about_plan("diff", "--step", "1", "--json").exits(0).json
    assert attempt["changes"] == [{"path": "ground", "kind": "added"}], "as it was then"
    built.edit_plan("It is level", "It is flat").about_plan("approve", "--yes").exits(0)
    built.about_plan("diff").exits(0).hides("It is level")


def test_diff_shows_what_one_attempt_changed(desk: Desk) -> None:
    desk.agent('echo "$attempt" > "try-$attempt"; [ "$attempt" = 2 ] && echo firm > ground')
    desk.plan(GROUND).run("--yes").exits(0)
    one = desk.about_plan("diff", "--step", "1", "--attempt", "1", "--json").exits(0).json
    assert [c["path"] for c in one["changes"]] == ["try-1"]
    newest = desk.about_plan("diff", "--step", "1", "--json").exits(0).json
    assert {c["path"] for c in newest["changes"]} == {"try-2", "ground"}
    desk.about_plan("diff", "--step", "9").fails(2, "no finished attempt at step `9`")
