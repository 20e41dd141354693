"""A sign-off is a historical fact: later acts are shown beside it and do not un-happen it."""

from __future__ import annotations

from tests.cli.kit import Desk
from tests.cli.plans import step

GROUND = step("Lay the ground", "grep -qx firm ground")


def _signed(desk: Desk) -> str:
    desk.agent("echo firm > ground").plan(GROUND)
    desk.run("--yes").exits(0)
    at: str = desk.status()["signed_off_at"]
    assert desk.status()["since_sign_off"] == []
    return at


def test_a_rejected_plan_still_shows_its_sign_off(desk: Desk) -> None:
    at = _signed(desk)
    desk.about_plan("reject").exits(0)
    desk.about_plan("status").exits(1).shows(
        "Build a house  [draft]", "signed off at TIME on content DIGEST; since then rejected"
    )
    assert desk.status()["signed_off_at"] == at


def test_an_edited_plan_still_shows_its_sign_off(desk: Desk) -> None:
    at = _signed(desk)
    desk.edit_plan("# Build a house", "# Build a castle")
    desk.about_plan("status").exits(1).shows(
        "[draft]", "signed off at TIME on content DIGEST; since then edited"
    )
    status = desk.status()
    assert (status["signed_off_at"], status["since_sign_off"]) == (at, ["edited"])


def test_a_plan_run_again_shows_the_sign_off_before_until_there_is_a_newer_one(desk: Desk) -> None:
    at = _signed(desk)
    desk.edit_plan("grep -qx firm ground", "grep -qx soft ground")
    desk.about_plan("approve", "--yes").exits(0)
    assert desk.status()["since_sign_off"] == ["edited", "approved again"]
    desk.run().exits(6)
    status = desk.status()
    assert status["signed_off_at"] == at
    assert status["since_sign_off"] == ["edited", "approved again", "run again"]
    desk.file("ground", "soft\n")
    desk.answer("retry")
    desk.run().exits(0)
    status = desk.status()
    assert status["signed_off_at"] > at and status["since_sign_off"] == []


def test_a_plan_that_was_never_signed_off_does_not_say_so(desk: Desk) -> None:
    desk.agent("true").plan(step("Lay the ground", "test -s ground", on_fail="abort"))
    desk.run("--yes").exits(1).hides("signed off at")
    assert desk.status()["signed_off_at"] is None
