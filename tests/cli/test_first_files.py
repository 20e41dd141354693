"""`init` and `new`: first files, and nothing that exists is overwritten."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.kit import Desk

TOP = Path(__file__).resolve().parents[2]


def test_init_makes_a_vault_a_configuration_and_a_plan_that_runs(desk: Desk) -> None:
    desk.git().signoff("init").exits(0).prints(
        """
        created DESK/work/signoff.toml
        created DESK/work/.harness/PLAN.md
        """
    ).notes("next: name your agent in signoff.toml, edit the plan, then signoff verify")
    assert re.findall(r'^# agent = "claude"', desk.read("signoff.toml"), re.M)
    role = "coder=sh -c 'echo hello > hello.txt'"
    desk.signoff("verify", "--role", role).exits(0).prints("PLAN.md: 1 step, no findings; verified")
    desk.signoff("run", "--yes", "--role", role).exits(0).shows("My first plan  [done]")


def test_init_keeps_what_exists(desk: Desk) -> None:
    desk.file("signoff.toml", "# mine\n").file(".harness/PLAN.md", "my plan\n")
    report = desk.signoff("init", "--json").exits(0).json
    work = desk.workspace.resolve()
    assert report == {
        "schema_version": 1,
        "created": [],
        "kept": [str(work / "signoff.toml"), str(work / ".harness/PLAN.md")],
    }
    assert desk.read("signoff.toml") == "# mine\n" and desk.read(".harness/PLAN.md") == "my plan\n"


def test_init_beside_a_named_plan_names_that_one(desk: Desk) -> None:
    desk.file(".harness/PLAN-fix-login.md", "my plan\n").signoff("init").exits(0).prints(
        """
        created DESK/work/signoff.toml
        kept DESK/work/.harness/PLAN-fix-login.md as it was
        """
    )
    assert not (desk.workspace / ".harness" / "PLAN.md").exists()


def test_new_makes_a_named_plan_once(desk: Desk) -> None:
    made = desk.signoff("new", "fix-login").exits(0)
    made.prints("created DESK/work/.harness/PLAN-fix-login.md")
    text = desk.read(".harness/PLAN-fix-login.md")
    assert "# Fix login\n" in text
    desk.file(".harness/PLAN-fix-login.md", "mine now\n")
    desk.signoff("new", "fix-login").fails(
        5, "plan `fix-login` exists already", hint="signoff edit"
    )
    assert desk.read(".harness/PLAN-fix-login.md") == "mine now\n"
    assert [p.name for p in (desk.workspace / ".harness").iterdir()] == ["PLAN-fix-login.md"]
    desk.file(".harness/PLAN-fix-login.md", text)
    desk.signoff("show", "fix-login").exits(0).shows("# Fix login")
    desk.signoff("status", "fix-login").exits(1).shows("Fix login  [draft]")


def test_a_name_that_leaves_the_vault_is_wrong_usage(desk: Desk) -> None:
    for name in ("../evil", "a/b", "-x", "a\u202eb"):
        desk.signoff("new", "--", name).fails(2, "name")
    assert not (desk.workspace / ".harness").exists() or not any(
        (desk.workspace / ".harness").iterdir()
    )
