"""The server process: where it listens, who gets in, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from msgspec import Struct
from uvicorn.protocols.http.h11_impl import H11Protocol

from signoff.board.access import ENTER, Access, BoardGuard
from signoff.board.feed import Feed
from signoff.board.pages import Words
from signoff.board.server import PATIENCE_S, Board
from signoff.process.listening import LOOPBACK, Address, listen
from signoff.usecases.harness import Harness


class Serving(Struct, frozen=True):
    """Place where the board is served, and whose decisions it takes."""

    address: Address
    tls: tuple[Path, Path] | None = None
    origin: str | None = None
    deciding: str | None = None  # the name that is recorded; None: it only shows

    def origins(self, port: int) -> frozenset[str]:
        """Addresses under which browsers may ask."""
        if self.origin is not None:
            return frozenset((self.origin.rstrip("/").lower(),))
        local = self.address.host in LOOPBACK
        names = self.address.names(port) if local else [f"{self.address.shown_host}:{port}"]
        return frozenset(f"{'https' if self.tls else 'http'}://{name}" for name in names)

    def url(self, port: int) -> str:
        if self.origin is not None:
            return self.origin.rstrip("/")
        return f"{'https' if self.tls else 'http'}://{self.address.shown_host}:{port}"


class _Impatient(H11Protocol):
    """Closes a connection that does not say what it wants."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.loop.call_later(PATIENCE_S, self._give_up)

    def _give_up(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class _Server(uvicorn.Server):
    """Ends the streams when it is to stop: pages wait on them for ever."""

    def __init__(self, config: uvicorn.Config, feed: Feed):
        super().__init__(config)
        self._feed = feed

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._feed.end()
        super().handle_exit(sig, frame)


def serve(
    harness: Harness, words: Words, serving: Serving, tell: Callable[[str, bool], None]
) -> None:
    """Serve until interrupted; `tell` is told the address, and the next one when it was used."""
    listener = listen(serving.address)
    port = listener.getsockname()[1]
    access = Access(harness.home.keys)
    secure = serving.url(port).startswith("https:")
    board = Board(harness, words, serving.deciding, secure=secure)
    origins = serving.origins(port)

    def address() -> str:
        return f"{serving.url(port)}{ENTER}?token={access.token}"

    board.on_entered = lambda: tell(address(), False)  # type: ignore[method-assign]
    hosts = frozenset(urlsplit(origin).netloc for origin in origins)
    config = uvicorn.Config(
        BoardGuard(board.app(), access, hosts, origins),
        http=_Impatient,
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=200,
        timeout_graceful_shutdown=1,
        ssl_certfile=serving.tls[0] if serving.tls else None,
        ssl_keyfile=serving.tls[1] if serving.tls else None,
    )
    config.load()  # a certificate that cannot be read is told before an address
    tell(address(), True)
    with suppress(KeyboardInterrupt):  # how people end it; nothing was interrupted
        _Server(config, board.feed).run(sockets=[listener])
