"""What keeps a check from working here is no broken work, and no agent is paid for it."""

from __future__ import annotations

import tempfile

import pytest

from signoff.process.sandboxes import best_isolation
from tests.cli.environments import (
    MACHINE,
    PYTEST,
    agents_started,
    make_environment,
    red_project,
)
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.warm import SOURCE


def question(desk: Desk) -> str:
    """The one question that the run asked."""
    (asked,) = desk.entries("escalation.opened")
    assert asked["data"]["cause"] == "obstacle", asked
    return str(asked["data"]["question"])


@pytest.mark.parametrize("isolation", ["none", "landlock", "bubblewrap"])
@pytest.mark.parametrize(
    "contract", ["python3 -m pytest -q", "pytest -q", "make test"], ids=lambda c: c.split()[0]
)
def test_a_missing_runner_is_found_before_anybody_is_paid(
    desk: Desk, contract: str, isolation: str
) -> None:
    red_project(desk, isolation).plan(step("Add the prices", contract))
    desk.file("Makefile", "test:\n\tpytest -q\n")
    desk.run("--yes").exits(6)
    assert agents_started(desk) == 0
    assert "`pytest` is not there" in question(desk)


def test_the_message_names_the_environment_that_is_not_activated(desk: Desk) -> None:
    red_project(desk, "none").plan(step("Add the prices", "python3 -m pytest -q"))
    make_environment(desk.workspace / ".venv", *PYTEST)
    desk.run("--yes").exits(6)
    assert agents_started(desk) == 0
    said = question(desk)
    assert ".venv/bin/python -m pytest" in said
    assert "activate it" in said


def test_a_postconditions_missing_runner_is_found_before_anybody_is_paid(desk: Desk) -> None:
    post = [("The suite passes", "python3 -m pytest -q")]
    red_project(desk, "none").plan(step("Work", "grep -q sum price.py"), post=post)
    desk.run("--yes").exits(6)
    assert agents_started(desk) == 0
    assert "postcondition 1" in question(desk)


def test_what_is_mended_is_tried_again_and_goes_on(desk: Desk) -> None:
    red_project(desk, "none").plan(step("Add the prices", "python3 -m pytest -q"))
    desk.variable(PYTHONPATH=f"{SOURCE}:{desk.folder / 'packages'}")
    desk.edit_plan("**task:**", "**env:** PYTHONPATH\n**task:**")
    desk.run("--yes").exits(6)
    make_environment(desk.folder / "made", *PYTEST)
    (packages,) = (desk.folder / "made").glob("lib/python*/site-packages")
    packages.rename(desk.folder / "packages")
    desk.answer("retry")
    desk.run().exits(0)
    assert agents_started(desk) == 1


def test_a_program_that_the_work_makes_is_no_obstacle(desk: Desk) -> None:
    desk.agent("mkdir -p bin; printf '#!/bin/sh\\necho hi\\n' > bin/greet; chmod +x bin/greet")
    desk.plan(
        step("By path", "bin/greet | grep -q hi", may_change="bin/greet"),
        step("By search path", "PATH=$PWD/bin:$PATH greet | grep -q hi"),
        step("By module", "python3 -m greeting | grep -q hi", target="writer"),
    )
    desk.agent("echo 'print(\"hi\")' > greeting.py", role="writer")
    desk.run("--yes").exits(0)


POETRY = r"""
# As poetry does: environments lie in the user's cache, and what they lack is not found.
shift
cache="${XDG_CACHE_HOME:-$HOME/.cache}/pypoetry/virtualenvs"
program=$(ls "$cache"/*/bin/"$1" 2>/dev/null | head -1)
[ -n "$program" ] || { echo "Command not found: $1"; exit 1; }
shift
exec "$program" "$@"
"""


