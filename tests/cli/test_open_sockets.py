"""Programs that an agent could have act for it: hidden, or named and reckoned with."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.domain.verdict import Isolation
from signoff.process.sandboxes import probe_sandboxes
from signoff.usecases.person import advice
from tests.cli.kit import Desk
from tests.cli.plans import step

AVAILABLE = [s.isolation for s in probe_sandboxes() if s.available]
LANDLOCK = '[sandbox]\nisolation = "landlock"\n'
FENCED = pytest.mark.skipif(Isolation.LANDLOCK not in AVAILABLE, reason="no Landlock here")
BOXED = pytest.mark.skipif(Isolation.BUBBLEWRAP not in AVAILABLE, reason="no bubblewrap here")
ROOF = step("Put the roof on", "test -s roof", on_fail="escalate")
GROUND = step("Lay the ground", "test -s ground")


@pytest.fixture
def multiplexer(desk: Desk) -> Iterator[Path]:
    """A program of the person's that listens for commands."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = Path(folder).resolve() / "default"
        listener.bind(str(path))
        listener.listen()
        desk.variable(TMUX=f"{path},1,0")
        yield path


@FENCED
def test_doctor_and_approve_name_what_landlock_leaves_open(desk: Desk, multiplexer: Path) -> None:
    desk.person(LANDLOCK).agent("echo firm > ground").plan(GROUND)
    said = f"Landlock does not keep agents from programs that listen on `{multiplexer}`"
    desk.signoff("doctor").shows("WARN  sockets: ", f"`{multiplexer}`", advice())
    approved = desk.about_plan("approve", "--yes").exits(0)
    assert said in approved.stderr and "recorded as person not proven" in approved.stderr


@FENCED
def test_a_decision_that_an_agent_could_have_typed_is_shown_as_not_proven(
    desk: Desk, multiplexer: Path
) -> None:
    desk.person(LANDLOCK).agent("[ $SIGNOFF_STEP = 1 ] && echo > ground").plan(GROUND, ROOF)
    desk.run("--yes").exits(6)
    desk.answer("waive", "--note", "summer house")
    desk.run().exits(0)
    (approved,) = desk.entries("plan.approved")
    (waived,) = desk.entries("step.waived")
    for entry in (approved, waived, *desk.entries("escalation.answered")):
        assert entry["data"]["by"].endswith(" (person not proven)")
        assert str(multiplexer) in entry["data"]["open_sockets"]
    desk.about_plan("log").shows("step 2 · waived by ", "(person not proven): summer house")
    desk.about_plan("status").shows("person not proven: 3 decisions (signoff log)")
    assert desk.status()["unproven"] == 3
    desk.about_plan("audit").shows("(person not proven) went on without it: summer house")


@FENCED
def test_a_policy_that_requires_a_sandbox_takes_none_with_a_way_out(
    desk: Desk, multiplexer: Path
) -> None:
    desk.person(f"[policy]\nrequire_sandbox = true\n{LANDLOCK}")
    desk.agent("echo firm > ground").plan(GROUND)
    desk.run("--yes").fails(3, f"`{multiplexer}`", hint=advice())
    desk.signoff("doctor").shows("FAIL  sockets: ")


@BOXED
def test_bubblewrap_hides_them_wherever_they_lie(desk: Desk) -> None:
    desk.person('[sandbox]\nisolation = "bubblewrap"\n')
    folder = Path(tempfile.mkdtemp(dir="/opt" if os.access("/opt", os.W_OK) else Path.home()))
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(str(folder / "agent"))
            listener.listen()
            tries = f"import socket; socket.socket(socket.AF_UNIX).connect('{folder}/agent')"
            desk.agent(f'python3 -c "{tries}" 2> /dev/null && echo > out; echo > ground')
            desk.plan(step("Stay inside", "test -s ground && test ! -e out")).run("--yes").exits(0)
        finally:
            (folder / "agent").unlink()
            folder.rmdir()
    assert all(e["data"]["by"].count("not proven") == 0 for e in desk.entries("plan.approved"))
