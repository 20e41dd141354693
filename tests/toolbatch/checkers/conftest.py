"""A fresh folder of artifacts per test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.toolbatch.checkers.kit import Artifacts


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    """An empty root, with something beside it that no checker may read."""
    (tmp_path / "outside.html").write_text("<p id=secret>outside</p>")
    root = tmp_path / "root"
    root.mkdir()
    return Artifacts(root)
