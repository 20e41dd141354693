"""Faults of the machine: a clear error, an exit code, and the same command goes on afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.ended import LIMIT_S, wait_until
from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground")
WORK = "echo firm > ground"


@contextmanager
def _mounted(*arguments: str) -> Iterator[None]:
    """Something mounted for the length of a test, where that is allowed."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting needs root")
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", arguments[-1]], check=True)


def test_a_full_disk_is_told_and_the_same_command_goes_on_when_there_is_room(desk: Desk) -> None:
    home = desk.folder / "small"
    home.mkdir()
    desk.variable(SIGNOFF_HOME=str(home)).agent(WORK).plan(GROUND)
    with _mounted("-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs", str(home)):
        desk.about_plan("approve", "--yes").exits(0)
        filler = home / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while file.write(b"x" * 65536):
                    pass
            except OSError:
                pass
        full = desk.run().hides("Traceback", "internal error")
        assert full.code == 3, full
        full.shows("error: ", "next: ")
        filler.unlink()
        desk.run().exits(0)
        assert desk.kinds().count("step.done") == 1
        desk.about_plan("audit").exits(0)


def test_a_read_only_folder_of_plans_stops_no_run(desk: Desk) -> None:
    plans = desk.folder / "plans"
    plans.mkdir()
    desk.agent(WORK).plan(GROUND)
    (plans / "PLAN.md").write_text(desk.read("PLAN.md"))
    before = (plans / "PLAN.md").read_text()
    with _mounted("--bind", str(plans), str(plans)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(plans)], check=True)
        path = str(plans / "PLAN.md")
        told = desk.signoff("run", path, "--yes", "--workspace", str(desk.workspace)).exits(0)
        told.shows("the plan file was not marked", "is read-only", "the ledger has it all")
        assert (plans / "PLAN.md").read_text() == before
        desk.signoff("new", "x", cwd=plans).fails(3, "is read-only", hint="make it writable")


def test_a_locked_database_is_told_after_a_while_and_nothing_is_lost(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND)
    desk.about_plan("approve", "--yes").exits(0)
    database = sqlite3.connect(desk.ledger_file, isolation_level=None)
    try:
        database.execute("BEGIN EXCLUSIVE")
        waiting = desk.start("run", "PLAN.md")
        desk.about_plan("status").exits(1).shows("[approved]")  # readers are not in the way
        waiting.end().fails(3, "ledger.sqlite3` is locked by another process", hint="wait")
    finally:
        database.close()
    desk.run().exits(0)


def test_a_database_of_a_newer_signoff_is_left_alone(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND).run("--yes").exits(0)
    database = sqlite3.connect(desk.ledger_file)
    database.execute("UPDATE meta SET value = '9999' WHERE key = 'schema'")
    database.commit()
    database.close()
    for verb in ("status", "run", "audit", "log"):
        desk.about_plan(verb).fails(3, "9999", hint="upgrade signoff")
    database = sqlite3.connect(desk.ledger_file)
    assert database.execute("SELECT value FROM meta").fetchone() == ("9999",)
    database.close()


def test_a_damaged_database_is_told_and_kept_as_it_is(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND).run("--yes").exits(0)
    for name in ("ledger.sqlite3-wal", "ledger.sqlite3-shm"):
        (desk.home / name).unlink(missing_ok=True)
    desk.ledger_file.write_bytes(b"not a database at all, sorry\n" * 100)
    desk.about_plan("status").fails(3, "is damaged or not a database", hint="backup")
    assert desk.ledger_file.read_bytes().startswith(b"not a database")


def test_a_workspace_deleted_by_the_agent_is_told_and_nothing_is_accepted(desk: Desk) -> None:
    place = desk.folder / "site"
    place.mkdir()
    desk.agent(f"cd /; rm -rf {place}").plan(step("Dig", "test -s hole", on_fail="escalate"))
    arguments = ("run", "PLAN.md", "--yes", "--workspace", str(place), "--role")
    role = f"coder=bash {desk.agents / 'coder.sh'}"
    desk.signoff(*arguments, role).fails(3, "workspace `DESK/site`", "No such file or directory")
    assert "step.done" not in desk.kinds()
    desk.signoff(*arguments, role).fails(3, "the workspace `DESK/site` is not a folder")


