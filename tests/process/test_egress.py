"""Hosts that a confined command may reach: those and no other, through the proxy and around it."""

from __future__ import annotations

import http.server
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.domain.verdict import Ending, Isolation, Observation
from signoff.process.command import Command, Confinement
from signoff.process.environment import STANDARD_PATH
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.process.sandboxes import probe_sandboxes

LIMIT_S = 120
BOXES = [s.isolation for s in probe_sandboxes() if s.available and s.isolation.has_own_view]
pytestmark = [
    pytest.mark.parametrize("isolation", BOXES),
    pytest.mark.skipif(not BOXES, reason="no sandbox with a network of its own here"),
]
GET = """
get() {
  exec 3<>/dev/tcp/127.0.0.1/3128 || return
  printf '%b' "$1" >&3; cat <&3; exec 3<&-; echo
}
"""


class _Hello(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"hello {self.path} {sorted(h.lower() for h in self.headers)}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the test's own output."""


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(4096):
            self.request.sendall(data.upper())


def _serving(server: socketserver.TCPServer) -> Iterator[int]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield int(server.socket.getsockname()[1])
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def web() -> Iterator[int]:
    """A web server on an address that is not the usual loopback one."""
    yield from _serving(http.server.ThreadingHTTPServer(("127.0.0.2", 0), _Hello))


@pytest.fixture
def echo() -> Iterator[int]:
    """A server on this machine's own loopback that answers in capitals."""
    yield from _serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Echo))


def ran(work: Path, isolation: Isolation, script: str, *hosts: str) -> Observation:
    confinement = Confinement(isolation, writable=(work,), network=True, hosts=hosts)
    return run(
        Command(
            ("bash", "-c", GET + script),
            work,
            {"PATH": STANDARD_PATH},
            Limits(wall_s=LIMIT_S),
            confinement=confinement,
        )
    )


def printed(seen: Observation) -> str:
    assert seen.ending is Ending.EXITED, seen
    return seen.stdout.kept.decode() + seen.stderr.kept.decode()


def request(address: str, path: str = "/x") -> str:
    headers = f"Host: {address}\\r\\nProxy-A: b\\r\\n"
    return f"get 'GET http://{address}{path} HTTP/1.1\\r\\n{headers}\\r\\n'"


def tunnel(address: str, said: str = "") -> str:
    return f"get 'CONNECT {address} HTTP/1.1\\r\\n\\r\\n{said}'"


def test_an_allowed_host_is_reached_as_if_no_proxy_were_there(
    tmp_path: Path, isolation: Isolation, web: int
) -> None:
    place = f"127.0.0.2:{web}"
    seen = ran(tmp_path, isolation, request(place), place)
    assert "hello /x ['connection', 'host']" in printed(seen)
    assert seen.denied_hosts == () and seen.leftovers_killed == 0


def test_a_tunnel_carries_whatever_is_said(tmp_path: Path, isolation: Isolation, web: int) -> None:
    place = f"127.0.0.2:{web}"
    said = "GET /deep HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n"
    assert "hello /deep" in printed(ran(tmp_path, isolation, tunnel(place, said), place))


def test_any_other_place_is_refused_and_recorded(
    tmp_path: Path, isolation: Isolation, web: int
) -> None:
    asked = (
        request(f"127.0.0.2:{web}"),
        tunnel(f"127.0.0.2:{web}"),
        request("api.example.com:81"),
        tunnel("api.example.com.evil.example:443"),
        request("api.example.com@other.example"),
        tunnel("*.example.org:443"),
        tunnel("evil.example/.example.org:443"),
        tunnel("[::1]:443"),
    )
    script = "\n".join(asked)
    seen = ran(tmp_path, isolation, script, "api.example.com", "*.example.org", "127.0.0.2:1")
    assert printed(seen).count("403 Refused") == len(asked)
    assert "hello" not in printed(seen)
    assert seen.denied_hosts == (
        f"127.0.0.2:{web}",
        "api.example.com:81",
        "api.example.com.evil.example:443",
        "other.example:80",
        "what is no host name:443",
    )


def test_there_is_no_way_around_the_proxy(
    tmp_path: Path, isolation: Isolation, web: int, echo: int
) -> None:
    script = f"""
    for to in 127.0.0.2/{web} 127.0.0.1/{echo} 192.0.2.1/80; do
      timeout 20 bash -c "exec 3<>/dev/tcp/$to" && echo REACHED $to
    done; true
    """
    assert "REACHED" not in printed(ran(tmp_path, isolation, script, f"127.0.0.2:{web}"))


def test_an_allowed_port_of_this_machine_is_reached_directly(
    tmp_path: Path, isolation: Isolation, echo: int
) -> None:
    script = f"exec 3<>/dev/tcp/127.0.0.1/{echo}; echo shout >&3; head -n 1 <&3"
    assert "SHOUT" in printed(ran(tmp_path, isolation, script, f"localhost:{echo}"))


def test_its_own_servers_stay_its_own(tmp_path: Path, isolation: Isolation) -> None:
    """A server of the command is reached without the proxy, and by nobody else."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        script = f"""
        python3 -c "
import socket, threading
s = socket.create_server(('127.0.0.1', {port}))
threading.Thread(target=lambda: s.accept()[0].sendall(b'mine'), daemon=True).start()
print(socket.create_connection(('127.0.0.1', {port})).recv(9))"
        echo "$no_proxy"
        """
        assert "b'mine'\nlocalhost,127.0.0.1,::1" in printed(ran(tmp_path, isolation, script))


def test_nonsense_is_answered_and_harms_nobody(
    tmp_path: Path, isolation: Isolation, web: int
) -> None:
    place = f"127.0.0.2:{web}"
    nonsense = r"get '\x00\xff\r\n\r\n'; get 'GET / HTTP/1.1\r\n\r\n'; get 'CONNECT a:99999999 "
    script = f"{nonsense} HTTP/1.1\\r\\n\\r\\n'; {request(place)}"
    said = printed(ran(tmp_path, isolation, script, place))
    assert said.count(" Refused") == 3
    assert "hello /x" in said
