"""The stop hook: a lie is blocked with exactly what is missing, never for ever, never as done."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.plans import step
from tests.cli.project import Project
from tests.cli.touching import end_as_done, rewrite, touch
from tests.hooks.kit import FakeClient

INPUTS = Path(__file__).parents[1] / "domain" / "hook_inputs"


def do_the_work(project: Project) -> None:
    project.file("login.txt", "in\n").file("logout.txt", "out\n")


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "qwen"])
def test_the_lie_is_blocked_in_each_dialect_and_the_work_opens_the_gate(
    bound: Project, name: str
) -> None:
    with FakeClient(bound, name=name) as client:
        reason = client.is_blocked()
        assert "plan `auth` is not done" in reason
        assert "step 1: its check is broken" in reason and "step 2: its check is broken" in reason
        bound.file("login.txt", "in\n")
        reason = client.is_blocked()
        assert "step 1" not in reason and "step 2: its check is broken" in reason
        do_the_work(bound)
        assert "awaits sign-off" in client.may_stop()
    assert bound.signoff("status", "auth", "--json").json["status"] == "approved", "not done"


def test_an_agent_that_always_lies_may_stop_after_six_blocks_and_nothing_is_done(
    bound: Project, client: FakeClient
) -> None:
    for _ in range(5):
        client.is_blocked()
    told = client.may_stop()
    assert "is not done" in told and "signoff inbox" in told
    (item,) = bound.inbox()
    assert item["context"]["session"].startswith("session-")
    assert "is not done" in client.may_stop(), "and it stays that way"
    assert len(bound.inbox()) == 1
    bound.signoff("sign", "auth").exits(2)
    assert bound.signoff("status", "auth", "--json").json["status"] == "approved"


def test_the_user_says_after_how_many_blocks_the_client_may_stop(
    bound: Project, client: FakeClient
) -> None:
    bound.person("[agent]\nescalate_after = 2\n")
    client.is_blocked()
    assert "is not done" in client.may_stop()
    assert len(bound.inbox()) == 1
    bound.vault.joinpath("active-plan").write_text("gone\n")
    reasons = [client.is_blocked() for _ in range(2)]
    assert reasons[0] == reasons[1]
    assert "told 2 times, so the agent may stop now; nothing is done" in client.may_stop()


def test_blocks_are_counted_over_processes_and_whatever_the_client_says(
    bound: Project, client: FakeClient
) -> None:
    for number in range(5):
        active = bool(number % 2)
        assert client.stop(stop_hook_active=active).json["decision"] == "block"
    assert "decision" not in client.stop(stop_hook_active=False).json


def test_the_fourth_identical_block_is_shorter_and_says_what_to_do(
    bound: Project, client: FakeClient
) -> None:
    first, *_, fourth = [client.is_blocked() for _ in range(4)]
    assert len(fourth) < len(first) and "Do only this now" in fourth


def test_without_any_plan_the_hook_says_nothing(project: Project, client: FakeClient) -> None:
    assert client.stop().stderr == ""
    project.vault.rmdir()
    ended = client.stop()
    assert (ended.stdout, ended.stderr) == ("", "")
    assert not (project.home / "ledger.sqlite3").exists(), "looking makes nothing"


def test_a_draft_holds_nobody(project: Project, client: FakeClient) -> None:
    project.named("auth", step("Log in", "test -s login.txt"))
    project.signoff("bind", "auth").exits(0)
    assert "not approved" in client.may_stop()


def test_a_plan_that_is_done_holds_nobody(project: Project, client: FakeClient) -> None:
    project.agent("echo x > login.txt").named("auth", step("Log in", "test -s login.txt"))
    project.commit("first").signoff("bind", "auth").exits(0)
    project.signoff("run", "auth", "--yes").exits(0)
    assert client.may_stop() == ""


def test_weakening_the_approved_plan_file_does_not_open_the_gate(
    bound: Project, client: FakeClient
) -> None:
    path = bound.vault / "PLAN-auth.md"
    path.write_text(path.read_text().replace("test -s", "true || test -s"))
    reason = client.is_blocked()
    assert "not as a person approved it" in reason and "signoff approve auth" in reason
    path.write_bytes(b"\xff\xfe garbage")
    assert "not as a person approved it" in client.is_blocked()
    path.unlink()
    assert "names plan `auth`" in client.is_blocked()


def test_a_plan_file_edited_in_the_middle_is_still_noticed(
    bound: Project, client: FakeClient
) -> None:
    client.is_blocked()
    path = bound.vault / "PLAN-auth.md"
    path.write_text(path.read_text().replace("test -s", "true || test -s"))
    assert "not as a person approved it" in client.is_blocked()


def test_a_dangling_marker_is_blocked_with_the_fix_and_not_for_ever(
    bound: Project, client: FakeClient
) -> None:
    (bound.vault / "active-plan").write_text("gone\n")
    for _ in range(6):
        reason = client.is_blocked()
        assert "the ledger binds this worktree to `auth`" in reason
        assert "signoff bind auth" in reason
    assert "nothing is done" in client.may_stop()


def test_deleting_the_marker_does_not_free_the_agent(bound: Project, client: FakeClient) -> None:
    (bound.vault / "active-plan").unlink()
    assert "is gone" in client.is_blocked()


def test_inside_an_attempt_the_driver_judges_and_the_hook_lets_go(
    bound: Project, client: FakeClient
) -> None:
    bound.variable(SIGNOFF_ATTEMPT="run:1:1")
    assert client.may_stop() == ""


def test_judging_takes_no_longer_than_the_client_waits(project: Project) -> None:
    slow = step("Wait", "sleep 300 && test -s x", contract_timeout="900 s")
    project.agent("true").named("slow", slow).commit("first")
    project.signoff("bind", "slow").exits(0)
    project.signoff("approve", "slow", "--yes").exits(0)
    with FakeClient(project) as client:
        ended = client.hook("stop", "--limit", "12")
        if ended.stdout:  # judged within the limit, unknown; on a slow machine the time is up
            assert "its check is unknown" in ended.json["reason"]
        else:
            assert "no answer within 12 s" in ended.stderr


def test_a_protected_file_that_was_changed_shuts_the_gate(
    bound: Project, client: FakeClient
) -> None:
    do_the_work(bound)
    bound.file("tests/test_login.py", "assert False\n")
    assert "tests/test_login.py" in client.is_blocked()


def test_a_new_conversation_of_the_same_client_starts_counting_anew(
    bound: Project, client: FakeClient
) -> None:
    for _ in range(5):
        client.is_blocked()
    client.may_stop()
    client.hook("session-end", reason="clear")
    client.session = "client-session-2"
    client.is_blocked()


def test_what_was_blocked_is_recorded_as_provisional(bound: Project, client: FakeClient) -> None:
    client.is_blocked()
    do_the_work(bound)
    client.may_stop()
    assert "run.finished" not in [e["kind"] for e in bound.log_of("auth")]


@pytest.mark.parametrize("path", sorted(INPUTS.glob("*-stop*.json")), ids=lambda p: p.stem)
def test_recorded_inputs_of_real_clients_are_understood(
    bound: Project, client: FakeClient, path: Path
) -> None:
    told = json.loads(path.read_text())
    told["cwd"] = str(bound.workspace)
    name = path.stem.partition("-")[0]
    ended = client.call("hook", name, "stop", stdin=json.dumps(told).encode()).exits(0)
    assert ended.json["decision"] == ("deny" if name == "gemini" else "block")
    assert ended.stderr == ""


@pytest.mark.parametrize("forge", [rewrite("run.finished", '"failed"', '"done"'), end_as_done])
def test_a_failed_run_that_was_rewritten_into_done_lets_no_client_stop(
    project: Project, forge: Callable[[sqlite3.Connection], None]
) -> None:
    project.agent("echo in > login.txt").named(
        "auth",
        step("Log in", "test -s login.txt"),
        step("Log out", "test -s logout.txt", on_fail="abort"),
    )
    project.signoff("bind", "auth").exits(0)
    project.signoff("run", "auth", "--yes").exits(1)
    touch(project, forge)
    with FakeClient(project) as client:
        reason = client.is_blocked()
    assert "ledger broken" in reason and "signoff audit" in reason


def test_a_session_whose_sign_off_was_forged_is_not_listed_as_done(bound: Project) -> None:
    do_the_work(bound)
    with FakeClient(bound) as client:
        assert "awaits sign-off" in client.may_stop()
    bound.signoff("sign", "auth").exits(0)
    (line,) = bound.signoff("sessions", "--json").json["sessions"]
    assert line["standing"] == "done"
    touch(bound, rewrite("plan.approved", '"interactive":false', '"interactive":true'))
    (line,) = bound.signoff("sessions", "--json").json["sessions"]
    assert line["standing"] == "not done"
