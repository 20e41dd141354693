"""The demo of lanes: three agents at once, one cheats, two collide, and the plan is signed off."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from run_demo import HERE, Stage, own_environment, say


def main() -> int:
    """Play it; the exit code says whether everything went as promised."""
    with tempfile.TemporaryDirectory(prefix="signoff-lanes-") as folder:
        shop = Path(folder) / "shop"
        shutil.copytree(HERE / "lanes", shop)
        play = Stage(shop, own_environment(Path(folder)))
        play.git("init", "--quiet")
        agent = f"{shlex.quote(sys.executable)} {shlex.quote(str(HERE / 'agent_lanes.py'))}"
        say("Three agents begin at the same time, each in a lane of its own. Two write at the end")
        say("of the same file; the third empties its test and says that it is done.")
        play.signoff("run", "PLAN.md", "--yes", "--jobs", "3", "--role", f"coder={agent}")
        say("What was kept, what did not land, and what was done again:")
        play.signoff("log", "PLAN.md")
        return play.worst


if __name__ == "__main__":
    sys.exit(main())
