"""A real MCP client in a test: everything it does goes through the protocol and a process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from mcp import Client, StdioServerParameters, types

from tests.cli.ended import LIMIT_S
from tests.cli.project import Project


class Agent:
    """What a client lets its agent do."""

    def __init__(self, client: Client):
        self.client = client

    async def call(self, name: str, **arguments: Any) -> str:
        """The text that a tool answers, whether it went wrong or not."""
        result = await self.client.call_tool(name, arguments)
        assert isinstance(result, types.CallToolResult)
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        return content.text

    async def read(self, uri: str) -> str:
        """The text of a resource."""
        result = await self.client.read_resource(uri)
        (content,) = result.contents
        assert isinstance(content, types.TextResourceContents)
        return content.text


def over_stdio(
    project: Project,
    talk: Callable[[Agent], Awaitable[None]],
    *options: str,
    argv: Sequence[str] = (sys.executable, "-m", "signoff", "mcp"),
) -> None:
    """Start `signoff mcp` as a client does, and talk to it."""
    started = StdioServerParameters(
        command=argv[0],
        args=[*argv[1:], *options],
        env=project.environment(),
        cwd=project.workspace,
    )

    async def run() -> None:
        async with asyncio.timeout(LIMIT_S), Client(started) as client:
            await talk(Agent(client))

    asyncio.run(run())
