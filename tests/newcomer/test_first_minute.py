"""The README's first minute with every agent that it names, in both sandboxes."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import pytest

from signoff.agents.presets import PRESETS, Preset
from signoff.settings.roles import LOOP
from tests.clients.kit import Do, play
from tests.docs.book import prose
from tests.newcomer.minute import BOTH, README, Newcomer
from tests.newcomer.standins import INSISTS_ON, Conduct, stand_in
from tests.scripted.server import ScriptedServer

CLIENTS = [preset for preset in PRESETS.values() if preset.words]
every_client = pytest.mark.parametrize("preset", CLIENTS, ids=lambda preset: preset.name)
both_sandboxes = pytest.mark.parametrize("isolation", BOTH)
# Each refusal in each sandbox; which of the two a client gets makes no difference to it.
in_turn = pytest.mark.parametrize(
    ("preset", "isolation"),
    list(zip(CLIENTS, cycle(BOTH))),
    ids=lambda value: getattr(value, "name", value),
)


def newcomer(folder: Path, name: str, isolation: str, conduct: Conduct) -> Newcomer:
    keys = dict.fromkeys(PRESETS[name].keys[:1], "key-of-ada")
    made = Newcomer.arrive(folder, name, isolation, keys)
    made.program(name, stand_in(name, conduct))
    return made


def test_the_readme_names_every_agent_and_each_has_a_stand_in() -> None:
    section = prose(README).partition("## Your agent in one minute")[2].partition("\n## ")[0]
    named = {name for name in PRESETS if f"`{name}`" in section} | {"claude"}
    assert named == set(PRESETS)
    assert set(INSISTS_ON) == {preset.name for preset in CLIENTS}


@both_sandboxes
@every_client
def test_honest_work_is_signed_off_and_its_cost_is_shown(
    preset: Preset, isolation: str, tmp_path: Path
) -> None:
    person = newcomer(tmp_path, preset.name, isolation, Conduct.WORKS)
    code, shown = person.types()
    assert code == 0, shown
    assert f"isolation {isolation}" in shown or f"isolation: {isolation}" in shown, shown
    spent = person.asks("status")["spent"]
    assert (spent["tokens"] or 0) > 0 or not preset.tells_tokens, spent
    assert (spent["usd"] or 0) > 0 or not preset.tells_usd, spent
    cost = f"{spent['tokens']:,} tokens" if preset.tells_tokens else f"${spent['usd']:.4f}"
    assert cost in shown
    assert "[done]" in shown


@in_turn
def test_a_lie_is_refused(preset: Preset, isolation: str, tmp_path: Path) -> None:
    person = newcomer(tmp_path, preset.name, isolation, Conduct.LIES)
    code, shown = person.types()
    assert code == 6, shown
    assert "broken: exit code 2, expected 0" in shown
    assert person.asks("status")["status"] != "done"


@in_turn
def test_a_budget_ends_an_attempt_that_would_never_end(
    preset: Preset, isolation: str, tmp_path: Path
) -> None:
    person = newcomer(tmp_path, preset.name, isolation, Conduct.SPENDS)
    budget = "1000 tokens" if preset.tells_tokens else "$0.01"
    code, shown = person.types(edit=f"s/30 minutes/{budget}/")
    assert code == 6, shown
    (ended,) = person.finished()
    assert ended["ending"] == "over-budget", shown
    assert ended["why"].startswith("the budget was used up: "), ended


def with_loop(
    folder: Path, isolation: str, turns: tuple[str | Do, ...], edit: str = ""
) -> tuple[Newcomer, int, str]:
    """Type it with signoff's own agent, and a model on this machine that takes these turns."""
    with ScriptedServer(play(*turns, last_repeats=True)) as server:
        environ = {"OPENAI_API_KEY": "key-of-ada", "OPENAI_BASE_URL": server.openai_url}
        person = Newcomer.arrive(folder, LOOP, isolation, environ, " --model openai:gpt-5")
        return person, *person.types(edit)


@both_sandboxes
def test_signoffs_own_loop_is_signed_off_and_its_cost_is_shown(
    isolation: str, tmp_path: Path
) -> None:
    turns = (Do("echo hello > hello.txt"), "All done.")
    person, code, shown = with_loop(tmp_path, isolation, turns)
    assert code == 0, shown
    spent = person.asks("status")["spent"]
    assert spent["tokens"] > 0 and spent["usd"] > 0
    assert f"{spent['tokens']:,} tokens" in shown and "[done]" in shown


def test_a_lie_of_signoffs_own_loop_is_refused(tmp_path: Path) -> None:
    person, code, shown = with_loop(tmp_path, BOTH[0], ("All done.",))
    assert code == 6, shown
    assert person.asks("status")["status"] != "done"


def test_a_budget_ends_signoffs_own_loop(tmp_path: Path) -> None:
    person, code, shown = with_loop(
        tmp_path, BOTH[1], (Do("sleep 0.1"),), "s/30 minutes/200 tokens/"
    )
    assert code == 6, shown
    assert "budget" in shown and person.asks("status")["spent"]["tokens"] >= 200
