"""A fresh desk per test; no agent may outlive it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A workspace, a home and scripted agents of its own."""
    made = Desk(tmp_path)
    try:
        yield made
    finally:
        made.close()
