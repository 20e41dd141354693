"""What changed since a sign-off: `run` looks, says so, and takes nothing back."""

from __future__ import annotations

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

CHANGED = "the content differs from what was signed off (drift), and was not judged"


@pytest.fixture
def signed(desk: Desk) -> Desk:
    """A desk with a plan that is signed off."""
    desk.agent("echo firm > ground").plan(step("Lay the ground", "grep -qx firm ground"))
    desk.run("--yes").exits(0)
    return desk


@pytest.mark.parametrize("options", [(), ("--yes",), ("--strict",)], ids=" ".join)
def test_a_run_of_a_plan_that_is_signed_off_tells_of_content_that_changed_since(
    signed: Desk, options: tuple[str, ...]
) -> None:
    signed.file("ground", "mud\n")
    ran = signed.run(*options).exits(0).shows("Build a house  [done]", CHANGED)
    assert ran.stderr.endswith(f"next: signoff audit {signed.plan_path}\n")
    assert signed.run(*options, "--json").exits(0).json["drift"] is True
    assert len(signed.attempts()) == 1, "nothing is done again"
    signed.about_plan("audit", "--strict").exits(1)


def test_content_as_signed_off_is_not_called_drift(signed: Desk) -> None:
    signed.run().exits(0).hides("drift", "signoff audit")
    assert signed.run("--json").exits(0).json["drift"] is False


def test_status_does_not_look_at_the_content(signed: Desk) -> None:
    signed.file("ground", "mud\n")
    signed.about_plan("status").exits(0).hides("drift")


def test_content_that_cannot_be_compared_is_not_called_unchanged(signed: Desk) -> None:
    (store,) = (signed.home / "snapshots").iterdir()
    (store / "packed-refs").write_text("torn\n")
    signed.run().exits(0).shows("the content could not be compared with the sign-off")
    assert signed.run("--json").exits(0).json["drift"] is None


def test_a_run_that_does_something_says_nothing_about_drift(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(step("Lay the ground", "grep -qx firm ground"))
    ran = desk.run("--yes", "--json").exits(0)
    assert ran.json_lines[-1]["drift"] is None
