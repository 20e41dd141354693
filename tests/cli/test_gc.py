"""`gc` and the quota: disk space comes back, and nothing goes that somebody still needs."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import probe_sandboxes
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project

ROOMS = [s.isolation for s in probe_sandboxes() if s.available and s.isolation.has_own_view]
BOXED = pytest.mark.skipif(Isolation.BUBBLEWRAP not in ROOMS, reason="no bubblewrap here")
GROUND = step("Lay the ground", "grep -qx firm ground")
WORK = "echo firm > ground"


def stores(desk: Desk) -> list[Path]:
    return sorted((desk.home / "snapshots").iterdir())


def kept_somewhere(desk: Desk, name: str) -> bool:
    folder = desk.home / name
    return folder.is_dir() and any(folder.iterdir())


@pytest.fixture
def built(desk: Desk) -> Desk:
    desk.agent(WORK).plan(GROUND)
    desk.run("--yes").exits(0)
    return desk


@pytest.mark.parametrize("isolation", ROOMS)
def test_no_clean_room_is_left_by_a_run_that_is_over_nor_by_its_audit(
    desk: Desk, isolation: Isolation
) -> None:
    desk.person(f'[sandbox]\nisolation = "{isolation}"\nagents = false\n')
    desk.agent(WORK).plan(GROUND)
    desk.run("--yes").exits(0)
    assert desk.entries("verdict")[-1]["data"]["judged_in"] == "clean"
    assert not kept_somewhere(desk, "rooms")
    desk.about_plan("audit").exits(0)
    assert not kept_somewhere(desk, "rooms")


@BOXED
def test_a_room_of_an_open_run_goes_on_demand_and_is_made_again(desk: Desk) -> None:
    desk.person('[sandbox]\nisolation = "bubblewrap"\nagents = false\n')
    desk.agent("test $attempt -lt 2 || echo firm > ground")
    desk.plan(step("Lay the ground", "grep -qx firm ground", on_fail="escalate"))
    desk.run("--yes").exits(6)
    assert kept_somewhere(desk, "rooms"), "it is judged again soon"
    shown = desk.signoff("gc").exits(0)
    shown.shows("removed", "clean room (DESK/work)")
    assert not kept_somewhere(desk, "rooms") and not kept_somewhere(desk, "removing")
    assert desk.home.joinpath("logs", "attempts", desk.status()["run"]).is_dir(), "it is open"
    desk.answer("retry")
    desk.run().exits(0)


@BOXED
def test_lanes_of_an_open_run_go_on_demand_and_are_made_again(desk: Desk) -> None:
    desk.person('[sandbox]\nisolation = "bubblewrap"\nagents = true\n')
    desk.agent("test $attempt -lt 2 || echo firm > ground-$SIGNOFF_STEP")
    check = "grep -qx firm ground-{}"
    steps = [step(f"Ground {i}", check.format(i), needs="none", on_fail="escalate") for i in (1, 2)]
    desk.plan(*steps).run("--yes", "--jobs", "2").exits(6)
    assert kept_somewhere(desk, "lanes"), "they are worked in again soon"
    desk.signoff("gc").exits(0).shows("removed", "clean room (DESK/work)")
    assert not kept_somewhere(desk, "lanes") and not kept_somewhere(desk, "removing")
    for item in desk.inbox():
        desk.signoff("answer", item["id"], "retry").exits(0)
    desk.run("--jobs", "2").exits(0)
    assert not kept_somewhere(desk, "lanes"), "the run is over"


def test_reports_of_a_run_that_is_over_go_and_its_proof_stays(built: Desk) -> None:
    run = built.status()["run"]
    before = built.signoff("gc", "--dry-run", "--json").exits(0).json
    assert [(r["what"], r["about"]) for r in before["removed"]] == [("reports", run)]
    assert before["dry_run"] and (built.home / "logs" / "attempts" / run).is_dir()
    after = built.signoff("gc", "--json").exits(0).json
    assert after["removed"] == before["removed"] and after["home_bytes"] > 0
    assert not (built.home / "logs" / "attempts" / run).exists()
    built.signoff("gc").exits(0).shows("gave back 0 bytes")
    built.about_plan("audit").exits(0).shows("audit: kept")
    built.about_plan("diff", "--step", "1", "--attempt", "1").exits(0).shows("+firm")


def test_what_somebody_works_with_is_left_and_named(desk: Desk) -> None:
    desk.agent("echo busy > busy; until test -e go; do sleep 0.05; done; echo firm > ground")
    desk.plan(GROUND)
    running = desk.start("run", "PLAN.md", "--yes")
    running.until((desk.workspace / "busy").exists)
    (key,) = (path.name for path in stores(desk))
    for name in ("rooms", "setups"):
        (desk.home / name / key / "made").mkdir(parents=True)
    shown = desk.signoff("gc").exits(0)
    shown.shows("left rooms/DIGEST: the workspace `DESK/work` is held by")
    shown.shows("left setups/DIGEST: a run of `PLAN` is open")
    assert (desk.home / "rooms" / key / "made").is_dir()
    desk.file("go")
    running.end().exits(0)


def test_content_stays_while_its_workspace_may_come_back(built: Desk) -> None:
    (store,) = stores(built)
    shutil.move(built.workspace, built.folder / "away")
    elsewhere = built.folder / "person"
    built.signoff("gc", cwd=elsewhere).exits(0).shows("is gone, perhaps for a while")
    shutil.move(built.folder / "away", built.workspace)
    built.signoff("gc", "--older-than", "0", cwd=elsewhere).exits(0)
    assert store.is_dir(), "its workspace is there"
    built.about_plan("audit").exits(0)


def test_content_goes_with_its_workspace_and_plans(built: Desk) -> None:
    shutil.rmtree(built.workspace)
    elsewhere = built.folder / "person"
    shown = built.signoff("gc", "--older-than", "0", cwd=elsewhere).exits(0)
    shown.shows("content of a workspace that is gone (DESK/work)")
    assert stores(built) == []


def test_content_of_an_open_run_stays_whatever_is_gone(desk: Desk) -> None:
    desk.agent("true").plan(step("Lay the ground", "test -s ground", on_fail="escalate"))
    desk.run("--yes").exits(6)
    shutil.rmtree(desk.workspace)
    shown = desk.signoff("gc", "--older-than", "0", cwd=desk.folder / "person").exits(0)
    shown.shows("but a run of", "is open")
    assert len(stores(desk)) == 1


def test_a_merged_plan_is_audited_although_its_worktree_is_gone(project: Project) -> None:
    project.agent(WORK).named("a", GROUND).commit("start")
    project.signoff("worktree", "add", "a").exits(0)
    there = project.worktree("a")
    project.signoff("run", "a", "--yes", cwd=there).exits(0)
    shutil.copy(there / "ground", project.workspace / "ground")
    project.signoff("audit", "a").exits(0).hides("drift")
    shutil.rmtree(there)
    project.signoff("gc", "--older-than", "0").exits(0)
    project.signoff("audit", "a").exits(0).hides("drift").shows("audit: kept")
    (project.workspace / "ground").write_text("mud\n")
    project.signoff("audit", "a").exits(1).shows("ground")


def test_what_a_killed_removal_left_is_removed_by_the_next(built: Desk) -> None:
    left = built.home / "removing" / "0123" / "room"
    left.mkdir(parents=True)
    (left / "file").write_text("left")
    left.chmod(0)
    built.signoff("gc").exits(0)
    assert not left.parent.exists()


def test_a_conversation_stays_while_somebody_may_go_on_with_it(built: Desk) -> None:
    folder = built.home / "logs" / "sessions"
    folder.mkdir()
    for name, days in (("session-old", 31), ("session-new", 29)):
        path = folder / f"{name}.jsonl"
        path.write_text("{}\n")
        then = time.time() - days * 86_400
        os.utime(path, (then, then))
    shown = built.signoff("gc", "--dry-run").exits(0)
    shown.shows("conversation of a session (session-old)").hides("session-new")
    assert len(list(folder.iterdir())) == 2
    built.signoff("gc").exits(0)
    assert [path.stem for path in folder.iterdir()] == ["session-new"]
    built.signoff("gc", "--older-than", "0").exits(0)
    assert list(folder.iterdir()) == []


def test_content_that_is_in_use_is_told_and_why_it_stays(built: Desk) -> None:
    built.signoff("gc").exits(0).shows("of content, which audit, diff and undo may ask for")
    assert built.signoff("gc", "--json").json["content_bytes"] > 0


def test_an_agent_at_work_cannot_tidy(desk: Desk) -> None:
    python = f"SIGNOFF_HOME={desk.home} {' '.join(desk.command(['gc']))}"
    desk.agent(f"{python} > told 2>&1; {WORK}").plan(GROUND)
    desk.run("--yes").exits(0)
    assert "this command runs inside an attempt" in desk.read("told")


def test_a_quota_is_kept_at_the_end_of_a_run_and_shown(desk: Desk) -> None:
    desk.person('[disk]\nquota = "1 kB"\n')
    desk.agent(WORK).plan(GROUND)
    desk.run("--yes").exits(0).shows("over its quota, and all that is left in it is needed")
    assert not kept_somewhere(desk, "logs/attempts")
    desk.about_plan("status").exits(0).shows("the home folder takes", "signoff gc")
    doctor = desk.signoff("doctor")
    doctor.shows("WARN  home: DESK/home, takes ", ", and the quota is 1.0 kB", "next: signoff gc")


@pytest.mark.parametrize("quota", ["2", '"2"', '"much"', '"-1 GB"'])
def test_a_quota_is_a_size(desk: Desk, quota: str) -> None:
    desk.person(f"[disk]\nquota = {quota}\n").agent(WORK).plan(GROUND)
    desk.about_plan("status").exits(4).shows("quota")
