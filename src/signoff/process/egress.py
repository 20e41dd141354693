"""The hosts that a confined command may reach: a proxy of ours is its only way out.

The command's own network namespace has a loopback and no route. A listener is made in there, by a
short-lived process that enters the namespace, and handed out; this process accepts from it and
connects to the hosts that are allowed, from outside. It speaks what clients speak to a proxy:
`CONNECT host:port`, and plain HTTP with the whole address in its first line. Clients ask no proxy
for their own machine, so a port of it that is allowed has a listener of its own.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress

from signoff.process.command import Unavailable

PORT = 3128  # in a namespace that nobody else has
MOST_DENIED = 50
_ADDRESS = f"http://127.0.0.1:{PORT}"
VARIABLES = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), _ADDRESS),
    **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), _ADDRESS),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),
    "NODE_USE_ENV_PROXY": "1",
}
USUAL_PORTS = (443, 80)
_OWN_MACHINE = ("localhost", "127.0.0.1")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]*\.)*[a-z0-9-]*[a-z0-9]|[a-z0-9]")
_MOST_CONNECTIONS = 128
_LONGEST_HEAD = 65_536
_CONNECT_S, _HEAD_S, _ENTER_S = 30.0, 30.0, 30.0
_CHUNK = 65_536
_PLAIN = re.compile(rb"([A-Z]+) http://([^/?# ]*)([^ ]*) (HTTP/1\.[01])", re.IGNORECASE)
_TUNNEL = re.compile(rb"CONNECT ([^ ]+) HTTP/1\.[01]", re.IGNORECASE)
_PROXY_HEADERS = re.compile(rb"(?:proxy-[\w-]*|connection|keep-alive)\s*:", re.IGNORECASE)
# Entering takes a process with one thread. The user namespace is the one that owns the network's.
_ENTER = """
import ctypes, fcntl, os, socket, sys
pid, channel, *ports = map(int, sys.argv[1:])
network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
owner = fcntl.ioctl(network, 0xB701)
setns = ctypes.CDLL(None, use_errno=True).setns
for fd, kind in ((owner, 0x10000000), (network, 0x40000000)):
    if setns(fd, kind) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
