"""A case for the judge: one contract, when it is judged, and what must not have changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from signoff.domain.counts import TestCounts
from signoff.domain.ledger import Entry
from signoff.domain.plan import DEFAULT_STEP_TIMEOUT_S, Contract
from signoff.domain.verdict import Phase, Reason
from signoff.verification.protection import Guard


@dataclass(frozen=True)
class Case:
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

    @property
    def before_work(self) -> bool:
        """Whether nobody worked yet, so that nothing can have been influenced."""
        return self.phase in (Phase.BEFORE, Phase.BASELINE)

    def may_reuse(self, earlier: Entry) -> bool:
        """Whether an earlier verdict is reused instead of judging again.

        A broken contract is run again after an attempt: only a person or a new attempt led here.
        What was never run to its end says nothing about the contract, in no phase. What
        contradicted itself stays in quarantine until the content changes.
        """
        told = {Reason.HELD, Reason.FLAKY}
        if self.before_work:
            told |= {Reason.EXPECTATION, Reason.HELD_OUT}
        return earlier.data["reason"] in told
