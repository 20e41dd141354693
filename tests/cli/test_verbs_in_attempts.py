"""What an agent is told that calls signoff from inside its attempt."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

import signoff
from signoff.process.sandboxes import probe_sandboxes
from tests.cli.kit import Desk
from tests.cli.plans import step

BOXED = [str(s.isolation) for s in probe_sandboxes() if s.available]
VERBS = ("status PLAN.md", "inbox", "verify PLAN.md")


@pytest.mark.parametrize("isolation", BOXED)
def test_a_confined_agent_is_told_that_the_home_is_hidden_and_not_to_mend_it(
    desk: Desk, isolation: str
) -> None:
    places = f'"{sys.prefix}", "{Path(signoff.__file__).parents[1]}"'  # wherever the checkout lies
    desk.person(f'[sandbox]\nisolation = "{isolation}"\nreadable = [{places}]\n')
    home = f"SIGNOFF_HOME={shlex.quote(str(desk.home))} SIGNOFF_ATTEMPT=$SIGNOFF_ATTEMPT"
    python = f"PYTHONPATH={shlex.quote(desk.environment()['PYTHONPATH'])} {sys.executable}"
    calls = "; ".join(f"{home} {python} -m signoff {verb} >> told 2>&1" for verb in VERBS)
    desk.agent(f"{calls}; echo firm > ground").plan(step("Lay the ground", "test -s ground"))
    desk.run("--yes").exits(0)
    told = desk.read("told")
    assert told.count("error: this command runs inside an attempt") == len(VERBS), told
    assert told.count("next: end your work") == len(VERBS) and "writable" not in told
