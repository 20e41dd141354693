"""A desk per test, as for the command line."""

from tests.cli.conftest import desk, project

__all__ = ["desk", "project"]
