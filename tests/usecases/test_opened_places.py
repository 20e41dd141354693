"""What a user opened to agents is open; what is not there keeps nobody from starting."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.domain.ledger import Kind, Outcome
from signoff.domain.verdict import Isolation
from signoff.usecases.harness import find_plan
from signoff.usecases.run import RunOptions, run_plan
from tests.adversary.arena import HONEST, Arena, Direct, Silence
from tests.usecases.test_isolation import AVAILABLE, SEVERAL


def arena_with(base: Path, mode: Isolation, opened: str) -> Arena:
    arena = Arena(base)
    path = base / "confined.toml"
    path.write_text(f'[sandbox]\nisolation = "{mode}"\n{opened}\n')
    arena.environ["SIGNOFF_CONFIG"] = str(path)
    return arena


def heard(arena: Arena) -> list[str]:
    """Run the plan with an honest agent; what the person was told before it began."""
    told: list[str] = []
    arena.agent.write_text(f"{HONEST}\n")
    options = RunOptions(Silence(), Direct, yes=True, roles=arena.role, tell=told.append)
    place = find_plan(arena.root, str(arena.plan), arena.root)
    assert run_plan(arena.harness(), place, options).outcome is Outcome.DONE
    return told


@SEVERAL
def test_places_that_are_not_there_are_left_out_and_the_run_says_so_once(
    tmp_path: Path, mode: Isolation
) -> None:
    opened = 'writable = ["~/.npm", "~/.there", ".git", "cache/x"]\nreadable = ["/tmp/no tools"]'
    arena = arena_with(tmp_path, mode, opened)
    (tmp_path / "user/.there").mkdir()
    npm = tmp_path / "user/.npm"
    assert heard(arena) == [
        f"not there, so left out of the sandbox: `/tmp/no tools`, `{npm}` (mkdir -p "
        f"'/tmp/no tools' {npm}, or change [sandbox] in your own configuration)"
    ]


@SEVERAL
def test_a_run_with_everything_in_its_place_says_nothing(tmp_path: Path, mode: Isolation) -> None:
    arena = arena_with(tmp_path, mode, 'writable = ["~/.there", ".git"]')
    (tmp_path / "user/.there").mkdir()
    assert heard(arena) == []


@SEVERAL
def test_a_place_that_is_there_is_open_although_another_is_not(
    tmp_path: Path, mode: Isolation
) -> None:
    arena = arena_with(tmp_path, mode, 'writable = ["~/.gone", "~/.there"]')
    (tmp_path / "user/.there").mkdir()
    assert arena.attack(f"{HONEST}; echo x > ~/.there/state").outcome is Outcome.DONE
    assert (tmp_path / "user/.there/state").exists()
    assert not (tmp_path / "user/.gone").exists()


@SEVERAL
def test_an_agent_that_cannot_write_its_state_is_told_where_to_open_it(
    tmp_path: Path, mode: Isolation
) -> None:
    arena = arena_with(tmp_path, mode, "")
    arena.attack("mkdir /usr/.state-of-an-agent")  # its home is in the private /tmp here
    clause = "(the sandbox allows writing in the workspace only; `[sandbox] writable` widens it: "
    assert f"the agent ended: exit code 1 {clause}" in arena.questions()[0]


def test_a_sandbox_that_cannot_be_made_is_told_before_anybody_is_started(
    tmp_path: Path,
) -> None:
    """Landlock has no holes: it cannot hide signoff's home in a folder that is opened."""
    if Isolation.LANDLOCK not in AVAILABLE:
        pytest.skip("no Landlock on this machine")
    arena = arena_with(tmp_path, Isolation.LANDLOCK, f'writable = ["{tmp_path}"]')
    arena.attack(HONEST)
    why = f"Landlock cannot hide `{arena.home}` in the writable `{tmp_path}`"
    assert arena.entries(Kind.ATTEMPT_STARTED) == []
    assert why in arena.questions()[0]
