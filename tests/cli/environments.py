"""Real virtual environments for tests, with packages that the test run itself has installed."""

from __future__ import annotations

import shutil
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

from tests.cli.kit import Desk

PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
MACHINE = "/usr/local/bin:/usr/bin:/bin"  # a search path without anybody's own tools

TEST = "from price import total\n\n\ndef test_total():\n    assert total([2, 3]) == 5\n"
FIXED = "def total(numbers):\n    return sum(numbers)\n"
WORK = "cat > price.py <<'PY'\n" + FIXED + "PY"


def make_environment(folder: Path, *packages: str) -> Path:
    """`python -m venv`, and these distributions copied into it; its folder of programs."""
    venv.EnvBuilder(symlinks=True).create(folder)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in packages:
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or () if file.parts[0] != ".."}:
            source = Path(str(found.locate_file(top)))
            if source.is_dir() and top != "__pycache__":
                shutil.copytree(source, site / top, ignore=shutil.ignore_patterns("*.pyc"))
            elif source.is_file():
                shutil.copy(source, site / top)
    if "pytest" in packages:
        program = folder / "bin" / "pytest"
        program.write_text(
            f"#!{folder}/bin/python\nimport sys\nfrom pytest import main\nsys.exit(main())\n"
        )
        program.chmod(0o755)
    assert sys.prefix != sys.base_prefix, "the test run has an environment of its own"
    return folder / "bin"


def red_project(desk: Desk, isolation: str, extra: str = "") -> Desk:
    """A project with one red test, on a machine that has no pytest."""
    desk.git().person(f'[sandbox]\nisolation = "{isolation}"\n{extra}')
    desk.file(".gitignore", ".venv/\nnode_modules/\n*.log\n")
    desk.file("price.py", "def total(numbers):\n    return 0\n").file("test_price.py", TEST)
    return desk.agent(WORK).variable(PATH=MACHINE)


def activate(desk: Desk, bin_folder: Path) -> Desk:
    """What `source .venv/bin/activate` does to the environment."""
    path = f"{bin_folder}:{MACHINE}"
    return desk.variable(VIRTUAL_ENV=str(bin_folder.parent), PATH=path)


def agents_started(desk: Desk) -> int:
    """How many agents were paid, as the ledger has it: a confined one leaves no other trace."""
    return len(desk.entries("attempt.started"))
