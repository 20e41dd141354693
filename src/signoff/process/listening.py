"""Addresses that doors for browsers and agents listen on: loopback, unless somebody says so."""

from __future__ import annotations

import socket

from msgspec import Struct

from signoff.errors import ProcessFailed, UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Address(Struct, frozen=True):
    """Address to listen on; port 0 is any free one."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str, command: str, *, elsewhere: bool = False) -> Address:
        """HOST:PORT or PORT, on loopback: a token that crosses a network is not secret.

        `command` is what takes it; `elsewhere` when something else keeps the token secret.
        """
        host, _, port = text.rpartition(":")
        host = host.strip("[]") or "127.0.0.1"
        if not (port.isascii() and port.isdigit() and int(port) < 65536):
            raise UsageError(f"`{text}` is not HOST:PORT", f"{command} 127.0.0.1:8765")
        if host not in LOOPBACK and not elsewhere:
            raise UsageError(
                f"`{host}` is not this machine's loopback; from elsewhere use a tunnel of your own",
                f"{command} 127.0.0.1:{port}",
            )
        return cls(host, int(port))

    @property
    def shown_host(self) -> str:
        """The host as it stands in an address."""
        return f"[{self.host}]" if ":" in self.host else self.host

    def names(self, port: int) -> list[str]:
        """Values of `Host` that a client may send to us."""
        return [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]


def listen(address: Address) -> socket.socket:
    """A bound socket: from here on requests wait instead of being refused."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise ProcessFailed(
            f"`{address.host}:{address.port}` cannot be used for the server: {error.strerror}",
            "choose another port; 0 is any free one",
        ) from error
    return listener
