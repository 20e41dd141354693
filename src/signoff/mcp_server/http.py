"""Streamable HTTP on loopback: a token for every request, Host and Origin checked."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from msgspec import Struct

from signoff.errors import ProcessFailed, UsageError
from signoff.mcp_server.server import build_server
from signoff.usecases.mcp import McpTools

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LARGEST_REQUEST = 1_000_000
PATH = "/mcp"

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Scope]]
_Send = Callable[[_Scope], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


class Address(Struct, frozen=True):
    """Address to listen on; port 0 is any free one."""

    host: str
    port: int

    @classmethod
    def read(cls, text: str) -> Address:
        """HOST:PORT or PORT, on loopback: a token that crosses a network is not secret."""
        host, _, port = text.rpartition(":")
        host = host.strip("[]") or "127.0.0.1"
        if not (port.isascii() and port.isdigit() and int(port) < 65536):
            raise UsageError(f"`{text}` is not HOST:PORT", "signoff mcp --http 127.0.0.1:8765")
        if host not in _LOOPBACK:
            raise UsageError(
                f"`{host}` is not this machine's loopback; from elsewhere use a tunnel of your own",
                f"signoff mcp --http 127.0.0.1:{port}",
            )
        return cls(host, int(port))

    def names(self, port: int) -> list[str]:
        """Values of `Host` that a client may send to us."""
        return [f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")]


def serve_http(tools: McpTools, address: Address, token: str, tell: Callable[[str], None]) -> None:
    """Serve until interrupted; `tell` is told the address once it can be asked."""
    listener = _listen(address)
    port = listener.getsockname()[1]
    names = address.names(port)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=names,
        allowed_origins=[f"http://{name}" for name in names],
    )
    app = build_server(tools).streamable_http_app(
        streamable_http_path=PATH,
        transport_security=security,
        max_request_body_size=_LARGEST_REQUEST,
    )
    shown = f"[{address.host}]" if ":" in address.host else address.host
    tell(f"http://{shown}:{port}{PATH}")
    config = uvicorn.Config(_Guarded(app, token), log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


class _Guarded:
    """Lets only requests with the token in; told apart in constant time."""

    def __init__(self, app: _App, token: str):
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http" and not self._is_known(scope):
            head = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": head})
            await send({"type": "http.response.body", "body": b"a token is needed\n"})
            return
        await self._app(scope, receive, send)

    def _is_known(self, scope: _Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._wanted)


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen()  # from here on requests wait instead of being refused
    except OSError as error:
        listener.close()
        raise ProcessFailed(
            f"`{address.host}:{address.port}` cannot be used for the server: {error.strerror}",
            "choose another port; 0 is any free one",
        ) from error
    return listener