def test_a_workspace_that_vanished_is_no_edit_of_its_configuration(desk: Desk) -> None:
    """The configuration in it vanished along with it."""
    away, gone = desk.folder / "away", desk.folder / "gone"
    desk.agent(f"echo firm > ground; mv {desk.workspace} {away}; touch {gone}")
    plans = desk.folder / "plans"
    plans.mkdir()
    desk.plan(GROUND, step("Roof", "test -e roof"))
    desk.plan_path.rename(plans / "PLAN.md")
    path = str(plans / "PLAN.md")
    workspace = ("--workspace", str(desk.workspace))
    desk.signoff("run", path, "--yes", *workspace, cwd=plans).fails(3, "workspace `DESK/")
    away.rename(desk.workspace)
    kinds = [entry["kind"] for entry in desk.signoff("log", path, "--json", cwd=plans).json_lines]
    assert gone.exists() and "plan.edited" not in kinds and "step.done" not in kinds


def test_ctrl_c_is_safe_and_the_same_command_repeats_only_the_attempt_in_flight(
    desk: Desk,
) -> None:
    desk.agent(
        '[ "$SIGNOFF_STEP" = 1 ] && echo firm > ground && exit; [ -e go ] || sleep 300; touch roof'
    )
    desk.plan(GROUND, step("Roof", "test -e roof"))
    running = desk.start("run", "PLAN.md", "--yes").until(lambda: len(_seats(desk)) == 2)
    os.kill(running.process.pid, signal.SIGINT)
    running.end().fails(130, "was interrupted", hint="run the same command again")
    assert desk.processes() == []
    desk.about_plan("status").exits(1).shows("[x] 1  Lay the ground", "[in-progress]")
    desk.file("go").run().exits(0)
    assert desk.dispatched() == ["1", "2", "2"]
    assert desk.kinds().count("step.done") == 2


def test_a_second_run_is_told_who_holds_the_plan_and_the_workspace(desk: Desk) -> None:
    desk.agent("sleep 300").plan(GROUND)
    desk.file("OTHER.md", desk.read("PLAN.md"))
    running = desk.start("run", "PLAN.md", "--yes").until(lambda: len(_seats(desk)) == 1)
    pid = str(running.process.pid)
    assert pid in desk.run().fails(5, "DESK/work/PLAN.md").stderr
    assert pid in desk.signoff("run", "OTHER.md", "--yes").fails(5, "DESK/work/PLAN.md").stderr
    desk.about_plan("audit").fails(5, "DESK/work/PLAN.md")
    stopped = desk.about_plan("cancel", "--note", "too late").exits(0)
    stopped.prints("cancelled run RUN; driver PID was told to stop")
    ended = running.end().hides("Traceback", "internal error")
    assert ended.code in (1, 5, 130), ended
    wait_until(lambda: desk.processes() == [])
    assert desk.status()["status"] == "failed"
    assert desk.entries("run.finished")[0]["data"]["outcome"] == "cancelled"
    desk.about_plan("cancel").fails(2, "has no run to cancel")
    desk.run("--role", "coder=sh -c 'echo firm > ground'").exits(0)


def test_a_reader_who_leaves_early_does_no_harm(desk: Desk) -> None:
    desk.agent(WORK).plan(GROUND).person('[policy]\nheld_before = "allow"\n')
    assert _first_line(desk, "run", "PLAN.md", "--yes").startswith("run ")
    desk.about_plan("status").exits(0)
    assert json.loads(_first_line(desk, "log", "PLAN.md", "--json"))["seq"] == 1
    desk.file("OTHER.md", desk.read("PLAN.md"))
    assert json.loads(_first_line(desk, "run", "OTHER.md", "--yes", "--json"))["seq"] == 2
    desk.signoff("status", "OTHER.md").exits(0)


def _first_line(desk: Desk, *arguments: str) -> str:
    """Read one line of both streams, then leave; the command must end by itself."""
    with subprocess.Popen(
        desk.command(arguments),
        cwd=desk.workspace,
        env=desk.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=LIMIT_S) in (0, 120)  # 120: Python's own for a lost reader
    return line


def _seats(desk: Desk) -> list[Path]:
    return [p for p in (desk.agents / "life").iterdir() if (p / "env").exists()]
