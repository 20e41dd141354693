"""The server itself: our tools, resources and prompts in the words of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from signoff import __version__
from signoff.agents.plantools import PLAN_TOOLS, PlanTool
from signoff.domain.text import escape_line
from signoff.errors import SignoffError
from signoff.mcp_server.mending import mended_input
from signoff.mcp_server.texts import INSTRUCTIONS, LESSONS, MORE_TOOLS, READ_ONLY, MoreTool
from signoff.usecases.mcp import McpDesk

T = TypeVar("T")

PLAN_ADDRESS = "signoff://plan"
LEDGER_ADDRESS = "signoff://ledger"
_RESOURCES = (
    (PLAN_ADDRESS, "plan", "The plan at work, for reading.", "text/markdown"),
    (LEDGER_ADDRESS, "ledger", "What was recorded about it, newest last.", "application/jsonl"),
)


class _Handlers:
    """Answers requests; what may take long happens in one thread, where the ledger is open."""

    def __init__(self, desk: McpDesk):
        self._desk = desk
        self._thread = ThreadPoolExecutor(1, "signoff-mcp")

    async def list_tools(self, *_: Any) -> types.ListToolsResult:
        offered: tuple[PlanTool | MoreTool, ...] = (*PLAN_TOOLS, *MORE_TOOLS)
        tools = [
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.schema,
                annotations=types.ToolAnnotations(read_only_hint=tool.name in READ_ONLY),
            )
            for tool in offered
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, _: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text, wrong = await self._apart(lambda: self._desk.call(params.name, params.arguments))
        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=list(content), is_error=wrong)

    async def list_resources(self, *_: Any) -> types.ListResourcesResult:
        resources = [
            types.Resource(uri=uri, name=name, description=description, mime_type=mime_type)
            for uri, name, description, mime_type in _RESOURCES
        ]
        return types.ListResourcesResult(resources=resources)

    async def read_resource(
        self, _: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        readers = {PLAN_ADDRESS: self._desk.plan_text, LEDGER_ADDRESS: self._desk.ledger_text}
        uri = str(params.uri)
        reader = readers.get(uri)
        if reader is None:
            raise MCPError(types.INVALID_PARAMS, f"no resource `{escape_line(uri)[:200]}`")
        try:
            text = await self._apart(reader)
        except (SignoffError, OSError) as error:
            raise MCPError(types.INTERNAL_ERROR, escape_line(str(error))) from error
        shown = types.TextResourceContents(uri=uri, text=text)
        return types.ReadResourceResult(contents=[shown])

    async def list_prompts(self, *_: Any) -> types.ListPromptsResult:
        prompts = [types.Prompt(name=one.name, description=one.description) for one in LESSONS]
        return types.ListPromptsResult(prompts=prompts)

    async def get_prompt(
        self, _: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        for lesson in LESSONS:
            if lesson.name == params.name:
                content = types.TextContent(type="text", text=lesson.text)
                message = types.PromptMessage(role="user", content=content)
                return types.GetPromptResult(description=lesson.description, messages=[message])
        raise MCPError(types.INVALID_PARAMS, f"no prompt `{escape_line(params.name)[:200]}`")

    async def _apart(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def build_server(desk: McpDesk) -> Server[Any]:
    """The server of one desk."""
    handlers = _Handlers(desk)
    return Server(
        "signoff",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


def serve_stdio(desk: McpDesk) -> None:
    """Serve the client that started us, until it closes our input."""
    asyncio.run(_serve_stdio(desk))


async def _serve_stdio(desk: McpDesk) -> None:
    server = build_server(desk)
    async with stdio_server(stdin=mended_input()) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
