"""A desk per test, as for the command line, and a plan that clients work on."""

from tests.cli.conftest import desk, project
from tests.hooks.conftest import bound

__all__ = ["bound", "desk", "project"]
