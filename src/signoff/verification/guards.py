"""Which files must be as pinned for whom: approved ones, and those that accepted steps left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from signoff.domain.globs import matches_any
from signoff.domain.plan import Contract, Postcondition, Step
from signoff.verification.pins import Pins, fingerprint
from signoff.verification.protection import Guard, file_of
from signoff.verification.steering import steering_of
from signoff.workspace import Workspace

Produced = Mapping[str, Mapping[str, str]]  # step → path → fingerprint when it was accepted


@dataclass(frozen=True)
class Guards:
    """Knows what was approved for a plan, and what its accepted steps answer for since."""

    pins: Pins
    workspace: Workspace
    writes: tuple[str, ...] = ()  # what contracts of the plan write themselves

    def of(self, subject: Step | Postcondition, produced: Produced) -> Guard:
        """What must not have changed when this subject's contract is judged."""
        assert subject.contract is not None, "without a contract there is nothing to guard"
        if isinstance(subject, Step):
            return self.of_step(subject, subject.contract, produced)
        return self.of_postcondition(subject, subject.contract, produced)

    def of_step(self, step: Step, contract: Contract, produced: Produced) -> Guard:
        """What must not have changed when this step is judged; what it owns itself may."""
        return Guard(
            protects=step.protects,
            may_change=(*contract.may_change, *step.produces),
            pinned=self.pins.protected,
            produced=_merged(produced, without=step.id),
            steering=self._approved_steering(step, contract),
            # Of a list's items only the content of that time is known, not what lay beside it.
            sees_ignored=step.parent is None,
            writes=self.writes,
        )

    def of_postcondition(
        self, post: Postcondition, contract: Contract, produced: Produced
    ) -> Guard:
        """What must not have changed when a postcondition is judged."""
        return Guard(
            may_change=contract.may_change,
            produced=_merged(produced),
            steering=self.pins.steering.get(post.id, {}),
        )

    def owned_by(self, step: Step, snapshot: str, produced: Produced) -> dict[str, str]:
        """Files this step answers for once it is accepted on this content.

        What it produces, and whatever was pinned that it was allowed to change.
        """
        may_change = step.contract.may_change if step.contract else ()
        if not (step.produces or may_change):
            return {}
        manifest = self.workspace.manifest(snapshot)
        pinned = set(_merged(produced)) | set(self.pins.protected)
        if step.contract is not None and may_change:
            pinned |= {file_of(n) for n in self._steering(step.contract, snapshot)}
        return {
            path: fingerprint(state)
            for path, state in manifest.items()
            if matches_any(step.produces, path)
            or (path in pinned and matches_any(may_change, path))
        }

    def _approved_steering(self, step: Step, contract: Contract) -> Mapping[str, str]:
        """As pinned; for an item of a list, whose contract was not known then, from the content."""
        if step.parent is None:
            return self.pins.steering.get(step.id, {})
        return self._steering(contract, self.pins.snapshot)

    def _steering(self, contract: Contract, snapshot: str) -> dict[str, str]:
        manifest = self.workspace.manifest(snapshot)
        return steering_of(contract, manifest, lambda path: self.workspace.read(snapshot, path))


def _merged(produced: Produced, without: str | None = None) -> dict[str, str]:
    files: dict[str, str] = {}
    for owner, owned in produced.items():
        if owner != without:
            files.update(owned)
    return files
