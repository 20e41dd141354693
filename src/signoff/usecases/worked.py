"""List who worked on what: attempts of a run with agent, usage and verdict; a session's work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from signoff.domain.facts import SessionWork, read_fact
from signoff.domain.ledger import Entry, Kind
from signoff.domain.receipt import Agent
from signoff.domain.redaction import NOTHING_SECRET
from signoff.domain.verdict import Phase, Reason, Result
from signoff.storage.ledger import Ledger
from signoff.verification.pins import Pins

LOST = "lost"
OPEN = "open"


class Work(Struct, frozen=True):
    """One attempt as the ledger tells it; `result` is None while nobody judged it."""

    run: str
    step: str
    attempt: int
    agent: Agent
    seq: int
    ending: str = OPEN
    model: str | None = None
    tokens: int | None = None
    usd: float | None = None
    isolation: str | None = None
    result: Result | None = None
    reason: Reason | None = None
    heldout: Result | None = None
    duration_s: float = 0.0
    candidate: bool = False  # one of several at the step
    picked: bool = False  # of those, the one whose work landed
    at: str = ""  # when it began

    @property
    def claimed(self) -> bool:
        """True when it came to an end, which is all that an agent's word for "done" amounts to."""
        return self.ending not in (OPEN, LOST)


def worked(entries: Iterable[Entry], run: str, pins: Pins) -> tuple[Work, ...]:
    """The attempts of one run, in the order in which they began."""
    session: SessionWork | None = None
    commands = {name: str(role["command"]) for name, role in pins.settings["roles"].items()}
    found: dict[tuple[str, int], Work] = {}
    for entry in entries:
        if entry.run != run:
            continue
        if entry.kind in (Kind.RUN_STARTED, Kind.RUN_RESUMED):
            commands.update(entry.data.get("roles") or {})
            if said := entry.data.get("session"):
                session = read_fact(SessionWork, said)
        elif entry.kind is Kind.STEP_PICKED and entry.step is not None:
            picked = entry.step, int(entry.data["attempt"])
            found[picked] = replace(found[picked], picked=True)
        elif entry.step is None or entry.attempt is None:
            continue
        elif entry.kind is Kind.ATTEMPT_STARTED:
            role = str(entry.data["role"])
            agent = Agent(role, NOTHING_SECRET.text(commands.get(role, "")))
            if session is not None and entry.data.get("session") == session.id:
                agent = Agent(role, "", session)
            model = agent.session.model if agent.session is not None else None
            found[entry.step, entry.attempt] = Work(
                run,
                entry.step,
                entry.attempt,
                agent,
                entry.seq,
                model=model,
                candidate="candidate" in entry.data,
                at=entry.at,
            )
        elif (entry.step, entry.attempt) in found:
            work = found[entry.step, entry.attempt]
            found[entry.step, entry.attempt] = _followed(work, entry)
    return tuple(found.values())


def _followed(work: Work, entry: Entry) -> Work:
    """The attempt with what a later entry about it adds."""
    if entry.kind is Kind.ATTEMPT_FINISHED:
        usage: dict[str, Any] = entry.data.get("usage") or {}
        return replace(
            work,
            seq=entry.seq,
            ending=LOST if entry.data.get("lost") else str(entry.data["ending"]),
            model=usage.get("model") or work.model,
            tokens=usage.get("tokens"),
            usd=usage.get("usd"),
            isolation=entry.data.get("isolation"),
            duration_s=float(entry.data.get("duration_s") or 0.0),
        )
    # Provisional verdicts are feedback, except on candidates, which get no others until one is
    # picked; one at the sweep may be about somebody else's work.
    data = entry.data
    told = entry.kind is Kind.VERDICT and (work.candidate or not data.get("provisional"))
    # The first answer counts: what a person repaired later was not this agent's claim.
    open_still = work.result in (None, Result.UNKNOWN)
    if not (told and open_still and data["phase"] == Phase.ATTEMPT):
        return work
    return replace(
        work,
        result=Result(data["result"]),
        reason=Reason(data["reason"]),
        heldout=Result(data["heldout"]) if data.get("heldout") else None,
    )


def read_work(ledger: Ledger, session: str) -> SessionWork:
    """Read it from the session's chain, and from those of the sessions that it delegated to."""
    family = {session: tuple(ledger.entries(session))}
    waiting = [session]
    while waiting:
        entries = family[waiting.pop()]
        children = (str(e.data["child"]) for e in entries if e.kind is Kind.SESSION_DELEGATED)
        new = {child: tuple(ledger.entries(child)) for child in children if child not in family}
        family |= new
        waiting += new
    every = [entry for entries in family.values() for entry in entries]
    return work_of(session, family[session], every)


def work_of(session: str, entries: Sequence[Entry], family: Sequence[Entry]) -> SessionWork:
    """Work from entries: the session's own, and those that say what was used."""
    used = [entry.data for entry in family if entry.kind is Kind.SESSION_USAGE]
    models = dict.fromkeys(str(data["model"]) for data in used if data["model"])
    began = next(entry for entry in entries if entry.kind is Kind.SESSION_STARTED)
    first: dict[str, Result] = {}
    for entry in entries:
        if entry.kind is Kind.VERDICT and entry.step == entry.data.get("subject"):
            result = Result(entry.data["result"])
            if entry.step is not None and result is not Result.UNKNOWN:
                first.setdefault(entry.step, result)
    return SessionWork(
        id=session,
        agent=str(began.data.get("author", "")),
        model=", ".join(models) or None,
        tokens=sum(int(data["tokens"]) for data in used) if used else None,
        usd=round(sum(float(data["usd"]) for data in used), 9) if used else None,
        seq=entries[-1].seq,
        hash=entries[-1].hash,
        # Steps whose contract was broken when the session first had an answer about it.
        red=tuple(step for step, result in first.items() if result is Result.BROKEN),
    )
