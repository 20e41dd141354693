"""A workspace in a sandbox, with something beside it that must not be touched or seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from signoff.domain.verdict import Isolation, Observation
from signoff.process.command import Command, Confinement
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.sandboxes import probe_sandboxes
from signoff.process.shell import shell_command

from .commands import PYTHON, environment

SECRET = "the secret of this test"
SANDBOXES = (Isolation.BUBBLEWRAP, Isolation.NAMESPACES, Isolation.LANDLOCK)


@dataclass(frozen=True)
class Pen:
    """`root` is readable; below it lie the workspace, its vault, a bystander and the home."""

    root: Path
    confinement: Confinement

    @property
    def workspace(self) -> Path:
        """Where the command may write."""
        return self.root / "ws"

    @property
    def vault(self) -> Path:
        """Read-only, two folders deep in the workspace."""
        return self.workspace / "docs" / "vault"

    @property
    def beside(self) -> Path:
        """Readable only."""
        return self.root / "beside"

    @property
    def home(self) -> Path:
        """Hidden."""
        return self.root / "state"

    def with_rules(self, **changes: Any) -> Pen:
        """The same place, confined otherwise."""
        return Pen(self.root, replace(self.confinement, **changes))

    def bash(self, text: str, limits: Limits | None = None, **env: str) -> Observation:
        """Run a shell text inside."""
        return run(self.command(shell_command(text), limits, **env))

    def python(self, code: str, *args: str, limits: Limits | None = None) -> Observation:
        """Run a Python without site packages inside."""
        return run(self.command((PYTHON, "-I", "-S", "-c", code, *args), limits))

    def command(self, argv: tuple[str, ...], limits: Limits | None = None, **env: str) -> Command:
        """The command that `bash` and `python` run."""
        return Command(
            argv,
            self.workspace,
            environment(**env),
            limits or Limits(wall_s=60.0),
            confinement=self.confinement,
        )


def require(isolation: Isolation) -> None:
    """Skip, with the reason, where a sandbox does not work."""
    for support in probe_sandboxes():
        if support.isolation is isolation and not support.available:
            pytest.skip(f"{isolation}: {support.detail}")


def make_pen(root: Path, isolation: Isolation) -> Pen:
    """Folders and rules as `Pen` describes them."""
    confinement = Confinement(
        isolation,
        writable=(root / "ws",),
        readonly=(root / "ws" / "docs" / "vault",),
        readable=(root,),
        hidden=(root / "state",),
    )
    pen = Pen(root, confinement)
    for folder in (pen.vault, pen.beside, pen.home / "keys"):
        folder.mkdir(parents=True)
    (pen.vault / "PLAN.md").write_text("plan\n")
    (pen.beside / "file").write_text("bystander\n")
    (pen.home / "keys" / "key").write_text(SECRET)
    return pen


@pytest.fixture(params=SANDBOXES)
def pen(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pen]:
    """Each sandbox in turn."""
    require(request.param)
    yield make_pen(tmp_path, request.param)


@pytest.fixture
def cell(tmp_path: Path) -> Iterator[Pen]:
    """Bubblewrap."""
    require(Isolation.BUBBLEWRAP)
    yield make_pen(tmp_path, Isolation.BUBBLEWRAP)


@pytest.fixture
def fence(tmp_path: Path) -> Iterator[Pen]:
    """Landlock."""
    require(Isolation.LANDLOCK)
    yield make_pen(tmp_path, Isolation.LANDLOCK)
