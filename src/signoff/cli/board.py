"""`signoff board`: a page with all plans, and a page of one plan as a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from signoff.cli.approve import lines_around, pinned_lines
from signoff.cli.events import entry_line, entry_tone, item_context
from signoff.cli.opening import open_here, open_plan
from signoff.cli.options import json_option, plan_argument
from signoff.cli.report import standing_notes
from signoff.cli.show import (
    answer_json,
    count,
    dollars,
    duration,
    note,
    say_line,
    short,
    subject_words,
)
from signoff.errors import ExtraMissing, UsageError, how_to_install
from signoff.process.listening import Address
from signoff.storage.files import durable_replace
from signoff.usecases.person import require_person
from signoff.usecases.planpage import read_report

if TYPE_CHECKING:
    from signoff.board.pages import Words

_COMMAND = "signoff board --listen"


@click.group("board", invoke_without_command=True)
@click.option(
    "--listen",
    default="127.0.0.1:8417",
    show_default=True,
    metavar="HOST:PORT",
    help="Where to serve; port 0: any free one.",
)
@click.option("--decide", is_flag=True, help="Let the page approve plans and answer questions.")
@click.option("--as", "name", metavar="NAME", help="With --decide: the name that is recorded.")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Certificate, as PEM.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key, as PEM.")
@click.option(
    "--origin", metavar="URL", help="Address that browsers use, where a proxy or a name is between."
)
@json_option
@click.pass_context
def board_command(
    ctx: click.Context,
    listen: str,
    decide: bool,
    name: str | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    origin: str | None,
    as_json: bool,
) -> int:
    """Serve a page that shows what is proved, what is running and what needs you.

    Open the address that it prints: it lets one browser in, then another one is printed. The page
    only shows, unless it was started with --decide. Beyond this machine it is served with
    TLS files, or behind a proxy that adds TLS: then --origin says under which address."""
    if ctx.invoked_subcommand is not None:
        return 0
    if (tls_cert is None) != (tls_key is None):
        raise UsageError("`--tls-cert` and `--tls-key` go together", "signoff board --help")
    secure = tls_cert is not None or (origin or "").startswith("https://")
    address = Address.read(listen, _COMMAND, elsewhere=secure)
    if address.host in ("0.0.0.0", "::") and origin is None:
        raise UsageError(
            f"`{address.host}` is no address that a browser opens",
            f"{_COMMAND} {listen} --origin https://NAME:{address.port}",
        )
    harness = open_here()
    if decide:
        by = require_person(harness.environ, harness.home.path)
    try:
        from signoff.board.serving import Serving, serve  # noqa: PLC0415 - an optional part
    except ModuleNotFoundError as error:
        raise ExtraMissing(f"`{error.name}` is not installed", how_to_install("web")) from error

    def tell(url: str, first: bool) -> None:
        if as_json:
            answer_json(url=url, decides=decide)
            sys.stdout.flush()
            return
        note(f"the board is at {url}" if first else f"for another browser: {url}")

    tls = (tls_cert, tls_key) if tls_cert is not None and tls_key is not None else None
    deciding = (name or by) if decide else None
    serve(harness, words(), Serving(address, tls, origin, deciding), tell)
    return 0


@board_command.command("export")
@plan_argument
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write [default: stdout]."
)
@json_option
def export_command(
    plan: str | None, workspace: Path | None, output: Path | None, as_json: bool
) -> int:
    """Write everything about a plan into one HTML file.

    It needs no server and no network: for a pull request, or an archive. Secrets are taken out. It
    is a copy and proves nothing; `signoff receipt` does."""
    harness, place = open_plan(plan, workspace)
    try:
        from signoff.board.pages import report_text  # noqa: PLC0415 - an optional part
    except ModuleNotFoundError as error:
        raise ExtraMissing(f"`{error.name}` is not installed", how_to_install("web")) from error
    report = read_report(harness, place)
    text = report_text(words(), report)
    if output is not None:
        durable_replace(harness.cwd / output, text.encode())
    if as_json:
        shown = str(output) if output is not None else None
        answer_json(plan=place.name, path=shown, html=None if shown else text)
    elif output is not None:
        say_line(f"wrote {output}")
    else:
        click.echo(text)
    return 0


def words() -> Words:
    """The words of the command line, for pages."""
    from signoff.board.pages import Words  # noqa: PLC0415 - an optional part

    return Words(
        entry=entry_line,
        tone=lambda entry: entry_tone(entry).name.lower(),
        notes=standing_notes,
        context=lambda item: list(item_context(item)),
        pinned=lambda plan, pins: list(pinned_lines(plan, pins)),
        around=lambda proposal: list(lines_around(proposal)),
        filters={
            "short": short,
            "dollars": dollars,
            "duration": duration,
            "count": count,
            "subject": subject_words,
        },
    )
