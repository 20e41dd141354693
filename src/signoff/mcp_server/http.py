"""Streamable HTTP on loopback: a token for every request, Host and Origin checked."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from signoff.mcp_server.server import build_server
from signoff.process.listening import Address, listen
from signoff.usecases.mcp import McpTools

_LARGEST_REQUEST = 1_000_000
PATH = "/mcp"

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Scope]]
_Send = Callable[[_Scope], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


def serve_http(tools: McpTools, address: Address, token: str, tell: Callable[[str], None]) -> None:
    """Serve until interrupted; `tell` is told the address once it can be asked."""
    listener = listen(address)
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
    tell(f"http://{address.shown_host}:{port}{PATH}")
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
