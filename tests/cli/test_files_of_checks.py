"""What a check writes by itself under a protected folder is nobody's tampering."""

from __future__ import annotations

import pytest

from tests.cli.environments import agents_started
from tests.cli.kit import Desk
from tests.cli.plans import step

# Like a runner that logs into the folder of the tests: the log's name is always the same.
RUNNER = "mkdir -p tests/logs && echo ran >> tests/run.log && date +%N > tests/logs/$$.log"
CHECK = f"{RUNNER} && grep -q sum price.py"
EVERY = pytest.mark.parametrize("isolation", ["none", "landlock", "bubblewrap"])


def logged(desk: Desk, isolation: str, contract: str = CHECK) -> Desk:
    """A project whose check logs into a protected folder."""
    desk.git().person(f'[sandbox]\nisolation = "{isolation}"\n').file(".gitignore", "*.log\n")
    desk.file("tests/test_price.txt", "x\n").file("price.py", "")
    return desk.plan(step("Work", contract, protects=["tests/**"]))


@EVERY
def test_logs_of_the_check_itself_are_no_tampering(desk: Desk, isolation: str) -> None:
    """An honest agent runs the check too, before it says that it is done."""
    logged(desk, isolation).agent(f"echo sum > price.py; {RUNNER}")
    desk.run("--yes").exits(0)
    assert agents_started(desk) == 1
    desk.about_plan("audit").exits(0)


@EVERY
@pytest.mark.parametrize(
    "cheat",
    ["echo x > tests/more.txt", "echo x > tests/more.log", "echo y > tests/test_price.txt"],
)
def test_other_files_in_the_protected_folder_still_are(
    desk: Desk, isolation: str, cheat: str
) -> None:
    logged(desk, isolation).agent(f"echo sum > price.py; {cheat}")
    desk.run("--yes").exits(6)
    assert "tampered" in {entry["data"]["reason"] for entry in desk.entries("verdict")}


LOGGING_CHECK = """\
log = open("tests/run.log", "a+")
log.write("ran\\n" + ("PASS\\n" if "sum" in open("price.py").read() else ""))
log.seek(0)
raise SystemExit("PASS" not in log.read())
"""


@EVERY
def test_what_an_agent_writes_into_such_a_log_decides_nothing(desk: Desk, isolation: str) -> None:
    logged(desk, isolation, "python3 check.py").file("check.py", LOGGING_CHECK)
    desk.agent("echo PASS > tests/run.log").run("--yes").exits(6)
    assert not desk.entries("step.done")
