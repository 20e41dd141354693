"""`stats`: what agents claimed, what was kept, and what a kept step cost; from the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from signoff.domain.ledger import Entry, Kind
from signoff.domain.receipt import Agent
from signoff.domain.session import SESSION_PREFIX, ClaimStatus
from signoff.domain.verdict import Reason, Result
from signoff.gate.fold import fold
from signoff.gate.state import State
from signoff.usecases.harness import Harness
from signoff.usecases.history import read_pins
from signoff.usecases.sign_offs import sign_offs
from signoff.usecases.worked import Work, read_work, worked

EVERYBODY = "all"
CLAIMED = "claimed"
SELF_SET = "self-set"  # the role of an agent that planned for itself


@dataclass(frozen=True)
class Tally:
    """Counts about one agent; a claim is kept, broken, tampered, unknown, or not judged at all."""

    role: str
    command: str = ""
    model: str = ""
    attempts: int = 0
    claims: int = 0
    kept: int = 0
    broken: int = 0
    tampered: int = 0
    unknown: int = 0
    heldout_judged: int = 0
    heldout_failed: int = 0
    kept_steps: int = 0
    reports: int = 0
    reported_steps: int = 0  # kept steps about which an agent said what it used
    tokens: int = 0
    usd: float = 0.0

    @property
    def refused(self) -> int:
        """Claims that judging did not bear out."""
        return self.broken + self.tampered + self.unknown

    @property
    def attempts_per_kept_step(self) -> float | None:
        """How often somebody had to try; None without a kept step."""
        return self._per_kept_step(self.attempts)

    @property
    def tokens_per_kept_step(self) -> float | None:
        """All tokens, those of refused attempts included, over the steps that reported any."""
        return self._per_reported_step(self.tokens)

    @property
    def usd_per_kept_step(self) -> float | None:
        """All money, that of refused attempts included, over the steps that reported any."""
        return self._per_reported_step(self.usd)

    def _per_kept_step(self, amount: float) -> float | None:
        return amount / self.kept_steps if self.kept_steps else None

    def _per_reported_step(self, amount: float) -> float | None:
        return amount / self.reported_steps if self.reported_steps else None


@dataclass(frozen=True)
class StatsReport:
    """The whole answer: agents by role, then command, then model."""

    plans: int
    runs: int
    signed_off: int
    receipts: int
    agents: tuple[Tally, ...]
    total: Tally
    sessions: int = 0  # those that were named


class _Who(NamedTuple):
    """Whom a row is about."""

    role: str
    command: str
    model: str


@dataclass
class _Sheet:
    """What is counted while reading."""

    works: dict[_Who, list[Work]] = field(default_factory=lambda: defaultdict(list))
    kept_steps: dict[_Who, int] = field(default_factory=lambda: defaultdict(int))
    reported_steps: dict[_Who, int] = field(default_factory=lambda: defaultdict(int))
    plans: int = 0
    runs: int = 0
    signed_off: int = 0
    receipts: int = 0
    sessions: int = 0


def read_stats(harness: Harness, plans: Sequence[str] = ()) -> StatsReport:
    """Count over these plans and sessions (by id), or over every plan the ledger knows.

    Sessions are counted only when they are named: their agents chose what is kept.
    """
    sheet = _Sheet()
    every = [r.id for r in harness.ledger.plans() if not r.id.startswith(SESSION_PREFIX)]
    for plan in dict.fromkeys(plans) or every:
        count = _count_session if plan.startswith(SESSION_PREFIX) else _count_plan
        count(harness, plan, sheet)
    agents = tuple(
        _tally(who, sheet.works[who], sheet.kept_steps[who], sheet.reported_steps[who])
        for who in sorted(sheet.works)
    )
    steps, reported = sum(sheet.kept_steps.values()), sum(sheet.reported_steps.values())
    everything = [work for works in sheet.works.values() for work in works]
    return StatsReport(
        plans=sheet.plans,
        runs=sheet.runs,
        signed_off=sheet.signed_off,
        receipts=sheet.receipts,
        sessions=sheet.sessions,
        agents=agents,
        total=_tally(_Who(EVERYBODY, "", ""), everything, steps, reported),
    )


def _count_plan(harness: Harness, plan: str, sheet: _Sheet) -> None:
    entries = tuple(harness.ledger.entries(plan))
    started = [e for e in entries if e.kind is Kind.RUN_STARTED and e.run is not None]
    sheet.plans += bool(started)
    sheet.runs += len(started)
    signed = {found.run for found in sign_offs(entries)}
    sheet.signed_off += len(signed)
    sheet.receipts += len(signed & set(harness.home.receipt_runs(plan)))
    for run in started:
        assert run.run is not None
        works = worked(entries, run.run, read_pins(harness.ledger, run))
        for work in works:
            # A person who works on a step claims nothing: they answer a question.
            if work.agent.name:
                sheet.works[_who(work)].append(work)
        reported = {work.step for work in works if _reports(work)}
        for work in _keepers(entries, run.run, works):
            sheet.kept_steps[_who(work)] += 1
            sheet.reported_steps[_who(work)] += work.step in reported


def _count_session(harness: Harness, session: str, sheet: _Sheet) -> None:
    """An agent's own plan: a step that it called done is a claim, kept where a check decided."""
    entries = tuple(harness.ledger.entries(session))
    state = fold(State(None, driven=False), entries)
    sheet.sessions += 1
    sheet.signed_off += state.session.signed is not None
    sheet.receipts += len(harness.home.receipt_runs(session))
    done = read_work(harness.ledger, session)
    agent = Agent(SELF_SET, "", done)
    for step in state.plan.steps if state.plan is not None else ():
        record = state.record(step.id)
        if record.claim.status is not ClaimStatus.DONE:
            continue
        latest = record.latest if record.latest and not record.latest.provisional else None
        used = (done.model, done.tokens, done.usd)
        work = Work(session, step.id, 1, agent, record.claim.since, CLAIMED, *used)
        if latest is not None:
            work = replace(work, result=latest.result, reason=latest.reason)
        sheet.works[_who(work)].append(work)
        kept = latest is not None and latest.kept and state.session.signed is not None
        sheet.kept_steps[_who(work)] += kept
        sheet.reported_steps[_who(work)] += kept and done.tokens is not None


