"""Every preset with its real client, in the sandbox, against a scripted model on this machine."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.agents.presets import PRESETS
from tests.cli.kit import Desk
from tests.cli.plans import step
from tests.clients.kit import Do
from tests.clients.real import REAL, speak
from tests.scripted.server import ScriptedServer

pytestmark = pytest.mark.timeout(900)
GREETING = step("Say hello", "grep -qx hello hello.txt", on_fail="escalate")


def test_every_client_with_a_preset_is_tried() -> None:
    assert set(REAL) == {name for name, preset in PRESETS.items() if preset.words}


@pytest.fixture
def desk(installed: Path) -> Iterator[Desk]:
    """Not below /tmp: in a sandbox that is another one, and a home there would hide mistakes."""
    folder = Path(tempfile.mkdtemp(dir=installed, prefix="desk-"))
    made = Desk(folder / "desk").git()
    tools = (installed / "node_modules" / ".bin", installed / "python" / "bin")
    path = ":".join((*map(str, tools), os.environ["PATH"]))
    made.variable(PATH=path, NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


def run(desk: Desk, name: str, turns: tuple[str | Do, ...]) -> tuple[int, str]:
    """`signoff run --agent NAME` with the real client and this model."""
    real = REAL[name]
    if shutil.which(name, path=desk.variables["PATH"]) is None:
        pytest.skip(f"{name} cannot be had here")
    desk.person(f"[sandbox]\nagents = true\n{real.sandbox}").plan(GREETING)
    with ScriptedServer(speak(real, turns)) as server:
        desk.variable(**real.prepare(desk.folder / "person", server.root_url))
        model = ("--model", real.model) if real.model else ()
        ended = desk.run("--yes", "--agent", name, *model)
    return ended.code, ended.stdout + ended.stderr + json.dumps(desk.entries("attempt.finished"))


@pytest.mark.parametrize("name", REAL)
def test_honest_work_is_signed_off_and_its_cost_is_known(desk: Desk, name: str) -> None:
    code, said = run(desk, name, REAL[name].works)
    assert code == 0, said
    used = desk.entries("attempt.finished")[0]["data"]["usage"]
    preset, spent = PRESETS[name], desk.status()["spent"]
    assert (spent["tokens"] or 0) > 0 or not preset.tells_tokens, used
    assert spent["usd"] is not None or not preset.tells_usd, used


@pytest.mark.parametrize("name", REAL)
def test_a_lie_is_refused(desk: Desk, name: str) -> None:
    code, said = run(desk, name, REAL[name].lies)
    assert code == 6, said
    assert "is broken after 1 attempt" in said
