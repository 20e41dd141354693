"""Errors point the right way: what was meant is named, with the command or file that does it."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project
from tests.cli.test_staging import stage

HELLO = step("Say hello", "test -s hello.txt")


@pytest.mark.parametrize("line", ['[sandbox]\nisolation = "none"\n', "auto_approve = true\n"])
def test_what_could_loosen_a_check_is_sent_to_the_users_own_file(desk: Desk, line: str) -> None:
    desk.plan(HELLO).file("signoff.toml", line)
    desk.about_plan("status").fails(
        4, "belongs in the user's file", hint="move it to DESK/config.toml"
    )


def test_a_bundle_given_to_another_verb_leads_to_the_one_that_reads_it(desk: Desk) -> None:
    desk.agent("echo hello > hello.txt").plan(HELLO)
    desk.run("--yes").exits(0)
    desk.signoff("receipt", "bundle", "PLAN.md", "--output", "fix.zip").exits(0)
    hint = "signoff audit --bundle fix.zip --key PUBLIC_KEY"
    desk.signoff("audit", "fix.zip").fails(2, "is a bundle, not a plan", hint=hint)
    desk.signoff("receipt", "verify", "fix.zip").fails(2, "is a bundle, not a receipt", hint=hint)


def test_status_lists_the_named_plans_where_nothing_is_bound(project: Project) -> None:
    project.named("auth", HELLO).named("pay", HELLO)
    shown = project.signoff("status").exits(1)
    shown.shows("PLAN-auth.md\tdraft", "PLAN-pay.md\tdraft", "next: signoff status NAME")
    names = [plan["name"] for plan in project.signoff("status", "--json").exits(1).json["plans"]]
    assert names == ["auth", "pay"]
    project.signoff("show").fails(4, "no plan at", hint="signoff list-plans")


@pytest.mark.parametrize("verb", ["status", "show", "verify", "log", "inbox"])
def test_a_staged_plan_can_be_looked_at_by_its_name(project: Project, verb: str) -> None:
    stage(project, "later")
    project.agent("true")
    project.signoff(verb, "later").hides("error:", "Traceback")


@pytest.mark.parametrize("verb", ["run", "approve", "bind", "resolve-active-plan --plan"])
def test_a_staged_plan_is_activated_before_anybody_works_on_it(project: Project, verb: str) -> None:
    stage(project, "later")
    shown = project.signoff(*verb.split(), "later")
    assert shown.code in (2, 4)
    shown.shows("is staged", "next: signoff activate later")


@pytest.mark.parametrize("command", ["plan", "design"])
def test_the_commands_of_clients_lead_to_new_and_staged_plans(
    project: Project, command: str
) -> None:
    """Every command line that the text gives before a person decides, typed as it stands."""
    project.agent("true").signoff("install", "claude").exits(0)
    text = project.read(f".claude/commands/{command}.md")
    lines = [line.replace("SLUG", "fresh") for line in re.findall(r"signoff [^`\n;,]+SLUG", text)]
    making = next(line for line in lines if " new " in line)
    finding = lines[0]
    assert finding == "signoff show fresh", "the way to find a plan comes first"
    project.signoff(*shlex.split(finding)[1:]).fails(4, "is not in")
    project.signoff(*shlex.split(making)[1:]).exits(0)
    path = project.signoff(*shlex.split(finding)[1:], "--json").exits(0).json["path"]
    assert ("queued-plans" in path) == (command == "design")
    assert "signoff verify fresh" in lines
    project.signoff("verify", "fresh").shows("PLAN-fresh.md: ")


def test_a_role_whose_name_is_nearly_that_of_a_step_was_misspelt(desk: Desk) -> None:
    desk.agent("echo hello > hello.txt").plan(HELLO)
    for verb in ("run", "approve", "verify"):
        misspelt = desk.about_plan(verb, "--role", "codr=true")
        misspelt.fails(2, "`--role codr`: no step of `PLAN` goes to it", hint="mean `coder`?")
    desk.run("--yes", "--role", "painter=true").exits(0)
