"""The numbers on the page about verified completion are those that its example prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.book import TOP, blocks

PAGE = TOP / "docs" / "explanation" / "verified-completion.md"
EXAMPLE = TOP / "examples" / "premature_finalization" / "run_example.py"
LIMIT_S = 240
# Texts of tools change now and then, and tokens with them; what was caught must not.
TOLERATED = 0.25
TOKENS = (5, 6)


def _rows(text: str) -> list[list[str]]:
    return [re.split(r" {2,}", line.strip()) for line in text.strip().split("\n")]


def test_the_page_shows_what_the_example_prints(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("no_such_setting = 1\n")  # nobody's settings are heeded
    printed = subprocess.run(
        [sys.executable, str(EXAMPLE)],
        cwd=tmp_path,
        env={
            **os.environ,
            "HOME": str(tmp_path),
            "SIGNOFF_CONFIG": str(config),
            "PYTHONPATH": str(TOP / "src"),
        },
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert printed.returncode == 0, printed.stderr
    (shown,) = [b.text for b in blocks(PAGE) if b.text.startswith("how ")]
    real, page = _rows(printed.stdout), _rows(shown)
    assert len(real) == len(page)
    for found, written in zip(real, page, strict=True):
        assert _without_tokens(found) == _without_tokens(written)
        for at in TOKENS:
            assert _number(written[at]) == pytest.approx(_number(found[at]), rel=TOLERATED)


def _without_tokens(row: list[str]) -> list[str]:
    return [cell for at, cell in enumerate(row) if at not in TOKENS]


def _number(cell: str) -> float:
    return float(cell.replace(",", "")) if cell[0].isdigit() else 0.0
