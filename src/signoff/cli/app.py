"""The command line as a whole: verbs loaded on demand, errors shown one way, exit codes."""

from __future__ import annotations

import importlib
import os
from typing import Any

import click

from signoff import __version__
from signoff.cli.streams import outlive_readers
from signoff.cli.verbs import SHORT
from signoff.cli.wording import in_our_words
from signoff.errors import (
    InternalError,
    Interrupted,
    SignoffError,
    StorageFailed,
    UsageError,
)
from signoff.fastpath import show_failure as tell_failure

# verb → module; the order is the order of --help.
VERBS: dict[str, str] = {
    "init": "create",
    "new": "create",
    "verify": "verify",
    "approve": "approve",
    "reject": "approve",
    "run": "run",
    "status": "status",
    "show": "status",
    "log": "log",
    "audit": "audit",
    "receipt": "receipt",
    "stats": "stats",
    "inbox": "inbox",
    "answer": "inbox",
    "cancel": "cancel",
    "doctor": "doctor",
    "bind": "bind",
    "unbind": "bind",
    "worktree": "worktree",
    "ready": "ready",
    "next": "next",
    "queue-status": "queue",
    "merge": "merge",
    "merge-order": "merge",
    "diff": "diff",
    "edit": "edit",
    "progress": "journal",
    "activate": "staging",
    "conflicts": "conflicts",
    "check": "check",
    "check-artifact": "check_artifact",
    "agent": "agent",
    "install": "install",
    "uninstall": "install",
    "hook": "hook",
    "mcp": "mcp",
    "sign": "sign",
    "sessions": "sessions",
    "undo": "undo",
    "resolve-active-plan": "fast",
    "list-plans": "fast",
    "session-start": "fast",
}


class LazyVerbs(click.Group):
    """Imports a verb's module only when it is called or asked about: start-up stays short."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        module = VERBS.get(cmd_name)
        if module is None:
            return None
        loaded = importlib.import_module(f"signoff.cli.{module}")
        command: click.Command = getattr(loaded, f"{cmd_name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """From the list alone: loading every verb takes longer than people wait for help."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, SHORT[verb]) for verb in VERBS])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib  # noqa: PLC0415 - only needed when a verb is misspelt

            letters = sorted(args[0])
            close = difflib.get_close_matches(args[0], VERBS, n=3)
            close.sort(key=lambda verb: sorted(verb) != letters)  # two letters swapped come first
            hint = f" (did you mean `{close[0]}`?)" if close else ""
            raise click.UsageError(f"no such verb `{args[0]}`{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyVerbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output on stdout.")
@click.version_option(__version__, message="signoff %(version)s")
@click.pass_context
def signoff(ctx: click.Context, as_json: bool) -> None:
    """Decide when an AI agent's work is done.

    A plan is a markdown file whose steps carry contracts. Agents do the work;
    only signoff runs the contracts, keeps the proof, and signs off.

    \b
    PLAN is a path, a name, or nothing (the plan bound here, else the vault's PLAN.md).
    Exit codes: 0 done/yes, 1 not done, 2 wrong usage, 3 could not judge,
    4 invalid plan or configuration, 5 conflict, 6 waiting for a person,
    130 interrupted (state is safe).
    """
    ctx.obj = {"json": as_json}
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run_command_line(arguments: list[str]) -> int:
    """Run one command; every way it can end has its exit code."""
    outlive_readers()
    try:
        result: Any = signoff.main(arguments, prog_name="signoff", standalone_mode=False)
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except (Exception, KeyboardInterrupt) as error:
        return show_failure(error, "--json" in arguments)
    return int(result or 0)


def show_failure(failure: BaseException, as_json: bool) -> int:
    """Facts and the next step on stderr, for whatever went wrong; returns the exit code."""
    error = _as_our_own(failure)
    if isinstance(error, InternalError) and os.environ.get("SIGNOFF_DEBUG"):
        import traceback  # noqa: PLC0415 - only needed here

        traceback.print_exception(failure)
    return tell_failure(error, as_json)


def _as_our_own(failure: BaseException) -> SignoffError:
    if isinstance(failure, SignoffError):
        return failure
    if isinstance(failure, KeyboardInterrupt | click.Abort):
        return Interrupted("interrupted; state is safe")
    if isinstance(failure, click.ClickException):
        context = failure.ctx if isinstance(failure, click.UsageError) else None
        where = context.command_path if context is not None else "signoff"
        return UsageError(in_our_words(failure), f"{where} --help")
    if isinstance(failure, OSError):
        where = f" (`{failure.filename}`)" if failure.filename else ""
        return StorageFailed(f"{failure.strerror or failure}{where}")
    return InternalError(f"internal error: {type(failure).__name__}: {failure}")
