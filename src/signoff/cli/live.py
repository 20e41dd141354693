"""Live progress on a terminal: steps, elapsed time, the tail of what is printed, budget."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from signoff.cli.progress import entry_line
from signoff.cli.show import dollars, duration, styles
from signoff.domain.ledger import Kind
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
        self._console = Console(stderr=True, highlight=False, color_system=styles())
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
                self._console.print(Text(entry_line(event.entry)))

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
            now = [Text(self._now())] if self._current else []
            tail = [Text("    " + line[:160], style="dim") for line in self._tail]
            head = f"{_counted(self._state)}  {self._spent(self._state)}"
            return Group(self._steps(self._state), Text(head, style="bold"), *now, *tail)

    def _now(self) -> str:
        elapsed = duration(time.monotonic() - self._since)
        return escape_line(f"step {self._current}: {self._doing} ({elapsed})")

    def _spent(self, state: State) -> str:
        """Of each kind what was used, and the limit as often as a person granted it."""
        budget, grants = state.schedule.plan.budget, state.budget_grants
        tokens, usd, work_s = state.spent.tokens, state.spent.usd, self._work_s(state)
        return ", ".join(
            (
                f"{tokens:,} tokens" + (f" of {budget.tokens * grants:,}" if budget.tokens else ""),
                dollars(usd) + (f" of ${budget.usd * grants:.2f}" if budget.usd else ""),
                duration(work_s)
                + (f" of {duration(budget.wall_s * grants)}" if budget.wall_s else ""),
            )
        )

    def _work_s(self, state: State) -> float:
        """What is counted, and what the attempt in flight will add to it."""
        record = state.records.get(self._current or "")
        at_work = record is not None and record.in_flight is not None
        return state.spent_s + (time.monotonic() - self._since if at_work else 0.0)

    def _steps(self, state: State) -> Table:
        table = Table.grid(padding=(0, 1))
        steps = list(state.schedule.steps)
        at = next((i for i, step in enumerate(steps) if step.id == self._current), 0)
        first = max(0, min(at - SHOWN_STEPS // 2, len(steps) - SHOWN_STEPS))
        for step in steps[first : first + SHOWN_STEPS]:
            # As text: the item of a `for_each` step stands in brackets, like rich's own markup.
            shown = (self._mark(state, step), step.id, step.title)
            table.add_row(*(Text(escape_line(part)) for part in shown))
        return table

    def _mark(self, state: State, step: Step) -> str:
        record = state.records.get(step.id)
        if record is not None and record.settled:
            return "-" if record.waived else "✓"
        return "▸" if step.id == self._current else " "


def _counted(state: State) -> str:
    """How many steps are done, and how many a person let go, of those that are known by now."""
    # Read while the run goes on: never through `state.record`, which would write.
    steps = list(state.schedule.steps)
    records = [record for step in steps if (record := state.records.get(step.id))]
    waived = sum(record.waived for record in records)
    done = sum(record.done and not record.waived for record in records)
    return f"{done}/{len(steps)} steps" + (f", {waived} waived" if waived else "")
