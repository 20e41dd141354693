"""The runtime by itself: what its module says works as it says, and everything has its name."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import signoff.toolbatch as door


def example_of_the_module() -> str:
    text = inspect.getdoc(door) or ""
    return textwrap.dedent(
        "\n".join(line for line in text.split("\n") if line.startswith("    ") or not line)
    )


def test_the_example_of_the_module_is_told_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    more = f"{example_of_the_module()}\nprint(result.steering.text)\n"
    done = subprocess.run(
        [sys.executable, "-c", more], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "1 of 2 planned are not made yet: `b.md`" in done.stdout


def test_the_example_of_the_module_does_what_it_says(tmp_path: Path) -> None:
    example = example_of_the_module()
    assert len([line for line in example.split("\n") if line.strip()]) <= 18
    (tmp_path / "work").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True b.md\n", "")
    assert (tmp_path / "work" / "a.md").read_text() == "# A"


def test_importing_it_loads_next_to_nothing() -> None:
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, signoff.toolbatch; print(sorted(m for m in sys.modules"
            " if m.startswith('signoff.')))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert loaded.stdout.strip() == "['signoff.toolbatch']"
