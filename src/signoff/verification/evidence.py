"""The evidence key: everything that makes a verdict valid, so equal keys mean equal verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from signoff import __version__
from signoff.domain.digests import digest_of
from signoff.domain.ledger import Entry
from signoff.domain.plan import Contract, JudgeIn
from signoff.domain.snapshot import Snapshot
from signoff.domain.verdict import Isolation, Reason

RUNNER_VERSION = f"signoff {__version__}"
# Refusals that the contract itself gave; being tampered with says nothing about its answer.
SAID_NO = frozenset({Reason.EXPECTATION, Reason.HELD_OUT})


@dataclass(frozen=True)
class EvidenceKey:
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
    """Where earlier verdicts are looked up."""

    def find_verdict(self, key: str) -> Entry | None:
        """The newest trustworthy verdict with this evidence key."""

    def verdicts_on(self, subject: str, snapshot: str) -> Sequence[Entry]:
        """What was said of the subject on this content, whatever lay beside it."""


class NoEvidence:
    """Nothing was judged before: what an audit wants, and a run that has just begun."""

    def find_verdict(self, key: str) -> None:
        """There is none."""
        del key

    def verdicts_on(self, subject: str, snapshot: str) -> Sequence[Entry]:
        """There are none."""
        del subject, snapshot
        return ()


def was_broken(evidence: Evidence, subject: str, now: Snapshot) -> bool:
    """Whether the contract said no to the same content, with other by-products beside it."""
    said_no = (e for e in evidence.verdicts_on(subject, now.digest) if e.data["reason"] in SAID_NO)
    return any(e.data["environment"] != now.environment for e in said_no)


def said(reason: Reason, earlier: Entry | None) -> bool:
    """Whether this is why an earlier verdict was not kept."""
    return earlier is not None and earlier.data["reason"] == reason


def can_stand(earlier: Entry, *, before_work: bool) -> bool:
    """Whether an earlier verdict is reused instead of judging again.

    A broken contract is run again after an attempt: only a person or a new attempt led here.
    What was never run to its end says nothing about the contract, in no phase. What contradicted
    itself stays in quarantine until the content changes.
    """
    told = {Reason.HELD, Reason.FLAKY}
    if before_work:
        told |= {Reason.EXPECTATION, Reason.HELD_OUT}
    return earlier.data["reason"] in told
