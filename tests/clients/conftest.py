"""Installs the clients from npm, once; only where somebody asked: `make test-clients`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.plans import step
from tests.cli.project import Project
from tests.clients.kit import PACKAGES, RealClient

ASKED_VARIABLE = "SIGNOFF_TEST_CLIENTS"
# A folder with `node_modules`, to spare the installation.
PREFIX_VARIABLE = "SIGNOFF_TEST_CLIENTS_PREFIX"
INSTALL_LIMIT_S = 600


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the clients' programs."""
    if not os.environ.get(ASKED_VARIABLE):
        pytest.skip("real clients: make test-clients")
    if os.environ.get(PREFIX_VARIABLE):
        return Path(os.environ[PREFIX_VARIABLE]) / "node_modules" / ".bin"
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    prefix = tmp_path_factory.mktemp("clients")
    done = subprocess.run(
        [npm, "install", "--no-audit", "--no-fund", "--prefix", str(prefix), *PACKAGES.values()],
        capture_output=True,
        text=True,
        timeout=INSTALL_LIMIT_S,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"npm cannot install the clients: {done.stderr[-300:]}")
    return prefix / "node_modules" / ".bin"


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
