"""A model server on this machine that says what a script says, in four wire formats.

The model loop and real clients are driven over HTTP with it, each in its provider's own format.
"""

from __future__ import annotations

import json
import socketserver
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import ceil
from types import TracebackType
from typing import Self
from uuid import uuid4

from signoff.errors import ScriptUnusable
from signoff.testing.conversation import ScriptedRequest
from signoff.testing.script import Failure, FailureKind, Script
from tests.scripted import anthropic, chat, gemini, responses
from tests.scripted.formats import Body, Event, Reply, WireFormat

FORMATS = (chat.FORMAT, responses.FORMAT, anthropic.FORMAT, gemini.FORMAT)
IDLE_S = 60.0  # how long a connection may say nothing
LAST_CHUNK = b"0\r\n\r\n"
NO_JSON = '{"scripted": malformed'


class ScriptedServer:
    """Serves a script on a free port of 127.0.0.1 while the `with` block runs.

    What the script's own function raises is told to the client, and raised again at the end of
    the block.
    """

    def __init__(self, script: Script):
        self.script = script

    def __enter__(self) -> Self:
        self._server = _Server(self.script)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        if self._server.raised and error is None:
            raise self._server.raised[0]

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._server.server_port

    @property
    def root_url(self) -> str:
        """The server itself: the base URL for clients of Anthropic and Gemini."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        """The base URL for clients of OpenAI and all that speak like it."""
        return f"{self.root_url}/v1"


class _Server(ThreadingHTTPServer):
    """One thread for each connection; answers that wait end when the server stops."""

    request_queue_size = 128

    def __init__(self, script: Script):
        self.script = script
        self.raised: list[Exception] = []
        self.stopping = threading.Event()
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        # Not HTTPServer's: it asks the resolver for a name that nobody needs.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]


class _Handler(BaseHTTPRequestHandler):
    """One request: in which format it asks, and what the script says to it."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_S
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: standard output and error belong to whoever tests."""

    def handle(self) -> None:
        # A client that went away is no mishap of ours.
        with suppress(ConnectionError, TimeoutError):
            super().handle()

    def do_GET(self) -> None:
        """Answer what clients probe before they talk: which models there are."""
        self._send({"object": "list", "data": [], "models": []})

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        found = next((f for f in FORMATS if f.path.search(path)), None)
        try:
            # Read in any case: who hangs up on a client that still sends is not heard.
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            conversation = found.read(body, self.path) if found else None
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            reason = f"the request cannot be read: {type(error).__name__}: {error}"
            self._refuse(found, Failure(FailureKind.STATUS, 400, reason))
            return
        if found is not None and conversation is not None:
            self._converse(found, conversation)
        else:
            reason = f"`{self.command} {self.path}` is not served by a scripted model"
            self._refuse(None, Failure(FailureKind.STATUS, 404, reason))

    def _converse(self, spoken: WireFormat, conversation: ScriptedRequest) -> None:
        try:
            turn = self.server.script.answer(conversation)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            if not isinstance(error, ScriptUnusable):
                self.server.raised.append(error)
            # Nothing gets better by asking again, and clients would for seconds.
            ended = Failure(FailureKind.STATUS, 400, reason)
            self._refuse(spoken, ended, {"X-Should-Retry": "false"})
            return
        if self.server.stopping.wait(turn.first_byte_s):
            return
        failure, reply = turn.failure, Reply(turn, conversation, uuid4().hex[:24], int(time.time()))
        if failure is not None and failure.kind is FailureKind.STATUS:
            self._refuse(spoken, failure, _waiting_headers(failure))
        elif conversation.streamed:
            self._stream(spoken, reply, failure.kind if failure else None)
        else:
            self._say_whole(spoken, reply, failure.kind if failure else None)

    def _stream(self, spoken: WireFormat, reply: Reply, failing: FailureKind | None) -> None:
        self._begin(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for event in spoken.events(reply):
            if failing is not None and event.closing:
                # Under the name of the event that was due: clients look at no others.
                if failing is FailureKind.MALFORMED:
                    self.wfile.write(_framed(Event(NO_JSON, event.name)))
                break
            self.wfile.write(_framed(event))
            if self.server.stopping.wait(reply.turn.between_chunks_s):
                return
        if failing is not FailureKind.DROPPED:
            self.wfile.write(LAST_CHUNK)

    def _say_whole(self, spoken: WireFormat, reply: Reply, failing: FailureKind | None) -> None:
        body = json.dumps(spoken.whole(reply)).encode()
        sent = body if failing is None else body[: len(body) // 2]
        promised = sent if failing is FailureKind.MALFORMED else body
        self._begin(200, "application/json", {"Content-Length": str(len(promised))})
        self.wfile.write(sent)

    def _refuse(
        self, spoken: WireFormat | None, failure: Failure, headers: dict[str, str] | None = None
    ) -> None:
        self._send((spoken or chat.FORMAT).problem(failure), failure.status, headers)

    def _send(self, body: Body, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        length = {"Content-Length": str(len(data))}
        self._begin(status, "application/json", length | (headers or {}))
        self.wfile.write(data)

    def _begin(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        # One request a connection: a client that stays connected keeps no thread of ours.
        self.close_connection = True
        self.send_response(status)
        always = {"Content-Type": content_type, "Connection": "close"}
        for name, value in (always | headers).items():
            self.send_header(name, value)
        self.end_headers()


def _framed(event: Event) -> bytes:
    """A server-sent event as one chunk: without the last chunk, a reader knows what is lost."""
    data = event.data if isinstance(event.data, str) else json.dumps(event.data)
    named = f"event: {event.name}\n" if event.name else ""
    sent = f"{named}data: {data}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(sent), sent)


def _waiting_headers(failure: Failure) -> dict[str, str]:
    """When to come back, in whole seconds for all and in milliseconds for those who read them."""
    if failure.retry_after_s is None:
        return {}
    return {
        "Retry-After": str(ceil(failure.retry_after_s)),
        "Retry-After-Ms": f"{failure.retry_after_s * 1000:g}",
    }
