"""Ctrl-C ends a sitting wherever it lands: in a finalizer, in the model's answer, at the limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.agents.loop.limits import Ended
from signoff.testing.script import say
from tests.agents.loopkit import Stage

WAIT_S = 120
REPOSITORY = Path(__file__).resolve().parents[2]
# Interrupts itself, in a process of its own, at the place that is asked for.
SITTING = """
import os, signal, sys, weakref
from msgspec.structs import replace
from pathlib import Path
from signoff.agents.tools.definition import tool
from signoff.testing.conversation import ScriptedCall
from signoff.testing.script import Script, use
from tests.agents.loopkit import QUICK, Stage

class Thing:
    pass

def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):  # the handler runs in here
        pass

@tool(effects={"read"})
def clear() -> str:
    "Clears a weak reference: Python drops every exception that is raised meanwhile."
    thing = Thing()
    reference = weakref.ref(thing, interrupt)
    del thing
    return "cleared"

@tool(effects={"read"})
def swallow() -> str:
    "Takes the interrupt for an error of its own."
    try:
        interrupt()
    except BaseException:
        pass
    return "swallowed"

where = sys.argv[2]
signal.signal(signal.SIGINT, signal.default_int_handler)
stage = Stage(Path(sys.argv[1]), [clear, swallow])
if where == "while the model answers":
    script = Script(respond=lambda c: interrupt() or use(ScriptedCall("swallow", {})))
else:
    script = Script(respond=lambda c: use(ScriptedCall(where, {})))
limits = replace(QUICK, turns=int(sys.argv[3]))
report = stage.play(script, limits=limits)
print(report.ended, report.turns)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def _sitting(folder: Path, where: str, turns: int) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SITTING, str(folder), where, str(turns)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY / 'src'}:{REPOSITORY}"},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("where", ["clear", "swallow"])
def test_an_interrupt_that_python_or_a_tool_drops_still_ends_the_sitting(
    tmp_path: Path, where: str
) -> None:
    assert _sitting(tmp_path, where, 50) == ["interrupted 1", "True"]
    assert Stage(tmp_path).resume([say("done")]).ended is Ended.ANSWERED


def test_an_interrupt_in_the_last_turn_is_no_limit(tmp_path: Path) -> None:
    assert _sitting(tmp_path, "clear", 1) == ["interrupted 1", "True"]


def test_an_interrupt_while_the_model_answers_keeps_what_was_there(tmp_path: Path) -> None:
    assert _sitting(tmp_path, "while the model answers", 50)[0].startswith("interrupted")
    path = Stage(tmp_path).transcript.path
    assert path is not None
    last = json.loads(path.read_text().splitlines()[-1])
    assert (last["kind"], last["ended"]) == ("ended", "interrupted")
    assert Stage(tmp_path).resume([say("done")]).ended is Ended.ANSWERED
