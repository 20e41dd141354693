"""`signoff ready`: what may be started is said by the ledger, never by a plan's own frontmatter."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from tests.cli.kit import Desk
from tests.cli.vaults import approve, merged, repository, vault_file, worktree, write_plan

WAITS = """\
: > "${0%/*}/busy"
until [ -e "${0%/*}/go" ]; do sleep 0.02; done
mkdir -p out; echo 1 > out/a
"""


def states(desk: Desk) -> dict[str, str]:
    """Each plan's state."""
    found = desk.signoff("ready", "--json").json["plans"]
    return {plan["plan"]: plan["state"] for plan in found}


def about(desk: Desk, name: str) -> dict[str, Any]:
    """What `ready --json` says of one plan."""
    found = desk.signoff("ready", "--json").json["plans"]
    (plan,) = [plan for plan in found if plan["plan"] == name]
    assert isinstance(plan, dict)
    return plan


def test_every_plan_has_its_line_and_every_overlap_its_witness(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "api", touches=["src/api/a.py"])
    write_plan(desk, "auth", touches=["src/**/*.py"])
    write_plan(desk, "docs", after=["PLAN-api.md"], touches=["docs/**"])
    write_plan(desk, "lost", after=["nowhere"])
    write_plan(desk, "ping", after=["pong"])
    write_plan(desk, "pong", after=["ping"])
    write_plan(desk, "vague", touches=[])
    approve(desk, "auth")
    desk.signoff("ready").exits(0).prints(
        """
        ready    api    not approved: signoff approve api
        ready    auth   approved
        waiting  docs   waits for `api`
        blocked  lost   depends on `nowhere`, and there is no such plan
        blocked  ping   depends on itself: ping → pong → ping
        blocked  pong   depends on itself: ping → pong → ping
        ready    vague  not approved: signoff approve vague
        overlap: api and auth may change the same files (`src/api/a.py` and `src/**/*.py`)
        cannot tell: vague declares no `touches`, so it runs beside no other plan
        """
    )


def test_plans_that_may_run_together_are_named(desk: Desk) -> None:
    repository(desk)
    for name in ("a", "b", "c"):
        write_plan(desk, name)
    desk.signoff("ready").exits(0).shows("may run together: a, b, c")


def test_a_dependency_counts_when_the_ledger_says_so_and_not_before(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "first", status="done")
    write_plan(desk, "second", after=["first"])
    assert states(desk) == {"first": "ready", "second": "waiting"}
    desk.signoff("run", "first", "--yes").exits(0)
    assert states(desk) == {"first": "done", "second": "ready"}


def test_work_on_a_branch_counts_once_it_is_merged(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "first")
    write_plan(desk, "second", after=["first"])
    tree = worktree(desk, "first")
    desk.signoff("run", "first", "--yes", "--workspace", str(tree)).exits(0)
    desk.signoff("ready").exits(1).prints(
        """
        done     first   not merged: signoff merge first
        waiting  second  waits for `first` to be merged
        """
    )
    merged(desk, "first")
    assert states(desk) == {"first": "done", "second": "ready"}


def test_a_merge_of_an_earlier_run_does_not_count_for_a_later_one(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "first")
    write_plan(desk, "second", after=["first"])
    tree = str(worktree(desk, "first"))
    desk.signoff("run", "first", "--yes", "--workspace", tree).exits(0)
    merged(desk, "first")
    desk.signoff("approve", "first", "--yes", "--workspace", tree).exits(0)
    assert states(desk) == {"first": "ready", "second": "waiting"}
    desk.signoff("run", "first", "--workspace", tree).exits(0)
    assert states(desk) == {"first": "done", "second": "waiting"}


def test_a_sign_off_outlives_the_plans_file_and_later_edits_of_it(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "first")
    write_plan(desk, "second", after=["first"])
    desk.signoff("run", "first", "--yes").exits(0)
    path = vault_file(desk, "first")
    path.write_text(path.read_text().replace("Do it", "Do something else"))
    assert states(desk) == {"first": "done", "second": "ready"}
    assert about(desk, "first")["edited"]
    path.unlink()
    assert states(desk) == {"second": "ready"}


def test_a_sign_off_whose_ledger_was_touched_is_relied_on_by_nobody(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "first")
    write_plan(desk, "second", after=["first"])
    desk.signoff("run", "first", "--yes").exits(0)
    ledger = sqlite3.connect(desk.ledger_file)
    ledger.execute("UPDATE entries SET at = '2020' WHERE kind = 'verdict'")
    ledger.commit()
    ledger.close()
    assert states(desk) == {"first": "blocked", "second": "waiting"}
    assert "is not to be trusted" in about(desk, "first")["problem"]


def test_a_forged_end_of_a_run_that_was_never_judged_is_no_sign_off(desk: Desk) -> None:
    """Even with every hash right: the gate is asked again, not the entry believed."""
    repository(desk, agent="exit 0")
    write_plan(desk, "first")
    write_plan(desk, "second", after=["first"])
    desk.signoff("run", "first", "--yes").exits(6)
    _forge_the_end(desk, "first")
    assert states(desk)["second"] == "waiting"
    assert "does not prove" in about(desk, "first")["problem"]


