"""Nobody sees or decides anything who was not let in: more than 200 requests, none let through."""

from __future__ import annotations

import hmac
import re
import socket
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.board.kit import serve
from tests.cli.kit import Desk
from tests.cli.plans import step

TITLE = "Nobody sees this"
READS = (
    *("/", "/plans", "/stats", "/plan/{id}", "/plan/{id}?step=1", "/plan/{id}/attempt/1/1"),
    *("/plan/{id}/entry/1", "/events", "/events?plan={id}&since=0", "/static/board.css"),
)
WRITES = ("/plan/{id}/proposal", "/plan/{id}/approve", "/answer/{item}")

Lines = list[tuple[str, str]]


class Scene:
    """One board with a plan that asks something, for every request of this file."""

    def __init__(self, folder: Path):
        self.desk = Desk(folder)
        self.desk.agent("true").plan(step("Do it", "test -s it", on_fail="retry(0)"), title=TITLE)
        self.desk.run("--yes").exits(6)
        (item,) = self.desk.inbox()
        self.served = serve(self.desk, "--decide").enter()
        self.other = serve(self.desk, "--decide").enter()
        self.plan = self.served.plan(TITLE).removeprefix("/plan/")
        self.item = item["id"]
        self.entries = self.desk.log()
        self.secret = (self.desk.home / "keys" / "board").read_bytes()

    def path(self, path: str) -> str:
        return path.replace("{id}", self.plan).replace("{item}", self.item)

    def good(self, method: str) -> Lines:
        """Everything that a request of the page itself carries."""
        lines = [("Host", f"127.0.0.1:{self.served.port}"), ("Cookie", self.served.cookie)]
        if method == "POST":
            lines += [("Origin", self.served.origin), ("X-Signoff-Key", self.served.key)]
        return lines

    def signed(self, said: str) -> str:
        """A cookie with a good signature."""
        name = self.served.cookie.partition("=")[0]
        mac = hmac.new(self.secret, said.encode(), sha256).hexdigest()
        return f"{name}={said}.{mac}"

    def send(
        self, method: str, path: str, lines: Lines, body: bytes = b"", http: str = "1.1"
    ) -> str:
        """The whole answer to exactly these bytes; empty when the connection was closed."""
        head = [f"{method} {path} HTTP/{http}", *(f"{name}: {value}" for name, value in lines)]
        data = "\r\n".join([*head, "Connection: close", "", ""]).encode("latin-1") + body
        with socket.create_connection(("127.0.0.1", self.served.port), timeout=60) as connection:
            connection.sendall(data)
            told = b""
            while chunk := connection.recv(65536):
                told += chunk
                if len(told) > 1_000_000:
                    break
        return told.decode("utf-8", "replace")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = Scene(tmp_path_factory.mktemp("board"))
    try:
        yield made
        assert made.desk.log() == made.entries, "something was let through"
    finally:
        made.desk.close()


def without(lines: Lines, name: str) -> Lines:
    return [line for line in lines if line[0] != name]


def with_cookie(scene: Scene, method: str, value: str) -> Lines:
    return [*without(scene.good(method), "Cookie"), ("Cookie", value)]


