"""`make demo-board`: the page shows three plans come to their ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.board.kit import Served
from tests.cli.ended import LIMIT_S, Running, wait_until
from tests.warm import SOURCE

DEMO = Path(__file__).parents[2] / "examples" / "demo" / "run_board.py"


def test_the_demo_shows_two_plans_proved_and_one_that_needs_you(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, str(DEMO), "0"],
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": SOURCE, "HOME": str(tmp_path)},
        )
    try:
        running = Running(process, out, out, (), tmp_path)
        running.until(lambda: "the board is at " in out.read_text())
        url = out.read_text().partition("the board is at ")[2].split()[0]
        served = Served(running, url).enter()
        wait_until(lambda: served.plans().count(">PROVED<") == 2)
        assert served.plans().count(">NEEDS YOU<") == 1
        assert 'value="retry"' in served.get("/").text
    finally:
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(LIMIT_S) == 0
