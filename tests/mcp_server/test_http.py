"""Over HTTP on loopback: nobody gets in without the token, from another Host or Origin."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.cli.ended import LIMIT_S, Running
from tests.cli.project import Project
from tests.mcp_server.kit import Agent

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
}


@pytest.fixture
def served(project: Project) -> Iterator[tuple[Running, str, str]]:
    """A server on a free port: itself, its address, its token."""
    running = project.start("mcp", "--http", "127.0.0.1:0", "--json")
    running.until(lambda: running.out.read_text().endswith("\n"))
    told = json.loads(running.out.read_text())
    yield running, told["url"], told["token"]


def ask(url: str, **headers: str) -> int:
    """The status that one bare request gets."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=LIMIT_S)
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request("POST", place.path, json.dumps(HELLO), {**given, **named})
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_real_client_works_over_http(project: Project, served: tuple[Running, str, str]) -> None:
    _, url, token = served

    async def talk() -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            asyncio.timeout(LIMIT_S),
            httpx2.AsyncClient(headers=headers, timeout=LIMIT_S) as web,
            Client(streamable_http_client(url, http_client=web)) as client,
        ):
            agent = Agent(client)
            await agent.call("plan_create", objective="Go", steps=["Walk"], postconditions=[])
            assert "Walk" in await agent.call("plan_show")

    asyncio.run(talk())


def test_host_origin_and_token_are_checked(served: tuple[Running, str, str]) -> None:
    _, url, token = served
    known = {"Authorization": f"Bearer {token}"}
    assert ask(url, **known) == 200
    assert ask(url) == 401
    assert ask(url, Authorization="Bearer wrong") == 401
    assert ask(url, Authorization=token) == 401
    assert ask(url, **known, Host="evil.example") == 421
    assert ask(url, **known, Origin="http://evil.example") == 403
    assert ask(url, **known, Origin=url.removesuffix("/mcp")) == 200


def test_the_token_can_be_the_users_own_and_is_then_not_shown(project: Project) -> None:
    project.variable(SIGNOFF_MCP_TOKEN="correct horse")
    running = project.start("mcp", "--http", "0", "--json")
    running.until(lambda: running.out.read_text().endswith("\n"))
    told = json.loads(running.out.read_text())
    assert told["token"] is None and told["schema_version"] == 1
    assert ask(told["url"], Authorization="Bearer correct horse") == 200


@pytest.mark.parametrize("address", ["0.0.0.0:8765", "example.org:80", "127.0.0.1:x", "99999", ":"])
def test_only_loopback_is_served(project: Project, address: str) -> None:
    project.signoff("mcp", "--http", address).fails(2, hint="signoff mcp --http 127.0.0.1:")
