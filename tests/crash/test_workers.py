"""Many workers, many plans, kill -9 all the time: each plan once, never two at the same file."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.claims import assert_chain_holds
from tests.crash.conftest import MakeScene
from tests.crash.fleet import Fleet, assert_run_once_and_never_beside, jobs
from tests.crash.scene import AGENT, PLAN, Scene, wait_until
from tests.storage.kit import run_sql

WAIT_FOR_GO = 'until [ -e "$life/go" ]; do sleep 0.02; done\n'
LONGEST_S = 900.0
# (plans, workers, kills) on either database, and when there is time for it
FEW = {"sqlite": (12, 4, 8), "postgresql": (6, 3, 4)}
MANY = {"sqlite": (40, 8, 120), "postgresql": (40, 8, 60)}
PAUSES_S = (0.2, 0.5, 1.0, 2.0)


@pytest.fixture
def size(request: pytest.FixtureRequest, ledger_url: str | None) -> tuple[int, int, int]:
    """How many plans, workers and kills this session pays for."""
    soak = request.config.getoption("soak")
    return (MANY if soak else FEW)["sqlite" if ledger_url is None else "postgresql"]


@pytest.fixture
def fleet(
    tmp_path: Path, ledger_url: str | None, size: tuple[int, int, int], kill_seed: int
) -> Iterator[Fleet]:
    """Plans with needs and overlaps, each with a worktree."""
    made = Fleet(tmp_path, jobs(size[0], random.Random(kill_seed)), ledger_url)
    yield made
    made.close()


@pytest.mark.timeout(LONGEST_S)
def test_every_plan_is_run_once_and_never_beside_one_at_the_same_files(
    fleet: Fleet, size: tuple[int, int, int], kill_seed: int
) -> None:
    chance = random.Random(kill_seed)
    names = [f"worker-{number}" for number in range(size[1])]
    for name in names:
        fleet.start(name)
    give_up = time.monotonic() + LONGEST_S * 0.9
    while not fleet.merge_what_is_done():
        assert time.monotonic() < give_up, "the plans were never all done"
        time.sleep(chance.choice(PAUSES_S))
        if fleet.kills < size[2]:
            fleet.strike(chance.choice(names), driver_only=chance.random() < 0.5)
    fleet.merge_what_is_done()
    assert fleet.kills >= 1
    assert_run_once_and_never_beside(fleet)


@pytest.fixture
def shared_url(tmp_path: Path, ledger_url: str | None) -> str:
    """A database that several homes may share, as several machines do."""
    return ledger_url or f"sqlite://{tmp_path / 'shared.sqlite3'}"


def _waiting_scene(make_scene: MakeScene, url: str) -> Scene:
    """Its agent waits for a word from outside."""
    agent = AGENT.replace("sleep PACE\n", WAIT_FOR_GO)
    return make_scene("scene", database_url=url, agent_text=agent)


def _move_away(scene: Scene, url: str) -> None:
    """From now on the driver is on another machine: its lease says so, and its locks are not here.

    Everything else stays: two machines that resume each other's runs share the content too.
    """
    for lock in (scene.home / "locks").glob("*.lock"):
        lock.unlink()
    for resource, holder in run_sql(url, "SELECT resource, holder FROM leases"):
        moved = json.dumps({**json.loads(holder), "host": "elsewhere"})
        run_sql(url, "UPDATE leases SET holder = ? WHERE resource = ?", moved, resource)


def test_a_driver_with_another_home_is_told_who_holds_the_plan(
    make_scene: MakeScene, shared_url: str
) -> None:
    here = _waiting_scene(make_scene, shared_url)
    first = here.start_run()
    first.until(lambda: here.journal() != [])
    agents = here.processes()
    here.home = here.folder / "another home"
    second = here.run()
    assert second.code == 5, second
    assert f"is held by process {first.process.pid} on" in second.stderr
    assert set(agents) <= set(here.processes()), "and it ends nobody's agents"
    (here.life / "go").touch()
    assert first.end().code == 0


@pytest.mark.parametrize("which", ["the same plan", "another plan in the workspace"])
def test_a_stopped_driver_whose_lease_was_taken_over_is_fenced_out_when_it_goes_on(
    make_scene: MakeScene, shared_url: str, which: str
) -> None:
    here = _waiting_scene(make_scene, shared_url)
    plan = here.plan if which == "the same plan" else here.folder / "OTHER.md"
    plan.write_text(PLAN)
    sleeper = here.start_run()
    sleeper.until(lambda: here.journal() != [])
    sleeper.process.send_signal(signal.SIGSTOP)
    _move_away(here, shared_url)
    written = len(here.log())
    early = here.start_run(plan=plan).end()
    assert (early.code, "on `elsewhere` since" in early.stderr) == (5, True), early
    run_sql(shared_url, "UPDATE leases SET until_s = 0")
    (here.life / "go").touch()
    overtaker = here.start_run(plan=plan).end()
    assert overtaker.code == 0, overtaker
    sleeper.process.send_signal(signal.SIGCONT)
    fenced = sleeper.end()
    # Conflict, unless it first learns that the other one has finished the very same run.
    assert fenced.code == 5 or (fenced.code == 0 and plan == here.plan), fenced
    if fenced.code:
        assert "lost its lease" in fenced.stderr or "was taken over by" in fenced.stderr
    log = here.log()
    assert_chain_holds(log)
    assert [e for e in fenced.entries if e["seq"] > written] == [], "it wrote nothing more"
    ends = [e["kind"] for e in log].count("run.finished")
    assert ends == (1 if plan == here.plan else 0)


def test_a_driver_that_lost_its_lease_stops_its_agent_and_judges_nothing(
    make_scene: MakeScene, shared_url: str
) -> None:
    """It is not told by an append: its agent would have worked on for as long as it liked."""
    here = _waiting_scene(make_scene, shared_url)
    driver = here.start_run()
    driver.until(lambda: here.journal() != [])
    run_sql(shared_url, "UPDATE leases SET token = token + 1")
    ended = driver.end()
    assert ended.code == 5, ended
    assert "lost its lease" in ended.stderr
    wait_until(lambda: here.processes() == [])
    assert [e["kind"] for e in here.log()][-1] == "attempt.started"
