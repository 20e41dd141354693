"""`signoff receipt`: its verbs, loaded on demand; what signs is slow to load."""

from __future__ import annotations

import importlib

import click

VERBS = ("export", "verify", "key", "bundle", "anchor")


class LazyReceiptVerbs(click.Group):
    """Lists its verbs without loading them, so that `signoff --help` stays short."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        loaded = importlib.import_module("signoff.cli.proofs")
        command: click.Command = getattr(loaded, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"no such verb `{args[0]}` of `signoff receipt`", ctx)
        return super().resolve_command(ctx, args)


@click.group("receipt", cls=LazyReceiptVerbs, invoke_without_command=True)
@click.pass_context
def receipt_command(ctx: click.Context) -> None:
    """Prove a sign-off to people who were not there.

    Every sign-off has a receipt: an in-toto statement signed with your key."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
