"""HTTP as the scripted server needs it: bodies in any coding, events in chunks, a closed door."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from email.message import Message
from io import BufferedIOBase
from math import ceil
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from signoff.testing.script import Failure
from signoff.testing.wire_format import Event

Headers: TypeAlias = "Message[str, str]"
LARGEST_BODY = 100_000_000
LAST_CHUNK = b"0\r\n\r\n"
NO_JSON = '{"scripted": malformed'
_HERE = ("127.0.0.1", "localhost")


def trespass(headers: Headers) -> str | None:
    """Why this request is none of ours: a page in a browser, or a name that only leads here."""
    host = headers.get("Host", "")
    if urlsplit(f"//{host}").hostname not in _HERE:
        return f"the host `{host}` is not served here"
    origin = headers.get("Origin")
    if origin is not None and urlsplit(origin).hostname not in _HERE:
        return f"pages of `{origin}` are not served here"
    return None


def read_json(headers: Headers, stream: BufferedIOBase) -> Mapping[str, Any]:
    """The request's body; ValueError says what is wrong with it."""
    chunked = "chunked" in headers.get("Transfer-Encoding", "").lower()
    raw = _chunks(stream) if chunked else _exactly(stream, _length(headers))
    coding = headers.get("Content-Encoding", "identity").lower()
    if coding == "gzip":
        raw = _unzipped(raw)
    elif coding != "identity":
        raise ValueError(f"the coding `{coding}` is not known")
    data = json.loads(raw)
    if not isinstance(data, dict):
        raise ValueError("the body is no JSON object")
    return data


def frame(event: Event) -> bytes:
    """A server-sent event as one chunk: without the last chunk, a reader knows what is lost."""
    data = event.data if isinstance(event.data, str) else json.dumps(event.data)
    named = f"event: {event.name}\n" if event.name else ""
    sent = f"{named}data: {data}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(sent), sent)


def waiting_headers(failure: Failure) -> dict[str, str]:
    """When to come back, in whole seconds for all and in milliseconds for those who read them."""
    if failure.retry_after_s is None:
        return {}
    return {
        "Retry-After": str(ceil(failure.retry_after_s)),
        "Retry-After-Ms": f"{failure.retry_after_s * 1000:g}",
    }


def _length(headers: Headers) -> int:
    length = int(headers.get("Content-Length") or 0)
    if not 0 <= length <= LARGEST_BODY:
        raise ValueError(f"a body of {length} bytes is not read")
    return length


def _exactly(stream: BufferedIOBase, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise ValueError("the body ended early")
    return data


def _chunks(stream: BufferedIOBase) -> bytes:
    body = b""
    while size := int(stream.readline(100).split(b";")[0], 16):
        if size < 0 or len(body) + size > LARGEST_BODY:
            raise ValueError("the body is too long")
        body += _exactly(stream, size)
        stream.readline(100)
    stream.readline(100)
    return body


def _unzipped(raw: bytes) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        data = unzip.decompress(raw, LARGEST_BODY)
    except zlib.error as error:
        raise ValueError(f"the body is no gzip: {error}") from error
    if not unzip.eof:
        raise ValueError("the body ended early, or is too long")
    return data
