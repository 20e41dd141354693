"""The verbs that answer before click is loaded, as click sees them: for --help and odd options."""

from __future__ import annotations

import click

from signoff.cli.options import json_option
from signoff.domain.clients import CLIENTS, HookKind
from signoff.fastpath import list_names, list_plans, resolve, session_start
from signoff.hooks import LIMIT_OPTION, answer_hook

_EVENTS = "|".join(kind.value for kind in HookKind)


@click.command("resolve-active-plan")
@click.option("--plan", metavar="NAME", help="Name of the plan, instead of the one bound here.")
@json_option
def resolve_active_plan_command(plan: str | None, as_json: bool) -> int:
    """Print the files of the plan this worktree works on.

    Prints the plan's path, a tab, and the path of its progress file. The plan is the one named,
    else the one this worktree is bound to, else PLAN.md. A broken binding is an error: another
    plan is never used instead.

    Exit code 0: printed, 1: no vault here, 2: a bad name or binding, 3: the ledger cannot be
    read."""
    return resolve(plan, as_json)


@click.command("list-plans")
@click.option("--staged", is_flag=True, help="List the plans in queued-plans instead.")
@click.option("--names", is_flag=True, help="Only names, for completion in a shell.")
@json_option
def list_plans_command(staged: bool, names: bool, as_json: bool) -> int:
    """List plan files with their status, for scripts; `signoff list` is for people.

    One line per plan: its file, a tab, its recorded status. In a bound worktree the last line is
    active-binding=NAME, or active-binding=DANGLING:NAME if the binding is broken. If the vault
    belongs to another repository, nothing is listed and standard error says so."""
    return list_names() if names and not as_json else list_plans(as_json, staged=staged)


@click.command("session-start")
@json_option
def session_start_command(as_json: bool) -> int:
    """Print what an agent should know when it begins.

    The bound plan and its next step, other plans, a broken binding, conflict copies, open
    questions. Never fails: a problem becomes a line of the text."""
    return session_start(as_json)


@click.command("hook")
@click.argument("client", metavar=f"{{{'|'.join(CLIENTS)}}}")
@click.argument("event", metavar=f"{{{_EVENTS}}}")
@click.option(
    LIMIT_OPTION,
    metavar="SECONDS",
    help="Answer within this time [default: fits the client's own limit].",
)
@json_option
def hook_command(client: str, event: str, limit: str | None, as_json: bool) -> int:
    """Answer a client's hook: the event as JSON on stdin, the answer as JSON on stdout.

    `signoff install` writes this command into the client. session-start tells the agent the plan;
    before-tool warns it off plans, configuration and protected files; stop judges the work and
    keeps the agent going while something is missing; session-end ends the session. A hook signs
    nothing. The exit code is always 0; problems are reported on stderr."""
    del as_json  # the answer is JSON in any case, and the client's, so it has no version of ours
    limited = [LIMIT_OPTION, limit] if limit is not None else []
    return answer_hook([client, event, *limited])
