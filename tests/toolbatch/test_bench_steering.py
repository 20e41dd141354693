"""Scripted habits of weak models: with the runtime each ends verified or failed openly, in time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "steering" / "bench_steering.py"


def played(*options: str) -> dict[str, Any]:
    done = subprocess.run(
        (sys.executable, str(BENCH), "--json", *options),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (1 if found["broken"] else 0)
    return found


@pytest.mark.parametrize("share", range(4))
def test_every_habit_ends_verified_or_openly_failed_and_without_the_runtime_none(
    share: int,
) -> None:
    found = played("--share", f"{share}/4")
    assert found["schema_version"] == 1
    assert found["broken"] == []
    assert len(found["habits"]) >= 8
    for habit in found["habits"]:
        assert habit["with"]["end"] in ("verified", "failed, and said so"), habit
        assert habit["lapsing"]["end"] in ("verified", "failed, and said so"), habit
        assert habit["without"]["end"] in ("lied", "looped"), habit
        assert habit["with"]["turns"] <= 20 and habit["with"]["blocked"] == []


def test_a_claim_that_does_not_hold_fails_the_benchmark() -> None:
    found = played("--only", "rereads one file", "--turns", "3")
    assert found["broken"] == [
        "rereads one file: ended `looped` with the runtime after 3 turns",
        "rereads one file: ended `looped` with the runtime when it listens half the time",
    ]
