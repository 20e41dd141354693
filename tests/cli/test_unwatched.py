"""Where nobody can tell what a check read, every changed file counts as read, and that is said."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.ended import LIMIT_S, Ended
from tests.cli.kit import Desk
from tests.cli.plans import step

# A kernel that gives nobody a watch, for as long as the command runs.
BLIND = ("unshare", "-Ur", "sh", "-c", 'echo 0 > /proc/sys/user/max_inotify_instances; exec "$@"')
CAN = subprocess.run((*BLIND, "-", "true"), capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not CAN, reason="no user namespaces here")
def test_it_is_said_where_what_the_check_read_cannot_be_told(desk: Desk) -> None:
    desk.file("check/obey.py", "import sys\nsys.exit('done' not in open('work.txt').read())\n")
    desk.file("rules.yml", "strict\n").file("work.txt", "\n")
    desk.agent("echo done > work.txt; echo strict! > rules.yml")
    desk.plan(step("Do it", "python3 check/obey.py", produces="work.txt", protects="check/**"))
    command = [*BLIND, "-", *desk.command(["run", "PLAN.md", "--yes"])]
    done = subprocess.run(
        command,
        cwd=desk.workspace,
        env=desk.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    ran = Ended(("run",), done.returncode, done.stdout, done.stderr, desk.folder)
    ran.exits(0).shows("every changed file counted as read: opens cannot be watched here")
    (verdict,) = [e["data"] for e in desk.entries("verdict") if e["data"]["phase"] == "attempt"]
    assert verdict["influences"] == ["rules.yml"] and verdict["unwatched"]
    desk.about_plan("status").exits(0).shows("every changed file counted as read")
    assert desk.status()["steps"][0]["unwatched"].startswith("opens cannot be watched here")
