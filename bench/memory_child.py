"""Does one thing in a process of its own and prints how much memory that took at most, in MB."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """`idle`, `planning PLAN` or `output BYTES`."""
    match sys.argv[1:]:
        case ["planning", plan]:
            plan_a_run(Path(plan))
        case ["output", size]:
            swallow_output(int(size))
    print(peak_mb())


def plan_a_run(path: Path) -> None:
    """Everything between reading a plan and the first thing a run does."""
    # Imported here: an idle process is the floor for the others.
    from signoff.gate.actions import next_action  # noqa: PLC0415
    from signoff.gate.gate import evaluate  # noqa: PLC0415
    from signoff.gate.state import State  # noqa: PLC0415
    from signoff.planfile.parse import parse  # noqa: PLC0415
    from signoff.planfile.verify import verify  # noqa: PLC0415
    from signoff.settings.loading import Settings  # noqa: PLC0415
    from signoff.settings.policy import Policy  # noqa: PLC0415
    from signoff.storage.vault import Vault  # noqa: PLC0415
    from signoff.usecases.verify import RealSurroundings  # noqa: PLC0415

    settings = Settings().with_roles({"coder": "true"})
    parsed = parse(path.read_text())
    verify(parsed, RealSurroundings(path.parent, Vault(path.parent), "/usr/bin:/bin", settings))
    state = State(parsed.plan, "bench")
    evaluate(state, None)
    next_action(state, Policy())


def swallow_output(size: int) -> None:
    """Watch a process that prints that much."""
    from signoff.process.command import Command  # noqa: PLC0415
    from signoff.process.limits import Limits  # noqa: PLC0415
    from signoff.process.runner import run  # noqa: PLC0415

    argv = ("/usr/bin/head", "-c", str(size), "/dev/zero")
    seen = run(Command(argv, Path.cwd(), {"PATH": "/usr/bin:/bin"}, Limits(wall_s=600)))
    if seen.stdout.size != size:
        raise SystemExit(f"{seen.stdout.size} of {size} bytes arrived: {seen.describe()}")


def peak_mb() -> float:
    """The kernel's high-water mark; unlike `getrusage`'s it begins anew when a program starts."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("this system does not say how much memory a process used at most")


if __name__ == "__main__":
    main()
