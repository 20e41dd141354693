"""Fixtures every suite may use."""

from tests.postgres import database_url, postgres_server, postgres_url

__all__ = ["database_url", "postgres_server", "postgres_url"]
