"""The commands that are installed into clients speak of signoff in its own words."""

from __future__ import annotations

import re

import pytest

from signoff.usecases.clients.phases import PHASES, ClientCommand


@pytest.mark.parametrize("phase", PHASES, ids=lambda phase: str(phase.name))
def test_an_installed_command_calls_what_decides_a_step_a_contract(phase: ClientCommand) -> None:
    # The gate decides about plans; a contract is kept or broken, and has no colour.
    assert not re.search(r"\b(gate|green|red)\b", phase.text, re.I)
