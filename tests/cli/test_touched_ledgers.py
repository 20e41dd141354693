"""An entry that was changed by hand makes nobody say done: not `run`, not `status`."""

from __future__ import annotations

import sqlite3

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.touching import end_as_done, rewrite, touch

GROUND = step("Lay the ground", "grep -qx firm ground", on_fail="abort")
ROOF = step("Put the roof on", "test -s roof", on_fail="abort")
BROKEN = "ledger broken: entry"
AUDIT = "signoff audit DESK/work/PLAN.md"


def _cut_the_end(database: sqlite3.Connection) -> None:
    database.execute("DELETE FROM entries WHERE kind = 'plan.rejected'")


@pytest.fixture
def failed(desk: Desk) -> Desk:
    """A plan whose second step failed."""
    desk.agent("echo firm > ground").plan(GROUND, ROOF)
    desk.run("--yes").exits(1)
    return desk


@pytest.fixture
def signed(desk: Desk) -> Desk:
    """A plan that was signed off."""
    desk.agent("echo firm > ground").plan(GROUND)
    desk.run("--yes").exits(0)
    return desk


def _nobody_says_done(desk: Desk, fact: str) -> None:
    for verb in ("run", "status"):
        for more in ((), ("--yes",)) if verb == "run" else ((),):
            ended = desk.about_plan(verb, *more).fails(3, fact, hint=AUDIT)
            ended.hides("signed off", "[done]")
        failure = desk.about_plan(verb, "--json").exits(3).failure
        assert failure["code"] == "ledger-broken" and failure["facts"]["first_bad"]
    assert "status: done" not in desk.read("PLAN.md")
    desk.about_plan("audit").exits(3)


def test_a_failure_that_was_rewritten_into_done_is_a_broken_ledger(failed: Desk) -> None:
    touch(failed, rewrite("run.finished", '"failed"', '"done"'))
    _nobody_says_done(failed, BROKEN)


def test_a_verdict_that_was_rewritten_makes_no_plan_done(failed: Desk) -> None:
    touch(failed, rewrite("verdict", '"broken"', '"kept"'))
    _nobody_says_done(failed, "it was changed")


def test_an_end_that_says_done_and_that_nothing_proves_is_a_broken_ledger(failed: Desk) -> None:
    """With every hash right: the gate is asked again, not the entry believed."""
    touch(failed, end_as_done)
    for verb in ("run", "status"):
        ended = failed.about_plan(verb).fails(3, "says done, and nothing before it", hint=AUDIT)
        ended.hides("signed off", "[done]")
    assert "status: done" not in failed.read("PLAN.md")
    failed.about_plan("audit").exits(1).shows("not signed off")


def test_a_rejection_that_was_cut_off_does_not_come_back_as_done(signed: Desk) -> None:
    signed.about_plan("reject").exits(0)
    signed.about_plan("status").exits(1)
    touch(signed, _cut_the_end)
    _nobody_says_done(signed, "it was removed")


def test_whose_word_it_was_decides_too(signed: Desk) -> None:
    """A sign-off rests on its approval: who gave it is no ornament."""
    touch(signed, rewrite("plan.approved", '"interactive":false', '"interactive":true'))
    signed.about_plan("status").fails(3, BROKEN, hint=AUDIT)
    signed.run().fails(3, BROKEN, hint=AUDIT)


def test_a_run_that_waits_does_not_go_on_from_a_touched_entry(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(GROUND, step("Roof", "test -s roof", on_fail="escalate"))
    desk.run("--yes").exits(6)
    touch(desk, rewrite("verdict", '"broken"', '"kept"'))
    desk.run().fails(3, BROKEN, hint=AUDIT)
    desk.about_plan("status").fails(3, BROKEN, hint=AUDIT)


def test_the_log_can_still_be_read(failed: Desk) -> None:
    """Whoever looks for what happened needs it most now."""
    touch(failed, rewrite("run.finished", '"failed"', '"done"'))
    failed.about_plan("log").exits(0).shows("the run is over: done")
