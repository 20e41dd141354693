"""Known agents in one word: commands, logins, budgets that can be enforced, and their page."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from signoff.agents.command import try_role
from signoff.agents.presets import (
    PRESETS,
    own_places,
    with_preset,
)
from signoff.agents.troubles import budget_trouble, login_trouble
from signoff.cli.options import agent_option
from signoff.domain.findings import Severity
from signoff.domain.plan import Budget
from signoff.errors import ConfigInvalid
from signoff.settings.loading import load_settings
from signoff.settings.roles import Price, Role, as_given

PAGE = Path(__file__).parents[2] / "docs/how-to/your-agent.md"
CLIENTS = [preset for preset in PRESETS.values() if preset.words]


def role(agent: str, **parts: object) -> Role:
    return with_preset(Role("coder", agent, agent=agent, **parts))  # type: ignore[arg-type]


def test_a_model_has_its_place_in_every_command_and_leaves_none_behind() -> None:
    for preset in CLIENTS:
        plain, chosen = role(preset.name).command, role(preset.name, model="some/model").command
        assert "{model}" not in plain + chosen
        assert "some/model" in shlex.split(chosen), chosen
        assert shlex.split(plain)[0] == preset.name


def test_a_command_of_ones_own_keeps_its_words_and_gets_the_rest() -> None:
    made = with_preset(Role("coder", "claude -p --resume x", agent="claude"))
    assert made.command == "claude -p --resume x"
    assert "ANTHROPIC_API_KEY" in made.env


def test_an_unknown_agent_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(ConfigInvalid) as told:
        role("cluade")
    assert told.value.hint == "did you mean `claude`?"


def test_every_preset_says_which_hosts_it_needs() -> None:
    assert all(preset.hosts and isinstance(preset.hosts, tuple) for preset in PRESETS.values())


def test_the_hosts_of_an_agent_stand_in_for_one_word_and_go_with_it() -> None:
    made = role("claude", hosts=("packages.example.com", "@agent"))
    assert made.hosts == ("packages.example.com", "@agent", *PRESETS["claude"].hosts)
    assert with_preset(made) == made
    other = with_preset(as_given(made, "agent:codex"))
    assert other.hosts == ("packages.example.com", "@agent", *PRESETS["codex"].hosts)
    assert with_preset(as_given(made, "claude -p --resume x")).hosts == made.hosts
    assert role("claude", hosts=("packages.example.com",)).hosts == ("packages.example.com",)
    assert role("claude").hosts is None


def test_a_key_that_is_set_but_withheld_is_told_before_anybody_starts(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "ANTHROPIC_API_KEY": "secret"}
    told = login_trouble(Role("coder", "claude -p"), environ)
    assert told is not None
    assert told.severity is Severity.ERROR
    assert "`ANTHROPIC_API_KEY` is set, and not passed" in told.message
    assert login_trouble(Role("coder", "claude -p", env=("ANTHROPIC_API_KEY",)), environ) is None
    assert login_trouble(role("claude"), environ) is None


def test_a_login_that_is_nowhere_is_told_and_one_in_a_file_is_found(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    told = login_trouble(role("claude"), environ)
    assert told is not None
    assert told.severity is Severity.ERROR
    assert told.hint == "export ANTHROPIC_API_KEY=…, or log in once: claude"
    (tmp_path / ".claude").mkdir()
    again = login_trouble(role("claude"), environ)
    assert again is not None
    assert again.severity is Severity.WARNING  # something there may log it in all the same
    (tmp_path / ".claude/.credentials.json").touch()
    assert login_trouble(role("claude"), environ) is None


def test_a_client_that_may_serve_a_model_without_a_key_is_not_held_up(tmp_path: Path) -> None:
    assert login_trouble(role("aider"), {"HOME": str(tmp_path)}) is None


def test_folders_of_a_preset_are_made_and_those_of_a_plain_command_only_found(
    tmp_path: Path,
) -> None:
    assert own_places(Role("coder", "codex exec"), "codex", tmp_path) == ()
    assert own_places(role("codex"), "codex", tmp_path) == (tmp_path / ".codex",)


@pytest.mark.parametrize(
    ("made", "budget", "lacks"),
    [
        (Role("coder", "./my-agent"), Budget(tokens=5), "nothing tells what its command uses"),
        (Role("coder", "./my-agent", reports_usage=True), Budget(tokens=5), ""),
        (Role("coder", "./my-agent"), Budget(wall_s=5), ""),
        (role("claude"), Budget(tokens=5, usd=1.0), ""),
        (role("mini"), Budget(tokens=5), "`mini` does not tell tokens"),
        (role("codex"), Budget(usd=1.0), "the price of its model is not known"),
        (role("codex", model="gpt-5"), Budget(usd=1.0), ""),
        (role("codex", model="mine"), Budget(usd=1.0), ""),
    ],
)
def test_a_budget_that_nobody_can_enforce_is_a_warning(
    made: Role, budget: Budget, lacks: str
) -> None:
    told = budget_trouble(made, budget, {"mine": Price(1, 1)})
    assert (told is not None) == bool(lacks)
    if told is not None:
        assert told.message.startswith("this budget cannot be enforced for `coder`: ")
        assert lacks in told.message


def test_a_program_is_tried_and_a_broken_one_is_told(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho 9.9.9\n")
    program.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    work = tmp_path / "work"
    work.mkdir()
    assert try_role(role("claude"), {}, path, work) == (None, "9.9.9")
    program.write_text("#!/bin/sh\nexit 3\n")
    trouble, version = try_role(role("claude"), {}, path, work)
    assert trouble is not None
    assert "`claude --version` failed: exit code 3" in trouble.message
    assert version == ""


def test_prices_are_the_users_own(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('[prices."my-model"]\ninput = 2\noutput = 8\n')
    environ = {"SIGNOFF_CONFIG": str(own)}
    assert load_settings(None, environ).prices == {"my-model": Price(2.0, 8.0)}
    own.write_text('[prices."my-model"]\ninput = "cheap"\n')
    with pytest.raises(ConfigInvalid, match="needs the numbers `input` and `output`"):
        load_settings(None, environ)
    (tmp_path / "signoff.toml").write_text('[prices."my-model"]\ninput = 0\noutput = 0\n')
    own.write_text("")
    with pytest.raises(ConfigInvalid, match="belongs in the user's file"):
        load_settings(tmp_path, environ)


def test_the_page_has_a_row_for_every_preset_with_its_command_and_variables() -> None:
    text = PAGE.read_text()
    for preset in PRESETS.values():
        words = " ".join(word for word in preset.words if word != "{model}")
        assert f"| `{preset.name}` |" in text
        assert f"`{words}`" in text or not words
        assert all(f"`{name}`" in text for name in preset.keys)
        assert all(f"`~/{folder}`" in text for folder in (*preset.folders, *preset.files))
        assert all(f"`{host}`" in text for host in preset.hosts)
        assert preset.tested in text


def test_the_option_names_every_preset() -> None:
    def verb() -> None:
        """Nothing."""

    option = agent_option(verb).__click_params__[-1]  # type: ignore[attr-defined]
    assert all(name in option.help for name in PRESETS)
