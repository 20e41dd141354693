"""A courtroom per test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verification.courtroom import Courtroom


@pytest.fixture
def court(tmp_path: Path) -> Courtroom:
    return Courtroom(tmp_path)
