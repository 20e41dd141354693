"""A board that is really served, and somebody who asks it over plain HTTP."""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

from tests.cli.ended import LIMIT_S, Running
from tests.cli.kit import Desk


@dataclass(frozen=True)
class Reply:
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Served:
    """A running board, and a browser's cookie and key once somebody entered."""

    running: Running
    url: str
    cookie: str = ""
    key: str = ""
    heads: dict[str, str] = field(default_factory=dict)

    @property
    def port(self) -> int:
        return int(urlsplit(self.url).port or 0)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def enter(self) -> Served:
        """Open the address that was printed, as a browser does."""
        place = urlsplit(self.url)
        reply = self.ask("GET", f"{place.path}?{place.query}", {})
        assert reply.status == 200, reply.text
        self.cookie = reply.headers["set-cookie"].partition(";")[0]
        found = re.search(r'name="signoff-key" content="(\w+)"', reply.text)
        assert found is not None
        self.key = found[1]
        return self

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, {"Cookie": self.cookie, **headers})

    def post(self, path: str, **fields: str) -> Reply:
        """What the page's own script sends."""
        headers = {
            "Cookie": self.cookie,
            "Origin": self.origin,
            "X-Signoff-Key": self.key,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.ask("POST", path, headers, urlencode(fields).encode())

    def ask(
        self, method: str, path: str, headers: dict[str, str], body: bytes | None = None
    ) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, told, answer.read().decode())
        finally:
            connection.close()

    def plan(self, title: str) -> str:
        """The path of a plan's page, by its title."""
        cards = re.findall(r'href="(/plan/\w+)">.*?<strong>(.*?)</strong>', self.plans(), re.S)
        return str({name: path for path, name in cards}[title])

    def plan_of(self, name: str) -> str:
        """The path of a plan's page, by its name."""
        card = rf'href="(/plan/\w+)">(?:(?!</a>).)*"fine">{name}(?: ·|<)'
        found = re.search(card, self.plans(), re.S)
        assert found is not None
        return found[1]

    def newest_url(self) -> str:
        """The address that was printed last, once it was."""
        used = self.running.out.read_text().count("\n")
        self.running.until(lambda: self.running.out.read_text().endswith("\n"))
        return str(json.loads(self.running.out.read_text().splitlines()[used - 1])["url"])

    def plans(self) -> str:
        return self.get("/plans").text


def serve(desk: Desk, *options: str) -> Served:
    """Start a board on a free port."""
    running = desk.start("board", "--json", "--listen", "127.0.0.1:0", *options)
    running.until(lambda: running.out.read_text().endswith("\n"))
    return Served(running, json.loads(running.out.read_text().splitlines()[0])["url"])


def hidden(text: str, name: str) -> str:
    """The value of a hidden field of a form."""
    found = re.search(rf'name="{name}" value="([^"]+)"', text)
    assert found is not None, text
    return found[1]
