"""A workspace in a temporary folder, with its store beside it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.workspace.byproducts import RoomLimits
from signoff.workspace.cleanroom import CleanRoom
from signoff.workspace.ignore import IgnoreRules
from signoff.workspace.workspace import Workspace


class Desk:
    """A workspace root that tests fill, and fresh `Workspace` objects on it."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.root = folder / "work"
        self.store = folder / "store"
        self.root.mkdir(parents=True)

    def write(self, path: str, content: str | bytes = "content\n") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def workspace(
        self, rules: IgnoreRules | None = None, apart: frozenset[str] = frozenset()
    ) -> Workspace:
        return Workspace(self.root, self.store, rules, apart)

    def fresh_digest(self, rules: IgnoreRules, apart: frozenset[str] = frozenset()) -> str:
        """What somebody finds who knows nothing."""
        return Workspace(self.root, self.folder / "fresh", rules, apart).digest_now().digest

    def clean_room(self, workspace: Workspace, limits: RoomLimits | None = None) -> CleanRoom:
        return CleanRoom(workspace, self.folder / "home" / "clean", limits)

    def settle(self) -> None:
        """Wait until the filesystem's clock is well past every change made so far."""
        newest = max((f.lstat().st_ctime_ns for f in self.root.rglob("*")), default=0)
        probe = self.folder / "clock"
        while True:
            probe.write_bytes(b"")
            if probe.stat().st_ctime_ns > newest + 100_000_000:
                return
            time.sleep(0.005)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def shared_desk() -> Iterator[Desk]:
    """A desk in a folder that other users may enter, which pytest's own folders are not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Desk(Path(folder))
