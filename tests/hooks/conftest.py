"""A repository with an approved, bound plan, and clients in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.plans import step
from tests.cli.project import Project
from tests.hooks.kit import FakeClient


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A repository with a vault."""
    made = Project(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def bound(project: Project) -> Project:
    """A plan of two steps, approved by a person and bound to the worktree."""
    project.agent("true")
    project.named(
        "auth",
        step("Log in", "test -s login.txt", protects=["tests/**"]),
        step("Log out", "test -s logout.txt"),
    )
    project.file("tests/test_login.py", "assert True\n").commit("first")
    project.signoff("bind", "auth").exits(0)
    project.signoff("approve", "auth", "--yes").exits(0)
    return project


@pytest.fixture
def client(project: Project) -> Iterator[FakeClient]:
    """Claude Code, as far as hooks can see."""
    with FakeClient(project) as made:
        yield made
