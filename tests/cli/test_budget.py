"""The budget: asked before it is overrun, granted once more by a person."""

from __future__ import annotations

import os
import signal

from tests.cli.kit import Desk
from tests.cli.plans import step

ROOMS = [step(f"Room {i}", f"test -e room-{i}") for i in (1, 2, 3)]


def _spend(report: str) -> str:
    return f"touch room-$SIGNOFF_STEP; echo '{report}' > \"$SIGNOFF_USAGE_FILE\""


def test_tokens_are_asked_for_before_they_are_overrun_and_granted_once_more(desk: Desk) -> None:
    desk.agent(_spend('{"tokens": 60, "usd": 0}')).plan(*ROOMS, budget="max 100 tokens")
    desk.run("--yes").exits(6)
    (item,) = desk.inbox()
    assert item["step"] is None and item["choices"] == ["retry", "revise", "abort"]
    assert item["question"] == (
        "budget exceeded: 60 tokens of 100 tokens used, 2 steps left, about 120 tokens more needed"
    )
    desk.answer("retry")
    desk.run().exits(0).shows("spent: 180 tokens, $0.00")
    assert desk.dispatched() == ["1", "2", "3"]


def test_money_is_counted_from_what_the_agent_reports(desk: Desk) -> None:
    desk.agent(_spend('{"tokens": 5, "usd": 0.75}')).plan(*ROOMS, budget="$1.00")
    desk.run("--yes").exits(6).shows(
        "budget exceeded: $0.75 of $1.00 used, 2 steps left, about $1.50 more needed"
    )
    desk.answer("retry")
    desk.run().exits(6).shows("$1.50 of $2.00 used")
    assert desk.dispatched() == ["1", "2"]


def test_an_estimate_over_the_budget_is_asked_about_before_anything_is_spent(desk: Desk) -> None:
    desk.agent(_spend("{}"))
    desk.plan(step("Room 1", "test -e room-1", estimate="200 tokens"), budget="max 100 tokens")
    desk.run("--yes").exits(6).shows("0 tokens of 100 tokens used", "about 200 tokens more")
    assert desk.attempts() == []
    desk.answer("abort")


def test_a_run_does_not_work_longer_than_its_wall_clock(desk: Desk) -> None:
    desk.agent("exec sleep 300").plan(ROOMS[0], budget="1 second")
    desk.run("--yes").exits(6).shows("budget exceeded", "of 1 seconds used, 1 step left")
    assert len(desk.attempts()) == 1
    assert desk.entries("attempt.finished")[0]["data"]["ending"] == "timed-out"


def test_a_report_that_is_no_honest_number_counts_as_none(desk: Desk) -> None:
    reports = ("[]", '{"tokens": -5000}', '{"usd": "Infinity"}', "not json")
    script = 'set -- "" ' + " ".join(f"'{r}'" for r in reports)
    desk.agent(
        f'{script}; echo $attempt > room-1; echo "${{@:attempt+1:1}}" > "$SIGNOFF_USAGE_FILE"'
    )
    desk.plan(step("Room", f"test $(ls {desk.agents}/life | wc -l) -ge 4", on_fail="retry(3)"))
    desk.run("--yes").exits(0).shows("spent: tokens and dollars unknown (no usage reported)")
    assert [e["data"]["usage"] for e in desk.entries("attempt.finished")] == [None] * 4


def test_a_report_that_cannot_be_read_is_told(desk: Desk) -> None:
    desk.agent(_spend('{"tokens": "12"}')).plan(ROOMS[0])
    desk.run("--yes").exits(0).shows("its usage report is no JSON object with the numbers")


def test_what_an_interrupted_attempt_cost_is_counted(desk: Desk) -> None:
    desk.agent(
        """[ $attempt = 1 ] && { echo '{"tokens": 70}' > "$SIGNOFF_USAGE_FILE"; touch told;"""
        " exec sleep 300; }; touch room-1"
    )
    desk.plan(ROOMS[0], budget="max 1000 tokens, 20 minutes")
    running = desk.start("run", "PLAN.md", "--yes")
    running.until((desk.workspace / "told").exists)
    os.kill(running.process.pid, signal.SIGINT)
    running.end().exits(130)
    (lost,) = desk.entries("attempt.finished")
    assert lost["data"]["lost"] and lost["data"]["duration_s"] > 0
    desk.run().exits(0).shows("spent: at least 70 tokens")
