"""An arena per test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adversary.arena import Arena


@pytest.fixture
def arena(tmp_path: Path) -> Arena:
    return Arena(tmp_path)
