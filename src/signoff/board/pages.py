"""Reports turned into HTML: one escape for everything that came from outside, one place for it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from msgspec import Struct

from signoff.domain.ledger import Entry
from signoff.domain.plan import Plan
from signoff.domain.redaction import SHORTEST_BY_NAME, Redactor
from signoff.domain.text import escape, storable_path
from signoff.gate.subjects import Standing
from signoff.usecases.approve import Proposal
from signoff.usecases.planpage import PlanReport, SubjectPage
from signoff.usecases.questions import InboxItem
from signoff.usecases.stats import Tally
from signoff.verification.pins import Pins

MOST_DIFF_LINES = 2_000
ROW = 44  # height of a step in the graph, as in board.css
TRACK = 18
STATIC = {"board.css": "text/css", "board.js": "text/javascript", "board.svg": "image/svg+xml"}


class Words(Struct, frozen=True):
    """The command line's words for things, so that the page says the same."""

    entry: Callable[[Entry], str]
    tone: Callable[[Entry], str]
    notes: Callable[[Standing], Sequence[str]]
    context: Callable[[InboxItem], Iterable[tuple[str, str]]]
    pinned: Callable[[Plan, Pins], Iterable[str]]
    around: Callable[[Proposal], Iterable[str]]
    filters: Mapping[str, Callable[..., str]]


class Pages:
    """The templates, with what they may use."""

    def __init__(self, words: Words):
        self._env = Environment(
            loader=PackageLoader("signoff.board"),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_shown,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._env.filters.update(words.filters)
        self._env.filters.update(path=storable_path, json=_json)
        self._env.globals.update(words=words, rails=rails, diff_lines=diff_lines, beside=beside)
        self._env.globals.update(named=_named, pairs=_pairs, **_UNITS)

    def render(self, template: str, redactor: Redactor, **values: Any) -> str:
        """One page; secrets are taken out of every text in it."""
        return self._env.get_template(template).render(redactor=redactor, **values)


def report_text(words: Words, report: PlanReport) -> str:
    """One file with everything about a plan, that needs no server and no network."""
    style = Markup(static_text("board.css"))
    values = {"page": report.page, "attempts": report.attempts, "style": style}
    return Pages(words).render("export.html", report.page.redactor, **values)


def static_text(name: str) -> str:
    """A file of ours that goes with the pages, as it is."""
    return (files("signoff.board") / "static" / name).read_text("utf-8")


@pass_context
def _shown(context: Context, value: Any) -> Any:
    """Every text from outside: without secrets, control characters visible, escaped after that."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return "" if value is None else value
    redactor: Redactor | None = context.get("redactor")
    if redactor is not None and len(value) >= SHORTEST_BY_NAME:
        value = redactor.text(value)
    return escape(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _named(tallies: Iterable[Tally]) -> list[tuple[str, Tally]]:
    """Agents by the words that tell them apart."""
    return [(" · ".join(filter(None, (t.role, t.model or t.command))), t) for t in tallies]


def _pairs(rows: Iterable[tuple[str, Tally]], name: str) -> list[tuple[str, float | None]]:
    return [(label, getattr(tally, name)) for label, tally in rows]


_UNITS: dict[str, Callable[[float], str]] = {
    "percent": "{:.0%}".format,
    "plain": "{:,.0f}".format,
    "money": "${:,.2f}".format,
    "seconds": "{:,.1f} s".format,
}


class DiffLine(Struct, frozen=True):
    """One line of a difference; `kind` is `add`, `del`, `at` or `same`."""

    kind: str
    text: str


_DIFF = {"+": "add", "-": "del", "@": "at", "d": "at", "i": "at"}


def diff_lines(text: str) -> Iterator[DiffLine]:
    """The lines of a unified difference; of a very long one only the first."""
    lines = text.rstrip("\n").split("\n") if text else []
    for line in lines[:MOST_DIFF_LINES]:
        headed = line.startswith(("+++", "---"))
        yield DiffLine("at" if headed else _DIFF.get(line[:1], "same"), line)
    if len(lines) > MOST_DIFF_LINES:
        yield DiffLine("at", f"… {len(lines) - MOST_DIFF_LINES} more lines: signoff diff")


class SideBySide(Struct, frozen=True):
    """One line as it was approved last, and as it would be now."""

    old: str | None
    new: str | None

    @property
    def differs(self) -> bool:
        return self.old != self.new


def beside(old: Iterable[str], new: Iterable[str]) -> Iterator[SideBySide]:
    """Two texts next to each other, equal lines on the same height."""
    one, other = _lines(old), _lines(new)
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    for _, a, b, c, d in matcher.get_opcodes():
        for i in range(max(b - a, d - c)):
            left = one[a + i] if a + i < b else None
            right = other[c + i] if c + i < d else None
            yield SideBySide(left, right)


def _lines(parts: Iterable[str]) -> list[str]:
    return [line for part in parts for line in part.split("\n")]


class Rail(Struct, frozen=True):
    """A point of the graph; `paths` lead to it from the steps that it needs."""

    x: int
    y: int
    paths: tuple[str, ...]


class Rails(Struct, frozen=True):
    """The graph of steps, one below the other, and how large it is drawn."""

    points: tuple[Rail, ...]
    width: int
    height: int


def rails(subjects: Sequence[SubjectPage]) -> Rails:
    """Tracks as a history of branches has them: a step goes on in the track of one it needs."""
    left = dict.fromkeys((s.standing.id for s in subjects), 0)  # who still needs it
    for subject in subjects:
        for need in subject.needs:
            left[need] = left.get(need, 0) + 1
    tips: dict[int, str] = {}
    at: dict[str, tuple[int, int]] = {}
    points = []
    for row, subject in enumerate(subjects):
        needs = [need for need in subject.needs if need in at]
        tracks = [at[need][0] for need in needs if tips.get(at[need][0]) == need]
        for need in needs:
            left[need] -= 1
            if not left[need] and tips.get(at[need][0]) == need:
                del tips[at[need][0]]
        free = next(track for track in range(len(tips) + 1) if track not in tips)
        track = min(tracks, default=free)
        track = free if track in tips and tips[track] not in needs else track
        at[subject.standing.id] = track, row
        if left[subject.standing.id]:
            tips[track] = subject.standing.id
        points.append(Rail(*_place(track, row), tuple(_path(at[n], (track, row)) for n in needs)))
    widest = max((point.x for point in points), default=0)
    return Rails(tuple(points), widest + TRACK // 2 + 2, ROW * len(points))


def _place(track: int, row: int) -> tuple[int, int]:
    return TRACK // 2 + 2 + track * TRACK, row * ROW + ROW // 2


def _path(start: tuple[int, int], end: tuple[int, int]) -> str:
    (x1, y1), (x2, y2) = _place(*start), _place(*end)
    if x1 == x2:
        return f"M{x1} {y1}V{y2}"
    bend = y1 + ROW
    return f"M{x1} {y1}C{x1} {bend - 12} {x2} {y1 + 12} {x2} {bend}V{y2}"
