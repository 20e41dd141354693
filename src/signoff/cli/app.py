"""The command line as a whole: verbs loaded on demand, errors shown one way, exit codes."""

from __future__ import annotations

import importlib
import os
import re
from typing import Any

import click

from signoff import __version__
from signoff.cli.options import color_option
from signoff.cli.show import note
from signoff.cli.streams import outlive_readers
from signoff.errors import InternalError, Interrupted, SignoffError, StorageFailed, UsageError
from signoff.fastpath import show_failure as tell_failure

# Verb, module, and a line that fits a terminal of 80 columns; in the order of --help.
GROUPS = {
    "Start here": (
        ("init", "plans", "Set this folder up: a vault, signoff.toml, a first plan."),
        ("new", "plans", "Create another plan, with a name of its own."),
        ("verify", "verify", "Look for mistakes in a plan; nothing is run."),
        ("approve", "approve", "Read what a plan would do, and approve exactly that."),
        ("run", "run", "Have agents work on a plan until its contracts hold."),
        ("status", "status", "Show which steps are done and what is missing."),
        ("inbox", "inbox", "List the questions that wait for you."),
        ("answer", "inbox", "Answer one of them."),
        ("doctor", "doctor", "Check that signoff can work on this machine."),
        ("help", "meta", "Explain a verb: signoff help run."),
    ),
    "Decide": (
        ("sign", "sign", "Sign off work that an agent did in its own client."),
        ("reject", "approve", "Take an approval back, or refuse a plan."),
        ("cancel", "plans", "End a plan's run for good."),
        ("edit", "edit", "Change a plan's text, unless somebody else did."),
        ("undo", "undo", "Undo what an agent's last calls changed."),
    ),
    "Look": (
        ("list", "queue", "List all plans: state, steps done, who works on them."),
        ("show", "look", "Print a plan, or an attempt's prompt, answer and changes."),
        ("log", "look", "Tell what happened, entry by entry."),
        ("diff", "look", "Show what changed since a plan was approved."),
        ("progress", "plans", "Show the notes about a plan, or add one."),
        ("sessions", "sessions", "List the sessions that agents had here."),
        ("audit", "audit", "Check a sign-off again, trusting no agent."),
        ("strength", "strength", "Show which wrong work a contract would not notice."),
        ("receipt", "proofs", "Prove a sign-off to people who were not there."),
        ("judge", "judge", "Measure how good your model's opinions are."),
        ("stats", "stats", "Show how often agents' claims held, and the cost."),
        ("board", "board", "Serve a page with everything: proved, running, yours."),
    ),
    "Many plans": (
        ("worktree", "worktree", "Give every plan a branch and a checkout of its own."),
        ("bind", "plans", "Say which plan this worktree works on."),
        ("unbind", "plans", "Say that it works on no plan any more."),
        ("ready", "queue", "Show which plans can start now, and why others cannot."),
        ("next", "queue", "Take the next plan that is ready."),
        ("merge", "merge", "Merge a signed-off plan's branch, judged once more."),
        ("activate", "plans", "Move a staged plan into the vault."),
        ("conflicts", "conflicts", "List the copies that cloud drives made of plans."),
        ("check", "check", "Check every plan of the vault, for CI and pre-commit."),
    ),
    "Many machines": (
        ("worker", "workers", "Drive runs of other machines here; enroll and trust workers."),
        ("workers", "workers", "List the workers, what they do and what waits for them."),
        ("pull", "workers", "Bring what a run on workers came to into this workspace."),
    ),
    "Clients": (
        ("install", "install", "Install signoff into Claude Code or another client."),
        ("uninstall", "install", "Remove from a client what install added."),
        ("agent", "agent", "Have a model do a task, and check what it did."),
        ("mcp", "mcp", "Serve the plan tools to an agent over MCP."),
    ),
    "Plumbing": (
        ("completion", "meta", "Print what makes your shell complete commands."),
        ("gc", "gc", "Give back disk space that nobody needs any more."),
        ("notify", "notify", "Try the ways in which you are told of a run."),
        ("version", "meta", "Print the version."),
        ("check-artifact", "check_artifact", "Check that files are what they claim to be."),
        ("hook", "fast", "Answer a client's hook."),
        ("resolve-active-plan", "fast", "Print the files of the plan this worktree works on."),
        ("list-plans", "fast", "List plan files with their status, for scripts."),
        ("session-start", "fast", "Print what an agent should know when it begins."),
    ),
}
VERBS: dict[str, str] = {verb: module for rows in GROUPS.values() for verb, module, _ in rows}
# Names that went: they still work, and say what to type instead.
FORMER = {"queue-status": ["list"], "merge-order": ["merge", "--order"]}
_WIDEST_VERB = 10
_QUOTED = re.compile(r"(?<![=\w])'([^'`]*)'")


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
        """List the verbs from the table alone: loading them takes longer than people wait."""
        for title, rows in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{verb:<{_WIDEST_VERB}}", text) for verb, _, text in rows])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in FORMER:
            now = FORMER[args[0]]
            note(f"`signoff {args[0]}` is now `signoff {' '.join(now)}`")
            args = [*now, *args[1:]]
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
@color_option(hidden=False)
@click.version_option(__version__, message="signoff %(version)s")
@click.pass_context
def signoff(ctx: click.Context, as_json: bool) -> None:
    """Decide when an AI agent's work is done.

    A plan is a markdown file whose steps have contracts. Agents do the work;
    only signoff runs the contracts, keeps the proof, and signs off.

    \b
    PLAN is a path, a name, or nothing (the plan bound here, else the vault's PLAN.md).
    --json and --color may also stand behind the verb.
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


def in_our_words(failure: click.ClickException) -> str:
    """Word click's refusal as we word every refusal: lower case, names in backticks."""
    if isinstance(failure, click.MissingParameter):
        return f"{_name(failure.param)} is missing"
    if isinstance(failure, click.NoSuchOption):
        close = [f"`{option}`" for option in failure.possibilities or ()]
        hint = f" (did you mean {' or '.join(close)}?)" if close else ""
        return f"no such option `{failure.option_name}`{hint}"
    if isinstance(failure, click.BadParameter) and failure.param is not None:
        return f"{_name(failure.param)}: {_styled(failure.message)}"
    return _styled(failure.format_message())


def _name(param: click.Parameter | None) -> str:
    if isinstance(param, click.Argument):
        # A metavar that lists the choices is no name.
        named = param.metavar or (param.name or "").upper()
        return f"`{named.strip('[].')}`"
    return f"`{max(param.opts, key=len)}`" if param is not None and param.opts else "an argument"


def _styled(message: str) -> str:
    text = _QUOTED.sub(r"`\1`", message.rstrip("."))
    return (text[:1].lower() + text[1:]).replace("no such command", "no such verb")
