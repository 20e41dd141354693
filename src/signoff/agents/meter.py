"""Read what a client prints while it works: tokens, dollars, model, session, last words, limits.

Everything read here was printed by an untrusted process. So counts never go down, and what is
called a usage limit only postpones an attempt, a bounded number of times.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from signoff.agents.assignment import (
    LONGEST_MODEL,
    MOST_TOKENS,
    MOST_USD,
    Assignment,
    AttemptReport,
    Usage,
    UsageLimit,
    read_answer,
    read_failure,
    read_usage,
    write_report,
)
from signoff.domain.verdict import Ending, Observation
from signoff.process.command import StreamName
from signoff.settings.roles import LOOP, Price, price_of
from signoff.workspace.folders import open_regular

LONGEST_LINE = 4_000_000
LONGEST_WORDS = 8_000
LONGEST_SESSION = 200
MOST_MESSAGES = 100_000
_LOG_BITE = 1_000_000
_MILLION = 1_000_000
_LOOK_EVERY_S = 1.0


@dataclass
class _Counted:
    """Usage of one model; cached input is part of the input."""

    input: int = 0
    cached: int = 0
    output: int = 0


@dataclass
class UsageMeter:
    """Fed with a client's output as it comes; asked at any time what was used so far."""

    reader: Reader
    prices: Mapping[str, Price]
    log: str = ""  # a glob below the user's home, with `{session}`: where the client tells more
    home: Path | None = None
    model: str = ""
    session: str = ""
    words: str = ""
    limit: UsageLimit | None = None
    usd: float | None = None  # as the client itself counts
    _counted: dict[str, _Counted] = field(default_factory=dict)  # by message
    _total: int = 0  # as the client itself adds up
    _rests: dict[str, bytes] = field(default_factory=dict)  # unfinished lines, by where they come
    _log_read: int = 0

    def feed(self, source: str, chunk: bytes) -> None:
        """Read the lines that are whole by now."""
        *lines, rest = (self._rests.get(source, b"") + chunk).split(b"\n")
        self._rests[source] = rest if len(rest) <= LONGEST_LINE else b""
        for line in lines:
            self._read(line)

    def finish(self) -> None:
        """The client is gone: what it said last counts although no line end followed."""
        self.read_log()
        for source in tuple(self._rests):
            self._read(self._rests.pop(source))

    def _read(self, line: bytes) -> None:
        # Whatever a client prints, its attempt goes on.
        with suppress(ValueError, TypeError, LookupError, AttributeError, RecursionError):
            self.reader(self, line.strip())

    def read_log(self) -> None:
        """Take in what the client added to its own log."""
        if not self.log or self.home is None or not _PLAIN.fullmatch(self.session):
            return
        pattern = self.log.format(session=self.session, start=self.session[:8])
        for file in sorted(self.home.glob(pattern))[:1]:
            with suppress(OSError), open_regular(file) as log:
                log.seek(self._log_read)
                while bite := log.read(_LOG_BITE):
                    self._log_read += len(bite)
                    self.feed(self.log, bite)

    def count(
        self, message: object, used: int, output: int, cached: int = 0, usd: object = None
    ) -> None:
        """Count the tokens of one message, and its cost if the client says so.

        A client may tell the same message several times; None is always another one.
        """
        numbers = (used, output, cached)
        if not all(type(n) is int and 0 <= n <= MOST_TOKENS for n in numbers):
            return
        key = str(len(self._counted) if message is None else message)[:LONGEST_SESSION]
        if key not in self._counted:
            if len(self._counted) >= MOST_MESSAGES:
                key = ""  # told of too many messages: all further ones are one
            if type(usd) in (int, float):
                self.pay((self.usd or 0.0) + usd)  # type: ignore[operator]
        was = self._counted.setdefault(key, _Counted())
        was.input, was.output = max(was.input, used), max(was.output, output)
        was.cached = max(was.cached, cached)
        if used or output:
            self.limit = None  # a model answered after all

    def add_up(self, total: object) -> None:
        """The sum of tokens as the client tells it."""
        if type(total) is int and 0 <= total <= MOST_TOKENS:
            self._total = max(self._total, total)

    def pay(self, usd: object) -> None:
        """The sum of dollars as the client tells it."""
        if type(usd) in (int, float) and 0 <= usd <= MOST_USD:  # type: ignore[operator]
            self.usd = max(self.usd or 0.0, float(usd))  # type: ignore[arg-type]

    def name(self, model: object = None, session: object = None, words: object = None) -> None:
        """Note the model, the conversation, and the last words."""
        if isinstance(model, str) and model:
            self.model = model[:LONGEST_MODEL]
        if isinstance(session, str) and session:
            self.session = session[:LONGEST_SESSION]
        if isinstance(words, str) and words.strip():
            self.words = words.strip()[-LONGEST_WORDS:]

    def refuse(self, said: object, *, sure: bool = False, until: object = None) -> None:
        """The client says that its request failed; whether a limit is why is read from its words.

        `sure`: the client says so in a field of its own.
        """
        text = said if isinstance(said, str) else json.dumps(said)
        if not sure and not _LIMIT.search(text):
            return
        told = float(until) if type(until) in (int, float) else None  # type: ignore[arg-type]
        self.limit = UsageLimit(text.strip()[:500], told or reset_named_in(text, time.time()))

    def usage(self) -> Usage | None:
        tokens = max(self._total, sum(c.input + c.output for c in self._counted.values()))
        if not tokens and self.usd is None and not self._counted:
            return None
        price = price_of(self.model, self.prices)
        usd = self.usd
        if usd is None and price is not None:
            cached_price = price.input if price.cached is None else price.cached
            cost = sum(
                (c.input - min(c.cached, c.input)) * price.input
                + min(c.cached, c.input) * cached_price
                + c.output * price.output
                for c in self._counted.values()
            )
            usd = round(cost / _MILLION, 9)
        return Usage(tokens if tokens or self._counted else None, usd, self.model, self.session)


