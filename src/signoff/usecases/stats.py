"""`stats`: what agents claimed, what was kept, and what a kept step cost; from the ledger."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.facts import read_fact
from signoff.domain.ledger import Entry, Kind
from signoff.domain.receipt import Agent
from signoff.domain.second_look import JudgeCalibrated, OpinionGiven, OpinionResult, Strength
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
_SECOND_LOOKS = frozenset({Kind.OPINION_GIVEN, Kind.JUDGE_CALIBRATED, Kind.STRENGTH_MEASURED})
_WORDS = {
    "holds": OpinionResult.HOLDS,
    "vetoed": OpinionResult.VETO,
    "undecided": OpinionResult.UNDECIDED,
    "void": OpinionResult.VOID,
}
SELF_SET = "self-set"  # the role of an agent that planned for itself


class Tally(Struct, frozen=True):
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
    duration_s: float = 0.0  # of all attempts

    @property
    def kept_rate(self) -> float | None:
        """Part of the claims that was kept."""
        return self.kept / self.claims if self.claims else None

    @property
    def seconds_per_kept_step(self) -> float | None:
        """Time of all attempts, refused ones included, over kept steps."""
        return self.duration_s / self.kept_steps if self.kept_steps and self.duration_s else None

    @property
    def refused(self) -> int:
        return self.broken + self.tampered + self.unknown

    @property
    def attempts_per_kept_step(self) -> float | None:
        return self.attempts / self.kept_steps if self.kept_steps else None

    @property
    def tokens_per_kept_step(self) -> float | None:
        """All tokens, those of refused attempts included, over the steps that reported any."""
        return self.tokens / self.reported_steps if self.reported_steps else None

    @property
    def usd_per_kept_step(self) -> float | None:
        return self.usd / self.reported_steps if self.reported_steps else None


class OpinionTally(Struct, frozen=True):
    """Opinions of one model: beside what was judged, never a proof."""

    model: str
    given: int
    holds: int
    vetoed: int
    undecided: int
    void: int
    tokens: int = 0
    usd: float = 0.0
    measured: str = ""  # how good they were found to be


class StrengthTally(Struct, frozen=True):
    """Wrong versions of work, and those that contracts reject, as they were measured last."""

    contracts: int
    tried: int
    rejected: int


class StatsReport(Struct, frozen=True):
    """The whole answer: agents by role, then command, then model."""

    plans: int
    runs: int
    signed_off: int
    receipts: int
    agents: tuple[Tally, ...]
    total: Tally
    sessions: int = 0  # those that were named
    opinions: tuple[OpinionTally, ...] = ()
    strength: StrengthTally | None = None  # None: never measured
    weeks: tuple[tuple[str, Tally], ...] = ()  # attempts of runs by the week in which they began


class _Row(Struct, frozen=True):
    work: Work
    keeps: bool  # its step was accepted because of it
    reported: bool  # somebody said what that step used


def read_stats(harness: Harness, plans: Sequence[str] = ()) -> StatsReport:
    """Count over these plans and sessions (by id), or over every plan the ledger knows.

    Sessions are counted only when they are named: their agents chose what is kept.
    """
    rows: list[_Row] = []
    told: list[Entry] = []
    totals = Counter[str]()
    every = [r.id for r in harness.ledger.plans() if not r.id.startswith(SESSION_PREFIX)]
    for plan in dict.fromkeys(plans) or every:
        read = _session_rows if plan.startswith(SESSION_PREFIX) else _plan_rows
        rows += read(harness, plan, totals)
        told += (e for e in harness.ledger.entries(plan) if e.kind in _SECOND_LOOKS)
    by_agent: dict[tuple[str, str, str], list[_Row]] = defaultdict(list)
    for row in rows:
        agent = row.work.agent
        by_agent[agent.role, agent.name, row.work.model or ""].append(row)
    by_week: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        if row.work.at:
            year, week, _ = date.fromisoformat(row.work.at[:10]).isocalendar()
            by_week[f"{year}-W{week:02}"].append(row)
    return StatsReport(
        plans=totals["plans"],
        runs=totals["runs"],
        signed_off=totals["signed_off"],
        receipts=totals["receipts"],
        sessions=totals["sessions"],
        agents=tuple(_tally(*who, found) for who, found in sorted(by_agent.items())),
        total=_tally(EVERYBODY, "", "", rows),
        opinions=_opinions(told),
        strength=_strength(told),
        weeks=tuple((week, _tally(EVERYBODY, "", "", by_week[week])) for week in sorted(by_week)),
    )


def _strength(told: Sequence[Entry]) -> StrengthTally | None:
    found = {(e.plan, e.step): e.data for e in told if e.kind is Kind.STRENGTH_MEASURED}
    newest = [read_fact(Strength, data) for data in found.values()]
    counted = [one for one in newest if one.tried]
    tried, rejected = sum(one.tried for one in counted), sum(one.rejected for one in counted)
    return StrengthTally(len(counted), tried, rejected) if counted else None


def _opinions(told: Sequence[Entry]) -> tuple[OpinionTally, ...]:
    given: dict[str, list[OpinionGiven]] = defaultdict(list)
    measured: dict[str, str] = {}
    for entry in told:
        if entry.kind is Kind.JUDGE_CALIBRATED:
            found = read_fact(JudgeCalibrated, entry.data)
            measured[found.model] = found.measured(entry.at)
        elif entry.kind is Kind.OPINION_GIVEN and not entry.data.get("reused_from"):
            opinion = read_fact(OpinionGiven, entry.data)
            given[opinion.model].append(opinion)
    return tuple(
        OpinionTally(
            model,
            len(all_of_it),
            **{word: sum(o.result is r for o in all_of_it) for word, r in _WORDS.items()},
            tokens=sum(o.tokens or 0 for o in all_of_it),
            usd=round(sum((o.usd or 0.0 for o in all_of_it), 0.0), 9),
            measured=measured.get(model, ""),
        )
        for model, all_of_it in sorted(given.items())
    )


def _plan_rows(harness: Harness, plan: str, totals: Counter[str]) -> Iterator[_Row]:
    entries = tuple(harness.ledger.entries(plan))
    started = [e for e in entries if e.kind is Kind.RUN_STARTED and e.run is not None]
    signed = {found.run for found in sign_offs(entries)}
    totals["plans"] += bool(started)
    totals["runs"] += len(started)
    totals["signed_off"] += len(signed)
    totals["receipts"] += len(signed & set(harness.home.receipt_runs(plan)))
    for run in started:
        assert run.run is not None
        works = worked(entries, run.run, read_pins(harness.ledger, run))
        # A session says what it used once, for all the steps that were done in it.
        sessions = ((work, work.agent.session) for work in works)
        told = [w for w, s in sessions if w.tokens is not None or (s and s.tokens is not None)]
        reported = {work.step for work in told}
        # The attempt behind each accepted step; steps that a person saw to have none.
        done = {e.step for e in entries if e.run == run.run and e.kind is Kind.STEP_DONE}
        kept = [w for w in works if w.result is Result.KEPT and w.agent.name and w.step in done]
        kept = [work for work in kept if work.picked or not work.candidate]
        keepers = {work.step: work for work in reversed(kept)}.values()
        for work in works:
            # A person who works on a step claims nothing: they answer a question.
            if work.agent.name:
                yield _Row(work, work in keepers, work.step in reported)


def _session_rows(harness: Harness, session: str, totals: Counter[str]) -> Iterator[_Row]:
    """An agent's own plan: a step that it called done is a claim, kept where a check decided."""
    state = fold(State(None, driven=False), tuple(harness.ledger.entries(session)))
    signed = state.session.signed is not None
    totals["sessions"] += 1
    totals["signed_off"] += signed
    totals["receipts"] += len(harness.home.receipt_runs(session))
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
        keeps = latest is not None and latest.kept and signed
        yield _Row(work, keeps, done.tokens is not None)


