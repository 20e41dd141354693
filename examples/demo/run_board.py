"""The demo of the board: three plans are worked on while a page shows how they stand.

The page decides: answer the question that one of them asks. Ctrl-C ends it; nothing is left.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

from run_demo import Stage, own_environment, say

PLANS = {
    "greet": ("Say hello to every customer", ("Write", "Translate", "Print", "Bind")),
    "limit": ("Fix authentication timeout (#423)", ("Raise", "Test")),
    "notes": ("Write the release notes", ("Collect", "Write", "Shorten")),
}
# An agent that takes its time, and in one plan only says that it is done.
AGENT = """\
sleep {pace}
test "$1" = limit && echo "The limit is raised, all tests pass." && exit
echo "step $SIGNOFF_STEP" > "$1-$SIGNOFF_STEP.txt"; echo "Wrote $1-$SIGNOFF_STEP.txt."
"""


def main(pace: str = "3") -> int:
    """Serve the board until Ctrl-C, while a thread works through the plans."""
    with tempfile.TemporaryDirectory(prefix="signoff-board-") as folder:
        shop, script = Path(folder) / "shop", Path(folder) / "agent.sh"
        (shop / ".harness").mkdir(parents=True)
        script.write_text(AGENT.format(pace=pace))
        for name, (title, verbs) in PLANS.items():
            (shop / ".harness" / f"PLAN-{name}.md").write_text(plan_text(name, title, verbs))
        play = Stage(shop, own_environment(Path(folder)))
        play.git("init", "--quiet")
        say("Three plans are worked on, one after the other. Open the address in a browser: one")
        say("of them will need you. Ctrl-C ends it.")
        work = Thread(target=run_all, args=(play, script), daemon=True)
        work.start()
        with suppress(KeyboardInterrupt):
            play.signoff("board", "--decide", "--listen", "127.0.0.1:0")
        return play.worst


def run_all(play: Stage, script: Path) -> None:
    """Run the plans quietly: the page shows what comes of them."""
    for name in PLANS:
        role = f"coder=bash {shlex.quote(str(script))} {name}"
        command = [sys.executable, "-m", "signoff", "run", name, "--yes", "--role", role]
        with suppress(FileNotFoundError):  # the demo is over
            subprocess.run(
                command, cwd=play.folder, env=play.environment, capture_output=True, check=False
            )


def plan_text(name: str, title: str, verbs: Sequence[str]) -> str:
    """A plan whose steps each leave a file."""
    steps = (
        f"### {n}. {verb}\n\n**target:** coder\n**task:**\n{verb} `{name}-{n}.txt`.\n\n"
        f"**contract:**\n```shell\ngrep 'step {n}' {name}-{n}.txt\n```\nexit_code == 0\n"
        for n, verb in enumerate(verbs, 1)
    )
    return "\n".join([f"# {title}\n\n## Steps\n", *steps])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
