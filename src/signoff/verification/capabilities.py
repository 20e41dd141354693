"""What a contract may demand that this version cannot give; then it is unknown, never run."""

from __future__ import annotations

from signoff.domain.plan import Contract, ExpectationKind, JudgeIn
from signoff.domain.verdict import Reason, Result
from signoff.verification.expectations import Answer


def refusal(contract: Contract) -> Answer | None:
    """Why the contract cannot be judged as it demands; None when it can."""
    if contract.network is False:
        return _missing("`network: no` needs a sandbox")
    if contract.judge_in is JudgeIn.CLEAN:
        return _missing("`judge_in: clean` needs a clean room")
    if contract.heldout is not None:
        return _missing("`heldout` checks are not supported")
    if any(e.kind is ExpectationKind.TESTS_AT_LEAST for e in contract.expectations):
        message = "could not judge: `tests >=` is not supported by this version"
        return Answer(Result.UNKNOWN, Reason.INFRASTRUCTURE, message)
    return None


def _missing(what: str) -> Answer:
    message = f"could not judge: {what}, which this version does not have"
    return Answer(Result.UNKNOWN, Reason.SANDBOX_MISSING, message)
