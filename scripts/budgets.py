"""Compare the size of the house with `budgets.toml`: lines, files, and imports by command."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE = REPOSITORY / "src" / "signoff"
COUNT = "import sys, {modules}; print(sum(m.startswith('signoff') for m in sys.modules))"
# What the walk of each command begins with; loading it loads the rest.
FIRST_MODULES = {
    "run": "signoff.cli.run, signoff.orchestrator.engine",
    "stop hook": "signoff.usecases.hook",
}


class Row(NamedTuple):
    """One number, and how large it may be."""

    what: str
    now: int
    most: int


def rows() -> Iterator[Row]:
    """Every budget with what it is now."""
    budgets = tomllib.loads((REPOSITORY / "budgets.toml").read_text("utf-8"))
    for rooms, most in budgets["lines"].items():
        yield Row(f"lines in {rooms}", sum(map(_lines, _files(rooms))), most)
    for rooms, most in budgets["files"].items():
        yield Row(f"files in {rooms}", len(_files(rooms)), most)
    for command, most in budgets["modules"].items():
        yield Row(f"modules of {command}", _modules(FIRST_MODULES[command]), most)


def _files(rooms: str) -> list[Path]:
    folders = [SOURCE.parent if room == "src" else SOURCE / room for room in rooms.split(" + ")]
    return [path for folder in folders for path in folder.rglob("*.py")]


def _lines(path: Path) -> int:
    return path.read_text("utf-8").count("\n")


def _modules(first: str) -> int:
    code = COUNT.format(modules=first)
    with tempfile.TemporaryDirectory() as folder:
        shown = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
        )
    return int(shown.stdout)


def main() -> int:
    """Print the table; 1 when something is over its budget."""
    over = False
    for row in rows():
        too_much = row.now > row.most
        over |= too_much
        mark = "over budget" if too_much else ""
        print(f"{row.what:32} {row.now:>7,} of {row.most:>7,}  {mark}".rstrip())
    if over:
        print("next: delete, or raise the number in budgets.toml and say what it buys")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
