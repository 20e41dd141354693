"""Runs handed over to workers: who may take one, what comes back, what happens when one dies."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.cli.ended import LIMIT_S, wait_until
from tests.cli.kit import Desk
from tests.cli.lanes import NEEDS_LANES, until
from tests.cli.machines import Machine, fleet
from tests.cli.plans import step

pytestmark = NEEDS_LANES

Machines = Callable[[str], Machine]
NOTES = "echo $SIGNOFF_STEP >> notes"


@pytest.fixture
def machine(desk: Desk, postgres_url: str) -> Iterator[Machines]:
    """Makes machines by their names; each worker stops when it is asked to."""
    yield fleet(desk, postgres_url)
    for process in desk._running:
        process.terminate()
    for process in desk._running:
        process.wait(timeout=LIMIT_S)


def two_steps(desk: Desk) -> None:
    """Two steps that write into one file; the person's file is not tracked by anybody."""
    desk.file("notes", "0\n").plan(
        step("First", "grep -q 1 notes"), step("Second", "grep -q 2 notes")
    )


def at_work(desk: Desk) -> int:
    """How many agents were started so far."""
    return len([*desk.agents.glob("life/*/args")])


def refs(desk: Desk) -> list[str]:
    """What lies at the content remote."""
    command = ["git", "-C", str(desk.folder / "content.git"), "for-each-ref", "--format=%(refname)"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def accepted_once(desk: Desk, *steps: str) -> None:
    """Each step was accepted exactly once, and the run ended once."""
    assert sorted(e["step"] for e in desk.entries("step.done")) == sorted(steps)
    assert len(desk.entries("run.finished")) == 1


def test_a_plan_is_run_on_a_worker_and_what_came_of_it_is_brought_back(
    desk: Desk, machine: Machines
) -> None:
    desk.agent(f"{NOTES}; env > environment")
    two_steps(desk)
    machine("one").trust().join()
    done = desk.run("--yes", "--on", "workers").exits(0)
    done.shows("2 files", "untracked ones included", "step 2 · done", "brought up to date")
    assert desk.read("notes") == "0\n1\n2\n"
    assert refs(desk) == []
    assert not any((desk.folder / "machine-one" / "home-checkouts").iterdir())
    desk.about_plan("status").exits(0).shows("done")
    assert "✅ First" in desk.plan_path.read_text()
    desk.about_plan("audit").exits(0).shows("judged by worker `one`")
    receipt = json.loads(desk.signoff("receipt", "export", "PLAN.md").exits(0).stdout)
    said = json.loads(base64.b64decode(receipt["payload"]))["predicate"]["workers"]
    assert [worker["name"] for worker in said] == ["one"]
    for attempt in desk.attempts():
        assert "SIGNOFF_DATABASE" not in attempt.env
    desk.run("--on", "workers").exits(0).shows("already signed off")


def test_a_worker_that_nobody_trusts_takes_nothing(desk: Desk, machine: Machines) -> None:
    desk.agent(NOTES)
    two_steps(desk)
    one = machine("one")
    joined = one.join()
    joined.until(lambda: b"nobody trusts worker `one`" in joined.err.read_bytes())
    handed = desk.start("run", "PLAN.md", "--yes", "--on", "workers")
    handed.until(
        lambda: b"no worker that is there plays `coder`; 1 run waits" in handed.err.read_bytes()
    )
    desk.signoff("workers").exits(1).shows("no worker is there", "queue coder: 1 run waiting")
    assert desk.entries("run.started") == []
    one.trust()
    handed.end().exits(0)
    desk.signoff("workers").exits(0).shows("one on", "idle", "any role")


def test_another_worker_takes_over_from_one_that_was_killed(desk: Desk, machine: Machines) -> None:
    gate = desk.agents / "gate"
    desk.agent(f'{NOTES}; [ "$SIGNOFF_STEP" = 1 ] || {until(gate)}')
    two_steps(desk)
    first = machine("one").trust().join("--roles", "coder,reviewer")
    handed = desk.start("run", "PLAN.md", "--yes", "--on", "workers")
    handed.until(lambda: at_work(desk) == 2)
    machine("two").trust().join()
    first.process.kill()
    handed.until(lambda: at_work(desk) == 3)
    gate.touch()
    handed.end().exits(0)
    assert desk.read("notes") == "0\n1\n2\n"
    assert desk.dispatched() == ["1", "2", "2"]
    accepted_once(desk, "1", "2")
    assert {e["data"]["worker"]["name"] for e in desk.entries("verdict")} == {"one", "two"}
    desk.signoff("workers").shows("one on", "gone without a word")


def test_a_worker_that_comes_back_is_fenced_out(desk: Desk, machine: Machines) -> None:
    gate = desk.agents / "gate"
    desk.agent(f"{NOTES}; {until(gate)}").file("notes", "0\n").plan(
        step("First", "grep -q 1 notes")
    )
    first = machine("one").trust().join()
    handed = desk.start("run", "PLAN.md", "--yes", "--on", "workers")
    handed.until(lambda: at_work(desk) == 1)
    os.killpg(first.process.pid, signal.SIGSTOP)
    machine("two").trust().join()
    handed.until(lambda: at_work(desk) == 2)
    os.killpg(first.process.pid, signal.SIGCONT)
    gate.touch()
    handed.end().exits(0)
    assert desk.read("notes") == "0\n1\n"
    accepted_once(desk, "1")
    by = {e["data"]["worker"]["name"] for e in desk.entries("verdict") if e["attempt"]}
    assert by == {"two"}
    desk.signoff("workers").exits(0)


def test_a_question_is_answered_anywhere_and_the_run_goes_on(desk: Desk, machine: Machines) -> None:
    desk.agent(NOTES).file("notes", "0\n").plan(
        step("First", "grep -q 1 notes && test -e ready", on_fail="escalate")
    )
    machine("one").trust().join()
    desk.run("--yes", "--on", "workers").exits(6)
    desk.run("--yes").fails(2, "is on the workers", hint="--on workers")
    desk.agent(f"{NOTES}; touch ready")
    desk.answer("retry")
    desk.run("--on", "workers").exits(0)
    assert desk.read("notes") == "0\n1\n1\n"


def test_a_run_on_workers_is_cancelled_from_elsewhere(desk: Desk, machine: Machines) -> None:
    desk.agent(f"{NOTES}; {until('never')}").file("notes", "0\n")
    desk.plan(step("First", "grep -q 1 notes"))
    machine("one").trust().join()
    handed = desk.start("run", "PLAN.md", "--yes", "--on", "workers")
    handed.until(lambda: at_work(desk) == 1)
    desk.about_plan("cancel").exits(0)
    handed.end().exits(1)
    wait_until(lambda: desk.processes() == [])
    desk.about_plan("pull").exits(1)
    assert desk.read("notes") == "0\n"


def test_following_ends_with_ctrl_c_and_the_run_does_not(desk: Desk, machine: Machines) -> None:
    gate = desk.agents / "gate"
    desk.agent(f"{NOTES}; {until(gate)}")
    two_steps(desk)
    machine("one").trust().join()
    handed = desk.start("run", "PLAN.md", "--yes", "--on", "workers")
    handed.until(lambda: at_work(desk) == 1)
    wait_until(lambda: "PLAN" in desk.signoff("workers").stdout)  # told with its next sign of life
    desk.signoff("workers").exits(0).shows("one on", "PLAN", "1 under way")
    shown = desk.signoff("workers", "--json").exits(0).json
    assert (shown["schema_version"], shown["workers"][0]["name"]) == (1, "one")
    handed.process.send_signal(signal.SIGINT)
    handed.end().exits(130).shows("left with the workers")
    desk.about_plan("pull").fails(5, "is not over")
    gate.touch()
    wait_until(lambda: "run.finished" in desk.kinds())
    assert desk.read("notes") == "0\n"
    desk.about_plan("pull").exits(0).shows("notes")
    assert desk.read("notes") == "0\n1\n2\n"


def test_pull_writes_nothing_over_what_a_person_did(desk: Desk, machine: Machines) -> None:
    desk.agent(NOTES)
    two_steps(desk)
    machine("one").trust().join()
    gate = desk.agents / "gate"
    desk.agent(f"{NOTES}; {until(gate)}")
    handed = desk.start("run", "PLAN.md", "--yes", "--on", "workers")
    handed.until(lambda: at_work(desk) == 1)
    desk.file("notes", "mine\n").file("other", "mine\n")
    gate.touch()
    handed.end().exits(0).shows("not brought up to date", "notes")
    assert desk.read("notes") == "mine\n"
    desk.file("notes", "0\n")
    desk.about_plan("pull").exits(0)
    assert (desk.read("notes"), desk.read("other")) == ("0\n1\n2\n", "mine\n")


def test_a_worker_whom_nobody_trusts_any_more_stops(desk: Desk, machine: Machines) -> None:
    gate = desk.agents / "gate"
    desk.agent(f"{NOTES}; {until(gate)}")
    two_steps(desk)
    first = machine("one").trust().join()
    handed = desk.start("run", "PLAN.md", "--yes", "--on", "workers")
    handed.until(lambda: at_work(desk) == 1)
    desk.signoff("worker", "revoke", "one").exits(0)
    first.end().exits(6).shows("nobody trusts worker `one` any more")
    machine("two").trust().join()
    gate.touch()
    handed.end().exits(0)
    accepted_once(desk, "1", "2")


def test_a_run_goes_to_who_plays_its_roles_and_on_to_others_when_that_one_is_stopped(
    desk: Desk, machine: Machines
) -> None:
    gate = desk.agents / "gate"
    desk.agent(f"{NOTES}; {until(gate)}")
    two_steps(desk)
    machine("one").trust().join("--roles", "reviewer")
    handed = desk.start("run", "PLAN.md", "--yes", "--on", "workers")
    missing = b"no worker that is there plays `coder`; 1 run waits"
    handed.until(lambda: missing in handed.err.read_bytes())
    second = machine("two").trust().join("--roles", "coder,reviewer")
    handed.until(lambda: at_work(desk) == 1)
    machine("three").trust().join()
    second.process.terminate()
    second.end().exits(0)
    gate.touch()
    handed.end().exits(0)
    accepted_once(desk, "1", "2")
    by = {e["data"]["worker"]["name"] for e in desk.entries("verdict") if e["attempt"]}
    assert by == {"three"}


def test_the_set_up_command_makes_what_checks_and_agents_need(
    desk: Desk, machine: Machines
) -> None:
    desk.agent("cat deps/tool > notes").file(".gitignore", "deps/\n")
    setup = '[setup]\ncommand = "mkdir deps && echo made > deps/tool"\n'
    desk.file("signoff.toml", f"{desk.read('signoff.toml')}{setup}")
    desk.plan(step("First", 'test "$(cat deps/tool notes)" = "$(printf "made\\nmade")"'))
    machine("one").trust().join()
    desk.run("--yes", "--on", "workers").exits(0)
    assert desk.read("notes") == "made\n"
    assert not (desk.workspace / "deps").exists()


def test_a_program_that_is_not_the_approved_one_is_refused(desk: Desk, machine: Machines) -> None:
    desk.agent(NOTES).tool("measure", "grep -q 1 notes").file("notes", "0\n")
    desk.plan(step("First", "measure"))
    desk.about_plan("approve", "--yes").exits(0)
    desk.tool("measure", "exit 0")
    machine("one").trust().join()
    desk.run("--on", "workers").fails(6, "what was approved differs on", "`measure` was")
    assert desk.entries("run.started") == []


def test_what_is_missing_is_said_before_anything_is_sent(desk: Desk, postgres_url: str) -> None:
    desk.agent(NOTES)
    two_steps(desk)
    desk.run("--yes", "--on", "workers").fails(3, "PostgreSQL", hint="SIGNOFF_DATABASE")
    desk.variable(SIGNOFF_DATABASE=postgres_url)
    desk.run("--yes", "--on", "workers").fails(3, "no remote is configured", hint="[content]")
    desk.person(f'[content]\nremote = "{desk.folder}/nowhere.git"\n')
    desk.run("--yes", "--on", "workers").fails(3, "content remote")
    desk.signoff("doctor").shows("content remote", "runs cannot go to workers")
    desk.signoff("worker").fails(3, "a worker needs a sandbox")
