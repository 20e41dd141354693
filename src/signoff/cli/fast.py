"""The verbs that answer before click is loaded, as click sees them: for --help and odd options."""

from __future__ import annotations

import click

from signoff.cli.options import json_option
from signoff.domain.clients import CLIENTS, HookKind
from signoff.fastpath import list_plans, resolve, session_start
from signoff.hooks import LIMIT_OPTION, answer_hook

_EVENTS = "|".join(kind.value for kind in HookKind)


@click.command("resolve-active-plan")
@click.option("--plan", metavar="NAME", help="A plan by name, instead of the one bound here.")
@json_option
def resolve_active_plan_command(plan: str | None, as_json: bool) -> int:
    """Print the files of the plan this worktree works on.

    The plan's path, a tab, and the path of its progress. The plan is the one named, else the one
    this worktree is bound to, else PLAN.md; a binding that cannot be trusted is an error, never
    another plan.

    Exit code 0: printed, 1: no vault here, 2: a bad name or binding, 3: the ledger cannot be
    read."""
    return resolve(plan, as_json)


@click.command("list-plans")
@click.option("--staged", is_flag=True, help="Those in queued-plans instead.")
@json_option
def list_plans_command(staged: bool, as_json: bool) -> int:
    """List every plan of the vault with its status.

    One line per plan: its file, a tab, its status as last recorded. A last line
    active-binding=NAME where this worktree is bound to a plan, active-binding=DANGLING:NAME
    where that cannot be trusted. Where the vault belongs to another repository, none of its plans
    is listed, and standard error says so."""
    return list_plans(as_json, staged=staged)


@click.command("session-start")
@json_option
def session_start_command(as_json: bool) -> int:
    """Print what a session should know when it begins.

    The bound plan and its next step, other plans, a dangling binding, conflict copies, open
    questions. Never fails: what is broken becomes a line."""
    return session_start(as_json)


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
