"""The server itself: our tools, resources and prompts in the words of the protocol.

What an agent reads of it before it calls anything is short, because every turn pays.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TextIO, TypeVar

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from signoff import __version__
from signoff.agents.plantools import PLAN_TOOLS, ToolOffer
from signoff.domain.text import escape_line
from signoff.errors import SignoffError
from signoff.usecases.mcp import McpTools

T = TypeVar("T")

INSTRUCTIONS = (
    "signoff decides when work is done. Plan before non-trivial work (plan_create), say where each"
    " step stands (step_update), prove it with evidence or its check (step_check), read plan_show"
    " after a detour. Saying done is a request: the harness judges. Only people approve and waive;"
    " call what cannot be done blocked, with the reason."
)
MORE_TOOLS = (
    ToolOffer("plan_list", "List the project's plans and how each stands.", {}),
    ToolOffer("plan_next", "Ask which plan can be started next, when you have none.", {}),
    ToolOffer(
        "evidence_add",
        "Record a file of the workspace as evidence, as it is now; returns the reference to cite"
        " in step_update or postcondition_verify.",
        {"path": {"type": "string"}, "note": {"type": "string"}},
        ("path",),
    ),
)
# These change nothing, so a client need not ask before it calls them.
READ_ONLY = frozenset({"plan_show", "plan_list", "plan_next"})
# Prompts that each teach one part of the workflow: name, description, text.
_PROMPTS = (
    (
        "work-by-plan",
        "Do a task under a plan that is proved, not claimed",
        "Work by a plan that signoff can prove.\n"
        "1. plan_show. If there is a plan, it is the task; if not, plan_create: one objective,"
        " small steps, postconditions. Give parts a check (file_exists, file_contains,"
        " command_succeeds, tests_pass) or a contract wherever one can decide.\n"
        '2. For each step: step_update(n, "in_progress"), do it and nothing else, step_check(n) if'
        " it has a check, else evidence_add the file that shows it and step_update(n,"
        ' "done", evidence=what it returned).\n'
        "3. postcondition_verify each one.\n"
        "4. plan_show must say that the gate is open before you give your final answer.\n"
        'If something cannot be done: step_update(n, "blocked", notes=why) or'
        " postcondition_verify(n, unattainable_because=why). That is an honest end.",
    ),
    (
        "find-your-way",
        "Continue after a break or when earlier messages are gone",
        "You may have lost the thread. Call plan_show: it says what is proved, what is stale and"
        " what is missing, and it is right where your memory differs. Go on with the first thing"
        " missing. Do not call plan_create again unless the plan itself is wrong.",
    ),
)
PLAN_ADDRESS = "signoff://plan"
LEDGER_ADDRESS = "signoff://ledger"
_RESOURCES = (
    (PLAN_ADDRESS, "plan", "The plan at work, for reading.", "text/markdown"),
    (LEDGER_ADDRESS, "ledger", "What was recorded about it, newest last.", "application/jsonl"),
)
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.S,
)
_REPLACEMENT = "\\ufffd"


class _Handlers:
    """Answers requests; what may take long happens in one thread, where the ledger is open."""

    def __init__(self, tools: McpTools):
        self._tools = tools
        self._thread = ThreadPoolExecutor(1, "signoff-mcp")

    async def list_tools(self, *_: Any) -> types.ListToolsResult:
        tools = [
            types.Tool(
                name=tool.name,
                description=tool.description,
                input_schema=tool.schema,
                annotations=types.ToolAnnotations(read_only_hint=tool.name in READ_ONLY),
            )
            for tool in (*PLAN_TOOLS, *MORE_TOOLS)
        ]
        return types.ListToolsResult(tools=tools)

    async def call_tool(self, _: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        text, wrong = await self._apart(lambda: self._tools.call(params.name, params.arguments))
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
        readers = {PLAN_ADDRESS: self._tools.plan_text, LEDGER_ADDRESS: self._tools.ledger_text}
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
        prompts = [types.Prompt(name=name, description=said) for name, said, _ in _PROMPTS]
        return types.ListPromptsResult(prompts=prompts)

    async def get_prompt(
        self, _: Any, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        for name, description, text in _PROMPTS:
            if name == params.name:
                content = types.TextContent(type="text", text=text)
                message = types.PromptMessage(role="user", content=content)
                return types.GetPromptResult(description=description, messages=[message])
        raise MCPError(types.INVALID_PARAMS, f"no prompt `{escape_line(params.name)[:200]}`")

    async def _apart(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def build_server(tools: McpTools) -> Server[Any]:
    """The server of one set of tools."""
    handlers = _Handlers(tools)
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


def mended(line: str) -> str:
    """The same JSON with every half of a character replaced.

    A model can write half of a surrogate pair. That is JSON, but no text: the library drops the
    whole request, and the client waits for an answer for ever.
    """
    return _ESCAPE.sub(lambda found: _REPLACEMENT if found["half"] else found[0], line)


class _MendedLines:
    """Source of lines for the library."""

    def __init__(self, file: TextIO):
        self._file = file

    def readline(self) -> str:
        """The next request."""
        return mended(self._file.readline())


def mended_input() -> anyio.AsyncFile[str]:
    """Our standard input; what we start meanwhile reads nothing of it."""
    wire = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # Not closed by us: a thread may be waiting on it until the very end.
    file = open(wire, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    return anyio.wrap_file(_MendedLines(file))  # type: ignore[arg-type]


def serve_stdio(tools: McpTools) -> None:
    """Serve the client that started us, until it closes our input."""
    asyncio.run(_serve_stdio(tools))


async def _serve_stdio(tools: McpTools) -> None:
    server = build_server(tools)
    async with stdio_server(stdin=mended_input()) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
