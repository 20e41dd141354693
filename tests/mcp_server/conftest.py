"""A repository with a vault, as agents over MCP find it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A repository with a vault."""
    made = Project(tmp_path)
    try:
        yield made
    finally:
        made.close()