@pytest.mark.parametrize("isolation", ["landlock", "namespaces", "bubblewrap"])
def test_an_environment_in_the_users_cache_is_an_obstacle_until_the_line_is_written(
    desk: Desk, isolation: str
) -> None:
    red_project(desk, isolation).plan(step("Add the prices", "poetry run pytest -q"))
    desk.tool("poetry", POETRY).variable(PATH=f"{desk.tools}:{MACHINE}")
    cache = desk.folder / "person" / ".cache" / "pypoetry" / "virtualenvs"
    make_environment(cache / "price-x-py3", *PYTEST)
    desk.run("--yes").exits(6)
    assert agents_started(desk) == 0
    line = 'readable = ["~/.cache/pypoetry"]'
    assert line in question(desk)
    desk.person(f'[sandbox]\nisolation = "{isolation}"\n{line}\n')
    desk.answer("retry")
    desk.run().exits(0)
    assert agents_started(desk) == 1


WRITES_TO_DEPENDENCIES = """\
mkdir -p node_modules/.vite-temp && touch node_modules/.vite-temp/config.mjs && grep -q sum price.py
"""


@pytest.mark.parametrize("isolation", ["namespaces", "bubblewrap"])
@pytest.mark.parametrize("place", ["step", "postcondition"])
def test_a_check_that_works_in_the_workspace_only_is_judged_there(
    desk: Desk, place: str, isolation: str
) -> None:
    red_project(desk, isolation).file("node_modules/vite/index.js", "")
    desk.file("price.py", "sum\n" if place == "postcondition" else "")
    work = step("Work", WRITES_TO_DEPENDENCIES if place == "step" else "test -s done.txt")
    post = [("It builds", WRITES_TO_DEPENDENCIES)] if place == "postcondition" else []
    desk.agent("echo sum > price.py; echo > done.txt").plan(work, post=post)
    ran = desk.run("--yes").exits(0)
    first = next(e["data"] for e in desk.entries("verdict") if e["data"]["outgrew_room"])
    assert "`node_modules/.vite-temp/config.mjs`" in first["room"]
    judged = [
        e["data"] for e in desk.entries("verdict") if e["data"]["subject"] == first["subject"]
    ]
    assert {data["judged_in"] for data in judged} == {"workspace"}
    subject = "step 1" if place == "step" else "postcondition 1"
    missed = "where it cannot write `node_modules/.vite-temp/config.mjs`"
    told = [line for line in ran.stderr.splitlines() if missed in line]
    assert told and all(line.startswith(f"{subject} · ") for line in told)
    desk.about_plan("log").shows(missed)
    desk.about_plan("status").shows(f"{subject}: judged in the workspace: in a clean room", missed)
    assert missed in desk.status()["outgrew_room"][first["subject"]]
    desk.about_plan("audit").exits(0)


@pytest.mark.parametrize("isolation", ["namespaces", "bubblewrap"])
def test_a_clean_room_that_is_demanded_is_not_given_up(desk: Desk, isolation: str) -> None:
    demanded = step("Work", WRITES_TO_DEPENDENCIES, judge_in="clean")
    red_project(desk, isolation).file("node_modules/vite/index.js", "")
    desk.file("price.py", "").plan(demanded).run("--yes").exits(6)
    assert agents_started(desk) == 0
    assert "`**judge_in:** workspace`" in question(desk)


LOCK = "python3 -c 'import multiprocessing; multiprocessing.Lock()' && grep -q sum price.py"
SCRATCH = "rm $(mktemp /var/tmp/signoff-test.XXXXXX) && grep -q sum price.py"
PTY = "python3 -c 'import pty; pty.openpty()' && grep -q sum price.py"


@pytest.mark.parametrize(
    ("contract", "line"),
    [
        (LOCK, 'writable = ["/dev/shm"]'),
        (PTY, 'writable = ["/dev/ptmx", "/dev/pts"]'),
        (SCRATCH, 'writable = ["/var/tmp"]'),
    ],
    ids=["shared memory", "pseudo-terminal", "scratch"],
)
def test_what_landlock_denies_is_named_with_the_line_that_really_helps(
    desk: Desk, contract: str, line: str
) -> None:
    red_project(desk, "landlock").file("price.py", "").agent("echo sum > price.py")
    desk.plan(step("Work", contract)).run("--yes").exits(6)
    assert agents_started(desk) == 0
    assert line in question(desk)
    desk.person(f'[sandbox]\nisolation = "landlock"\n{line}\n')
    desk.answer("retry")
    desk.run().exits(0)


