"""`notify`: tell a person on their desktop, by a webhook or by a command what a run came to.

A run waits for none of it: a thread of its own tries a few times, and gives up.
"""

from __future__ import annotations

import hmac
import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from hashlib import sha256
from queue import SimpleQueue

from msgspec import Struct

from signoff.domain.ledger import Entry, Kind, Outcome
from signoff.domain.text import decode_output, escape_line, tail
from signoff.errors import UsageError
from signoff.gate.state import State
from signoff.orchestrator.events import Appended, Driving, Event
from signoff.process.command import Command
from signoff.process.limits import Limits
from signoff.process.runner import run
from signoff.settings.notify import NotifyWays, Occasion
from signoff.usecases.harness import Harness, PlanLocation

TRIES = 3
PAUSE_S = 0.5  # before the second try, and twice that before the third
PATIENCE_S = 5.0  # for one try, and at the end of a run for all that is left
NEARLY_SPENT = 0.8
SIGNATURE = "X-Signoff-Signature"
LONGEST = 300


class Notice(Struct, frozen=True):
    """One thing to tell."""

    occasion: Occasion
    plan: str
    path: str
    text: str
    run: str | None = None
    step: str | None = None

    def payload(self) -> bytes:
        said = {name: getattr(self, name) for name in ("plan", "path", "text", "run", "step")}
        return json.dumps({"schema_version": 1, "event": self.occasion, **said}).encode()


class Delivery(Struct, frozen=True):
    """One way, and why it did not work; empty when it did."""

    way: str
    problem: str


class Notifier:
    """Watches a run, and tells what it comes to."""

    def __init__(self, harness: Harness, place: PlanLocation, ways: NotifyWays):
        self._harness, self._place, self._ways = harness, place, ways
        self._state: State | None = None
        self._warned = False
        self._queue: SimpleQueue[Notice | None] = SimpleQueue()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def tell(self, event: Event) -> None:
        """Take note of an event of the run; nothing is waited for."""
        if isinstance(event, Driving):
            self._state = event.state
        elif isinstance(event, Appended):
            for occasion, text in self._occasions(event.entry):
                if occasion in self._ways.on:
                    self._send(occasion, text, event.entry)

    def close(self) -> None:
        """Give what is still to be told a last moment."""
        if self._thread.ident is not None:
            self._queue.put(None)
            self._thread.join(PATIENCE_S)
            self._over.set()  # what is being started for it does not outlive the run
            self._thread.join(1)

    def _occasions(self, entry: Entry) -> Iterator[tuple[Occasion, str]]:
        if entry.kind is Kind.ESCALATION_OPENED and entry.data.get("until") is None:
            yield Occasion.NEEDS_YOU, str(entry.data["question"])
        elif entry.kind is Kind.RUN_FINISHED and entry.data["outcome"] == Outcome.DONE:
            yield Occasion.DONE, "signed off"
        elif entry.kind is Kind.RUN_FINISHED and entry.data["outcome"] == Outcome.FAILED:
            yield Occasion.FAILED, "the run failed"
        elif entry.kind is Kind.ATTEMPT_FINISHED and not self._warned and self._state is not None:
            spent = share_spent(self._state)
            if spent >= NEARLY_SPENT:
                self._warned = True
                yield Occasion.BUDGET, f"{spent:.0%} of the budget is spent"

    def _send(self, occasion: Occasion, text: str, entry: Entry) -> None:
        said = escape_line(self._harness.ledger.redactor.text(tail(text, LONGEST)))
        name, path = self._place.name, str(self._place.path)
        self._queue.put(Notice(occasion, name, path, said, entry.run, entry.step))
        if self._thread.ident is None:
            self._thread.start()

    def _work(self) -> None:
        while (notice := self._queue.get()) is not None:
            deliver(self._harness, self._ways, notice, self._over)


def share_spent(state: State) -> float:
    """The part of the budget that is spent, of what it limits most."""
    budget, spent = state.schedule.plan.budget, state.spent
    pairs = (
        (budget.tokens, spent.tokens),
        (budget.usd, spent.usd),
        (budget.wall_s, state.spent_s),
    )
    shares = [used / (limit * state.budget_grants) for limit, used in pairs if limit]
    return max(shares, default=0.0)


def send_test(harness: Harness) -> tuple[Delivery, ...]:
    """Try every way that the user's file names."""
    ways = harness.settings.notify
    if ways is None:
        hint = "add a table [notify] with desktop = true to your own file"
        raise UsageError("your file names no way to notify you", hint)
    return deliver(harness, ways, Notice(Occasion.NEEDS_YOU, "test", "", "this is only a test"))


def deliver(
    harness: Harness, ways: NotifyWays, notice: Notice, over: threading.Event | None = None
) -> tuple[Delivery, ...]:
    """Tell it by every way, each tried a few times, until it is `over`."""
    found: list[Delivery] = []
    over, payload = over or threading.Event(), notice.payload()
    if ways.desktop:
        title = f"signoff: {notice.plan}: {notice.occasion.replace('-', ' ')}"
        words = ("notify-send", "--app-name=signoff", "--", title, notice.text)
        found.append(_tried("desktop", over, lambda: _run(harness, words, b"", over)))
    if ways.webhook is not None:
        found.append(_tried("webhook", over, lambda: _post(ways, payload)))
    if ways.command:
        found.append(_tried("command", over, lambda: _run(harness, ways.command, payload, over)))
    return tuple(found)


def _tried(way: str, over: threading.Event, act: Callable[[], str]) -> Delivery:
    problem = ""
    for number in range(TRIES):
        if over.wait(PAUSE_S * number) or not (problem := act()):
            break
    return Delivery(way, problem)


def _run(harness: Harness, words: tuple[str, ...], stdin: bytes, over: threading.Event) -> str:
    limits = Limits(wall_s=PATIENCE_S)
    command = Command(words, harness.home.path, dict(harness.environ), limits, stdin)
    seen = run(command, cancelled=over.is_set)
    if seen.exit_code == 0:
        return ""
    return f"{seen.describe()} {decode_output(seen.stderr.tail).strip()}".strip()


def _post(ways: NotifyWays, payload: bytes) -> str:
    assert ways.webhook is not None
    headers = {"Content-Type": "application/json", "User-Agent": "signoff"}
    if ways.secret is not None:
        signature = hmac.new(ways.secret.encode(), payload, sha256).hexdigest()
        headers[SIGNATURE] = f"sha256={signature}"
    try:
        request = urllib.request.Request(ways.webhook, payload, headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_S):
            return ""
    except (OSError, ValueError) as error:
        return str(error)
