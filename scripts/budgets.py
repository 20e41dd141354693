"""Compare the size of the house with `budgets.toml`: lines, files, and imports by command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).resolve().parent.parent
SOURCE = REPOSITORY / "src" / "signoff"
LIMIT_S = 300
IMPORTED = re.compile(rb"^import time:.*\| +(signoff[\w.]*)$", re.MULTILINE)
PLAN = """# One file

## Steps

### 1. Write it

**target:** coder
**task:**
Write `a`.

**contract:**
```shell
test -s a
```
exit_code == 0
"""
ROLE = "coder=bash -c 'echo done > a'"
STOP = b'{"session_id": "s", "hook_event_name": "Stop"}'
# Real commands on a real plan: `run` has an agent work, the hook judges what one did.
COMMANDS = {
    "run": (("run", "--yes", "--role", ROLE),),
    "stop hook": (("approve", "--yes", "--role", ROLE), ("hook", "claude", "stop")),
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
        yield Row(f"modules of {command}", _modules(COMMANDS[command]), most)


def _files(rooms: str) -> list[Path]:
    places = [SOURCE.parent if room == "src" else SOURCE / room for room in rooms.split(" + ")]
    return [path for place in places for path in [place, *place.rglob("*.py")] if path.is_file()]


def _lines(path: Path) -> int:
    return path.read_text("utf-8").count("\n")


def _modules(commands: tuple[tuple[str, ...], ...]) -> int:
    """Modules of ours that the last of these commands imports."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        (workspace / ".harness").mkdir(parents=True)
        (workspace / ".harness" / "PLAN.md").write_text(PLAN, "utf-8")
        subprocess.run(["git", "init", "--quiet"], cwd=workspace, check=True)
        config = Path(folder) / "config.toml"
        config.write_text('[sandbox]\nisolation = "none"\n', "utf-8")
        own = {"SIGNOFF_HOME": f"{folder}/home", "SIGNOFF_CONFIG": str(config), "HOME": folder}
        for command in commands:
            done = subprocess.run(
                [sys.executable, "-X", "importtime", "-m", "signoff", *command],
                cwd=workspace,
                env={"PATH": os.environ["PATH"], **own},
                input=STOP,
                capture_output=True,
                timeout=LIMIT_S,
                check=False,
            )
            (workspace / "a").write_text("done", "utf-8")
            if done.returncode != 0:
                said = [x for x in done.stderr.splitlines() if not x.startswith(b"import time:")]
                raise SystemExit(f"`signoff {' '.join(command)}` failed: {b' '.join(said)!r}")
    return len(set(IMPORTED.findall(done.stderr)))


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
