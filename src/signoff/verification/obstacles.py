"""What keeps a contract from being judged as approved; then it is unknown, and never run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from signoff.domain.plan import Contract
from signoff.domain.text import storable_path
from signoff.domain.verdict import Isolation, Reason, Result
from signoff.errors import ConfigInvalid
from signoff.verification.enclosure import Enclosure
from signoff.verification.expectations import Answer
from signoff.verification.heldout import HeldOut, HeldOutChecks
from signoff.verification.moves import NAMED_FILES
from signoff.verification.pins import Pins
from signoff.verification.tools import changed_tools, tools_of


@dataclass(frozen=True)
class Obstacles:
    """A sandbox that is missing, a tool that changed, a held-out check that is not the approved."""

    pins: Pins
    workspace: Path
    enclosure: Enclosure
    checks: HeldOutChecks
    sandbox_required: bool = False

    def find(self, contract: Contract) -> Answer | None:
        """Why the contract cannot be judged; None when it can."""
        return self._sandbox(contract) or self._tools(contract) or self._heldout(contract)

    def heldout(self, contract: Contract) -> HeldOut:
        """The held-out check behind a contract that `find` had nothing against."""
        assert contract.heldout is not None
        return self.checks.find(contract.heldout)

    def _sandbox(self, contract: Contract) -> Answer | None:
        if self.enclosure.isolation is not Isolation.NONE:
            return None
        if contract.network is False:
            return _unknown(Reason.SANDBOX_MISSING, "`network: no` needs a sandbox")
        if self.sandbox_required:
            return _unknown(Reason.SANDBOX_MISSING, "the policy requires a sandbox")
        return None

    def _tools(self, contract: Contract) -> Answer | None:
        if not self.pins.tools:
            return None
        now = tools_of(contract, self.pins.search_path, self.workspace)
        changed = changed_tools(self.pins.tools, now)
        if not changed:
            return None
        return _unknown(Reason.TOOL_CHANGED, f"tool changed since approval: {'; '.join(changed)}")

    def _heldout(self, contract: Contract) -> Answer | None:
        name = contract.heldout
        if name is None:
            return None
        try:
            check = self.checks.find(name)
        except ConfigInvalid as error:
            return _unknown(Reason.INFRASTRUCTURE, str(error))
        if check.digest != self.pins.heldout.get(name):
            what = f"held-out check `{name}` is not the one that was approved"
            return _unknown(Reason.TOOL_CHANGED, what)
        return None


def unreadable(paths: list[str]) -> Answer | None:
    """Why nothing is judged while a check could pass over files that it may not read."""
    if not paths:
        return None
    named = ", ".join(f"`{storable_path(path)}`" for path in paths[:NAMED_FILES])
    what = f"their own permissions keep these from being read: {named}; chmod u+rX them"
    return _unknown(Reason.INFRASTRUCTURE, what)


def _unknown(reason: Reason, what: str) -> Answer:
    return Answer(Result.UNKNOWN, reason, f"could not judge: {what}")
