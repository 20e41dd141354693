"""Ignored files that no build or install made: which they are, and how they are kept away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from signoff.domain.snapshot import Change, ChangeKind, FileState
from signoff.testing.crash import VARIABLE, CachePoint
from signoff.verification.ignored import MOST_LOOSE, Ignored
from signoff.verification.influences.gathered import ManifestIndex
from signoff.verification.influences.ignored import LooseFiles, made_since
from signoff.verification.influences.packages import startup_code
from signoff.verification.pins import fingerprint
from signoff.workspace.caches import LARGEST_BYTES, LooseCopies, put_back_caches


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


def _kept(tmp_path: Path, *paths: str) -> tuple[LooseCopies, dict[str, FileState]]:
    files = _written(tmp_path / "work", *paths).loose()
    copies = LooseCopies(tmp_path / "store")
    copies.keep(tmp_path / "work", files)
    return copies, files


def test_files_that_are_gone_are_there_for_a_while_and_gone_again(tmp_path: Path) -> None:
    copies, files = _kept(tmp_path, ".env", "local/deep/a")
    root = tmp_path / "work"
    (root / ".env").unlink()
    (root / "local/deep/a").unlink()
    (root / "local/deep").rmdir()
    with copies.put_back(root, files):
        assert (root / "local/deep/a").read_text() == "local/deep/a\n"
        assert (root / ".env").read_text() == ".env\n"
    assert sorted(p.name for p in root.iterdir()) == ["local"]
    assert not any((root / "local").iterdir())


def test_nothing_is_put_back_through_a_link_or_over_anything(tmp_path: Path) -> None:
    copies, files = _kept(tmp_path, ".env", "local/a")
    root = tmp_path / "work"
    (root / ".env").write_text("else\n")
    (root / "local").rename(tmp_path / "outside")
    (tmp_path / "outside/a").unlink()
    (root / "local").symlink_to(tmp_path / "outside")
    with copies.put_back(root, files):
        assert not any((tmp_path / "outside").iterdir())
        assert (root / ".env").read_text() == "else\n"
    assert (root / ".env").read_text() == "else\n"
    assert (root / "local").is_symlink()


def test_copies_are_private_small_and_what_they_were(tmp_path: Path) -> None:
    root = tmp_path / "work"
    files = _written(root, ".env").loose()
    (root / "large").write_bytes(b"x" * (LARGEST_BYTES + 1))
    files |= Ignored(root, {"large"}).loose()
    copies = LooseCopies(tmp_path / "store")
    copies.keep(root, files)
    folder = tmp_path / "store/ignored-files"
    assert folder.stat().st_mode & 0o077 == 0
    assert copies.read(files["large"].sha256) is None
    assert copies.read(files[".env"].sha256) == b".env\n"
    (folder / files[".env"].sha256).write_text("spoilt\n")
    assert copies.read(files[".env"].sha256) is None


SITE = ".venv/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("sitecustomize.py", "x = 1"),
        ("sitecustomize.pyc", "x"),
        ("usercustomize.cpython-311-x86_64-linux-gnu.so", "x"),
        ("sitecustomize/__init__.py", "x = 1"),
        ("a.pth", "import a"),
        ("large.pth", "#" * 2_000_001),
    ],
)
def test_code_that_runs_at_the_start_of_an_interpreter_is_found(
    tmp_path: Path, name: str, text: str
) -> None:
    found = _written(tmp_path, f"{SITE}/{name}", f"{SITE}/plain.pth", f"{SITE}/other.py")
    (tmp_path / SITE / name).write_text(text)
    assert [*startup_code(SITE, ManifestIndex({}, lambda _: b"", found))] == [
        name.partition("/")[0]
    ]


@pytest.mark.parametrize(
    ("home", "is_made"), [("/usr/bin", False), ("{}/bin", True), ("bin", True), ("", True)]
)
def test_an_environment_has_its_library_from_outside_or_is_asked_about(
    tmp_path: Path, home: str, is_made: bool
) -> None:
    ignored = _written(tmp_path, ".venv/pyvenv.cfg")
    (tmp_path / ".venv/pyvenv.cfg").write_text(f"home = {home.format(tmp_path)}\n")
    now = {".venv/pyvenv.cfg": "installed:file:1"}
    assert [i.path for i in made_since({}, now, ignored)] == ([".venv"] if is_made else [])
    assert made_since(now, now, ignored) == ()


@pytest.mark.parametrize(
    ("name", "target", "is_made"),
    [
        ("python", sys.executable, False),
        ("python", "/bin/true", True),
        ("pytest", sys.executable, True),
        ("python", "../../python3", True),
    ],
)
def test_only_a_link_to_an_interpreter_outside_is_the_machines(
    tmp_path: Path, name: str, target: str, is_made: bool
) -> None:
    ignored = _written(tmp_path, ".venv/bin/other", "python3")
    (tmp_path / ".venv/bin" / name).symlink_to(target)
    now = {f".venv/bin/{name}": "installed:link:1"}
    assert bool(made_since({}, now, ignored)) == is_made


def test_compiled_python_is_told_by_folder_and_links_are_not_followed(tmp_path: Path) -> None:
    found = _written(
        tmp_path,
        f"{SITE}/p/__pycache__/a.pyc",
        f"{SITE}/p/q/__pycache__/b.pyc",
        f"{SITE}/__pycache__/c.pyc",
        f"{SITE}/p/sourceless.pyc",
    )
    below = found.caches(f"{SITE}/p", below=True)
    assert [*below] == [f"{SITE}/p/__pycache__", f"{SITE}/p/q/__pycache__"]
    assert [*found.caches(SITE, below=False)] == [f"{SITE}/__pycache__"]
    assert [*found.tree(f"{SITE}/p")] == [f"{SITE}/p/sourceless.pyc"]
    (tmp_path / SITE / "p/__pycache__/a.pyc").write_text("else")
    again = Ignored(tmp_path, {".venv"}).caches(f"{SITE}/p", below=True)
    assert again[f"{SITE}/p/__pycache__"] != below[f"{SITE}/p/__pycache__"]
    (tmp_path / SITE / "p/__pycache__").rename(tmp_path / "elsewhere")
    (tmp_path / SITE / "p/__pycache__").symlink_to(tmp_path / "elsewhere")
    linked = Ignored(tmp_path, {".venv"}).caches(f"{SITE}/p", below=True)
    assert linked[f"{SITE}/p/__pycache__"] not in {*again.values(), *below.values()}
