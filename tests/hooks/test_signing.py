"""`signoff sign`: with the agent gone everything is judged again, and only then it is done."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.plans import step
from tests.cli.project import Project
from tests.cli.test_plan_names import HOSTILE, pasted
from tests.hooks.kit import FakeClient


def work_in_a_client(project: Project) -> FakeClient:
    project.file("login.txt", "in\n").file("logout.txt", "out\n")
    client = FakeClient(project)
    assert "awaits sign-off" in client.may_stop()
    return client


def test_a_plan_is_signed_once_the_client_is_gone(bound: Project) -> None:
    client = work_in_a_client(bound)
    bound.signoff("sign", "auth").fails(5, "still runs", hint="end the client")
    client.call("sign", "auth").fails(2, "is a client at work", hint="end the client")
    client.close()
    bound.signoff("sign").exits(0).shows("signed off")
    assert bound.signoff("status", "auth", "--json").json["status"] == "done"
    started = [e for e in bound.log_of("auth") if e["kind"] == "run.started"]
    assert started[0]["data"]["session"]["id"].startswith("session-")
    bound.signoff("audit", "auth").exits(0)
    bound.signoff("sign", "auth").fails(2, "does not await sign-off")


def test_what_broke_after_the_hook_saw_it_is_not_signed(bound: Project) -> None:
    work_in_a_client(bound).close()
    (bound.workspace / "logout.txt").unlink()
    bound.signoff("sign", "auth").exits(1).shows("not done", "missing: 2")
    assert "run.started" not in [e["kind"] for e in bound.log_of("auth")]
    assert bound.signoff("status", "auth", "--json").json["status"] == "approved"
    bound.file("logout.txt", "a person repaired it\n")
    bound.signoff("sign", "auth").exits(0)


def test_what_changed_outside_touches_is_not_signed(project: Project) -> None:
    """Neither beyond the plan's bound nor beyond the step's own."""
    project.agent("true")
    project.named(
        "auth",
        step("Log in", "test -s login.txt", touches="login.txt"),
        step("Log out", "test -s logout.txt"),
        touches=["login.txt", "logout.txt"],
    )
    project.commit("first")
    project.signoff("bind", "auth").exits(0)
    project.signoff("approve", "auth", "--yes").exits(0)
    client = FakeClient(project)
    project.file("login.txt", "in\n").file("logout.txt", "out\n").file("stray.txt", "too\n")
    assert "stray.txt" in client.is_blocked()
    (project.workspace / "stray.txt").unlink()
    assert "awaits sign-off" in client.may_stop()
    client.close()
    project.file("stray.txt", "after the hook\n")
    project.signoff("sign", "auth").exits(1).shows("not done", "stray.txt")
    (project.workspace / "stray.txt").unlink()
    project.signoff("sign", "auth").exits(0)


def test_an_agent_cannot_sign(bound: Project) -> None:
    client = work_in_a_client(bound)
    bound.variable(CLAUDECODE="1")
    bound.signoff("sign", "auth").fails(2, "inside a client's session", hint="end the client")
    del bound.variables["CLAUDECODE"]
    bound.variable(SIGNOFF_ATTEMPT="run:1:1")
    bound.signoff("sign", "auth").fails(2, "inside an attempt")
    del bound.variables["SIGNOFF_ATTEMPT"]
    client.hook("session-end")
    client.call("sign", "auth").fails(2, "is a client at work")
    bound.signoff("sign", "auth").fails(5, "still runs")
    client.close()
    bound.signoff("sign", "auth").exits(0)


def test_the_next_run_signs_what_awaits_sign_off_and_gives_it_to_nobody(bound: Project) -> None:
    bound.agent("echo asked > asked.txt")
    bound.signoff("approve", "auth", "--yes").exits(0)
    work_in_a_client(bound).close()
    bound.signoff("run", "auth").exits(0).shows("signed off", "awaits sign-off")
    assert not (bound.workspace / "asked.txt").exists()
    (started,) = [e for e in bound.log_of("auth") if e["kind"] == "run.started"]
    assert started["data"]["session"]["id"].startswith("session-")
    bound.signoff("run", "auth").exits(0).shows("already signed off")


def test_the_next_run_goes_on_with_work_that_does_not_hold_any_more(bound: Project) -> None:
    bound.agent("echo asked > asked.txt; echo out > logout.txt")
    bound.signoff("approve", "auth", "--yes").exits(0)
    work_in_a_client(bound).close()
    (bound.workspace / "logout.txt").unlink()
    bound.signoff("run", "auth").exits(0).shows("signed off", "not signed: 2: ")
    assert bound.read("asked.txt") == "asked\n"
    bound.signoff("run", "auth").exits(0).shows("already signed off")


def test_an_agent_cannot_sign_by_running_the_plan(bound: Project) -> None:
    client = work_in_a_client(bound)
    client.call("run", "auth").fails(2, "is a client at work", hint="end the client")
    bound.variable(GEMINI_CLI="1")
    bound.signoff("run", "auth").fails(2, "inside a client's session", hint="end the client")
    del bound.variables["GEMINI_CLI"]
    bound.signoff("run", "auth").fails(5, "still runs", hint="end the client")
    assert "run.started" not in [e["kind"] for e in bound.log_of("auth")]
    client.close()
    bound.signoff("run", "auth").exits(0)


def test_nothing_to_sign_says_so(bound: Project) -> None:
    bound.signoff("sign", "auth").fails(2, "does not await sign-off", hint="signoff run auth")
    bound.signoff("sign", "session-0123456789abcdef").fails(2, "no session has the id")
    bound.signoff("sign", "gone").fails(4, "gone")


def test_without_a_plan_there_is_nothing_to_sign(project: Project) -> None:
    project.signoff("sign").fails(2, "no session awaits sign-off here")


def test_a_revised_plan_is_not_signed_by_work_on_the_old_one(bound: Project) -> None:
    work_in_a_client(bound).close()
    bound.named("auth", step("Log in", "test -s login.txt"), step("More", "test -s more.txt"))
    bound.signoff("approve", "auth", "--yes").exits(0)
    bound.signoff("sign", "auth").fails(2, "does not await sign-off")


def test_the_report_for_machines(bound: Project) -> None:
    work_in_a_client(bound).close()
    found = bound.signoff("sign", "auth", "--json").exits(0).json
    assert found["schema_version"] == 1
    (one,) = found["sessions"]
    assert one["done"] is True and one["self_set"] is False and one["missing"] == []
    assert one["plan"]["status"] == "done"


def test_the_client_lives_on_in_the_process_table_not_in_a_number(bound: Project) -> None:
    """A pid that is used again by another process keeps nobody from signing."""
    client = work_in_a_client(bound)
    client.close()
    seats = list((bound.home / "seats").glob("*.seat"))
    assert len(seats) == 1
    text = seats[0].read_text()
    assert sys.executable not in text and Path(bound.workspace).name in text
    bound.signoff("sign", "auth").exits(0)


def test_a_hostile_name_does_nothing_when_the_next_step_is_pasted(project: Project) -> None:
    cwd = project.folder / "shell"
    cwd.mkdir()
    project.agent("true").named(HOSTILE, step("Log in", "test -s login.txt")).commit("first")
    project.signoff("bind", HOSTILE).exits(0)
    project.signoff("approve", HOSTILE, "--yes").exits(0)
    project.file("login.txt", "in\n")
    with FakeClient(project) as client:
        pasted(project, client.stop(), cwd)
        pasted(project, client.hook("session-end"), cwd)
    project.signoff("sign", HOSTILE).exits(0)
    pasted(project, project.signoff("sign", HOSTILE).fails(2, "does not await sign-off"), cwd)


def in_a_second_clone(project: Project) -> Path:
    """A clone with the same plan, approved and bound there too."""
    clone = project.folder / "clone"
    project.call("clone", "-q", str(project.workspace), str(clone))
    (clone / ".harness").mkdir(exist_ok=True)
    text = (project.vault / "PLAN-auth.md").read_text()
    (clone / ".harness" / "PLAN-auth.md").write_text(text)
    project.signoff("bind", "auth", cwd=clone).exits(0)
    project.signoff("approve", "auth", "--yes", cwd=clone).exits(0)
    return clone


def session_in(project: Project, cwd: Path) -> str:
    (found,) = project.signoff("sessions", "--json", cwd=cwd).exits(0).json["sessions"]
    return str(found["id"])


def test_a_session_is_signed_by_its_own_repositorys_plan_not_by_equal_text(bound: Project) -> None:
    work_in_a_client(bound).close()
    bound.signoff("sign", "auth").exits(0)
    clone = in_a_second_clone(bound)
    for name in ("login.txt", "logout.txt"):
        (clone / name).write_text("mine\n")
    with FakeClient(bound) as client:
        message = {"last_assistant_message": "done"}
        client.hook("stop", cwd=clone, **message).shows("awaits sign-off")
    session = session_in(bound, clone)
    (clone / "logout.txt").unlink()
    bound.signoff("sign", session).exits(1).shows("not done", "missing: 2")
    (clone / "logout.txt").write_text("mine\n")
    bound.signoff("sign", session).exits(0)
    status = bound.signoff("status", "auth", "--json", cwd=clone).json
    assert status["status"] == "done" and status["path"].startswith(str(clone))


def test_work_that_another_session_got_signed_awaits_nothing(bound: Project) -> None:
    for _ in range(2):
        work_in_a_client(bound).close()
    bound.signoff("sign", "auth").exits(0)
    listed = bound.signoff("sessions", "--json").exits(0).json["sessions"]
    assert [one["standing"] for one in listed] == ["done", "done"]
    bound.signoff("inbox").exits(0).prints("nothing waits for you")


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "qwen"])
def test_work_finished_in_a_client_is_seen_everywhere(bound: Project, name: str) -> None:
    bound.file("login.txt", "in\n").file("logout.txt", "out\n")
    with FakeClient(bound, name) as client:
        told = client.stop().json["systemMessage"]
    assert "awaits sign-off" in told and told.endswith("signoff sign auth")
    shown = bound.signoff("status", "auth").exits(6)
    shown.shows("awaiting sign-off: signoff sign auth")
    (item,) = bound.signoff("inbox", "--json").exits(0).json["items"]
    assert item["plan"] == "auth" and "awaits sign-off" in item["question"]
    bound.signoff("inbox", "auth").exits(0).shows("next: signoff sign session-")
    bound.signoff("answer", item["id"], "retry").fails(2, "session", hint="signoff sign")
    bound.signoff("sign", item["id"]).exits(0)
    bound.signoff("status", "auth").exits(0)
    bound.signoff("inbox").exits(0).prints("nothing waits for you")


def test_a_session_that_was_refused_too_often_makes_status_wait_for_a_person(
    bound: Project,
) -> None:
    with FakeClient(bound) as client:
        while client.stop().json.get("decision") == "block":
            pass
    bound.signoff("status", "auth").exits(6).shows("escalated: signoff inbox auth")
