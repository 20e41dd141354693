"""The judge: snapshot, protected files compared, contract run, snapshot again, verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from signoff.domain.ledger import Entry
from signoff.domain.observation import Observation
from signoff.domain.plan import Contract, Effects
from signoff.domain.snapshot import Snapshot
from signoff.domain.text import decode_output, storable_path, tail
from signoff.domain.verdict import Isolation, Phase, Reason, Result, Verdict
from signoff.verification.bench import Bench
from signoff.verification.capabilities import refusal
from signoff.verification.evidence import EvidenceKey
from signoff.verification.expectations import Answer, compare
from signoff.verification.pins import Pins
from signoff.verification.protection import Guard, Tampering, find_tampering
from signoff.verification.steering import steering_of
from signoff.workspace import Workspace

OUTPUT_TAIL_CHARACTERS = 4_000
NAMED_FILES = 20


class Evidence(Protocol):
    """Where earlier verdicts are looked up."""

    def find_verdict(self, key: str) -> Entry | None:
        """The newest trustworthy verdict with this evidence key."""


@dataclass(frozen=True)
class Case:
    """One contract to judge, and what must not have changed."""

    subject: str
    contract: Contract
    phase: Phase
    guard: Guard = field(default_factory=Guard)
    run: str | None = None


@dataclass(frozen=True)
class Judge:
    """Judges cases on one workspace under one set of pins.

    judge() → caches removed → snapshot → tampering? → reuse? → contract run → snapshot → verdict
    """

    workspace: Workspace
    root: Path
    pins: Pins
    evidence: Evidence
    bench: Bench

    def judge(self, case: Case) -> Verdict:
        """One verdict, bound to the content it was made on."""
        self.workspace.remove_caches()
        before = self.workspace.snapshot()
        key = self._key(case, before)
        verdict = _unjudged(case, key, before)
        tampering = self._tampering(case, before)
        if tampering:
            return _tampered(verdict, tampering)
        refused = refusal(case.contract)
        if refused is not None:
            return replace(verdict, **refused._asdict())
        reused = self._reuse(case, key)
        if reused is not None:
            return _reused(verdict, reused)
        observation = self.bench.run(case.contract, self.root)
        after = self.workspace.snapshot()
        answer = compare(case.contract, observation)
        if after.digest != before.digest:
            answer = self._moved(before, after)
        return _judged(verdict, answer, observation, after)

    def _key(self, case: Case, content: Snapshot) -> str:
        variables = {n: self.bench.environ[n] for n in case.contract.env if n in self.bench.environ}
        return EvidenceKey(
            contract=case.contract,
            pins=self.pins.digest,
            snapshot=content.digest,
            environment=content.environment,
            workspace=str(self.root),
            search_path=self.pins.search_path,
            variables=variables,
            isolation=Isolation.NONE,
        ).digest

    def _tampering(self, case: Case, content: Snapshot) -> tuple[Tampering, ...]:
        guard = case.guard
        if not (guard.protects or guard.produced or guard.steering is not None):
            return ()
        manifest = self.workspace.manifest(content.digest)
        now: Mapping[str, str] = {}
        if guard.steering is not None:
            now = steering_of(
                case.contract, manifest, lambda p: self.workspace.read(content.digest, p)
            )
        return find_tampering(guard, manifest, now)

    def _reuse(self, case: Case, key: str) -> Entry | None:
        """A verdict of the same run with the same key; audit always judges afresh."""
        external = case.contract.effects is Effects.EXTERNAL
        if case.run is None or case.phase is Phase.AUDIT or external:
            return None
        found = self.evidence.find_verdict(key)
        if found is None or found.run != case.run:
            return None
        # A broken contract is run again after an attempt: only a person or a new attempt led here.
        # What was never run to its end says nothing about the contract, in no phase.
        told = (Reason.HELD, Reason.EXPECTATION) if case.phase is Phase.BEFORE else (Reason.HELD,)
        return found if found.data["reason"] in told else None

    def _moved(self, before: Snapshot, after: Snapshot) -> Answer:
        changes = self.workspace.diff(before.digest, after.digest)
        names = ", ".join(f"`{storable_path(c.path)}` {c.kind}" for c in changes[:NAMED_FILES])
        more = "" if len(changes) <= NAMED_FILES else f" and {len(changes) - NAMED_FILES} more"
        message = f"content moved while it was judged: {names}{more}; declare `**writes:**`"
        return Answer(Result.UNKNOWN, Reason.MOVED, message)


def output_tail(observation: Observation) -> str:
    """The end of both streams, as stored text."""
    parts = [decode_output(stream.kept) for stream in (observation.stdout, observation.stderr)]
    return tail("\n".join(part.rstrip("\n") for part in parts if part), OUTPUT_TAIL_CHARACTERS)


def _unjudged(case: Case, key: str, content: Snapshot) -> Verdict:
    return Verdict(
        subject=case.subject,
        phase=case.phase,
        result=Result.UNKNOWN,
        reason=Reason.INFRASTRUCTURE,
        message="",
        key=key,
        snapshot=content.digest,
        environment=content.environment,
    )


def _tampered(verdict: Verdict, tampering: tuple[Tampering, ...]) -> Verdict:
    named = "; ".join(f"`{storable_path(t.path)}`: {t.rule}" for t in tampering[:NAMED_FILES])
    return replace(
        verdict,
        result=Result.BROKEN,
        reason=Reason.TAMPERED,
        message=f"tampered: {named}",
        tampered=tuple(storable_path(t.path) for t in tampering),
    )


def _reused(verdict: Verdict, entry: Entry) -> Verdict:
    data = entry.data
    return replace(
        verdict,
        result=Result(data["result"]),
        reason=Reason(data["reason"]),
        message=data["message"],
        exit_code=data["exit_code"],
        output_tail=data["output_tail"],
        stdout_sha256=data["stdout_sha256"],
        stderr_sha256=data["stderr_sha256"],
        reused_from=data.get("reused_from") or entry.seq,
    )


def _judged(verdict: Verdict, answer: Answer, observation: Observation, after: Snapshot) -> Verdict:
    return replace(
        verdict,
        result=answer.result,
        reason=answer.reason,
        message=answer.message,
        exit_code=observation.exit_code,
        duration_s=round(observation.duration_s, 6),
        output_tail=output_tail(observation),
        stdout_sha256=observation.stdout.sha256,
        stderr_sha256=observation.stderr.sha256,
        environment_changed=after.environment != verdict.environment,
        leftovers_killed=observation.leftovers_killed,
    )