Reader = Callable[[UsageMeter, bytes], None]
_PLAIN = re.compile(r"[\w-]{8,64}")
# Words of providers and clients for "not now"; read from errors only, never from a model's prose.
_LIMIT = re.compile(
    r"\b429\b|rate.?limit|too many requests|usage limit|session limit|weekly limit|quota"
    r"|overloaded|RESOURCE_EXHAUSTED|hit your limit",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"(\d+(?:\.\d+)?)\s*(d|days?|h|hours?|hrs?|m|min|minutes?|s|secs?|seconds?|ms)\b", re.IGNORECASE
)
_AFTER = re.compile(r"(?:in|after)\s+((?:\d[\d.]*\s*[a-z]+[\s,]*(?:and\s+)?)+)", re.IGNORECASE)
_EPOCH = re.compile(r"\|(\d{10})\b")
_CLOCK = re.compile(
    r"(?:resets?|again)\s+(?:at\s+)?(\d{1,2})(?::(\d\d))?\s*([ap]m)\b", re.IGNORECASE
)
_UNIT_S = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}


def reset_named_in(text: str, now: float) -> float | None:
    """Time at which a limit ends, as clients word it: `|1764554400`, `in 1h 5m`, `resets 3pm`."""
    epoch = _EPOCH.search(text)
    if epoch is not None:
        return float(epoch[1])
    after = _AFTER.search(text)
    if after is not None:
        parts = [(float(n), unit.lower()) for n, unit in _PARTS.findall(after[1])]
        if parts:
            return now + sum(n / 1000 if u == "ms" else n * _UNIT_S[u[0]] for n, u in parts)
    clock = _CLOCK.search(text)
    if clock is None:
        return None
    hour = int(clock[1]) % 12 + (12 if clock[3].lower() == "pm" else 0)
    # Clients name the hour in the person's own time zone, which is this machine's.
    here = datetime.fromtimestamp(now, UTC).astimezone()
    named = here.replace(hour=hour, minute=int(clock[2] or 0), second=0, microsecond=0)
    return (named if named > here else named + timedelta(days=1)).timestamp()


class AttemptWatch:
    """One attempt while it runs: what it used so far, and whether it must end."""

    def __init__(self, assignment: Assignment, meter: UsageMeter):
        self._assignment = assignment
        self._meter = meter
        self._began = self._looked = time.monotonic()
        self._over = ""

    def read(self, stream: StreamName, chunk: bytes) -> None:
        """Take in what the agent printed, and pass it on."""
        self._meter.feed(stream, chunk)
        if self._assignment.on_output is not None:
            self._assignment.on_output(chunk)

    def must_end(self) -> bool:
        now = time.monotonic()
        if now - self._looked >= _LOOK_EVERY_S:
            self._looked = now
            self._meter.read_log()
            used = self._used()
            self._over = self._used_up(used) if used is not None else ""
            if (file := self._assignment.meter_file) is not None:
                # Should this driver be killed, the next one counts what was used so far.
                work_s = {"work_s": round(now - self._began, 3)}
                with suppress(OSError):
                    write_report(file, (used or Usage()).to_data() | work_s)
        return bool(self._over) or (
            self._assignment.cancelled is not None and self._assignment.cancelled()
        )

    def report(
        self, seen: Observation, why_it_ended: Callable[[Observation], str], obstacle: str = ""
    ) -> AttemptReport:
        """Report how it ended, and all that it used, told or overheard."""
        asked, meter = self._assignment, self._meter
        meter.finish()
        if asked.role.agent == LOOP:
            meter.refuse(read_failure(asked.usage_file))
        usage = self._used()
        if seen.ending is Ending.CANCELLED and self._over:
            seen = replace(seen, ending=Ending.OVER_BUDGET, detail=self._over)
        ended_itself = seen.ending in (Ending.EXITED, Ending.TIMED_OUT)
        return AttemptReport(
            seen,
            usage,
            read_answer(asked.answer_file),
            usage_unreadable=usage is None and os.path.lexists(asked.usage_file),
            why=self._over or obstacle or why_it_ended(seen),
            obstacle=obstacle,
            words=meter.words,
            limit=meter.limit if ended_itself else None,
        )

    def _used(self) -> Usage | None:
        told, heard = read_usage(self._assignment.usage_file), self._meter.usage()
        return told if heard is None else heard.or_more(told)

    def _used_up(self, used: Usage) -> str:
        """The budget of the plan that is used up, in words; empty while there is some left."""
        tokens, usd = self._assignment.tokens_left, self._assignment.usd_left
        if tokens is not None and used.tokens is not None and used.tokens >= tokens:
            return f"the budget was used up: {used.tokens:,} tokens, of {tokens:,} that were left"
        if usd is not None and used.usd is not None and used.usd >= usd:
            return f"the budget was used up: ${used.usd:,.2f}, of ${usd:,.2f} that were left"
        return ""
