"""The README's first minute with real clients and a scripted model, in both sandboxes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from signoff.agents.presets import PRESETS
from tests.clients.kit import Do
from tests.clients.real import REAL, speak
from tests.newcomer.minute import BOTH, Newcomer
from tests.scripted.server import ScriptedServer

pytestmark = pytest.mark.timeout(900)
every_client = pytest.mark.parametrize("name", REAL)
both_sandboxes = pytest.mark.parametrize("isolation", BOTH)


@pytest.fixture
def folder(installed: Path) -> Iterator[Path]:
    """Not below /tmp: in a sandbox that is another one, and a home there would hide mistakes."""
    made = Path(tempfile.mkdtemp(dir=installed, prefix="newcomer-"))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def first_minute(
    folder: Path, name: str, isolation: str, turns: tuple[str | Do, ...], edit: str = ""
) -> tuple[Newcomer, int, str]:
    """Type it with the real client and a model that takes these turns."""
    real, installed = REAL[name], folder.parent
    tools = (installed / "node_modules" / ".bin", installed / "python" / "bin")
    path = ":".join((*map(str, tools), os.environ["PATH"]))
    if shutil.which(name, path=path) is None:
        pytest.skip(f"{name} cannot be had here")
    with ScriptedServer(speak(real, turns)) as server:
        environ = {**real.prepare(folder, server.root_url), "NO_PROXY": "127.0.0.1"}
        model = f" --model {real.model}" if real.model else ""
        lines = real.sandbox + (real.landlock if isolation == "landlock" else "")
        person = Newcomer.arrive(folder, name, isolation, environ, model, lines)
        path = f"{person.at.environment['PATH'].partition(':')[0]}:{path}"
        at = replace(person.at, environment={**person.at.environment, "PATH": path})
        person = replace(person, at=at)
        code, shown = person.types(edit)
    return person, code, shown


@both_sandboxes
@every_client
def test_honest_work_is_signed_off_and_its_cost_is_shown(
    folder: Path, name: str, isolation: str
) -> None:
    person, code, shown = first_minute(folder, name, isolation, REAL[name].works)
    assert code == 0, shown
    spent, preset = person.asks("status")["spent"], PRESETS[name]
    assert (spent["tokens"] or 0) > 0 or not preset.tells_tokens, spent
    assert spent["usd"] is not None or not preset.tells_usd, spent
    cost = f"{spent['tokens']:,} tokens" if preset.tells_tokens else "$"
    assert cost in shown.rpartition("spent: ")[2]


@both_sandboxes
@every_client
def test_a_lie_is_refused(folder: Path, name: str, isolation: str) -> None:
    person, code, shown = first_minute(folder, name, isolation, REAL[name].lies)
    assert code == 6, shown
    assert "broken: exit code 2, expected 0" in shown
    assert person.asks("status")["status"] != "done"


@both_sandboxes
@every_client
def test_a_budget_ends_the_work(folder: Path, name: str, isolation: str) -> None:
    """With a client whose model never ends; one that asks it once is not started again."""
    preset, real = PRESETS[name], REAL[name]
    tokens = "100 tokens" if real.by_text else "200 tokens"
    budget = tokens if preset.tells_tokens else "$0.01"
    turns = ("Nothing yet.",) if real.by_text else (Do("sleep 1"),)
    person, code, shown = first_minute(folder, name, isolation, turns, f"s/30 minutes/{budget}/")
    assert code == 6, shown
    endings = [ended["ending"] for ended in person.finished()]
    assert endings in (["over-budget"], *[["exited"]] * real.by_text), shown
    assert "budget" in shown
