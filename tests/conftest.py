"""Fixtures and options every suite may use."""

import pytest

from tests.postgres import database_url, postgres_server, postgres_url

__all__ = ["database_url", "postgres_server", "postgres_url"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="thousands of kills and hostile contracts")