def _tally(role: str, command: str, model: str, rows: Sequence[_Row]) -> Tally:
    works = [row.work for row in rows]
    claims = [work for work in works if work.claimed]
    # Attempts with a report; of a session that several runs judged, the newest alone.
    told = ((n, w, w.agent.session) for n, w in enumerate(works) if w.tokens is not None)
    reported = {s.id if s is not None else n: work for n, work, s in told}.values()
    tampered = sum(work.reason is Reason.TAMPERED for work in claims)
    return Tally(
        role=role,
        command=command,
        model=model,
        attempts=len(works),
        claims=len(claims),
        kept=sum(work.result is Result.KEPT for work in claims),
        broken=sum(work.result is Result.BROKEN for work in claims) - tampered,
        tampered=tampered,
        unknown=sum(work.result is Result.UNKNOWN for work in claims),
        heldout_judged=sum(work.heldout in (Result.KEPT, Result.BROKEN) for work in claims),
        heldout_failed=sum(work.heldout is Result.BROKEN for work in claims),
        kept_steps=sum(row.keeps for row in rows),
        reports=len(reported),
        reported_steps=sum(row.keeps and row.reported for row in rows),
        tokens=sum(work.tokens or 0 for work in reported),
        usd=round(sum((work.usd or 0.0 for work in reported), 0.0), 9),
        duration_s=round(sum((work.duration_s for work in works), 0.0), 6),
    )
