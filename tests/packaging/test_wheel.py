"""The wheel installs into a fresh environment, and does there what the README says.

Nothing is fetched: the environment sees exactly the distributions that the wheel's own metadata
asks for, as they are installed here, and nothing of the repository.
"""

from __future__ import annotations

import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, PathDistribution, distribution
from pathlib import Path

import pytest

from tests.newcomer.minute import BOTH, EXAMPLE
from tests.newcomer.standins import Conduct
from tests.newcomer.test_first_minute import newcomer

TOP = Path(__file__).resolve().parents[2]
SOURCE = TOP / "src"
LIMIT_S = 300
UV = Path(sys.executable).parent / "uv"


def ran(*words: str | Path, cwd: Path, **environ: str) -> str:
    """What it prints; it must end well, and inherits nothing."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), "LANG": "C.UTF-8", **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=TOP)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_has_every_file_of_the_package_and_none_beside_it(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = (path for path in (SOURCE / "signoff").rglob("*") if path.is_file())
    source = {str(p.relative_to(SOURCE)) for p in files if p.parent.name != "__pycache__"}
    assert names == source
    assert "signoff/py.typed" in names


def test_the_source_distribution_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    ran(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path, cwd=TOP)
    (sdist,) = tmp_path.glob("*.tar.gz")
    ran("tar", "-xzf", sdist, cwd=tmp_path)
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    out = tmp_path / "out"
    ran(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=unpacked)
    (again,) = out.glob("*.whl")
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(wheel).namelist()


@pytest.mark.skipif(not UV.exists(), reason="no uv in this .venv")
def test_uv_installs_the_wheel(wheel: Path, tmp_path: Path) -> None:
    python = fresh_environment(tmp_path / "env", wheel)
    words = ("--quiet", "--python", python, "--no-deps", "--no-index", wheel)
    ran(UV, "pip", "install", *words, cwd=tmp_path)
    assert ran(python.parent / "signoff", "--version", cwd=tmp_path).startswith("signoff ")


def test_a_newcomer_gets_a_first_plan_signed_off_from_the_wheel_alone(
    wheel: Path, tmp_path: Path
) -> None:
    python = fresh_environment(tmp_path / "env", wheel, with_pip=True)
    words = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", wheel)
    ran(python, "-m", "pip", "install", *words, cwd=tmp_path)
    where = ran(python, "-c", "import signoff; print(signoff.__file__)", cwd=tmp_path)
    assert where.startswith(str(tmp_path)), where
    loaded = ran(python, "-c", "import sys; print(sys.path)", cwd=tmp_path)
    assert str(TOP) not in loaded

    person = newcomer(tmp_path, EXAMPLE, BOTH[0], Conduct.WORKS)
    person.program("signoff", f'#!/bin/sh\nexec "{python.parent}/signoff" "$@"\n')
    assert "OK    python" in person.at.signoff("doctor").stdout
    code, shown = person.types()
    assert code == 0 and "[done]" in shown, shown
    assert "audit: kept" in person.at.signoff("audit", "PLAN.md").stdout
    person.at.signoff("receipt", "bundle", "--output", "../fix.zip").check_returncode()
    assert (tmp_path / "fix.zip").stat().st_size > 0


def fresh_environment(folder: Path, wheel: Path, *, with_pip: bool = False) -> Path:
    """An empty environment that finds what the wheel asks for, and nothing else from here."""
    venv.create(folder, with_pip=with_pip, symlinks=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python3*/site-packages")
    metadata = next(n for n in zipfile.ZipFile(wheel).namelist() if n.endswith("/METADATA"))
    kept = folder / "metadata" / metadata
    kept.parent.mkdir(parents=True)
    kept.write_bytes(zipfile.ZipFile(wheel).read(metadata))
    for needed in needed_by(PathDistribution(kept.parent)):
        for top in {file.parts[0] for file in needed.files or () if file.parts[0] != ".."}:
            there, link = Path(str(needed.locate_file(top))), site / top
            if there.exists() and not link.exists() and top != "__pycache__":
                link.symlink_to(there)
    return python


def needed_by(first: Distribution) -> Iterator[Distribution]:
    """Every installed distribution that the first one asks for, directly or not."""
    seen: set[str] = set()
    queue = [(first, frozenset[str]())]
    while queue:
        current, extras = queue.pop()
        for needed in current.requires or ():
            words, _, marker = needed.partition(";")
            wanted = re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)
            name = re.match(r"\s*([\w.-]+)\s*(?:\[([^\]]*)\])?", words)
            if name is None or name[0] in seen or (wanted and wanted[1] not in extras):
                continue
            seen.add(name[0])
            try:
                found = distribution(name[1])
            except PackageNotFoundError:
                continue  # for another system than this
            yield found
            queue.append((found, frozenset((name[2] or "").replace(" ", "").split(","))))
