"""Fixtures and options every suite may use, and the room that a storm has for itself."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from signoff.process.sandboxes import probe_sandboxes
from tests.postgres import database_url, postgres_server, postgres_url

__all__ = ["database_url", "postgres_server", "postgres_url"]

# How long an example takes says something about the machine, and nothing about the claim.
settings.register_profile("claims", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("claims")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="thousands of kills and hostile contracts")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "storm: fills the machine's process table; runs alone")
    # A shell that starts the suite in the background has it ignore Ctrl-C and with it every child.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out, and say so, what is asked of a sandbox that does not work on this machine."""
    broken = {s.isolation: s.detail for s in probe_sandboxes() if not s.available}
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        isolation = params.get("isolation")
        if isolation in broken:
            item.add_marker(pytest.mark.skip(reason=f"no {isolation} here: {broken[isolation]}"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Beside a storm no other test could start a process or a thread.

    Everybody passes one turnstile, so that a storm that waits for the others gets its turn.
    """
    base = Path(item.config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    storm = item.get_closest_marker("storm") is not None
    with (shared / "turnstile").open("w") as turnstile, (shared / "room").open("w") as room:
        fcntl.flock(turnstile, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if storm else fcntl.LOCK_SH)
        fcntl.flock(turnstile, fcntl.LOCK_UN)
        return (yield)
