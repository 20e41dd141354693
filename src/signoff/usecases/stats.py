"""`stats`: what agents claimed, what was kept, and what a kept step cost; from the ledger."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from signoff.domain.ledger import Entry, Kind
from signoff.domain.receipt import Agent
from signoff.domain.verdict import Reason, Result
from signoff.usecases.history import read_pins
from signoff.usecases.proof import sign_offs
from signoff.usecases.site import Site
from signoff.usecases.worked import Work, worked

EVERYBODY = "all"


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
        """All tokens, those of refused attempts included; None when nothing was reported."""
        return self._per_kept_step(self.tokens) if self.reports else None

    @property
    def usd_per_kept_step(self) -> float | None:
        """All money, that of refused attempts included; None when nothing was reported."""
        return self._per_kept_step(self.usd) if self.reports else None

    def _per_kept_step(self, amount: float) -> float | None:
        return amount / self.kept_steps if self.kept_steps else None


@dataclass(frozen=True)
class StatsReport:
    """The whole answer: agents by role, then command, then model."""

    plans: int
    runs: int
    signed_off: int
    receipts: int
    agents: tuple[Tally, ...]
    total: Tally


@dataclass
class _Sheet:
    """What is counted while reading."""

    works: dict[tuple[Agent, str], list[Work]] = field(default_factory=lambda: defaultdict(list))
    kept_steps: dict[tuple[Agent, str], int] = field(default_factory=lambda: defaultdict(int))
    plans: int = 0
    runs: int = 0
    signed_off: int = 0
    receipts: int = 0


def read_stats(site: Site, plans: Sequence[str] = ()) -> StatsReport:
    """Count over these plans (by id), or over every plan the ledger knows."""
    sheet = _Sheet()
    for plan in dict.fromkeys(plans) or [record.id for record in site.ledger.plans()]:
        _count_plan(site, plan, sheet)
    keys = sorted(sheet.works, key=lambda key: (key[0].role, key[0].command, key[1]))
    agents = tuple(
        _tally(key[0].role, sheet.works[key], sheet.kept_steps[key], key[0].command, key[1])
        for key in keys
    )
    everything = [work for works in sheet.works.values() for work in works]
    return StatsReport(
        plans=sheet.plans,
        runs=sheet.runs,
        signed_off=sheet.signed_off,
        receipts=sheet.receipts,
        agents=agents,
        total=_tally(EVERYBODY, everything, sum(sheet.kept_steps.values())),
    )


def _count_plan(site: Site, plan: str, sheet: _Sheet) -> None:
    entries = tuple(site.ledger.entries(plan))
    started = [e for e in entries if e.kind is Kind.RUN_STARTED and e.run is not None]
    sheet.plans += bool(started)
    sheet.runs += len(started)
    signed = {found.run for found in sign_offs(entries)}
    sheet.signed_off += len(signed)
    sheet.receipts += len(signed & set(site.home.receipt_runs(plan)))
    for run in started:
        assert run.run is not None
        works = worked(entries, run.run, read_pins(site.ledger, run))
        for work in works:
            # A person who works on a step claims nothing: they answer a question.
            if work.agent.command:
                sheet.works[work.agent, work.model or ""].append(work)
        for agent in _keepers(entries, run.run, works):
            sheet.kept_steps[agent.agent, agent.model or ""] += 1


def _keepers(entries: Iterable[Entry], run: str, works: Sequence[Work]) -> list[Work]:
    """The attempt behind each accepted step; steps that a person saw to have none."""
    kept: dict[str, Work] = {}
    for work in works:
        if work.result is Result.KEPT and work.agent.command:
            kept.setdefault(work.step, work)
    done = {e.step for e in entries if e.run == run and e.kind is Kind.STEP_DONE}
    return [work for step, work in kept.items() if step in done]


def _tally(
    role: str, works: Sequence[Work], kept_steps: int, command: str = "", model: str = ""
) -> Tally:
    claims = [work for work in works if work.claimed]
    reported = [work for work in works if work.tokens is not None]
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
        heldout_judged=sum(work.heldout is not None for work in claims),
        heldout_failed=sum(work.heldout not in (None, Result.KEPT) for work in claims),
        kept_steps=kept_steps,
        reports=len(reported),
        tokens=sum(work.tokens or 0 for work in reported),
        usd=round(sum((work.usd or 0.0 for work in reported), 0.0), 9),
    )
