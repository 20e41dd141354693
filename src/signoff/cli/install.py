"""`signoff install` and `signoff uninstall`: hooks, MCP entry and commands in a client."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from signoff.cli.options import json_option
from signoff.cli.show import note, say, say_json, say_line, versioned
from signoff.domain.clients import CLIENTS
from signoff.places import resolve_home
from signoff.storage.active import find_vault
from signoff.usecases.clients.files import ClientConfig, FileOutcome, Scope
from signoff.usecases.install import InstallReport, install, uninstall
from signoff.wiring import existing_home

F = TypeVar("F", bound=Callable[..., Any])


def _client_arguments(command: F) -> F:
    command = click.option(
        "--dry-run", is_flag=True, help="Show what would change; write nothing."
    )(command)
    command = click.option("--user", is_flag=True, help="Into your own configuration.")(command)
    command = click.option(
        "--project", is_flag=True, help="Into this repository's configuration [default]."
    )(command)
    return click.argument("client", type=click.Choice(list(CLIENTS)))(command)


@click.command("install")
@_client_arguments
@json_option
def install_command(client: str, user: bool, project: bool, dry_run: bool, as_json: bool) -> int:
    """Install signoff into a client: hooks, MCP server, commands /plan /work /review /design.

    Adds only what is missing; everything else in the client's files stays, comments included, and
    a changed file is backed up first. Hooks only give the agent feedback, and clients may skip
    them: what is done is still decided by signoff alone."""
    report = install(_config(client, user, project), _home(), dry_run=dry_run)
    _show(report, as_json)
    return 0


@click.command("uninstall")
@_client_arguments
@json_option
def uninstall_command(client: str, user: bool, project: bool, dry_run: bool, as_json: bool) -> int:
    """Remove from a client what install added.

    Your own edits stay. A command file that you changed stays too, and is named."""
    report = uninstall(_config(client, user, project), _home(), dry_run=dry_run)
    _show(report, as_json)
    return 0


def _config(client: str, user: bool, project: bool) -> ClientConfig:
    if user and project:
        raise click.UsageError("--user and --project do not go together: hooks would run twice")
    scope = Scope.USER if user else Scope.PROJECT
    top = find_vault(Path.cwd(), os.environ).worktree
    return ClientConfig(CLIENTS[client], scope, top, dict(os.environ))


def _home() -> Path:
    """Folder with the notes about drivers and connected clients; checked if it exists."""
    existing_home(os.environ)
    return resolve_home(os.environ)


def _show(report: InstallReport, as_json: bool) -> None:
    if as_json:
        say_json(_body(report))
        return
    for file in report.files:
        if not file.is_ours and file.diff:
            say(file.diff.rstrip("\n"))
    would = "would be " if report.dry_run else ""
    for file in report.files:
        if file.outcome is not FileOutcome.KEPT:
            kept = f"; as it was: {file.backup.name}" if file.backup else ""
            say_line(f"{would}{file.outcome.value}: {file.path}{kept}")
    if not report.changed:
        say_line(f"nothing to do for {report.client.title}")
    for warning in report.warnings:
        note(f"warning: {warning}")


def _body(report: InstallReport) -> dict[str, Any]:
    files = [
        {
            "path": str(file.path),
            "outcome": file.outcome.value,
            "backup": str(file.backup) if file.backup else None,
            "diff": file.diff,
        }
        for file in report.files
    ]
    return versioned(
        client=report.client.name,
        scope=report.scope.value,
        dry_run=report.dry_run,
        changed=report.changed,
        files=files,
        warnings=list(report.warnings),
    )
