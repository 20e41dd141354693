"""A case for the judge, and the evidence key: what makes an earlier verdict about it valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from signoff import __version__
from signoff.domain.digests import digest_of
from signoff.domain.ledger import Entry
from signoff.domain.plan import DEFAULT_STEP_TIMEOUT_S, Contract, Effects, JudgeIn
from signoff.domain.snapshot import Snapshot
from signoff.domain.verdict import Isolation, Phase, Reason, TestCounts
from signoff.verification.protection import Guard


class Case(Struct, frozen=True):
    """One contract to judge, and what must not have changed."""

    subject: str
    contract: Contract
    phase: Phase
    guard: Guard = field(default_factory=Guard)
    run: str | None = None
    baseline: TestCounts | None = None
    snapshot_s: float = DEFAULT_STEP_TIMEOUT_S  # how long looking at the content may take
    read_sets: tuple[str, ...] = ()  # what the check read before anybody worked, as blobs
    provisional: bool = False  # the agent may be alive: nothing of its workspace is touched
    beside: bool = False  # nor is it here: where that does not do, it says so and is unknown
    content: Snapshot | None = None  # taken since anything of ours ran: it need not be taken again

    @property
    def before_work(self) -> bool:
        """True when nobody worked yet, so that nothing can have been influenced."""
        return self.phase in (Phase.BEFORE, Phase.BASELINE)

    def may_reuse(self, earlier: Entry) -> bool:
        """True when an earlier verdict is reused instead of judging again.

        A broken contract is run again after an attempt: only a person or a new attempt led here.
        What was never run to its end says nothing about the contract, in no phase. What
        contradicted itself stays in quarantine until the content changes.
        """
        told = {Reason.HELD, Reason.FLAKY}
        if self.before_work:
            told |= {Reason.EXPECTATION, Reason.HELD_OUT}
        return earlier.data["reason"] in told


RUNNER_VERSION = f"signoff {__version__}"
# Refusals that the contract itself gave; being tampered with says nothing about its answer.
SAID_NO = frozenset({Reason.EXPECTATION, Reason.HELD_OUT})


class EvidenceKey(Struct, frozen=True):
    """A struct of everything; its digest is what verdicts are stored and reused under."""

    contract: Contract
    pins: str
    snapshot: str
    environment: str
    workspace: str
    search_path: str
    variables: Mapping[str, str]
    isolation: Isolation
    judged_in: JudgeIn
    runner: str = RUNNER_VERSION

    @property
    def digest(self) -> str:
        """The key itself."""
        return digest_of(self)


class Evidence(Protocol):
    """Lookup of earlier verdicts."""

    def find_verdict(self, key: str) -> Entry | None:
        """The newest trustworthy verdict with this evidence key."""

    def verdicts_on(self, subject: str, snapshot: str) -> Sequence[Entry]:
        """Verdicts about the subject on this content, whatever lay beside it."""


class NoEvidence:
    """Evidence with nothing in it: for an audit, and a run that has just begun."""

    def find_verdict(self, key: str) -> None:
        """Find none."""
        del key

    def verdicts_on(self, subject: str, snapshot: str) -> Sequence[Entry]:
        """Find none."""
        del subject, snapshot
        return ()


def was_broken(evidence: Evidence, subject: str, now: Snapshot) -> bool:
    """True when the contract said no to the same content, with other by-products beside it."""
    said_no = (e for e in evidence.verdicts_on(subject, now.digest) if e.data["reason"] in SAID_NO)
    return any(e.data["environment"] != now.environment for e in said_no)


def said(reason: Reason, earlier: Entry | None) -> bool:
    """True when an earlier verdict has this reason."""
    return earlier is not None and earlier.data["reason"] == reason


def earlier_verdict(evidence: Evidence, case: Case, key: str) -> Entry | None:
    """The same run's verdict with the same key; audit always judges afresh."""
    external = case.contract.effects is Effects.EXTERNAL
    if case.run is None or case.phase is Phase.AUDIT or external:
        return None
    found = evidence.find_verdict(key)
    return found if found is not None and found.run == case.run else None
