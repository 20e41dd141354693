"""`help`, `list`, `version`: a stranger finds the verb, and a name that went says what came."""

from __future__ import annotations

import re

import pytest

from signoff import __version__
from signoff.cli.app import FORMER, GROUPS, VERBS
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.cli.project import Project

NARROW = 80


def test_verbs_are_grouped_and_the_first_group_is_short(desk: Desk) -> None:
    shown = desk.signoff("help").exits(0).stdout
    assert shown == desk.signoff("--help").exits(0).stdout == desk.signoff().exits(0).stdout
    titles = re.findall(r"^(\w[\w ]*):$", shown.partition("Options:")[2], re.M)
    many = ["Many plans", "Many machines"]
    assert titles == ["Start here", "Decide", "Look", *many, "Clients", "Plumbing"]
    assert len(GROUPS["Start here"]) <= 12
    assert all(len(line) <= NARROW for line in shown.partition("Start here:")[2].splitlines())
    assert not [name for name in FORMER if f"  {name} " in shown]


@pytest.mark.parametrize("words", [("run",), ("worktree", "add"), ("list-plans",)])
def test_help_explains_a_verb_as_its_own_option_does(desk: Desk, words: tuple[str, ...]) -> None:
    own = desk.signoff(*words, "--help").exits(0).stdout
    assert desk.signoff("help", *words).exits(0).stdout == own


@pytest.mark.parametrize("words", [("frobnicate",), ("run", "more"), ("worktree", "frobnicate")])
def test_help_about_no_verb_says_so(desk: Desk, words: tuple[str, ...]) -> None:
    desk.signoff("help", *words).fails(2, f"no such verb `{' '.join(words)}`", hint="signoff help")


def test_the_version_has_two_doors(desk: Desk) -> None:
    assert desk.signoff("version").exits(0).stdout == f"signoff {__version__}\n"
    assert desk.signoff("--version").exits(0).stdout == f"signoff {__version__}\n"
    assert desk.signoff("version", "--json").exits(0).json["version"] == __version__


@pytest.mark.parametrize("name", FORMER)
def test_a_name_that_went_still_works_and_says_what_to_type(project: Project, name: str) -> None:
    project.agent("true").named("auth", step("Log in", "test -s auth"))
    now = FORMER[name]
    old, new = project.signoff(name).exits(0), project.signoff(*now).exits(0)
    assert old.normal(old.stdout) == new.normal(new.stdout)
    assert old.stderr == f"`signoff {name}` is now `signoff {' '.join(now)}`\n{new.stderr}"
    assert set(project.signoff(name, "--json").json) == set(project.signoff(*now, "--json").json)
    assert name not in VERBS


def test_a_list_of_plans_says_how_each_stands(project: Project) -> None:
    project.agent("true").named("auth", step("Log in", "test -s auth"))
    project.signoff("list").exits(0).shows("auth  ready    0/1")
