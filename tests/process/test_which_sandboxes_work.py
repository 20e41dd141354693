"""What the system offers is found out by trying, and a wish is never lowered in silence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from signoff.domain.verdict import Ending, Isolation
from signoff.process import namespaces
from signoff.process.command import Confinement
from signoff.process.environment import STANDARD_PATH
from signoff.process.sandboxes import best_isolation, probe_sandboxes
from signoff.process.shell import find_tool

from .pens import SANDBOXES, Pen

ASK = """
import sys
sys.path[:0] = sys.argv[1].split(":")
from signoff.process.sandboxes import best_isolation, probe_sandboxes
for support in probe_sandboxes():
    print(support.isolation, support.available, support.detail)
print(best_isolation(None))
"""

TRY = """
import sys
sys.path[:0] = sys.argv[1].split(":")
from pathlib import Path
from signoff.domain.verdict import Isolation
from signoff.process.command import Command
from signoff.process.command import Confinement
from signoff.process.environment import STANDARD_PATH
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.sandboxes import best_isolation, probe_sandboxes
from signoff.process.shell import find_tool, shell_command
pen = Confinement(Isolation.BUBBLEWRAP, (Path("."),))
seen = run(Command(shell_command("echo ran"), Path("."), {}, Limits(wall_s=60), confinement=pen))
print(seen.ending, seen.exit_code, seen.stdout.size, seen.detail)
"""


def test_every_sandbox_is_listed_the_best_first_with_its_version_or_a_reason() -> None:
    supports = probe_sandboxes()
    assert [s.isolation for s in supports] == [*SANDBOXES]
    assert all(support.detail for support in supports)
    assert all(a is b for a, b in zip(supports, probe_sandboxes(), strict=True)), "tried once"


def test_the_best_that_works_is_chosen_and_a_wish_is_kept() -> None:
    working = [support.isolation for support in probe_sandboxes() if support.available]
    assert best_isolation(None) is (working[0] if working else Isolation.NONE)
    for isolation in Isolation:
        assert best_isolation(isolation) is isolation


def test_a_confinement_by_nothing_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="without a sandbox"):
        Confinement(Isolation.NONE, ())


def test_without_the_program_there_is_a_reason_and_the_next_best(cell: Pen) -> None:
    bwrap = find_tool("bwrap", STANDARD_PATH)
    assert bwrap is not None
    without = cell.with_rules(hidden=(*cell.confinement.hidden, bwrap))
    lines = _lines(without, ASK)
    assert lines[0].startswith("bubblewrap False no `bwrap` in /usr/local/sbin:")
    assert lines[-1] != "bubblewrap"
    assert _lines(without, TRY)[0].startswith("not-started None 0 no `bwrap` in ")


def test_where_the_system_forbids_namespaces_it_is_a_reason_and_no_exit_code(cell: Pen) -> None:
    assert _lines(cell, ASK)[0].startswith("bubblewrap False bubblewrap: ")
    assert _lines(cell, TRY)[0].startswith("not-started None 0 bubblewrap: ")


def test_a_program_of_the_callers_search_path_is_not_used(cell: Pen) -> None:
    fake = cell.workspace / "bwrap"
    fake.write_text("#!/bin/sh\necho fake\n")
    fake.chmod(0o755)
    seen = cell.bash("echo real", PATH=f"{cell.workspace}:/usr/bin:/bin")
    assert (seen.ending, seen.stdout.head) == (Ending.EXITED, b"real\n")


def _lines(pen: Pen, code: str) -> list[str]:
    paths = ":".join(path for path in sys.path if path)
    seen = pen.with_rules(readable=(pen.root, *map(Path, sys.path))).python(code, paths)
    assert seen.exit_code == 0, seen.stderr.kept
    return seen.stdout.kept.decode().splitlines()


def test_who_makes_namespaces_needs_nothing_but_the_standard_library() -> None:
    # An interpreter of its own makes them, without site-packages: else the sandbox is not there.
    source = Path(namespaces.__file__).parents[2]
    script = f"import sys; sys.path.insert(0, {str(source)!r}); import signoff.process.namespaces"
    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True, timeout=60)
