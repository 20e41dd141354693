"""What changed since a sign-off: nothing says done of content that was not judged."""

from __future__ import annotations

import shutil

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step

NOT_IT = ", but this content is not it (drift)"


@pytest.fixture
def signed(desk: Desk) -> Desk:
    """A desk with a plan that is signed off."""
    desk.agent("echo firm > ground").plan(step("Lay the ground", "grep -qx firm ground"))
    desk.run("--yes").exits(0)
    return desk


@pytest.mark.parametrize("options", [(), ("--yes",), ("--strict",)], ids=" ".join)
def test_a_run_of_a_plan_that_is_signed_off_judges_other_content_again(
    signed: Desk, options: tuple[str, ...]
) -> None:
    signed.file("ground", "mud\n")
    ran = (
        signed.run(*options)
        .exits(1)
        .shows("Build a house  [done]", NOT_IT, "judged again on this content: broken")
    )
    path = signed.plan_path
    assert ran.stderr.endswith(f"next: signoff approve {path}, then signoff run {path}\n")
    last = signed.run(*options, "--json").exits(1).json_lines[-1]
    assert last["drift"] is True and last["audit"]["result"] == "broken"
    assert len(signed.attempts()) == 1, "nothing is done again"


def test_other_content_on_which_everything_holds_is_done_once_it_is_judged(signed: Desk) -> None:
    signed.file("more", "beside it\n")
    signed.about_plan("status").exits(1).shows(NOT_IT)
    signed.run().exits(0).shows("judged again on this content: kept")
    signed.about_plan("status").exits(0).shows(", but this content is not it; judged again at ")
    signed.file("more", "else\n").about_plan("status").exits(1)


@pytest.mark.parametrize("verb", ["run", "status"])
def test_an_empty_folder_is_not_what_was_signed_off(signed: Desk, verb: str) -> None:
    (signed.folder / "empty").mkdir()
    signed.about_plan(verb, "--workspace", str(signed.folder / "empty")).exits(1).shows(NOT_IT)


@pytest.mark.parametrize("verb", ["run", "status"])
def test_another_folder_counts_by_its_content(signed: Desk, verb: str) -> None:
    copy = signed.folder / "copy"
    shutil.copytree(signed.workspace, copy)
    signed.about_plan(verb, "--workspace", str(copy)).exits(0).hides(NOT_IT)
    (copy / "ground").write_text("mud\n")
    signed.about_plan(verb, "--workspace", str(copy)).exits(1).shows(NOT_IT)


def test_content_as_signed_off_is_not_called_drift(signed: Desk) -> None:
    signed.run().exits(0).hides("drift", "signoff audit")
    assert signed.run("--json").exits(0).json["drift"] is False


def test_status_tells_of_a_fix_that_was_undone(signed: Desk) -> None:
    signed.about_plan("status").exits(0).hides("drift")
    signed.file("ground", "mud\n")
    told = signed.about_plan("status").exits(1).shows("[done]", NOT_IT)
    assert told.stderr.endswith(f"next: signoff run {signed.plan_path}\n")
    assert signed.about_plan("status", "--json").exits(1).json["drift"] is True


def test_content_that_cannot_be_compared_is_not_called_unchanged(signed: Desk) -> None:
    (store,) = (signed.home / "snapshots").iterdir()
    shutil.copytree(signed.workspace, signed.folder / "copy")
    (store / "packed-refs").write_text("torn\n")
    copy = ("--workspace", str(signed.folder / "copy"))
    told = signed.about_plan("status", *copy).exits(3)
    told.shows("; the content could not be compared with it")
    assert signed.about_plan("status", *copy, "--json").exits(3).json["drift"] is None
    signed.about_plan("run", *copy).exits(0).shows("judged again on this content: kept")


def test_a_run_that_does_something_says_nothing_about_drift(desk: Desk) -> None:
    desk.agent("echo firm > ground").plan(step("Lay the ground", "grep -qx firm ground"))
    ran = desk.run("--yes", "--json").exits(0)
    assert ran.json_lines[-1]["drift"] is None
