"""The picture of `signoff stats`: what became of each agent's claims, and what a kept step cost."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from signoff.cli.show import count
from signoff.domain.text import escape_line, shortened
from signoff.usecases.stats import StatsReport, Tally

# Told apart by everybody: blue and orange instead of green and red.
PARTS: tuple[tuple[str, str, Callable[[Tally], int]], ...] = (
    ("kept", "#2b7bba", lambda t: t.kept),
    ("broken", "#e8a33d", lambda t: t.broken),
    ("tampered", "#b5342b", lambda t: t.tampered),
    ("unknown", "#b9bec4", lambda t: t.unknown),
)
COSTS: tuple[tuple[str, str, Callable[[Tally], float | None]], ...] = (
    ("kept claims", "{:.0%}", lambda t: t.kept_rate),
    ("attempts per kept step", "{:.1f}", lambda t: t.attempts_per_kept_step),
    ("seconds per kept step", "{:,.1f}", lambda t: t.seconds_per_kept_step),
    ("tokens per kept step", "{:,.0f}", lambda t: t.tokens_per_kept_step),
    ("USD per kept step", "${:.2f}", lambda t: t.usd_per_kept_step),
)
INK, FAINT, GRID = "#22272e", "#6b7280", "#e5e7eb"
LONGEST_NAME = 40
MOST_AGENTS = 30
STYLE: Any = {
    "text.parse_math": False,  # a model may be named with dollar signs
    "svg.hashsalt": "signoff",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": FAINT,
    "ytick.color": INK,
}


def draw(report: StatsReport, form: str) -> bytes:
    """The picture as `svg` or `png`; the same numbers always give the same bytes."""
    agents = report.agents[:MOST_AGENTS]
    with matplotlib.rc_context(), warnings.catch_warnings():
        # About a letter that the font lacks: it is drawn as a box.
        warnings.simplefilter("ignore")
        # Nobody's own style file: the same numbers are the same picture everywhere.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        height = 2.0 + 0.42 * max(1, len(agents))
        figure = Figure(figsize=(15, height), facecolor="white")
        FigureCanvasAgg(figure)
        claims, *costs = figure.subplots(
            1,
            1 + len(COSTS),
            sharey=True,
            gridspec_kw={"width_ratios": [2.6, *[1] * len(COSTS)], "wspace": 0.14},
        )
        _head(figure, report, len(agents), height)
        _draw_claims(claims, agents)
        for axes, (title, number, value) in zip(costs, COSTS, strict=True):
            _draw_cost(axes, title, number, [value(tally) for tally in agents])
        out = io.BytesIO()
        metadata = {"Date": None} if form == "svg" else {"Software": "signoff"}
        figure.savefig(out, format=form, dpi=150, metadata=metadata)
    return out.getvalue()


def _head(figure: Figure, report: StatsReport, shown: int, height: float) -> None:
    total = report.total
    figure.subplots_adjust(left=0.26, right=0.985, top=1 - 1.0 / height, bottom=0.55 / height)
    title = f"{count(total.claims, 'claim')} of done: {total.kept} kept, {total.refused} refused"
    figure.text(0.02, 1 - 0.3 / height, title, fontsize=14, fontweight="bold", va="center")
    more = f", {shown} of {len(report.agents)} agents shown" if shown < len(report.agents) else ""
    below = f"{count(report.runs, 'run')}, {report.signed_off} signed off{more}"
    figure.text(0.02, 1 - 0.6 / height, below, color=FAINT, va="center")


def _draw_claims(axes: Axes, agents: Sequence[Tally]) -> None:
    rows = range(len(agents))
    left = [0] * len(agents)
    for name, colour, value in PARTS:
        widths = [value(tally) for tally in agents]
        bars = axes.barh(rows, widths, left=left, height=0.62, color=colour, label=name)
        labels = [str(width) if width else "" for width in widths]
        light = name in ("kept", "tampered")
        axes.bar_label(bars, labels, label_type="center", color="white" if light else INK)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_yticks(list(rows), labels=[_name(tally) for tally in agents])
    axes.set_ylim(max(len(agents), 1) - 0.4, -0.6)
    axes.set_title("claims", loc="left", fontsize=9.5, color=FAINT)
    if agents:
        legend = axes.legend(ncols=len(PARTS), frameon=False, handlelength=1, loc="upper left")
        legend.set_bbox_to_anchor((-0.02, -0.02), axes.transAxes)
    _plain(axes)


def _draw_cost(axes: Axes, title: str, number: str, values: Sequence[float | None]) -> None:
    bars = axes.barh(range(len(values)), [v or 0 for v in values], height=0.62, color="#9db7cf")
    labels = ["–" if v is None else number.format(v) for v in values]
    axes.bar_label(bars, labels, padding=4)
    axes.set_xlim(0, max([v or 0 for v in values], default=0) * 1.45 or 1)
    axes.set_title(title, loc="left", fontsize=9.5, color=FAINT)
    _plain(axes)


def _plain(axes: Axes) -> None:
    """Remove box and ticks: every bar carries its number."""
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(GRID)


def _name(tally: Tally) -> str:
    """Role and model, or the command where no model is known."""
    return shortened(escape_line(f"{tally.role} · {tally.model or tally.command}"), LONGEST_NAME)
