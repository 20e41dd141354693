"""Installs the clients from npm and PyPI, once; only where somebody asked: `make test-clients`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.plans import step
from tests.cli.project import Project
from tests.clients.kit import NPM_PACKAGES, PACKAGES, PYPI_PACKAGES, RealClient

ASKED_VARIABLE = "SIGNOFF_TEST_CLIENTS"
# A folder with `node_modules`, to spare the installation.
PREFIX_VARIABLE = "SIGNOFF_TEST_CLIENTS_PREFIX"
INSTALL_LIMIT_S = 1200
TOP = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def installed() -> Path:
    """The folder that all clients are installed in, as far as that can be done here.

    Not below /tmp, which is another one in a sandbox.
    """
    if not os.environ.get(ASKED_VARIABLE):
        pytest.skip("real clients: make test-clients")
    if os.environ.get(PREFIX_VARIABLE):
        return Path(os.environ[PREFIX_VARIABLE])
    prefix = TOP / "build" / "clients"
    prefix.mkdir(parents=True, exist_ok=True)
    (prefix / "package.json").write_text('{"name": "clients", "private": true}')
    npm = shutil.which("npm")
    if npm is not None:
        _install(npm, "install", "--no-audit", "--no-fund", *NPM_PACKAGES.values(), cwd=prefix)
    python = prefix / "python" / "bin" / "python"
    if not python.exists():
        _install(sys.executable, "-m", "venv", "python", cwd=prefix)
    _install(str(python), "-m", "pip", "install", "--quiet", *PYPI_PACKAGES.values(), cwd=prefix)
    return prefix


def _install(*words: str, cwd: Path) -> None:
    """A client that cannot be had here is skipped by its own tests."""
    subprocess.run(words, cwd=cwd, capture_output=True, timeout=INSTALL_LIMIT_S, check=False)


@pytest.fixture(scope="session")
def programs(installed: Path) -> Path:
    """The folder of the clients' programs from npm."""
    return installed / "node_modules" / ".bin"


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A repository with a plan that a person approved and bound."""
    made = Project(tmp_path)
    made.agent("true").named("hello", step("Say hello", "grep -q hello hello.txt"))
    made.commit("first")
    made.signoff("bind", "hello").exits(0)
    made.signoff("approve", "hello", "--yes").exits(0)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(params=list(PACKAGES))
def client(request: pytest.FixtureRequest, programs: Path, project: Project) -> RealClient:
    """A client with signoff installed in the project."""
    project.signoff("install", request.param).exits(0)
    return RealClient(request.param, programs / request.param, project)