def bad_readers(scene: Scene, method: str) -> dict[str, Lines]:
    good, port = scene.good(method), scene.served.port
    name, _, value = scene.served.cookie.partition("=")
    host = without(good, "Host")
    later = f"{int(time.time()) + 1000}.abc"
    return {
        "no cookie": without(good, "Cookie"),
        "a made up cookie": with_cookie(scene, method, f"{name}=1.2.3"),
        "an empty cookie": with_cookie(scene, method, f"{name}="),
        "a cookie signed by nobody": with_cookie(scene, method, f"{name}={later}.{'0' * 64}"),
        "a cookie that lasts longer than it was signed for": with_cookie(
            scene, method, f"{name}=9{value}"
        ),
        "an old cookie": with_cookie(scene, method, scene.signed("1000.abc")),
        "a cookie with a time that is none": with_cookie(scene, method, scene.signed("².abc")),
        "two cookies": with_cookie(scene, method, f"{name}={value}; {name}={value}"),
        "the cookie of another port": with_cookie(scene, method, f"signoff-1={value}"),
        "the cookie as authorization": [
            *without(good, "Cookie"),
            ("Authorization", f"Bearer {value}"),
        ],
        "another host": [("Host", "evil.example"), *host],
        "another host on this port": [("Host", f"evil.example:{port}"), *host],
        "a host that begins like ours": [("Host", f"127.0.0.1.evil.example:{port}"), *host],
        "no port": [("Host", "127.0.0.1"), *host],
        "another port": [("Host", f"127.0.0.1:{port + 1}"), *host],
        "no host": host,
        "two hosts": [("Host", "evil.example"), *good],
        "another origin": [*without(good, "Origin"), ("Origin", "http://evil.example")],
        "no one's origin": [*without(good, "Origin"), ("Origin", "null")],
        "our origin on another port": [
            *without(good, "Origin"),
            ("Origin", f"http://127.0.0.1:{port + 1}"),
        ],
        "our origin over TLS": [
            *without(good, "Origin"),
            ("Origin", f"https://127.0.0.1:{port}"),
        ],
        "two origins": [
            *without(good, "Origin"),
            ("Origin", scene.served.origin),
            ("Origin", "http://evil.example"),
        ],
    }


READERS = (
    *("no cookie", "a made up cookie", "an empty cookie", "a cookie signed by nobody"),
    *("a cookie that lasts longer than it was signed for", "an old cookie"),
    *("a cookie with a time that is none", "two cookies", "the cookie of another port"),
    *("the cookie as authorization", "another host", "another host on this port"),
    *("a host that begins like ours", "no port", "another port", "no host", "two hosts"),
    *("another origin", "no one's origin", "our origin on another port", "our origin over TLS"),
    "two origins",
)


def assert_refused(scene: Scene, told: str) -> None:
    """A refusal shows nothing of any plan, and sets no cookie."""
    head = told.partition("\r\n")[0]
    assert not told or head.split(" ")[1].startswith("4"), told
    assert TITLE not in told and scene.item not in told and "set-cookie" not in told.lower()


@pytest.mark.parametrize("path", READS)
@pytest.mark.parametrize("flaw", READERS)
def test_nothing_is_shown(scene: Scene, path: str, flaw: str) -> None:
    http = "1.0" if flaw == "no host" else "1.1"
    told = scene.send("GET", scene.path(path), bad_readers(scene, "GET")[flaw], http=http)
    assert_refused(scene, told)


def bad_deciders(scene: Scene) -> dict[str, tuple[Lines, bytes]]:
    good, key = scene.good("POST"), without(scene.good("POST"), "X-Signoff-Key")
    form = b"choice=abort&note=x"
    length = ("Content-Length", str(len(form)))
    plain = {
        "no key": [*key, length],
        "an empty key": [*key, ("X-Signoff-Key", ""), length],
        "a made up key": [*key, ("X-Signoff-Key", "0" * 64), length],
        "the key of another browser": [*key, ("X-Signoff-Key", scene.other.key), length],
        "the cookie as key": [
            *key,
            ("X-Signoff-Key", scene.served.cookie.partition("=")[2]),
            length,
        ],
        "two keys": [*good, ("X-Signoff-Key", scene.served.key), length],
        "no origin": [*without(good, "Origin"), length],
        "no length": good,
        "a length that is none": [*good, ("Content-Length", "-1")],
        "in chunks": [*good, ("Transfer-Encoding", "chunked")],
    }
    found = {flaw: (lines, form) for flaw, lines in plain.items()}
    huge = b"note=" + b"x" * 100_000
    found["a huge body"] = ([*good, ("Content-Length", str(len(huge)))], huge)
    return found


