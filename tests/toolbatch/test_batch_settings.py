"""`[agent] steering` and `[agent.limits]`: the user's, checked, the same as the runtime's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import to_builtins

from signoff.errors import ConfigInvalid
from signoff.settings.loading import Settings, load_settings
from signoff.settings.policy import BATCH_LIMITS, BatchPolicy
from signoff.toolbatch.view import BatchLimits


def loaded(folder: Path, own: str = "", shared: str = "") -> Settings:
    (folder / "own.toml").write_text(own)
    (folder / "signoff.toml").write_text(shared)
    return load_settings(folder, {"SIGNOFF_CONFIG": str(folder / "own.toml")})


def test_the_limits_of_the_settings_are_those_of_the_runtime() -> None:
    usual = {name: usual for name, (usual, _, _) in BATCH_LIMITS.items()}
    assert usual == to_builtins(BatchLimits())
    assert all(least <= usual <= most for usual, least, most in BATCH_LIMITS.values())


def test_steering_is_on_unless_the_user_says_otherwise(tmp_path: Path) -> None:
    assert loaded(tmp_path).agent.batches == BatchPolicy(steering=True)
    off = loaded(tmp_path, "[agent]\nsteering = false\n[agent.limits]\nerrors = 5\n")
    assert off.agent.batches == BatchPolicy(steering=False, limits=(("errors", 5),))
    assert BatchLimits(**dict(off.agent.batches.limits)).errors == 5  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "[agent]\nsteering = 1\n",
        "[agent.limits]\nerrors = 0\n",
        "[agent.limits]\nerrors = 1.5\n",
        "[agent.limits]\nerrors = true\n",
        "[agent.limits]\nlooks = 2000\n",
        "[agent.limits]\nnothing = 1\n",
        "[agent]\nlimits = 3\n",
        "[agent]\nconfidence = 2\n",
        "[agent]\nconfidence = true\n",
        "[agent]\nthin_words = -1\n",
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigInvalid):
        loaded(tmp_path, text)


def test_how_sure_a_model_must_be_and_how_much_a_page_must_say_are_the_users(
    tmp_path: Path,
) -> None:
    said = "[agent]\nconfidence = 0.7\nthin_words = 50\nthin_sections = 2\n"
    found = loaded(tmp_path, said).agent.batches
    assert (found.confidence, found.thin_words, found.thin_sections) == (0.7, 50, 2)
    with pytest.raises(ConfigInvalid):
        loaded(tmp_path, shared=said)


@pytest.mark.parametrize("text", ["[agent]\nsteering = false\n", "[agent.limits]\nerrors = 99\n"])
def test_a_repository_cannot_turn_it_off(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigInvalid):
        loaded(tmp_path, shared=text)
