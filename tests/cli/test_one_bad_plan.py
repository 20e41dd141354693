"""A plan that cannot be read is named with its error, and keeps nobody from the others."""

from __future__ import annotations

import pytest

from tests.cli.plans import step
from tests.cli.project import Project

BAD = {
    "no text": b"\xff\xfe\x00",
    "too large": b"# Plan\n" + b"x" * 20_000_000,
    "odd space": "# Plan\n\n## Steps\n\n### 1. A\n\n**contract:**\n```\u00a0\ntrue\n```\n".encode(),
}


@pytest.fixture(params=BAD.values(), ids=list(BAD))
def two(request: pytest.FixtureRequest, project: Project) -> Project:
    """A vault with a good plan and a bad one."""
    project.agent("true").named("good", step("Build", "test -s built"))
    (project.vault / "PLAN-bad.md").write_bytes(request.param)
    return project.commit()


def test_every_verb_about_all_plans_still_tells_of_the_others(two: Project) -> None:
    two.signoff("approve", "good", "--yes").exits(0)
    two.signoff("list-plans").exits(0).shows("good", "bad")
    two.signoff("ready").exits(0).shows("good", "bad")
    two.signoff("merge", "--order").exits(0)
    two.signoff("list").exits(0).shows("good", "bad")
    two.signoff("session-start").exits(0).shows("good", "bad")
    two.signoff("doctor").shows("sandbox", "vault")
    two.signoff("check").exits(1).shows("bad")
    two.signoff("status", "good").exits(1).shows("good  [approved]")
    two.signoff("next", "--worker", "me").exits(0).shows("good")


def test_status_of_a_plan_that_is_no_text_says_where(project: Project) -> None:
    (project.vault / "PLAN-bad.md").write_bytes(b"# Plan\n\xff")
    project.signoff("status", "bad").fails(4, "is not UTF-8: byte 0xff at offset 7 (line 2)")


@pytest.mark.parametrize("verb", ["status", "verify", "show", "run", "approve"])
def test_a_verb_about_the_bad_plan_says_what_is_wrong_with_it(two: Project, verb: str) -> None:
    said = two.signoff(verb, "bad")
    assert said.code in (0, 1, 4, 6), said
    assert "internal" not in said.stderr and "Traceback" not in said.stderr


def test_a_hook_in_a_worktree_of_another_plan_is_not_touched(two: Project) -> None:
    two.signoff("approve", "good", "--yes").exits(0)
    two.signoff("bind", "good").exits(0)
    two.signoff("hook", "claude", "session-start").exits(0)
    two.signoff("hook", "claude", "stop").exits(0)
