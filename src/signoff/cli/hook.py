"""`signoff hook`: as click sees the door for clients' hooks."""

from __future__ import annotations

import click

from signoff.cli.options import json_option
from signoff.domain.clients import CLIENTS, HookKind
from signoff.hooks import LIMIT_OPTION, answer_hook

_EVENTS = "|".join(kind.value for kind in HookKind)


@click.command("hook")
@click.argument("client", metavar=f"{{{'|'.join(CLIENTS)}}}")
@click.argument("event", metavar=f"{{{_EVENTS}}}")
@click.option(
    LIMIT_OPTION, metavar="SECONDS", help="Answer within this time [default: what install chose]."
)
@json_option
def hook_command(client: str, event: str, limit: str | None, as_json: bool) -> int:
    """Answer a client's hook: its JSON on stdin, our answer on stdout in its own dialect.

    Signoff install writes this command into the client. session-start gives the agent the plan,
    before-tool advises against writes to plans, configuration and protected files, stop asks the
    gate and blocks with what is missing, session-end lets go. A hook is feedback, never a proof:
    it signs nothing. The exit code is always 0; what went wrong is told on stderr."""
    del as_json  # the answer is JSON in any case, and the client's, so it has no version of ours
    limited = [LIMIT_OPTION, limit] if limit is not None else []
    return answer_hook([client, event, *limited])
