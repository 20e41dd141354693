"""The demo: a scripted agent lies in four ways, signoff refuses each, and then signs off.

Everything happens in a temporary folder with a home and settings of its own; nothing of yours is
read or touched.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    """Play the demo; the exit code says whether everything went as promised."""
    with tempfile.TemporaryDirectory(prefix="signoff-demo-") as folder:
        shop = Path(folder) / "shop"
        shutil.copytree(HERE / "project", shop)
        play = Stage(shop, own_environment(Path(folder)))
        play.git("init", "--quiet")
        agent = f"{shlex.quote(sys.executable)} {shlex.quote(str(HERE / 'agent.py'))}"
        say("An agent is asked to repair a small shop. It will claim to be done without doing")
        say("anything, edit the test instead of the bug, do four of six, and break step 1 again.")
        play.signoff("verify", "PLAN.md", "--role", f"coder={agent}")
        play.signoff("run", "PLAN.md", "--yes", "--role", f"coder={agent}")
        say("The plan file as the harness left it:")
        play.show("grep", "-E", "^(status|###)", "PLAN.md")
        say("And the proof, without trusting anybody:")
        play.signoff("audit", "PLAN.md")
        return play.worst


def own_environment(folder: Path) -> dict[str, str]:
    """Yours without any setting of signoff's; its home and its user file lie in `folder`."""
    yours = {name: value for name, value in os.environ.items() if not name.startswith("SIGNOFF_")}
    own = {"SIGNOFF_HOME": str(folder / "home"), "SIGNOFF_CONFIG": str(folder / "config.toml")}
    return {**yours, **own}


class Stage:
    """Runs the commands of the demo and shows them as a person would type them."""

    def __init__(self, folder: Path, environment: dict[str, str]):
        self.folder = folder
        self.environment = environment
        self.worst = 0

    def signoff(self, *arguments: str) -> None:
        """Run the real command line; a long role is shortened in what is shown."""
        shown = ["coder='python3 agent.py'" if a.startswith("coder=") else a for a in arguments]
        self._run([sys.executable, "-m", "signoff", *arguments], "signoff " + " ".join(shown))

    def show(self, *command: str) -> None:
        """Run a plain command."""
        self._run(list(command), shlex.join(command))

    def git(self, *arguments: str) -> None:
        """Prepare the repository without showing it."""
        subprocess.run(["git", *arguments], cwd=self.folder, env=self.environment, check=True)

    def _run(self, command: list[str], shown: str) -> None:
        print(f"\n$ {shown}", flush=True)
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode != 0:
            print(f"(exit code {done.returncode})", flush=True)
        self.worst = max(self.worst, done.returncode)


def say(text: str) -> None:
    """A line of the narrator."""
    print(f"\n# {text}" if text[0].isupper() else f"# {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
