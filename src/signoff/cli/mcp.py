"""`signoff mcp`: the plan tools for anybody's agent, over MCP."""

from __future__ import annotations

import os
import secrets
import sys
from pathlib import Path

import click

from signoff.cli.opening import open_here
from signoff.cli.options import json_option
from signoff.cli.show import answer_json, note
from signoff.errors import ExtraMissing, how_to_install
from signoff.process.listening import Address
from signoff.usecases.mcp import McpTools

TOKEN_VARIABLE = "SIGNOFF_MCP_TOKEN"


@click.command("mcp")
@click.option("--plan", metavar="PLAN", help="Work on this plan [default: the one bound here].")
@click.option("--session", metavar="ID", help="Continue this session instead of starting one.")
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve HTTP on loopback instead of stdin and stdout; port 0: any.",
)
@click.option(
    "--workspace", type=click.Path(path_type=Path, exists=True), help="Folder the agent works in."
)
@json_option
def mcp_command(
    plan: str | None, session: str | None, http: str | None, workspace: Path | None, as_json: bool
) -> int:
    """Serve the plan tools to an agent over MCP.

    Clients start it themselves (signoff install). Over HTTP every request needs a token: the one in
    SIGNOFF_MCP_TOKEN, else a new one that is printed once. No tool can approve a plan, answer the
    inbox or edit a plan that a person wrote."""
    try:
        # Takes about a second to load, and is an optional part.
        from signoff.mcp_server.server import serve_stdio  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ExtraMissing(f"`{error.name}` is not installed", how_to_install("mcp")) from error
    if workspace is not None:
        os.chdir(workspace)
    if http is None:
        serve_stdio(McpTools(open_here, plan=plan, session=session))
        return 0
    from signoff.mcp_server.http import serve_http  # noqa: PLC0415 - not for stdio

    given = os.environ.get(TOKEN_VARIABLE)
    token = given or secrets.token_urlsafe(32)

    def tell(url: str) -> None:
        if as_json:
            answer_json(url=url, token=None if given else token)
            sys.stdout.flush()
            return
        note(f"serving {url}" + ("" if given else f"; token: {token}"))

    tools = McpTools(open_here, plan=plan, session=session, below_client=False)
    serve_http(tools, Address.read(http, "signoff mcp --http"), token, tell)
    return 0
