"""A plan can check a plan: a reviewer's contract is `signoff verify --no-write` on another."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import plan_text, step
from tests.cli.project import Project
from tests.warm import SOURCE

LINT = "signoff verify --no-write plans/next.md"
SIGNOFF = f'PYTHONPATH={SOURCE} exec {sys.executable} -m signoff "$@"'


def reviewed(desk: Desk) -> Desk:
    """A planner leaves a plan whose contract is no shell; the reviewer needs to be told so."""
    good = plan_text([step("Say hello", "test -s hello.txt")])
    bad = good.replace("test -s hello.txt", "if test -s hello.txt")
    desk.tool("signoff", SIGNOFF).file("plans/next.md", bad).git()
    # The agent is confined too, so it carries the text that it would write.
    quoted = good.replace("'", "'\\''")
    desk.agent(f"[ $attempt = 1 ] || printf '%s' '{quoted}' > plans/next.md", role="reviewer")
    desk.agent("true")
    return desk.plan(
        step(
            "Review the plan",
            LINT,
            target="reviewer",
            may_change="plans/next.md",
            task="Here is a plan, plans/next.md. Correct it until it can be carried out.",
        )
    )


@pytest.mark.parametrize("isolation", ["none", "auto"])
def test_a_reviewer_is_done_when_the_plan_it_reviews_verifies(desk: Desk, isolation: str) -> None:
    opened = [str(desk.tools), SOURCE, sys.prefix, sys.base_prefix]
    lines = ["[sandbox]", f'isolation = "{isolation}"', f"readable = {json.dumps(opened)}"]
    desk.person("\n".join([*lines, f"writable = {json.dumps([str(desk.agents)])}", ""]))
    reviewed(desk).run("--yes").exits(0)
    again = desk.attempts()[1].prompt
    assert "next.md:" in again and "[contract-syntax]" in again, "it is told what verify found"
    assert "status: draft" in desk.read("plans/next.md"), "the check wrote nothing"


def test_verify_without_writing_leaves_no_home_and_no_mark(project: Project) -> None:
    project.agent("true").named("auth", step("Log in", "grep -qx in login.txt"))
    before = project.read(".harness/PLAN-auth.md")
    project.signoff("verify", "auth", "--no-write").exits(0).shows("no findings; draft")
    project.signoff("check", "--no-write").exits(0).shows("1 plan, 0 errors")
    assert project.read(".harness/PLAN-auth.md") == before
    assert not project.home.exists()
    project.named("pay", step("Pay", "if test"))
    project.signoff("verify", "pay", "--no-write").exits(4)
    project.signoff("check", "--no-write").exits(1).shows("PLAN-pay.md")


def test_verify_without_writing_needs_no_place_for_a_home(project: Project) -> None:
    project.agent("true").named("auth", step("Log in", "test -s login.txt"))
    (project.folder / "file").write_text("")
    project.variable(SIGNOFF_HOME=str(project.folder / "file" / "home"))
    project.signoff("verify", "auth").fails(3)
    project.signoff("verify", "auth", "--no-write").exits(0)
    project.signoff("check", "--no-write").exits(0)


@pytest.mark.parametrize("isolation", ["landlock", "namespaces", "bubblewrap"])
def test_a_contract_checks_plans_where_home_and_configuration_are_hidden_in_their_usual_places(
    desk: Desk, isolation: str
) -> None:
    person = desk.folder / "person"
    home, own = person / ".local/state/signoff", person / ".config/signoff/config.toml"
    desk.variable(SIGNOFF_HOME=str(home), SIGNOFF_CONFIG=str(own))
    own.parent.mkdir(parents=True)
    opened = json.dumps([str(desk.tools), SOURCE, sys.prefix, sys.base_prefix])
    own.write_text(f'[sandbox]\nisolation = "{isolation}"\nreadable = {opened}\n')
    desk.tool("signoff", SIGNOFF).git().agent("echo x = 1 > done.py")
    desk.file("plans/next.md", plan_text([step("Say hello", "test -s hello.txt")]))
    checks = f"{LINT} && signoff check --no-write && grep -q x done.py"
    desk.file(".harness/PLAN.md", plan_text([step("Work", checks)]))
    desk.signoff("run", "--yes").exits(0)
