"""Sockets on which programs of this user listen: found by looking, not by their names."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.process.sandboxes import reachable_sockets


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a short path: the name of a socket has 108 bytes at most."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name).resolve()


def listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    return listener


def test_any_socket_on_which_a_program_of_this_user_listens_counts(folder: Path) -> None:
    with listen(folder / "multiplexer"):
        assert str(folder / "multiplexer") in reachable_sockets({})
    assert str(folder / "multiplexer") not in reachable_sockets({}), "nobody listens any more"


def test_an_abstract_socket_counts_where_landlock_cannot_keep_a_process_from_it() -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0signoff-test-of-sockets")
        assert "@signoff-test-of-sockets" not in reachable_sockets({}, scoped=False)
        listener.listen()
        assert "@signoff-test-of-sockets" in reachable_sockets({}, scoped=False)
        assert "@signoff-test-of-sockets" not in reachable_sockets({}, scoped=True)


def test_a_socket_on_which_nobody_listens_does_not_count(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "bound"))
        named = {"SSH_AUTH_SOCK": str(folder / "bound")}
        assert str(folder / "bound") not in reachable_sockets(named)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TMUX", "{},1234,0"),
        ("SSH_AUTH_SOCK", "{}"),
        ("DBUS_SESSION_BUS_ADDRESS", "unix:path={},guid=00"),
        ("DOCKER_HOST", "unix://{}"),
    ],
)
def test_what_the_environment_names_is_found(folder: Path, variable: str, value: str) -> None:
    with listen(folder / "s"):
        assert str(folder / "s") in reachable_sockets({variable: value.format(folder / "s")})


def test_a_service_of_another_user_for_everybody_does_not_count(folder: Path) -> None:
    with listen(folder / "service"):
        if os.geteuid() != 0:
            return  # nobody can give a file away
        os.chown(folder / "service", 1, 1)
        (folder / "service").chmod(0o777)
        assert str(folder / "service") not in reachable_sockets({})
        (folder / "service").chmod(0o770)
        assert str(folder / "service") in reachable_sockets({}), "for some: it gives them rights"
