"""The right to see the board, and to decide on it; every request is checked before any view.

A cookie lets a browser look. It does not let it decide: browsers send cookies to every port of a
host, so a server that an agent wrote could see it. Decisions carry a second key, which the page
keeps in storage that belongs to its own address and port.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from msgspec import Struct

from signoff.errors import PlanConflict
from signoff.storage.files import swap_file

COOKIE_S = 7 * 24 * 3600
LARGEST_FORM = 16_000
ENTER = "/enter"
KEY_HEADER = b"x-signoff-key"
_KEY_FILE = "board"
_READS = ("GET", "HEAD")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        b" connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Access:
    """The one-time token, and cookies signed with a key of the home: a restart keeps them."""

    def __init__(self, keys: Path):
        self._key = _read_key(keys / _KEY_FILE)
        self._deciding = secrets.token_bytes(32)  # on no disk
        self.token = secrets.token_urlsafe(32)

    def redeem(self, token: str) -> str | None:
        """A cookie for the token, which is another one from then on; None for any other text."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        self.token = secrets.token_urlsafe(32)
        said = f"{int(time.time()) + COOKIE_S}.{secrets.token_urlsafe(16)}"
        return f"{said}.{_sign(self._key, said)}"

    def admits(self, cookie: str) -> bool:
        """True for a cookie that was given out here and is not too old."""
        said, _, signature = cookie.rpartition(".")
        until = said.partition(".")[0]
        good = hmac.compare_digest(signature.encode(), _sign(self._key, said).encode())
        return good and until.isascii() and until.isdigit() and time.time() < int(until)

    def deciding_key(self, cookie: str) -> str:
        """The key that decisions of this browser carry, as long as this server runs."""
        return _sign(self._deciding, cookie)


def _sign(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), sha256).hexdigest()


def _read_key(path: Path) -> bytes:
    """The key in the home, made when first needed; nobody but the user may read that folder."""
    with suppress(PlanConflict):  # it is there: whoever made it, one key counts
        swap_file(path, None, secrets.token_hex(32).encode(), mode=0o600)
    return path.read_bytes()


class RefusedRequest(Struct, frozen=True):
    """An answer to a request that no view gets to see."""

    status: int
    why: str


class BoardGuard:
    """Lets only requests through that come from this page, in a browser that was let in."""

    def __init__(self, app: App, access: Access, hosts: frozenset[str], origins: frozenset[str]):
        self._app, self._access, self._hosts, self._origins = app, access, hosts, origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # the handshake of a web socket ends unanswered

        async def guarded(message: Scope) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, guarded)
            return
        head = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
        await guarded({"type": "http.response.start", "status": refusal.status, "headers": head})
        await guarded({"type": "http.response.body", "body": f"{refusal.why}\n".encode()})

    def _refusal(self, scope: Scope) -> RefusedRequest | None:
        """The first thing that is wrong with a request; None when it may be answered."""
        method = scope["method"]
        hosts, origins = list(_values(scope, b"host")), list(_values(scope, b"origin"))
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return RefusedRequest(421, "this host is not served here")
        if method not in (*_READS, "POST"):
            return RefusedRequest(405, "this method does nothing here")
        if any(origin not in self._origins for origin in origins):
            return RefusedRequest(403, "another page asks for this")
        if method == "POST" and len(origins) != 1:
            return RefusedRequest(403, "only the page itself may ask for this")
        if refusal := _body_refusal(scope, method):
            return refusal
        if scope["path"] == ENTER and method == "GET":
            return self._enter(scope)
        cookie = self._cookie(scope)
        if cookie is None:
            return RefusedRequest(401, "open the address that `signoff board` printed")
        scope["state"] = {"key": self._access.deciding_key(cookie)}
        if method == "POST":
            keys = list(_values(scope, KEY_HEADER))
            wanted = scope["state"]["key"]
            if len(keys) != 1 or not hmac.compare_digest(keys[0].encode(), wanted.encode()):
                return RefusedRequest(
                    403, "this page may not decide: open the printed address again"
                )
        return None

    def _enter(self, scope: Scope) -> RefusedRequest | None:
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        cookie = self._access.redeem(tokens[0]) if len(tokens) == 1 else None
        if cookie is None:
            return RefusedRequest(
                401, "this address was used already, or is wrong: `signoff board`"
            )
        scope["state"] = {"cookie": cookie, "key": self._access.deciding_key(cookie)}
        return None

    def _cookie(self, scope: Scope) -> str | None:
        name = cookie_name(scope)
        pairs = (p.strip().partition("=") for v in _values(scope, b"cookie") for p in v.split(";"))
        found = [value for key, _, value in pairs if key == name]
        return found[0] if len(found) == 1 and self._access.admits(found[0]) else None


def cookie_name(scope: Scope) -> str:
    """Cookies know no ports, so that the name says it."""
    return f"signoff-{(scope.get('server') or ('', 0))[1]}"


def _body_refusal(scope: Scope, method: str) -> RefusedRequest | None:
    lengths = list(_values(scope, b"content-length"))
    chunked = any(_values(scope, b"transfer-encoding"))
    length = lengths[0] if len(lengths) == 1 and lengths[0].isdigit() else None
    if method in _READS:
        empty = lengths in ([], ["0"]) and not chunked
        return None if empty else RefusedRequest(400, "no body belongs here")
    if length is None or chunked:
        return RefusedRequest(411, "say how long the body is")
    return RefusedRequest(413, "the body is too large") if int(length) > LARGEST_FORM else None


def _values(scope: Scope, name: bytes) -> Iterator[str]:
    return (value.decode("latin-1") for key, value in scope["headers"] if key == name)
