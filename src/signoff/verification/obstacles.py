"""What keeps a contract from being judged as approved; then it is unknown, and never run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from signoff.commands.analysis import analyse
from signoff.commands.launchers import is_plain
from signoff.commands.programs import BUILTINS
from signoff.domain.plan import Contract
from signoff.domain.text import storable_path
from signoff.domain.verdict import Isolation, Reason, Result
from signoff.errors import ConfigInvalid
from signoff.process.shell import find_tool
from signoff.verification.enclosure import Enclosure
from signoff.verification.heldout import HeldOut, HeldOutChecks
from signoff.verification.ignored import digest_on_disk
from signoff.verification.pins import Pins, changed_tools
from signoff.verification.verdicts import NAMED_FILES, UnboundVerdict


def tools_of(contract: Contract, search_path: str, workspace: Path) -> dict[str, dict[str, Any]]:
    """The programs that analysis can see the contract call, as they are found now.

    A program inside the workspace is a by-product and covered by the environment digest: it is
    labelled, not hashed. What the analysis cannot see through adds nothing.
    """
    facts = analyse(contract.command)
    found: dict[str, dict[str, Any]] = {}
    for call in facts.calls:
        name = call.name
        if name in BUILTINS or name in facts.functions or not is_plain(name) or name in found:
            continue
        if "/" in name and not name.startswith("/"):
            continue  # a script of the workspace, pinned as content
        found[name] = _seen(name, search_path, workspace)
    return found


def _seen(name: str, search_path: str, workspace: Path) -> dict[str, Any]:
    path = find_tool(name, search_path)
    if path is None:
        return {"path": None}
    if path.is_relative_to(workspace):
        return {"path": str(path), "by_product": True}
    try:
        real = path.resolve()
        return {"path": str(path), "sha256": digest_on_disk(real, real.stat())}
    except OSError as error:
        return {"path": str(path), "sha256": f"unreadable: {error.strerror}"}


@dataclass(frozen=True)
class Obstacles:
    """A sandbox that is missing, a tool that changed, a held-out check that is not the approved."""

    pins: Pins
    workspace: Path
    enclosure: Enclosure
    checks: HeldOutChecks
    sandbox_required: bool = False

    def find(self, contract: Contract) -> UnboundVerdict | None:
        """Why the contract cannot be judged; None when it can."""
        return self._sandbox(contract) or self._tools(contract) or self._heldout(contract)

    def heldout(self, contract: Contract) -> HeldOut:
        """The held-out check behind a contract that `find` had nothing against."""
        assert contract.heldout is not None
        return self.checks.find(contract.heldout)

    def _sandbox(self, contract: Contract) -> UnboundVerdict | None:
        if self.enclosure.isolation is not Isolation.NONE:
            return None
        if contract.network is False:
            return _unknown(Reason.SANDBOX_MISSING, "`network: no` needs a sandbox")
        if self.sandbox_required:
            return _unknown(Reason.SANDBOX_MISSING, "the policy requires a sandbox")
        return None

    def _tools(self, contract: Contract) -> UnboundVerdict | None:
        if not self.pins.tools:
            return None
        now = tools_of(contract, self.pins.search_path, self.workspace)
        changed = changed_tools(self.pins.tools, now)
        if not changed:
            return None
        return _unknown(Reason.TOOL_CHANGED, f"tool changed since approval: {'; '.join(changed)}")

    def _heldout(self, contract: Contract) -> UnboundVerdict | None:
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


def unreadable(paths: list[str]) -> UnboundVerdict | None:
    """Why nothing is judged while a check could pass over files that it may not read."""
    if not paths:
        return None
    named = ", ".join(f"`{storable_path(path)}`" for path in paths[:NAMED_FILES])
    what = f"their own permissions keep these from being read: {named}; chmod u+rX them"
    return _unknown(Reason.INFRASTRUCTURE, what)


def _unknown(reason: Reason, what: str) -> UnboundVerdict:
    return UnboundVerdict(Result.UNKNOWN, reason, f"could not judge: {what}")
