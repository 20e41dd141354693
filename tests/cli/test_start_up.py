"""Start-up stays short: what most commands do not need is not imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from signoff.cli.app import VERBS
from tests.cli.kit import Desk
from tests.cli.plans import step

HEAVY = {"dbos", "sqlalchemy", "pydantic_ai", "mcp", "psycopg", "rich"}
LOADED = """
import atexit, sys
atexit.register(lambda: print("modules:", *{name.partition(".")[0] for name in sys.modules}))
sys.argv[0] = "signoff"
from signoff.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("verify", "PLAN.md"),
        ("status", "PLAN.md"),
        ("log", "PLAN.md"),
        ("inbox",),
        ("--help",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_short_command_imports_nothing_heavy(desk: Desk, arguments: tuple[str, ...]) -> None:
    desk.agent("true").plan(step("Lay the ground", "test -s ground"))
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        cwd=desk.workspace,
        env=desk.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done
    modules = set(done.stdout.splitlines()[-1].partition("modules:")[2].split())
    assert "signoff" in modules and not modules & HEAVY, modules & HEAVY
    if arguments == ("--version",):
        assert not modules & {"click", "yaml", "sqlite3", "subprocess"}


def test_the_list_of_verbs_loads_none_of_them_and_cuts_no_line(desk: Desk) -> None:
    script = LOADED.replace('.partition(".")[0]', "")
    done = subprocess.run(
        [sys.executable, "-c", script, "--help"],
        cwd=desk.workspace,
        env=desk.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    shown, _, loaded = done.stdout.partition("modules:")
    assert "..." not in shown.partition("Commands:")[2]
    assert all(f"\n  {verb} " in shown for verb in VERBS)
    assert not set(loaded.split()) & {f"signoff.cli.{module}" for module in VERBS.values()}


def test_a_run_of_one_plan_does_not_load_what_only_many_need(desk: Desk) -> None:
    script = LOADED.replace('.partition(".")[0]', "")
    done = subprocess.run(
        [sys.executable, "-c", script, "run", "--help"],
        cwd=desk.workspace,
        env=desk.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.partition("modules:")[2].split())
    assert "signoff.cli.run" in loaded
    assert not loaded & {"signoff.cli.fleet", "signoff.usecases.fleet", "signoff.usecases.merge"}


def test_help_lists_every_verb_and_version_names_the_product(desk: Desk) -> None:
    desk.signoff("--version").exits(0).shows("signoff ")
    shown = desk.signoff("--help").exits(0)
    for verb in (
        "init", "new", "verify", "approve", "reject", "run", "status", "show", "log",
        "audit", "inbox", "answer", "cancel", "diff",
    ):  # fmt: skip
        assert f"\n  {verb} " in shown.stdout
        desk.signoff(verb, "--help").exits(0).shows("--json")
