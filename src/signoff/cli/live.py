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
from signoff.cli.show import duration, styles
from signoff.domain.ledger import Kind
from signoff.domain.plan import Plan
from signoff.domain.text import decode_output, escape
from signoff.orchestrator import Appended, Doing, Event, Output

TAIL_LINES = 6
SHOWN_STEPS = 12


class LiveReporter:
    """Redraws a few times a second; what is final scrolls by above as plain lines."""

    def __init__(self, plan: Plan):
        self._plan = plan
        self._lock = threading.Lock()
        self._tail: list[str] = []
        self._doing = ""
        self._since = time.monotonic()
        self._done: set[str] = set()
        self._current: str | None = None
        self._tokens, self._usd = 0, 0.0
        self._console = Console(stderr=True, highlight=False, color_system=styles())
        self._live = Live(
            console=self._console, refresh_per_second=8, get_renderable=self._draw, transient=True
        )
        self._live.start()

    def tell(self, event: Event) -> None:
        """Take note; entries are printed, the rest is drawn."""
        if isinstance(event, Appended) and event.entry.kind is Kind.RUN_FINISHED:
            self._forget_what_is_done()
        with self._lock:
            if isinstance(event, Appended):
                self._note_entry(event)
            elif isinstance(event, Output):
                self._note_output(event)
            elif isinstance(event, Doing):
                self._current, self._doing = event.step, event.what
                self._since, self._tail = time.monotonic(), []
        if isinstance(event, Doing):
            # Drawn at once: something short would be over before the next frame.
            with suppress(OSError):
                self._live.refresh()

    def close(self) -> None:
        """Leave the terminal as it was found."""
        with suppress(OSError):
            self._live.stop()

    def _forget_what_is_done(self) -> None:
        """Before the end is printed: a printed line draws the last frame again below it."""
        with self._lock:
            self._current, self._doing, self._tail = None, "", []
        with suppress(OSError):
            self._live.refresh()

    def _note_entry(self, event: Appended) -> None:
        entry = event.entry
        with suppress(OSError):  # a terminal that was closed must not stop the run
            self._console.print(Text(entry_line(entry)))
        if entry.kind in (Kind.STEP_DONE, Kind.STEP_RESTORED) and entry.step:
            self._done.add(entry.step)
        elif entry.kind is Kind.STEP_REOPENED and entry.step:
            self._done.discard(entry.step)
        elif entry.kind is Kind.ATTEMPT_FINISHED:
            usage = entry.data.get("usage") or {}
            self._tokens += int(usage.get("tokens", 0))
            self._usd += float(usage.get("usd", 0.0))

    def _note_output(self, event: Output) -> None:
        lines = escape(decode_output(event.chunk)).splitlines()
        self._tail = [*self._tail, *lines][-TAIL_LINES:]

    def _draw(self) -> Group:
        with self._lock:
            elapsed = duration(time.monotonic() - self._since)
            head = f"{len(self._done)}/{len(self._plan.steps)} steps  {self._spent()}"
            now = [f"step {self._current}: {self._doing} ({elapsed})"] if self._current else []
            tail = [Text("    " + line[:160], style="dim") for line in self._tail]
            return Group(self._steps(), Text(head, style="bold"), *map(Text, now), *tail)

    def _spent(self) -> str:
        budget = self._plan.budget
        tokens = f"{self._tokens:,} tokens" + (f" of {budget.tokens:,}" if budget.tokens else "")
        usd = f"${self._usd:.2f}" + (f" of ${budget.usd:.2f}" if budget.usd else "")
        return f"{tokens}, {usd}"

    def _steps(self) -> Table:
        table = Table.grid(padding=(0, 1))
        ids = [step.id for step in self._plan.steps]
        current = (self._current or "").split("[")[0]
        at = ids.index(current) if current in ids else 0
        first = max(0, min(at - SHOWN_STEPS // 2, len(ids) - SHOWN_STEPS))
        for step in self._plan.steps[first : first + SHOWN_STEPS]:
            mark = "✓" if step.id in self._done else "▸" if step.id == current else " "
            table.add_row(mark, step.id, Text(escape(step.title)))
        return table