listeners = [socket.create_server(("0.0.0.0", port), backlog=64) for port in ports]
socket.send_fds(socket.socket(fileno=channel), [b"."], [one.fileno() for one in listeners])
"""


class EgressProxy:
    """Serves one namespace until it is closed; `denied` are the places that were asked for."""

    def __init__(self, hosts: Iterable[str], first_process: int):
        self._allowed = [_parsed(host.lower()) for host in hosts]
        self._denied: dict[str, None] = {}
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._closed = False
        local = {p for name, ports in self._allowed if name in _OWN_MACHINE for p in ports}
        ports = (PORT, *sorted(local))
        self._listeners = _listeners_in(first_process, ports)
        for port, listener in zip(ports, self._listeners, strict=True):
            words = (listener, None if port == PORT else port)
            threading.Thread(target=self._serve, args=words, daemon=True, name="egress").start()

    @property
    def denied(self) -> tuple[str, ...]:
        """Hosts with ports, in the order of asking."""
        return tuple(self._denied)

    def close(self) -> None:
        """End every connection."""
        with self._lock:
            self._closed = True
            left = [*self._listeners, *self._open]
        for connection in left:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, listener: socket.socket, port: int | None) -> None:
        """Answer as a proxy, or pass everything on to a port of this machine."""
        with suppress(OSError), listener:
            while True:
                client, _ = listener.accept()
                if self._entered(client):
                    words = (client, port)
                    threading.Thread(target=self._answer, args=words, daemon=True).start()
                else:
                    client.close()

    def _entered(self, connection: socket.socket) -> bool:
        with self._lock:
            if self._closed or len(self._open) >= 2 * _MOST_CONNECTIONS:
                return False
            self._open.add(connection)
            return True

    def _left(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)
        connection.close()

    def _answer(self, client: socket.socket, port: int | None) -> None:
        try:
            with suppress(OSError):
                if port is not None:
                    self._pass_on(client, "127.0.0.1", port, b"", b"")
                    return
                client.settimeout(_HEAD_S)
                head, rest = _read_head(client)
                self._forward(client, head, rest)
        finally:
            self._left(client)

    def _forward(self, client: socket.socket, head: bytes, rest: bytes) -> None:
        first, _, headers = head.partition(b"\r\n")
        tunnel, plain = _TUNNEL.fullmatch(first), _PLAIN.fullmatch(first)
        if tunnel is None and plain is None:
            client.sendall(_refusal(400, "this proxy takes CONNECT and http:// only"))
            return
        asked = tunnel[1] if tunnel else plain[2] if plain else b""
        host, port = _place(asked.rpartition(b"@")[2], 443 if tunnel else 80)
        if not self._allows(host, port):
            self._deny(host, port)
            client.sendall(_refusal(403, f"{host}:{port} is not among the role's hosts"))
            return
        if plain is not None:
            self._pass_on(client, host, port, b"", _as_origin(plain, headers) + rest)
        else:
            self._pass_on(client, host, port, b"HTTP/1.1 200 Connected\r\n\r\n", rest)

    def _pass_on(
        self, client: socket.socket, host: str, port: int, greeting: bytes, rest: bytes
    ) -> None:
        try:
            server = socket.create_connection((host, port), timeout=_CONNECT_S)
        except (OSError, ValueError) as error:  # a name that no system can look up, too
            client.sendall(_refusal(502, f"{host}:{port}: {error}"))
            return
        if not self._entered(server):
            server.close()
            return
        try:
            client.sendall(greeting)
            _join(client, server, rest)
        finally:
            self._left(server)

    def _allows(self, host: str, port: int) -> bool:
        return _NAME.fullmatch(host) is not None and any(
            port in ports and (host == name or (name[:2] == "*." and host.endswith(name[1:])))
            for name, ports in self._allowed
        )

    def _deny(self, host: str, port: int) -> None:
        if len(self._denied) < MOST_DENIED:
            shown = host if _NAME.fullmatch(host) and len(host) < 256 else "what is no host name"
            self._denied[f"{shown}:{port}"] = None


def _parsed(host: str) -> tuple[str, tuple[int, ...]]:
    name, _, port = host.partition(":")
    return name, (int(port),) if port else USUAL_PORTS


def _place(asked: bytes, usual: int) -> tuple[str, int]:
    """Host and port; an address of IPv6 stands in brackets, and is no host of anybody's list."""
    text = asked.decode("ascii", "replace").lower()
    name, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        return text.rstrip("."), usual
    return name.rstrip("."), int(port) if port.isdecimal() and int(port) < 65_536 else 0


def _read_head(client: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = client.recv(_CHUNK)
        if not piece or len(data) > _LONGEST_HEAD:
            raise OSError("no whole request")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _as_origin(plain: re.Match[bytes], headers: bytes) -> bytes:
    """The request as the host itself expects it; one for each connection."""
    lines = [line for line in headers.split(b"\r\n") if not _PROXY_HEADERS.match(line)]
    path = plain[3] if plain[3].startswith(b"/") else b"/" + plain[3]
    first = b"%b %b %b" % (plain[1], path, plain[4])
    return b"\r\n".join([first, *(line for line in lines if line), b"Connection: close", b"", b""])


def _join(client: socket.socket, server: socket.socket, rest: bytes) -> None:
    """Pass on what either says, until both have ended."""
    client.settimeout(None)
    server.settimeout(None)
    back = threading.Thread(target=_pump, args=(server, client), daemon=True)
    back.start()
    with suppress(OSError):
        server.sendall(rest)
    _pump(client, server)
    back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(_CHUNK):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def _refusal(code: int, why: str) -> bytes:
    body = f"signoff: {why}\n".encode("ascii", "replace")
    head = f"HTTP/1.1 {code} Refused\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


def _listeners_in(pid: int, ports: tuple[int, ...]) -> list[socket.socket]:
    """Listening sockets in the network namespace of a process."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        words = map(str, (pid, theirs.fileno(), *ports))
        try:
            done = subprocess.run(
                (sys.executable, "-I", "-S", "-c", _ENTER, *words),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_ENTER_S,
                check=False,
                env={"LC_ALL": "C"},
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise Unavailable(f"the proxy for its hosts cannot be started: {error}") from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise Unavailable(f"its hosts cannot be enforced here: {said}")
        _, fds, _, _ = socket.recv_fds(ours, 1, len(ports))
    return [socket.socket(fileno=fd) for fd in fds]
