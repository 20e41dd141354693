"""A fresh desk per test; no agent may outlive it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.kit import Desk
from tests.cli.project import Project


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A workspace, a home and scripted agents of its own."""
    made = Desk(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A repository with a vault, for tests of named plans."""
    made = Project(tmp_path)
    try:
        yield made
    finally:
        made.close()
