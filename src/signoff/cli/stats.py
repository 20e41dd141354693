"""`signoff stats`: claims and what became of them, as a table, JSON or a picture."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from msgspec.structs import asdict

from signoff.cli.opening import open_here
from signoff.cli.options import json_option
from signoff.cli.show import count, dollars, say, say_json, say_line, styles, versioned
from signoff.domain.session import SESSION_ID
from signoff.domain.text import escape_line, shortened
from signoff.errors import ExtraMissing, UsageError, how_to_install
from signoff.storage.files import durable_replace
from signoff.usecases.harness import Harness, find_plan
from signoff.usecases.sessions import signed_place
from signoff.usecases.stats import OpinionTally, StatsReport, Tally, read_stats

FORMATS = (".svg", ".png")
WIDE = 200
LONGEST_COMMAND = 40
WORDS = ("role", "agent", "model")
NUMBERS = (
    *("claims", "kept", "refused", "tampered", "rate"),
    *("tries/step", "s/step", "tokens/step", "$/step"),
)


@click.command("stats")
@click.argument("plans", nargs=-1, metavar="[PLAN]...")
@click.option(
    "--picture",
    type=click.Path(path_type=Path),
    help="Draw it into a file that ends in .svg or .png.",
)
@json_option
def stats_command(plans: tuple[str, ...], picture: Path | None, as_json: bool) -> int:
    """Show what agents claimed, what was kept, and what a kept step cost.

    Counts the named plans and sessions, or every plan known to you. In a session every step that
    the agent called done is a claim; its role is shown as self-set, since it chose its own checks.
    Costs include refused attempts; tokens and dollars are what the agents reported."""
    if picture is not None and picture.suffix not in FORMATS:
        raise UsageError(f"`{picture}` ends in neither .svg nor .png", "signoff stats --help")
    harness = open_here()
    report = read_stats(harness, [_named(harness, plan) for plan in plans])
    if picture is not None:
        durable_replace(harness.cwd / picture, _draw(report, picture.suffix))
    if as_json:
        say_json(stats_json(report))
        return 0
    _show(report)
    if picture is not None:
        say_line(f"drew {picture}")
    return 0


def _named(harness: Harness, plan: str) -> str:
    if not SESSION_ID.fullmatch(plan):
        return find_plan(harness.cwd, plan, even_gone=True, staged=True).record.id
    return signed_place(harness, plan).record.id


def stats_json(report: StatsReport) -> dict[str, Any]:
    """The stable shape of `stats --json`."""
    return versioned(
        plans=report.plans,
        runs=report.runs,
        signed_off=report.signed_off,
        receipts=report.receipts,
        sessions=report.sessions,
        agents=[_tally_json(tally) for tally in report.agents],
        total=_tally_json(report.total),
        opinions=[asdict(tally) for tally in report.opinions],
        weeks=[{"week": week, **_tally_json(tally)} for week, tally in report.weeks],
        strength=None if report.strength is None else asdict(report.strength),
    )


def _tally_json(tally: Tally) -> dict[str, Any]:
    return {
        **asdict(tally),
        "model": tally.model or None,
        "refused": tally.refused,
        "kept_rate": tally.kept_rate,
        "seconds_per_kept_step": tally.seconds_per_kept_step,
        "attempts_per_kept_step": tally.attempts_per_kept_step,
        "tokens_per_kept_step": tally.tokens_per_kept_step,
        "usd_per_kept_step": tally.usd_per_kept_step,
    }


def _show(report: StatsReport) -> None:
    runs = f"{count(report.runs, 'run')} of {count(report.plans, 'plan')}"
    runs += f", {count(report.sessions, 'session')}" if report.sessions else ""
    say(f"{runs}, {report.signed_off} signed off, {count(report.receipts, 'receipt')}")
    if report.agents:
        _show_table((*report.agents, report.total) if len(report.agents) > 1 else report.agents)
    if report.total.heldout_judged:
        total = report.total
        say(f"held out: {total.heldout_failed} of {total.heldout_judged} claims failed it")
    if (strength := report.strength) is not None:
        rejected = f"{strength.rejected} of {strength.tried} wrong versions rejected"
        say(f"strength of {count(strength.contracts, 'contract')}: {rejected}")
    for tally in report.opinions:
        _show_opinions(tally)


def _show_opinions(tally: OpinionTally) -> None:
    numbers = f"{tally.holds} hold, {tally.vetoed} vetoes, {tally.undecided} undecided"
    cost = f"{tally.tokens:,} tokens, {dollars(tally.usd)}"
    how = tally.measured or "never calibrated"
    say_line(f"opinions of {tally.model}, no proof: {numbers}, {tally.void} void; {cost} [{how}]")


def _show_table(rows: Sequence[Tally]) -> None:
    # rich is only for this table; listing the verbs loads this module too.
    from rich.console import Console  # noqa: PLC0415 - see above
    from rich.table import Table  # noqa: PLC0415 - see above
    from rich.text import Text  # noqa: PLC0415 - see above

    width = None if sys.stdout.isatty() else WIDE
    console = Console(
        file=sys.stdout, highlight=False, width=width, color_system=styles(sys.stdout)
    )
    cells = [_cells(tally) for tally in rows]
    if _width(cells) > console.width:
        _show_stacked(cells)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in WORDS:
        table.add_column(name)
    for name in NUMBERS:
        table.add_column(name, justify="right")
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _width(rows: Sequence[tuple[str, ...]]) -> int:
    """Width of the table, with two blanks between columns."""
    columns = zip((*WORDS, *NUMBERS), *rows, strict=True)
    return sum(max(map(len, column)) + 2 for column in columns) - 2


def _show_stacked(rows: Sequence[tuple[str, ...]]) -> None:
    """One number a line, where the terminal is too narrow for a table."""
    for row in rows:
        who = [word for word in row[: len(WORDS)] if word not in ("", "-")]
        say_line("  ".join(who))
        for name, number in zip(NUMBERS, row[len(WORDS) :], strict=True):
            say_line(f"  {name:<11}  {number:>9}")


def _cells(tally: Tally) -> tuple[str, ...]:
    return (
        escape_line(tally.role),
        shortened(escape_line(tally.command), LONGEST_COMMAND),
        escape_line(tally.model) or "-",
        *(str(n) for n in (tally.claims, tally.kept, tally.refused, tally.tampered)),
        _number(tally.kept_rate, "{:.0%}"),
        _number(tally.attempts_per_kept_step, "{:.1f}"),
        _number(tally.seconds_per_kept_step, "{:,.1f}"),
        _number(tally.tokens_per_kept_step, "{:,.0f}"),
        _number(tally.usd_per_kept_step, "{:.2f}"),
    )


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def _draw(report: StatsReport, suffix: str) -> bytes:
    try:
        # Loading the drawing library takes seconds, and most people have not installed it.
        from signoff.cli.picture import draw  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(
            f"a picture needs a library that is not installed: {error.name}",
            how_to_install("stats"),
        ) from error
    return draw(report, suffix.removeprefix("."))
