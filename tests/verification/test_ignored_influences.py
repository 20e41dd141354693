"""Ignored files that no build or install made: which they are, and how they are kept away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from signoff.domain.snapshot import Change, ChangeKind
from signoff.testing.crash import VARIABLE, CachePoint
from signoff.verification.ignored import MOST_LOOSE, Ignored
from signoff.verification.ignored_influences import LooseFiles
from signoff.verification.pins import fingerprint
from signoff.workspace.caches import put_back_caches


def _written(root: Path, *paths: str) -> Ignored:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{path}\n")
    return Ignored(root, {path.partition("/")[0] for path in paths})


def test_loose_files_are_those_that_nobody_built_or_installed(tmp_path: Path) -> None:
    found = _written(
        tmp_path,
        ".env",
        "local/rules.yml",
        "build/app.js",
        "build/conftest.py",
        "node_modules/a/index.json",
        "env/pyvenv.cfg",
        "env/lib/x.ini",
        "local/__pycache__/a.json",
        "a.pyc",
    )
    assert sorted(found.loose()) == [".env", "build/conftest.py", "local/rules.yml"]


def test_among_too_many_files_only_those_that_configure_tools_count(tmp_path: Path) -> None:
    many = (f"data/{number}" for number in range(MOST_LOOSE))
    found = _written(tmp_path, *many, "data/z/conftest.py")
    assert sorted(found.loose()) == ["data/z/conftest.py"]


def test_new_and_changed_files_are_told_and_unchanged_ones_are_not(tmp_path: Path) -> None:
    before = _written(tmp_path, ".env", "local/a").loose()
    pinned = {path: fingerprint(state) for path, state in before.items()}
    (tmp_path / "local/a").write_text("else\n")
    now = _written(tmp_path, ".env", "local/b")
    loose = LooseFiles(pinned, now.loose())
    assert loose.changes == (
        Change("local/a", ChangeKind.MODIFIED),
        Change("local/b", ChangeKind.ADDED),
    )
    assert loose.folders == ("", "local")


def test_files_kept_away_come_back_also_after_a_kill(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / ".env").write_text("mine\n")
    code = (
        "from pathlib import Path\n"
        "from signoff.workspace.workspace import Workspace\n"
        f"workspace = Workspace(Path({str(root)!r}), Path({str(tmp_path / 'snapshots/store')!r}))\n"
        "with workspace.without_byproducts(['.env']): pass\n"
    )
    killed = {**os.environ, VARIABLE: CachePoint.ASIDE}
    ended = subprocess.run([sys.executable, "-c", code], env=killed, check=False)
    assert ended.returncode == -9
    assert not (root / ".env").exists()
    put_back_caches(tmp_path / "snapshots")
    assert (root / ".env").read_text() == "mine\n"
