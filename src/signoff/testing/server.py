"""A model server on this machine that says what a script says, in four wire formats.

`python -m signoff.testing.server SCRIPT.json` serves a script to programs in any language.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import socketserver
import sys
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self, cast
from uuid import uuid4

from signoff.errors import ScriptUnusable, SignoffError
from signoff.testing import wire_anthropic, wire_chat, wire_gemini, wire_responses
from signoff.testing.conversation import Conversation
from signoff.testing.script import Failure, FailureKind, Script, Turn
from signoff.testing.script_file import read_script
from signoff.testing.wire_format import Body, Dialect, Event, Reply
from signoff.testing.wire_http import (
    LAST_CHUNK,
    NO_JSON,
    frame,
    read_json,
    trespass,
    waiting_headers,
)

ADDRESS = "127.0.0.1"
DIALECTS = (
    wire_chat.DIALECT,
    wire_responses.DIALECT,
    wire_anthropic.DIALECT,
    wire_gemini.DIALECT,
)
IDLE_S = 60.0  # how long a connection may say nothing
CLOSING_S = 10.0  # how long answers under way may take to end when the server stops
CHARACTERS_A_TOKEN = 4
# What else clients ask before they talk: the end of the path, and the name of the number.
TOKEN_COUNTS = {
    "/messages/count_tokens": "input_tokens",
    "/responses/input_tokens": "input_tokens",
    ":countTokens": "totalTokens",
}


class ScriptedServer:
    """Serves a script on 127.0.0.1 while the `with` block runs; port 0 takes a free one.

    What the script's own function raises is told to the client, and raised again at the end of
    the block. With `log`, every request is appended to that file as a line of JSON.
    """

    def __init__(self, script: Script, *, port: int = 0, log: Path | None = None):
        self.script = script
        self._asked_port = port
        self._log = log
        self._server: _Server | None = None

    def __enter__(self) -> Self:
        try:
            self._server = _Server(self._asked_port, _Audience(self.script, self._log))
        except (OSError, OverflowError) as error:
            raise ScriptUnusable(
                f"port {self._asked_port} of {ADDRESS} cannot be used: {error}",
                "choose another port, or none",
            ) from error
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        server = self._running()
        self._server = None
        server.stop()
        if server.audience.raised and error is None:
            raise server.audience.raised[0]

    @property
    def port(self) -> int:
        """Where it listens."""
        return self._running().server_port

    @property
    def openai_url(self) -> str:
        """The base URL for clients of OpenAI and all that speak like it."""
        return f"{self.root_url}/v1"

    @property
    def anthropic_url(self) -> str:
        """The base URL for clients of Anthropic."""
        return self.root_url

    @property
    def gemini_url(self) -> str:
        """The base URL for clients of Gemini."""
        return self.root_url

    @property
    def root_url(self) -> str:
        """The server itself."""
        return f"http://{ADDRESS}:{self.port}"

    def _running(self) -> _Server:
        if self._server is None:
            raise ScriptUnusable(
                "the scripted server is not running", "use it inside its `with` block"
            )
        return self._server


class _Audience:
    """Everybody who asks: their questions go to the script and the log, mishaps are kept."""

    def __init__(self, script: Script, log: Path | None):
        self.raised: list[Exception] = []
        self._script = script
        self._log = log
        self._writing = threading.Lock()

    def answer(self, conversation: Conversation) -> Turn:
        if self._log is not None:
            line = json.dumps(conversation.to_data()) + "\n"
            with self._writing, self._log.open("a", encoding="utf-8") as file:
                file.write(line)
        try:
            return self._script.answer(conversation)
        except ScriptUnusable:
            raise
        except Exception as error:
            self.raised.append(error)
            raise ScriptUnusable(
                f"the script's function raised {type(error).__name__}: {error}"
            ) from error


class _Server(HTTPServer):
    """One thread for each connection; stopping ends them all."""

    request_queue_size = 128

    def __init__(self, port: int, audience: _Audience):
        self.audience = audience
        self.stopping = threading.Event()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._counting = threading.Lock()
        super().__init__((ADDRESS, port), _Handler)

    def server_bind(self) -> None:
        # Not HTTPServer's: it asks the resolver for a name that nobody needs.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.socket.getsockname()[1]

    def process_request(self, request: object, client_address: object) -> None:
        connection = cast(socket.socket, request)
        thread = threading.Thread(
            target=self._serve, args=(connection, client_address), daemon=True
        )
        with self._counting:
            self._open[connection] = thread
        thread.start()

    def _serve(self, connection: socket.socket, client_address: object) -> None:
        try:
            # A client that went away is no mishap of ours.
            with suppress(ConnectionError, TimeoutError):
                self.finish_request(connection, client_address)
        finally:
            self.shutdown_request(connection)
            with self._counting:
                del self._open[connection]

    def stop(self) -> None:
        """Take no more requests, cut every connection, and wait for the threads to notice."""
        self.stopping.set()
        self.shutdown()
        self.server_close()
        with self._counting:
            still_open = dict(self._open)
        until = time.monotonic() + CLOSING_S
        for connection, thread in still_open.items():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(max(0.0, until - time.monotonic()))


class _Handler(BaseHTTPRequestHandler):
    """One request: who asks, in which format, what the script says to it."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_S
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: standard output and error belong to whoever tests."""

    def do_HEAD(self) -> None:
        self._send({}, 200 if trespass(self.headers) is None else 403)

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        gemini = "/v1beta/" in path
        if (reason := trespass(self.headers)) is not None:
            self._refuse(None, Failure(FailureKind.STATUS, 403, reason))
        elif path.endswith("/models"):
            self._send({"models": [_gemini_model()]} if gemini else _model_list())
        elif "/models/" in path:
            name = path.rpartition("/")[2]
            self._send(_gemini_model(name) if gemini else _model(name))
        else:
            self._unknown()

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        dialect = next((d for d in DIALECTS if d.path.search(path)), None)
        counted = next((n for end, n in TOKEN_COUNTS.items() if path.endswith(end)), None)
        try:
            # Read in any case: who hangs up on a client that still sends is not heard.
            body = read_json(self.headers, self.rfile)
            conversation = dialect.read(body, self.path) if dialect else None
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
            reason = f"the request cannot be read: {type(error).__name__}: {error}"
            self._refuse(dialect, Failure(FailureKind.STATUS, 400, reason))
            return
        if (stranger := trespass(self.headers)) is not None:
            self._refuse(dialect, Failure(FailureKind.STATUS, 403, stranger))
        elif dialect is not None and conversation is not None:
            self._converse(dialect, conversation)
        elif counted is not None:
            self._send({counted: max(1, len(json.dumps(body)) // CHARACTERS_A_TOKEN)})
        else:
            self._unknown()

    def _converse(self, dialect: Dialect, conversation: Conversation) -> None:
        try:
            turn = self.server.audience.answer(conversation)
        except ScriptUnusable as error:
            ended = Failure(FailureKind.STATUS, 400, f"{error}; {error.hint}", error.code)
            # Nothing gets better by asking again, and clients would for seconds.
            self._refuse(dialect, ended, {"X-Should-Retry": "false"})
            return
        if not self.server.stopping.wait(turn.first_byte_s):
            self._speak(dialect, Reply(turn, conversation, uuid4().hex[:24], int(time.time())))

    def _speak(self, dialect: Dialect, reply: Reply) -> None:
        failure = reply.turn.failure
        if failure is not None and failure.kind is FailureKind.STATUS:
            self._refuse(dialect, failure, waiting_headers(failure))
        elif reply.conversation.streamed:
            self._stream(dialect, reply, failure.kind if failure else None)
        else:
            self._say_whole(dialect, reply, failure.kind if failure else None)

    def _stream(self, dialect: Dialect, reply: Reply, failing: FailureKind | None) -> None:
        self._begin(200, "text/event-stream", {"Transfer-Encoding": "chunked"})
        for event in dialect.events(reply):
            if failing is not None and event.closing:
                # Under the name of the event that was due: clients look at no others.
                if failing is FailureKind.MALFORMED:
                    self.wfile.write(frame(Event(NO_JSON, event.name)))
                break
            self.wfile.write(frame(event))
            if self.server.stopping.wait(reply.turn.between_chunks_s):
                return
        if failing is not FailureKind.DROPPED:
            self.wfile.write(LAST_CHUNK)

    def _say_whole(self, dialect: Dialect, reply: Reply, failing: FailureKind | None) -> None:
        body = json.dumps(dialect.whole(reply)).encode()
        sent = body if failing is None else body[: len(body) // 2]
        promised = sent if failing is FailureKind.MALFORMED else body
        self._begin(200, "application/json", {"Content-Length": str(len(promised))})
        self.wfile.write(sent)

    def _unknown(self) -> None:
        reason = f"`{self.command} {self.path}` is not served by a scripted model"
        self._refuse(None, Failure(FailureKind.STATUS, 404, reason))

    def _refuse(
        self, dialect: Dialect | None, failure: Failure, headers: dict[str, str] | None = None
    ) -> None:
        self._send((dialect or wire_chat.DIALECT).problem(failure), failure.status, headers)

    def _send(self, body: Body, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        length = {"Content-Length": str(len(data))}
        self._begin(status, "application/json", length | (headers or {}))
        if self.command != "HEAD":
            self.wfile.write(data)

    def _begin(self, status: int, content_type: str, headers: dict[str, str]) -> None:
        # One request a connection: a client that stays connected keeps no thread of ours.
        self.close_connection = True
        self.send_response(status)
        always = {"Content-Type": content_type, "Connection": "close"}
        for name, value in (always | headers).items():
            self.send_header(name, value)
        self.end_headers()


def _model(name: str = "scripted") -> Body:
    kind = {"object": "model", "type": "model", "display_name": name}
    return {"id": name, "created": 0, "owned_by": "signoff", **kind}


def _model_list() -> Body:
    model = _model()
    page = {"has_more": False, "first_id": model["id"], "last_id": model["id"]}
    return {"object": "list", "data": [model], **page}


def _gemini_model(name: str = "scripted") -> Body:
    methods = ["generateContent", "streamGenerateContent", "countTokens"]
    return {"name": f"models/{name}", "supportedGenerationMethods": methods}


def main(arguments: list[str] | None = None) -> int:
    """Serve a script file until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m signoff.testing.server",
        description="A model server on this machine that says what a script says.",
    )
    parser.add_argument("script", type=Path, help="the script, a .json or .toml file")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--log", type=Path, help="append every request to this file")
    chosen = parser.parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    try:
        with ScriptedServer(read_script(chosen.script), port=chosen.port, log=chosen.log) as server:
            print(f"openai     {server.openai_url}")
            print(f"anthropic  {server.anthropic_url}")
            print(f"gemini     {server.gemini_url}", flush=True)
            stopped.wait()
    except SignoffError as error:
        print(f"error: {error}\nnext: {error.hint}", file=sys.stderr)
        return int(error.exit_code)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
