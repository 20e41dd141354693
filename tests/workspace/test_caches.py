"""Compiled caches that are kept: aside while something is judged, back afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.workspace.caches import put_back_caches
from signoff.workspace.workspace import Workspace
from tests.workspace.conftest import Desk

CACHE = "src/__pycache__"


@pytest.fixture(params=["same disk", "other disk"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A snapshot store; memory is another disk than the one of the workspace."""
    if request.param == "same disk":
        yield tmp_path / "snapshots" / "store"
        return
    folder = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield folder / "snapshots" / "store"
    shutil.rmtree(folder)


def _opened(desk: Desk, store: Path) -> Workspace:
    """With a cache that was there when a plan was approved."""
    cache = desk.write(f"{CACHE}/deep/a.pyc", "compiled")
    cache.chmod(0o640)
    (desk.root / CACHE / "link").symlink_to("/etc")
    for path in (cache, desk.root / CACHE / "deep", desk.root / CACHE):
        os.utime(path, ns=(10**18, 10**18))
    workspace = Workspace(desk.root, store)
    workspace.snapshot()
    workspace.remember_caches()
    return workspace


def _states(root: Path) -> dict[str, tuple[int, int, bytes]]:
    paths = [root / CACHE, *sorted((root / CACHE).rglob("*"))]
    return {
        str(p): (p.lstat().st_mode, p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else b"")
        for p in paths
    }


def test_a_kept_cache_comes_back_with_content_modes_times_and_links(
    desk: Desk, store: Path
) -> None:
    workspace = _opened(desk, store)
    before = _states(desk.root)
    with workspace.without_caches():
        assert not (desk.root / CACHE).exists()
        desk.write(CACHE, "in its place")
    assert _states(desk.root) == before
    assert workspace.remove_caches() == 0


def test_a_cache_is_kept_until_the_way_to_its_place_is_free(desk: Desk, store: Path) -> None:
    workspace = _opened(desk, store)
    before = _states(desk.root)
    with workspace.without_caches():
        (desk.root / "src").rmdir()
        desk.write("src", "a file where the folder was")
    assert (desk.root / "src").read_text() == "a file where the folder was"
    put_back_caches(store.parent)
    assert (desk.root / "src").is_file()
    (desk.root / "src").unlink()
    put_back_caches(store.parent)
    assert _states(desk.root) == before


def test_nothing_is_put_back_while_somebody_judges(desk: Desk, store: Path) -> None:
    workspace = _opened(desk, store)
    with workspace.without_caches():
        put_back_caches(store.parent)
        assert not (desk.root / CACHE).exists()
    assert (desk.root / CACHE / "deep" / "a.pyc").exists()


def test_an_error_while_something_is_judged_loses_nothing(desk: Desk, store: Path) -> None:
    workspace = _opened(desk, store)
    before = _states(desk.root)
    with pytest.raises(KeyboardInterrupt), workspace.without_caches():
        raise KeyboardInterrupt
    assert _states(desk.root) == before
