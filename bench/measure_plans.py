"""Large plans and large outputs: time in this process, memory in processes of their own."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

from lines import Line, Unit
from scene import IDLE_AGENT, Scene, holds_already, plan_text, wants_work
from sizes import Sizes

from signoff.planfile.parse import parse
from signoff.planfile.verify import verify
from signoff.settings.loading import Settings
from signoff.storage.vault import Vault
from signoff.usecases.verify import RealSurroundings

PARSE_GOAL_S = 1.0
MEMORY_GOAL_MB = 150.0
# Every text is analysed on its own: some 300 microseconds each.
MIXED_GOAL_S = 5.0
SEARCH_PATH = "/usr/bin:/bin"
_MIXED = (
    "test -s docs/{w}.md && grep -q '{w}' docs/{w}.md",
    "python3 -m pytest -q tests/test_{w}.py",
    "set -e\nruff check src/{w}.py\nmypy src/{w}.py",
    "test \"$(grep -c '{w}' src/{w}.py)\" -ge {n}",
    'for f in {w} other; do test -f "src/$f.py" || exit 1; done',
    "python3 -c 'import {w}; assert {w}.VERSION'",
    "! grep -rn TODO src/{w}",
    "diff <(python3 src/{w}.py) expected/{w}.txt",
    "git diff --quiet HEAD -- tests/{w}",
    "node scripts/{w}.js | tail -{n} | grep -q ok",
)


def parsing(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Parse and verify, in time of the processor: others may use the machine meanwhile."""
    steps = f"parse and verify {sizes.plan_steps:,} steps"
    for what, write, goal in (
        (f"{steps}: 2 kinds, other numbers", _numbered, PARSE_GOAL_S),
        (f"{steps}: {len(_MIXED)} kinds, other words", _mixed, MIXED_GOAL_S),
    ):
        times = [
            _parse_and_verify(folder, write(sizes.plan_steps, turn)) for turn in range(sizes.rounds)
        ]
        yield Line(what, statistics.median(times), Unit.SECONDS, goal=goal)


def _parse_and_verify(folder: Path, text: str) -> float:
    settings = Settings().with_roles({"coder": IDLE_AGENT})
    around = RealSurroundings(folder, Vault(folder / ".harness"), SEARCH_PATH, settings)
    began = time.process_time()
    verify(parse(text), around)
    return time.process_time() - began


def _numbered(steps: int, turn: int) -> str:
    """Another text every turn: one that was read before is not read again."""
    return f"{large_plan(steps)}\n<!-- {turn} -->\n"


def _mixed(steps: int, turn: int) -> str:
    """No two contracts of any turn are alike but for numbers, so nothing is known beforehand."""
    kinds = len(_MIXED)
    return plan_text(
        steps, lambda n: _MIXED[n % kinds].format(w=_word(turn * steps + n), n=n % 40 + 1)
    )


def _word(number: int) -> str:
    """A word of letters, another one for every number."""
    letters = ""
    while number:
        number, place = divmod(number, len(ascii_lowercase))
        letters += ascii_lowercase[place]
    return f"w{letters}"


def memory(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Peak resident memory of a process that does one thing; the floor is an idle interpreter."""
    scene = Scene(folder / "memory", 1, holds_already, IDLE_AGENT)
    plan = folder / "LARGE.md"
    plan.write_text(large_plan(sizes.plan_steps))
    idle_mb = _peak_mb(scene, "idle")
    for what, words in (
        (f"peak memory: planning a run of {sizes.plan_steps:,} steps", ("planning", str(plan))),
        (
            f"peak memory: {sizes.output_bytes / 1e6:,.0f} MB of output from one process",
            ("output", str(sizes.output_bytes)),
        ),
    ):
        peak_mb = _peak_mb(scene, *words)
        yield Line(what, peak_mb, Unit.MEGABYTES, idle_mb, peak_mb / idle_mb, MEMORY_GOAL_MB)


def large_plan(steps: int) -> str:
    """Two kinds of contract in turn."""
    return plan_text(steps, lambda n: wants_work(n) if n % 2 else holds_already(n))


def _peak_mb(scene: Scene, *words: str) -> float:
    child = Path(__file__).with_name("memory_child.py")
    done = subprocess.run(
        (sys.executable, str(child), *words),
        cwd=scene.workspace,
        env=scene.env,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)
