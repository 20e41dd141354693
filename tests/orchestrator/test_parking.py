"""Usage limits as a cheat: they are no free retries, cost what they cost, and end with a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from signoff.agents.assignment import Assignment, AttemptReport, Usage, UsageLimit
from signoff.domain.ledger import Choice, Kind, Outcome
from signoff.gate.record import Record
from signoff.orchestrator.escalations import LONGEST_PARK_S, park_s
from tests.orchestrator.scripted_agent import printed
from tests.orchestrator.stage import Stage, step

ONE = [step(1, "test -s one.txt", "**on_fail:** retry(1), then escalate")]
MOST_PARKS = 11


class Limited:
    """An agent that always says it ran into a limit, and works a little each time."""

    def __init__(self, until: float | None, then: str = ""):
        self.until, self.then, self.lives = until, then, 0

    def work(self, assignment: Assignment) -> AttemptReport:
        self.lives += 1
        (assignment.workspace / "notes.txt").write_text(f"{self.lives}")
        if self.then:
            (assignment.workspace / self.then).write_text("done\n")
        report = replace(printed(b"429"), usage=Usage(100, 0.01))
        return replace(report, limit=UsageLimit("429", self.until))


class Clock:
    """Time that passes as fast as a test wants."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def parked_until(stage: Stage) -> float | None:
    opened = stage.entries(Kind.ESCALATION_OPENED)
    until = opened[-1].data.get("until")
    return None if until is None else float(until)


@pytest.mark.parametrize("named", [None, 0.0, 1_000_001.0])
def test_an_agent_that_makes_limits_up_gets_a_day_and_then_a_person(
    tmp_path: Path, named: float | None
) -> None:
    stage, clock, agent = Stage(tmp_path, ONE), Clock(), Limited(named)
    began = clock.now
    while stage.drive(agent=agent, clock=clock) is None:
        until = parked_until(stage)
        if until is None:
            break
        lives = agent.lives
        assert stage.drive(agent=agent, clock=clock) is None
        assert agent.lives == lives, "nobody is started before its time"
        clock.now = until
    assert agent.lives <= MOST_PARKS
    assert clock.now - began <= LONGEST_PARK_S
    (question,) = stage.questions()
    assert "no step is parked for more than 24 h" in question
    spent = sum(e.data["usage"]["tokens"] for e in stage.entries(Kind.ATTEMPT_FINISHED))
    assert spent == 100 * agent.lives, "what was used counts"
    clock.now += 10 * LONGEST_PARK_S
    lives = agent.lives
    assert stage.drive(agent=agent, clock=clock) is None
    assert agent.lives == lives, "only a person starts it again"


def test_a_limit_in_a_weeks_time_is_a_persons_affair_at_once(tmp_path: Path) -> None:
    stage, clock = Stage(tmp_path, ONE), Clock()
    stage.drive(agent=Limited(clock.now + 7 * 24 * 3600), clock=clock)
    assert parked_until(stage) is None
    assert "no step is parked for more than 24 h" in stage.questions()[0]


def test_a_limit_spends_no_attempt_and_a_budget_all_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path, ONE, head="**Budget:** max 150 tokens")
    clock, agent = Clock(), Limited(None)
    assert stage.drive(agent=agent, clock=clock) is None
    clock.now = parked_until(stage) or 0.0
    assert stage.drive(agent=agent, clock=clock) is None
    assert agent.lives == 1
    assert "budget exceeded" in stage.questions()[0]
    assert stage.gate().steps[0].verdict is None


def test_work_of_a_limited_attempt_is_not_signed_off_before_it_is_judged(tmp_path: Path) -> None:
    stage, clock = Stage(tmp_path, ONE), Clock()
    assert stage.drive(agent=Limited(None, then="one.txt"), clock=clock) is None
    assert stage.entries(Kind.STEP_DONE) == []
    stage.answer(Choice.RETRY)
    assert stage.drive(clock=clock) is Outcome.DONE


@pytest.mark.parametrize("until", [float("nan"), float("inf"), -1e300, 1e300])
def test_no_time_that_a_client_names_parks_for_ever_or_not_at_all(until: float) -> None:
    wait_s = park_s(Record(), UsageLimit("", until), 1_000_000.0)
    assert wait_s is None or 0 < wait_s <= LONGEST_PARK_S
