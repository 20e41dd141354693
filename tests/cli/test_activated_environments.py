"""An environment of the project that the person has activated is the one that contracts use."""

from __future__ import annotations

import pytest

from tests.cli.environments import (
    MACHINE,
    PYTEST,
    WORK,
    activate,
    agents_started,
    make_environment,
    red_project,
)
from tests.cli.kit import Desk
from tests.cli.plans import step

CONTRACT = "python3 -m pytest -q test_price.py"
FIX = step("Add the prices", CONTRACT)
EVERY = pytest.mark.parametrize("isolation", ["none", "landlock", "bubblewrap"])


@EVERY
def test_an_activated_environment_runs_the_contract(desk: Desk, isolation: str) -> None:
    red_project(desk, isolation).plan(FIX)
    activate(desk, make_environment(desk.workspace / ".venv", *PYTEST))
    desk.about_plan("approve", "--yes").exits(0).shows(".venv/bin")
    desk.run().exits(0)
    assert agents_started(desk) == 1


def trojan(name: str, text: str = "exit 0") -> str:
    """An agent's lines that put a program into the activated environment."""
    path = f".venv/bin/{name}"
    return f"rm -f {path}; printf '#!/bin/sh\\n{text}\\n' > {path}; chmod +x {path}"


@pytest.mark.parametrize(
    ("contract", "cheat"),
    [
        (CONTRACT, trojan("python3")),
        (CONTRACT, "echo 'import os; os._exit(0)' >> .venv/lib/python*/site-packages/pytest/*.py"),
        ("grep -q 'return sum' price.py", trojan("grep")),
        ("bash check.sh", trojan("git")),
        ("bash check.sh", "rm -rf .venv; mkdir -p .venv/bin; " + trojan("git")),
    ],
    ids=["interpreter", "runner", "shadow of a tool", "unseen shadow", "environment replaced"],
)  # fmt: skip
def test_an_agent_does_not_profit_from_the_activated_environment(
    desk: Desk, contract: str, cheat: str
) -> None:
    red_project(desk, "none").agent(cheat).plan(step("Add the prices", contract))
    desk.file("check.sh", "/bin/sh -c 'git diff --no-index --quiet price.py wanted.py'\n")
    desk.file("wanted.py", "def total(numbers):\n    return sum(numbers)\n")
    activate(desk, make_environment(desk.workspace / ".venv", *PYTEST))
    ended = desk.run("--yes")
    assert ended.code in (1, 3, 6), ended.stderr
    assert not desk.entries("step.done")


def test_an_agent_may_install_more_into_the_activated_environment(desk: Desk) -> None:
    more = "mkdir .venv/lib/python3.x; printf '#!/bin/sh\\n' > .venv/bin/tool-of-its-own"
    red_project(desk, "none").plan(FIX)
    desk.agent(f"{WORK}\n{more}; chmod +x .venv/bin/tool-of-its-own")
    activate(desk, make_environment(desk.workspace / ".venv", *PYTEST))
    desk.run("--yes").exits(0)


def test_a_linked_environment_is_used_where_it_really_lies(desk: Desk) -> None:
    """Nobody who works in the workspace can turn the link elsewhere."""
    red_project(desk, "none").plan(FIX)
    make_environment(desk.folder / "elsewhere", *PYTEST)
    (desk.workspace / ".venv").symlink_to(desk.folder / "elsewhere")
    desk.agent(f"{WORK}\nrm .venv; mkdir -p .venv/bin; {trojan('python3')}")
    activate(desk, desk.workspace / ".venv" / "bin")
    desk.run("--yes").exits(0)
    (verdict,) = [e for e in desk.entries("verdict") if e["data"]["phase"] == "attempt"]
    assert "1 passed" in verdict["data"]["output_tail"]


def test_a_reviewer_runs_nothing_of_the_activated_environment(desk: Desk) -> None:
    red_project(desk, "none")
    desk.agent(f"{WORK}\n{trojan('judge-tool', 'echo fine > verdict.txt')}")
    desk.tool("judge-tool", "echo really > verdict.txt")
    desk.agent("judge-tool", role="reviewer")
    review = step("Look at it", "grep -q really verdict.txt", target="reviewer")
    desk.plan(FIX, review)
    bin_folder = make_environment(desk.workspace / ".venv", *PYTEST)
    desk.variable(PATH=f"{bin_folder}:{desk.tools}:{MACHINE}")
    desk.run("--yes").exits(0)


def test_verify_names_the_environment_that_is_not_activated(desk: Desk) -> None:
    red_project(desk, "none").plan(FIX)
    make_environment(desk.workspace / ".venv", *PYTEST)
    ended = desk.about_plan("verify").exits(0)
    ended.shows("`pytest` is not installed here", "activate `.venv`", "`.venv/bin/pytest`")
    activate(desk, desk.workspace / ".venv" / "bin")
    desk.about_plan("verify").exits(0).hides("tool-missing")


@pytest.mark.parametrize("cheat", ["", trojan("python3")], ids=["honest", "cheat"])
def test_items_of_a_list_go_by_the_environment_as_it_was_approved(desk: Desk, cheat: str) -> None:
    items = step("Test {item}", "python3 -m pytest -q {item}", for_each="echo test_price.py")
    red_project(desk, "none").plan(items).agent(cheat or WORK)
    activate(desk, make_environment(desk.workspace / ".venv", *PYTEST))
    desk.run("--yes").exits(6 if cheat else 0)
    assert bool(desk.entries("step.done")) is not bool(cheat)


# What `npm install` leaves of a runner, and what an activated shell has on its search path.
RUNNER = """#!/bin/sh
grep -q 'return sum' price.py && echo '  1 passing (5ms)' && exit 0
echo '  0 passing (5ms)'; echo '  1 failing'; exit 1
"""


@pytest.mark.parametrize(
    ("script", "is_done"),
    [
        (WORK, True),
        ("printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/mocha", False),
        ("printf '#!/bin/sh\\nexit 0\\n' > node_modules/mocha/run.sh", False),
    ],
    ids=["honest", "trojan in its place", "trojan behind its link"],
)
@EVERY
def test_programs_of_node_modules_on_the_search_path_run_the_contract_as_approved(
    desk: Desk, script: str, is_done: bool, isolation: str
) -> None:
    red_project(desk, isolation).agent(script).plan(step("Add the prices", "mocha"))
    desk.file("node_modules/mocha/run.sh", RUNNER)
    (desk.workspace / "node_modules" / "mocha" / "run.sh").chmod(0o755)
    folder = desk.workspace / "node_modules" / ".bin"
    folder.mkdir()
    (folder / "mocha").symlink_to("../mocha/run.sh")
    desk.variable(PATH=f"{folder}:{MACHINE}")
    desk.about_plan("approve", "--yes").exits(0).shows("node_modules/.bin")
    ended = desk.run()
    assert (ended.code == 0) is is_done, ended.stderr
    assert bool(desk.entries("step.done")) is is_done