@pytest.mark.parametrize("contract", [LOCK, PTY], ids=["shared memory", "pseudo-terminal"])
def test_namespaces_of_its_own_have_what_landlock_denies(desk: Desk, contract: str) -> None:
    red_project(desk, "namespaces").file("price.py", "").agent("echo sum > price.py")
    desk.plan(step("Work", contract)).run("--yes").exits(0)


SERVES = "python3 -c 'import socket; socket.socket()' && grep -q sum price.py"


def test_a_refused_socket_is_seen_and_named_with_what_helps(desk: Desk) -> None:
    red_project(desk, "landlock").file("price.py", "").agent("echo sum > price.py")
    desk.plan(step("Work", SERVES)).run("--yes").exits(6)
    assert agents_started(desk) == 0
    said = question(desk)
    assert "AF_INET" in said and "at fault" not in said
    assert "`**network:** yes`" in said
    desk.answer("revise")
    desk.plan(step("Work", SERVES, network="yes")).run("--yes").exits(0)


def test_a_refused_socket_that_the_check_does_not_mind_is_no_obstacle(desk: Desk) -> None:
    quiet = "python3 -c 'import socket; socket.socket()' 2>/dev/null; grep -q sum price.py"
    red_project(desk, "landlock").file("price.py", "").agent("echo sum > price.py")
    desk.plan(step("Work", quiet)).run("--yes").exits(0)
    assert agents_started(desk) == 1


def test_who_provokes_an_obstacle_gets_no_further_agent_out_of_it(desk: Desk) -> None:
    """What the baseline did not show goes to a person after two, and the attempt is paid for."""
    usage = 'echo \'{"tokens": 700}\' > "$SIGNOFF_USAGE_FILE"'
    red_project(desk, "landlock").file("app.py", "raise SystemExit('not done')\n")
    desk.agent(f"{usage}; echo 'import socket; socket.socket()' > app.py")
    contract = "python3 app.py && grep -q sum price.py"
    work = step("Work", contract, on_fail="retry(5), then abort", may_change="app.py")
    desk.plan(work).run("--yes").exits(6)
    assert agents_started(desk) == 1
    reasons = [e["data"]["reason"] for e in desk.entries("verdict")]
    assert reasons == ["expectation", "obstacle", "obstacle"]
    assert "AF_INET" in question(desk)
    assert desk.status()["spent"]["tokens"] == 700


USES_A_LOCK = "import multiprocessing; multiprocessing.Lock(); print(5)"
OPENS_A_TERMINAL = "import pty; pty.openpty(); print(5)"
USES_SCRATCH = (
    "import tempfile; tempfile.TemporaryFile(dir='/var/tmp', prefix='of-work-'); print(5)"
)


def works_with(desk: Desk, app: str) -> Desk:
    """An agent whose product does this; before it came, the check was plainly red."""
    red_project(desk, "landlock").file("app.py", "raise SystemExit('not done')\n")
    desk.agent(f"cat > app.py <<'PY'\n{app}\nPY")
    contract = "python3 app.py | grep -qx 5"
    return desk.plan(step("Work", contract, on_fail="retry(2), then abort", may_change="app.py"))


@pytest.mark.parametrize(
    ("app", "line"),
    [
        (USES_A_LOCK, 'writable = ["/dev/shm"]'),
        (OPENS_A_TERMINAL, 'writable = ["/dev/ptmx", "/dev/pts"]'),
        (USES_SCRATCH, 'writable = ["/var/tmp"]'),
    ],
    ids=["shared memory", "pseudo-terminal", "scratch"],
)
def test_what_landlock_denies_only_to_the_work_goes_to_a_person_after_two(
    desk: Desk, app: str, line: str
) -> None:
    works_with(desk, app).run("--yes").exits(6)
    assert agents_started(desk) == 1
    reasons = [e["data"]["reason"] for e in desk.entries("verdict")]
    assert reasons == ["expectation", "obstacle", "obstacle"]
    assert line in question(desk) and question(desk).endswith("if the work is at fault, revise")
    desk.person(f'[sandbox]\nisolation = "landlock"\n{line}\n')
    desk.answer("retry")
    desk.run().exits(0)
    assert agents_started(desk) == 1


