"""The fast doors against an idle interpreter, and many writers against bare locked appends."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from floors import BARE_PYTHON, git, seconds_of
from lines import Line, Unit, compared
from scene import IDLE_AGENT, Scene, holds_already
from sizes import Sizes

from signoff.storage.home import open_database, sqlite_url
from signoff.storage.identity import plan_identity
from signoff.storage.ledger import Ledger
from signoff.storage.vault import Vault

FAST_GOAL = 3.0
MANY_PLANS_GOAL = 6.0
DOORS = ("resolve-active-plan", "list-plans", "session-start")
CODE = {
    "floor": """
import fcntl, os, sys
for i in range(int(sys.argv[2])):
    fd = os.open(sys.argv[1] + "/floor", os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    os.write(fd, b"x" * 100 + b"\\n")
    os.fsync(fd)
    os.close(fd)
""",
    "appends": """
import sys
from signoff.storage.vault import Vault
for i in range(int(sys.argv[2])):
    Vault(sys.argv[1]).append_progress("a", "x" * 100)
""",
    "swaps": """
import sys
from pathlib import Path
from signoff.errors import PlanConflict
from signoff.storage.vault import Vault
vault = Vault(sys.argv[1])
for i in range(int(sys.argv[2])):
    while True:
        text, digest = vault.read_plan("a")
        try:
            vault.swap_plan("a", expected=digest, text=text + "x" * 100 + "\\n")
            break
        except PlanConflict as conflict:
            Path(conflict.facts["kept"]).unlink()
""",
}


def fast_doors(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """What hooks and scripts call at every turn, with few plans and with many."""
    for count, goal in ((3, FAST_GOAL), (sizes.many_plans, MANY_PLANS_GOAL)):
        scene = _vault_of(folder / f"plans-{count}", count)
        commands = {door: (*_program(), door) for door in DOORS}
        for argv in commands.values():
            seconds_of(argv, scene.workspace, scene.env)
        found: dict[str, list[float]] = {door: [] for door in DOORS}
        floors: list[float] = []
        for _ in range(sizes.start_rounds * 3):
            floors.append(seconds_of(BARE_PYTHON, scene.workspace, scene.env) * 1000)
            for door, argv in commands.items():
                found[door].append(seconds_of(argv, scene.workspace, scene.env) * 1000)
        for door, times in found.items():
            what = f"`signoff {door}`, {count:,} plans"
            yield compared(what, Unit.MILLISECONDS, times, floors, goal)


def vault_writes(folder: Path, sizes: Sizes) -> Iterator[Line]:
    """Writers of one file at once: every update durable, none lost."""
    took: dict[str, list[float]] = {kind: [] for kind in CODE}
    for number in range(sizes.rounds):
        for kind in CODE:
            place = folder / f"{kind}-{number}"
            place.mkdir()
            Vault(place).swap_plan("a", expected=None, text="# A\n")
            seconds = _seconds_of_writers(kind, place, sizes)
            took[kind].append(seconds * 1000 / (sizes.writers * sizes.updates))
    at_once = f"{sizes.writers} writers x {sizes.updates}"
    what = f"progress append, {at_once} (bare locked append)"
    yield compared(what, Unit.MILLISECONDS, took["appends"], took["floor"])
    what = f"plan swap, {at_once} (bare locked append)"
    yield compared(what, Unit.MILLISECONDS, took["swaps"], took["floor"])


def _vault_of(folder: Path, count: int) -> Scene:
    """A repository with so many plans, all of them known to the ledger, and one bound."""
    scene = Scene(folder, 3, holds_already, IDLE_AGENT)
    git(scene.workspace, "init", "--quiet")
    vault = Vault(scene.workspace / ".harness")
    scene.home.mkdir(mode=0o700)
    ledger = Ledger(open_database(sqlite_url(scene.home / "ledger.sqlite3")))
    text = (scene.workspace / "PLAN.md").read_text()
    vault.path.mkdir()
    for number in range(count):
        path = vault.plan_path(f"work-{number:04}")
        path.write_text(text)
        ledger.register_plan(plan_identity(path))
    argv = (sys.executable, "-m", "signoff", "bind", "work-0001")
    seconds_of(argv, scene.workspace, scene.env)
    return scene


def _program() -> tuple[str, ...]:
    """The command as it is installed, else the module."""
    script = Path(sys.executable).with_name("signoff")
    return (str(script),) if script.exists() else (sys.executable, "-m", "signoff")


def _seconds_of_writers(kind: str, place: Path, sizes: Sizes) -> float:
    """From the moment when all have loaded what they need."""
    ready = "import sys, signoff.storage.vault; print(flush=True); sys.stdin.readline()\n"
    argv = (sys.executable, "-c", ready + CODE[kind], str(place), str(sizes.updates))
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    writers = [subprocess.Popen(argv, text=True, **pipes) for _ in range(sizes.writers)]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    began = time.perf_counter()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    for writer in writers:
        if writer.wait() != 0:
            raise SystemExit("a writer of the benchmark failed")
    return time.perf_counter() - began
