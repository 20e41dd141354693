"""Real clients and lying models: the lie is blocked, honest work is signed, no lie ever is."""

from __future__ import annotations

import pytest

from tests.clients.kit import Do, RealClient, play

pytestmark = pytest.mark.timeout(900)


def test_the_lie_is_blocked_twice_and_then_the_work_is_really_done(client: RealClient) -> None:
    script = play(
        "All done.", "Really done.", Do("echo hello > hello.txt"), "Now it is done.", "Goodbye."
    )
    ended = client.work(script)
    project = client.project
    assert (project.workspace / "hello.txt").exists(), (ended.stdout, ended.stderr)
    told = [c for c in script.received if "plan `hello` is not done" in str(c.body)]
    assert told, "the model read why it could not stop"
    assert project.signoff("status", "hello", "--json").json["status"] == "approved"
    project.signoff("sign", "hello").exits(0)
    assert project.signoff("status", "hello", "--json").json["status"] == "done"


def test_with_a_model_that_always_lies_the_client_ends_and_the_plan_is_not_done(
    client: RealClient,
) -> None:
    script = play("All done, I promise.", last_repeats=True)
    client.work(script)
    project = client.project
    assert len(project.inbox()) == 1
    assert project.signoff("status", "hello", "--json").json["status"] == "approved"
    project.signoff("sign", "hello").exits(2)
