"""Live progress on a terminal: steps, elapsed time, the tail of what is printed, budget."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from signoff.cli.events import entry_line, entry_tone
from signoff.cli.show import Tone, dollars, duration, in_lanes, styles, subject_words
from signoff.domain.ledger import Entry, Kind
from signoff.domain.plan import Step
from signoff.domain.text import decode_output, escape, escape_line
from signoff.gate.state import State
from signoff.orchestrator.events import Appended, Doing, Driving, Event, Printed

TAIL_LINES = 6
SHOWN_STEPS = 12


class LiveReporter:
    """Redraws a few times a second; what is final scrolls by above as plain lines.

    What it counts is the run's own fold, so that it is right from the first frame of a resume on.
    Until the run is driven there is none, and nothing is drawn.
    """

    def __init__(self) -> None:
        self._state: State | None = None
        self._lock = threading.Lock()
        self._tail: list[str] = []
        self._doing = ""
        self._since = time.monotonic()
        self._current: str | None = None
        colours = styles(sys.stderr)
        self._console = Console(stderr=True, highlight=False, color_system=colours)
        self._live = Live(
            console=self._console, refresh_per_second=8, get_renderable=self._draw, transient=True
        )
        self._live.start()

    def tell(self, event: Event) -> None:
        """Take note; entries are printed, the rest is drawn."""
        over = isinstance(event, Appended) and event.entry.kind is Kind.RUN_FINISHED
        with self._lock:
            self._note(event)
        if over or isinstance(event, Doing | Driving):
            # Drawn at once: something short would be over before the next frame, and a printed
            # line draws the last frame again below it.
            with suppress(OSError):
                self._live.refresh()
        if isinstance(event, Appended):
            # Without our lock: who prints takes the display's, and who draws holds that already.
            with suppress(OSError):  # a terminal that was closed must not stop the run
                self._console.print(_line(event.entry), no_wrap=True, overflow="ellipsis")

    def close(self) -> None:
        """Leave the terminal as it was found."""
        with suppress(OSError):
            self._live.stop()

    def _note(self, event: Event) -> None:
        if isinstance(event, Driving):
            self._state = event.state
        elif isinstance(event, Doing):
            self._current, self._doing = event.step, event.what
            self._since, self._tail = time.monotonic(), []
        elif isinstance(event, Printed):
            lines = escape(decode_output(event.chunk)).splitlines()
            self._tail = [*self._tail, *lines][-TAIL_LINES:]
        elif event.entry.kind is Kind.ATTEMPT_STARTED:
            self._since = time.monotonic()
        elif event.entry.kind is Kind.RUN_FINISHED:
            self._current, self._doing, self._tail = None, "", []

    def _draw(self) -> Group:
        with self._lock:
            if self._state is None:
                return Group()
            now = [_cut(Text(self._now()))] if self._current else []
            tail = [_cut(Text("    " + line, style="dim")) for line in self._tail]
            head = f"{_counted(self._state)}  {self._spent(self._state)}"
            return Group(self._steps(self._state), Text(head, style="bold"), *now, *tail)

    def _now(self) -> str:
        elapsed = duration(time.monotonic() - self._since)
        return escape_line(f"{subject_words(self._current)} · {self._doing} · {elapsed}")

    def _spent(self, state: State) -> str:
        """Usage of each kind, with the limit as often as a person granted it."""
        budget, grants = state.schedule.plan.budget, state.budget_grants
        spent, work_s = state.spent, self._work_s(state)
        tokens = f"{spent.tokens:,} tokens" if spent.tokens or not state.untold_tokens else ""
        usd = dollars(spent.usd) if spent.usd or not state.untold_usd else ""
        told = (
            (tokens or "tokens unknown", budget.tokens, f"{(budget.tokens or 0) * grants:,}"),
            (usd or "dollars unknown", budget.usd, dollars((budget.usd or 0.0) * grants)),
            (duration(work_s), budget.wall_s, duration((budget.wall_s or 0.0) * grants)),
        )
        return ", ".join(used + (f" of {most}" if limit else "") for used, limit, most in told)

    def _work_s(self, state: State) -> float:
        """Work time that is counted, with what the attempt in flight will add to it."""
        record = state.records.get(self._current or "")
        at_work = record is not None and bool(record.at_work)
        return state.spent_s + (time.monotonic() - self._since if at_work else 0.0)

    def _steps(self, state: State) -> Table:
        table = Table.grid(padding=(0, 1))
        steps = list(state.schedule.steps)
        at = next((i for i, step in enumerate(steps) if step.id == self._current), 0)
        first = max(0, min(at - SHOWN_STEPS // 2, len(steps) - SHOWN_STEPS))
        for step in steps[first : first + SHOWN_STEPS]:
            mark, tone = self._mark(state, step)
            # As text: the item of a `for_each` step stands in brackets, like rich's own markup.
            record = state.records.get(step.id)
            lanes = record.lanes if record is not None else ()
            title = f"{step.title} · {in_lanes(lanes)}" if lanes else step.title
            shown = [_cut(Text(escape_line(part))) for part in (step.id, title)]
            table.add_row(Text(mark, style=tone.style), *shown)
        return table

    def _mark(self, state: State, step: Step) -> tuple[str, Tone]:
        record = state.records.get(step.id)
        if record is not None and record.settled:
            return ("-", Tone.WAITING) if record.waived else (Tone.KEPT.symbol, Tone.KEPT)
        if record is not None and record.question:
            return Tone.WAITING.symbol, Tone.WAITING
        at_work = record is not None and bool(record.at_work)
        return "▸" if at_work or step.id == self._current else " ", Tone.PLAIN


def _line(entry: Entry) -> Text:
    tone = entry_tone(entry)
    return Text.assemble((tone.symbol, tone.style), f" {entry_line(entry)}")


def _cut(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _counted(state: State) -> str:
    """Numbers of steps that are done, and that a person let go, of those known by now."""
    # Read while the run goes on: never through `state.record`, which would write.
    steps = list(state.schedule.steps)
    records = [record for step in steps if (record := state.records.get(step.id))]
    waived = sum(record.waived for record in records)
    done = sum(record.done and not record.waived for record in records)
    return f"{done}/{len(steps)} steps" + (f", {waived} waived" if waived else "")
