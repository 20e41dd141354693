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
    modules = _loaded(desk, *arguments, expected=1 if arguments[0] == "status" else 0)
    assert "signoff" in modules and not modules & HEAVY, modules & HEAVY
    if arguments == ("--version",):
        assert not modules & {"click", "yaml", "sqlite3", "subprocess"}


def test_what_was_verified_is_read_by_bash_once_and_loads_no_more_than_it_needs(desk: Desk) -> None:
    desk.agent("true").plan(step("Lay the ground", "test ! -e ground"))
    assert "subprocess" in _loaded(desk, "verify", "PLAN.md", expected=0)
    for verb, code in (("verify", 0), ("status", 1)):
        modules = _loaded(desk, verb, "PLAN.md", expected=code)
        assert "msgspec" in modules
        unused = {"click", "dataclasses", "inspect", "subprocess", "typing_extensions"}
        assert not modules & {*unused, "ast", "tempfile"}
    desk.edit_plan("test ! -e ground", "test ! -e ground &&")
    assert "subprocess" in _loaded(desk, "verify", "PLAN.md", expected=4)


def _loaded(desk: Desk, *arguments: str, expected: int) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        cwd=desk.workspace,
        env=desk.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == expected, done
    return set(done.stdout.splitlines()[-1].partition("modules:")[2].split())


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
    assert "..." not in shown.partition("Start here:")[2]
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