def _who(work: Work) -> _Who:
    return _Who(work.agent.role, work.agent.name, work.model or "")


def _reports(work: Work) -> bool:
    """A session says what it used once, for all the steps that were done in it."""
    session = work.agent.session
    return work.tokens is not None or (session is not None and session.tokens is not None)


def _keepers(entries: Iterable[Entry], run: str, works: Sequence[Work]) -> list[Work]:
    """The attempt behind each accepted step; steps that a person saw to have none."""
    kept: dict[str, Work] = {}
    for work in works:
        if work.result is Result.KEPT and work.agent.name:
            kept.setdefault(work.step, work)
    done = {e.step for e in entries if e.run == run and e.kind is Kind.STEP_DONE}
    return [work for step, work in kept.items() if step in done]


def _tally(who: _Who, works: Sequence[Work], kept_steps: int, reported_steps: int) -> Tally:
    claims = [work for work in works if work.claimed]
    reported = _reporting(works)
    tampered = sum(work.reason is Reason.TAMPERED for work in claims)
    return Tally(
        role=who.role,
        command=who.command,
        model=who.model,
        attempts=len(works),
        claims=len(claims),
        kept=sum(work.result is Result.KEPT for work in claims),
        broken=sum(work.result is Result.BROKEN for work in claims) - tampered,
        tampered=tampered,
        unknown=sum(work.result is Result.UNKNOWN for work in claims),
        heldout_judged=sum(work.heldout in (Result.KEPT, Result.BROKEN) for work in claims),
        heldout_failed=sum(work.heldout is Result.BROKEN for work in claims),
        kept_steps=kept_steps,
        reports=len(reported),
        reported_steps=reported_steps,
        tokens=sum(work.tokens or 0 for work in reported),
        usd=round(sum((work.usd or 0.0 for work in reported), 0.0), 9),
    )


def _reporting(works: Sequence[Work]) -> list[Work]:
    """Attempts with a report; of a session that several runs judged, the newest alone."""
    found: dict[str | int, Work] = {}
    for number, work in enumerate(works):
        if work.tokens is not None:
            session = work.agent.session
            found[session.id if session is not None else number] = work
    return list(found.values())
