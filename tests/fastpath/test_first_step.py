"""The first step of a plan that nobody has run yet, found without parsing it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from signoff.fastpath.session import first_step
from signoff.planfile.parse import parse

FENCED = "# T\n\n```md\n### 1. Not this\n```\n~~~\n### 2. Nor this\n~~~\n## Steps\n\n### 3. This\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# T\n\n## Steps\n\n### 1. Say hello\n", "1. Say hello"),
        ("### 1. ✅ Say hello\r\n", "1. Say hello"),
        ("### 3–N. Each file\n", "3–N. Each file"),
        (FENCED, "3. This"),
        ("````\n```\n### 1. Inside\n````\n### 2. Outside\n", "2. Outside"),
        ("### Notes\n\n### 1. Real\n", "1. Real"),
        ("```\n### 1. Never closed\n", ""),
        ("# Nothing\n", ""),
        ("", ""),
    ],
)
def test_the_first_heading_of_a_step_outside_fences(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "PLAN.md"
    path.write_text(text)
    assert first_step(str(path)) == found


def test_it_is_the_first_step_that_the_parser_finds(tmp_path: Path) -> None:
    for path in sorted(Path(__file__).parents[2].glob("examples/**/*.md")):
        steps = parse(path.read_text()).plan.steps
        if steps:
            assert first_step(str(path)) == f"{steps[0].id}. {steps[0].title}"


def test_only_the_beginning_of_a_large_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.md"
    path.write_text("x" * 300_000 + "\n### 1. Far away\n")
    assert first_step(str(path)) == ""


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "PLAN.md")
    assert first_step(str(tmp_path / "PLAN.md")) == ""