DECIDERS = (
    *("no key", "an empty key", "a made up key", "the key of another browser"),
    *("the cookie as key", "two keys", "no origin", "no length", "a length that is none"),
    *("in chunks", "a huge body"),
)


@pytest.mark.parametrize("path", WRITES)
@pytest.mark.parametrize("flaw", READERS + DECIDERS)
def test_nothing_is_decided(scene: Scene, path: str, flaw: str) -> None:
    if flaw in DECIDERS:
        lines, body = bad_deciders(scene)[flaw]
    else:
        body = b"choice=abort&note=x"
        length = ("Content-Length", str(len(body)))
        lines = [*bad_readers(scene, "POST")[flaw], length]
    http = "1.0" if flaw == "no host" else "1.1"
    assert_refused(scene, scene.send("POST", scene.path(path), lines, body, http))


@pytest.mark.parametrize("path", WRITES)
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_no_other_method_has_an_effect(scene: Scene, path: str, method: str) -> None:
    told = scene.send(method, scene.path(path) + "?choice=abort", scene.good("POST"))
    assert told.partition("\r\n")[0].split(" ")[1] in ("404", "405"), told


TRICKS = (
    *("/static/../access.py", "/static/..%2faccess.py", "/static/%2e%2e/access.py"),
    *(
        "/static/%2e%2e%2f%2e%2e%2faccess.py",
        "/static//etc/passwd",
        "/static/",
        "/static/board.css%00",
    ),
    *("//etc/passwd", "/../../etc/passwd", "/plan/../../etc/passwd", "/plan/%2e%2e", "/plan/"),
    *("/plan/nosuch", "/plan/{id}/entry/999999", "/plan/{id}/entry/-1", "/plan/{id}/entry/1e3"),
    *(
        "/plan/{id}/attempt/1/..%2f..%2fx",
        "/plan/{id}/attempt/99/1",
        "/plan/{id}%00",
        "/keys/board",
    ),
    *("/enter", "/enter?token=", "/enter?token=x&token=y", "/templates/plan.html", "/plan/{id}/x"),
)


@pytest.mark.parametrize("path", TRICKS)
def test_paths_lead_nowhere_else(scene: Scene, path: str) -> None:
    told = scene.send("GET", scene.path(path), scene.good("GET"))
    assert told.partition("\r\n")[0].split(" ")[1] in ("400", "401", "404"), told
    assert "root:" not in told and "hmac" not in told


def test_the_printed_address_lets_one_browser_in(scene: Scene) -> None:
    path = scene.served.url.partition(str(scene.served.port))[2]
    assert_refused(scene, scene.send("GET", path, scene.good("GET")))


def test_slow_requests_hold_nobody_up(scene: Scene) -> None:
    slow = []
    for _ in range(30):
        connection = socket.create_connection(("127.0.0.1", scene.served.port), timeout=60)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0")
        slow.append(connection)
    began = time.monotonic()
    assert scene.served.get("/plans").status == 200
    assert time.monotonic() - began < 60  # to wait for each in turn takes 150
    for connection in slow:
        with connection:
            assert connection.recv(100) == b""


def test_headers_keep_the_page_to_itself(scene: Scene) -> None:
    told = scene.served.get("/")
    policy = told.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert told.headers["x-frame-options"] == "DENY" and told.headers["cache-control"] == "no-store"
    assert not re.search(r"<script>| style=| on[a-z]+=", told.text)


def test_a_board_that_only_shows_decides_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    try:
        desk.agent("true").plan(step("Do it", "test -s it", on_fail="retry(0)"))
        desk.run("--yes").exits(6)
        served = serve(desk).enter()
        before = desk.log()
        (item,) = desk.inbox()
        reply = served.post(f"/answer/{item['id']}", choice="abort", note="x", head="x")
        assert reply.status == 403 and "only shows" in reply.text
        for verb in ("proposal", "approve"):
            assert served.post(f"{served.plan('Build a house')}/{verb}").status == 403
        assert desk.log() == before
    finally:
        desk.close()