@pytest.mark.parametrize(
    "app",
    [
        "import subprocess; subprocess.run(['./price.py'])",
        "raise SystemExit('Permission denied')",
        "print('/tmp/a'); print('SemLock'); raise SystemExit(1)",
    ],
    ids=["its own file", "a word", "a place"],
)
def test_a_denial_in_the_workspace_is_broken_work(desk: Desk, app: str) -> None:
    works_with(desk, app).run("--yes").exits(1)
    reasons = [e["data"]["reason"] for e in desk.entries("verdict")]
    assert set(reasons) == {"expectation"}
    assert agents_started(desk) > 1


@pytest.mark.parametrize("ends", ["", "exit 1"], ids=["as if all were well", "as failed"])
def test_an_agent_that_landlock_kept_from_working_gets_no_retry_but_the_line(
    desk: Desk, ends: str
) -> None:
    """Its own terminal is denied: the next agent would meet that too."""
    red_project(desk, "landlock").file("price.py", "")
    desk.agent(f"python3 -c 'import pty; pty.openpty()' && echo sum > price.py; {ends}")
    work = step("Work", "grep -q sum price.py", on_fail="retry(5), then abort")
    ended = desk.plan(work).run("--yes").exits(6)
    line = 'writable = ["/dev/ptmx", "/dev/pts"]'
    assert line in ended.stdout and agents_started(desk) == 1
    said = question(desk)
    assert said.startswith("the agent of step 1 (Work) changed nothing, and was denied something: ")
    assert line in said
    desk.person(f'[sandbox]\nisolation = "landlock"\n{line}\n')
    desk.answer("retry")
    desk.agent("python3 -c 'import pty; pty.openpty()' && echo sum > price.py")
    desk.run().exits(0)
    assert agents_started(desk) == 2


def test_an_agent_whose_notes_landlock_denied_is_told_which_folder_and_no_more(desk: Desk) -> None:
    """The folder, not all of `/var/tmp`; who opens it has the agent work."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as notes:
        script = f"mkdir {notes}/today && echo sum > price.py"
        role = f"[roles.coder]\ncommand = \"sh -c '{script}'\"\n"
        red_project(desk, "landlock").file("price.py", "").file("signoff.toml", role)
        work = step("Work", "grep -q sum price.py", on_fail="retry(5), then abort")
        desk.plan(work).run("--yes").exits(6)
        line = f'writable = ["{notes}"]'
        assert f"{line}` under `[sandbox]` in your own configuration; then" in question(desk)
        assert agents_started(desk) == 1
        desk.person(f'[sandbox]\nisolation = "landlock"\n{line}\n').answer("retry")
        desk.run().exits(0)


def test_an_agent_that_was_denied_something_and_worked_all_the_same_is_retried(desk: Desk) -> None:
    """Who changed something is judged by it: words of a denial buy no question and no attempt."""
    red_project(desk, "landlock").file("price.py", "")
    desk.agent("echo 'out of pty devices'; echo $attempt >> price.py")
    work = step("Work", "grep -q sum price.py", on_fail="retry(1), then abort")
    desk.plan(work).run("--yes").exits(1)
    assert agents_started(desk) == 2 and not desk.entries("escalation.opened")


def test_an_agent_without_a_network_is_told_which_line_gives_it_sockets(desk: Desk) -> None:
    red_project(desk, "landlock").file("price.py", "")
    tries = "python3 -c 'import socket; socket.socket()' && echo sum > price.py"
    desk.agent(tries, network=False)
    desk.plan(step("Work", "grep -q sum price.py")).run("--yes").exits(6)
    assert "AF_INET" in question(desk) and "`network = true`" in question(desk)
    assert agents_started(desk) == 1


def test_an_obstacle_under_landlock_names_the_sandbox_that_works_here(desk: Desk) -> None:
    works = best_isolation(None).has_own_view
    red_project(desk, "landlock").file("price.py", "")
    desk.plan(step("Work", LOCK)).run("--yes").exits(6)
    assert ('isolation = "auto"' in question(desk)) == works
    assert ("install bubblewrap" in question(desk)) != works