def test_a_running_plan_names_its_driver_and_an_interrupted_one_is_ready_again(desk: Desk) -> None:
    repository(desk, agent=WAITS)
    write_plan(desk, "a")
    running = desk.start("run", "a", "--yes")
    running.until((desk.agents / "busy").exists)
    desk.signoff("ready").exits(1).shows("running  a  held by process PID on")
    assert f"process {running.process.pid} on" in about(desk, "a")["holder"]
    running.process.kill()
    running.end().exits(-9)
    found = about(desk, "a")
    assert (found["state"], found["resumes"], found["holder"]) == ("ready", True, None)
    desk.signoff("ready").exits(0).shows("ready    a  interrupted, to be resumed")
    (desk.agents / "go").touch()
    desk.signoff("run", "a").exits(0)
    assert states(desk) == {"a": "done"}


def test_a_plan_that_asks_a_person_waits_and_keeps_its_files(desk: Desk) -> None:
    repository(desk, agent="exit 0")
    write_plan(desk, "a", touches=["out/**"])
    write_plan(desk, "b", touches=["out/b"])
    desk.signoff("run", "a", "--yes").exits(6)
    desk.signoff("ready").exits(0).shows(
        "waiting  a  waits for a person: signoff inbox",
        "ready    b  not approved: signoff approve b; kept back by a,",
    )


def test_a_failed_plan_is_failed_and_its_dependents_wait(desk: Desk) -> None:
    repository(desk, agent="exit 0")
    path = write_plan(desk, "a")
    path.write_text(
        path.read_text().replace("exit_code == 0", "exit_code == 0\n**on_fail:** abort")
    )
    write_plan(desk, "b", after=["a"])
    desk.signoff("run", "a", "--yes").exits(1)
    assert states(desk) == {"a": "failed", "b": "waiting"}


def test_a_file_that_is_no_plan_blocks_itself_and_nobody_else(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "good")
    vault_file(desk, "bad").write_bytes(b"\xff\xfe nothing")
    assert states(desk) == {"bad": "blocked", "good": "ready"}
    assert "UTF-8" in about(desk, "bad")["problem"]


def test_a_link_to_a_plan_that_is_signed_off_is_no_sign_off(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "done")
    desk.signoff("run", "done", "--yes").exits(0)
    write_plan(desk, "later", after=["first"])
    vault_file(desk, "first").symlink_to(vault_file(desk, "done"))
    assert states(desk) == {"done": "done", "first": "blocked", "later": "waiting"}
    assert "symbolic link" in about(desk, "first")["problem"]


def test_names_from_plans_are_shown_and_never_obeyed(desk: Desk) -> None:
    repository(desk)
    write_plan(desk, "a", after=["\x1b[31mred\u202e"], touches=["\x1b[2J/**"])
    write_plan(desk, "b", touches=["\x1b[2J/x"])
    desk.signoff("ready").is_plain()
    desk.signoff("ready", "--json").is_plain()


@pytest.mark.parametrize("how", ["absent", "empty"])
def test_without_plans_nothing_is_ready(desk: Desk, how: str) -> None:
    desk.git()
    if how == "absent":
        desk.signoff("ready").fails(4, "no vault at", hint="signoff init")
    else:
        (desk.workspace / ".harness").mkdir()
        desk.signoff("ready").exits(1).prints("")


def test_a_vault_without_a_repository_works_too(desk: Desk) -> None:
    (desk.workspace / ".harness").mkdir()
    desk.agent("mkdir -p out; echo 1 > out/a")
    write_plan(desk, "a")
    write_plan(desk, "b", after=["a"])
    desk.signoff("run", "a", "--yes").exits(0)
    assert states(desk) == {"a": "done", "b": "ready"}


def _forge_the_end(desk: Desk, name: str) -> None:
    from signoff.domain.ledger import Draft, Kind
    from signoff.storage.home import open_database, sqlite_url
    from signoff.storage.ledger import Ledger

    ledger = Ledger(open_database(sqlite_url(desk.ledger_file)))
    (record,) = [plan for plan in ledger.plans() if plan.name == name]
    run = [entry.run for entry in ledger.entries(record.id) if entry.run][-1]
    snapshot = [
        entry.data["snapshot"] for entry in ledger.entries(record.id) if entry.kind is Kind.VERDICT
    ][-1]
    data = {"outcome": "done", "snapshot": snapshot, "waived": []}
    ledger.append(record.id, [Draft(Kind.RUN_FINISHED, data, run=run)])
    ledger.database.close()


@pytest.mark.parametrize("line", ["depends_on: {a: 1}", "touches: [**]"])
def test_a_frontmatter_that_cannot_be_read_is_not_one_without_needs(desk: Desk, line: str) -> None:
    repository(desk)
    path = write_plan(desk, "a")
    approve(desk, "a")
    path.write_text(path.read_text().replace("depends_on: []", line))
    shown = desk.signoff("ready").exits(1)
    shown.shows("blocked", "a  line ").hides("approved")
    (plan,) = desk.signoff("ready", "--json").exits(1).json["plans"]
    assert plan["standing"] == "invalid" and plan["problem"].startswith("line ")
    desk.signoff("next", "--unapproved").exits(1)
