"""Which files must be as pinned for whom: approved ones, and those that accepted steps left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from signoff.commands.analysis import analyse
from signoff.domain.globs import matches_any
from signoff.domain.plan import Contract, Plan, Postcondition, Step
from signoff.domain.product import NO_PRODUCTS, Products
from signoff.domain.snapshot import FileKind
from signoff.planfile.verify import demanded_files
from signoff.verification.pins import Pins, fingerprint, written_by_contracts
from signoff.verification.protection import Guard, file_of
from signoff.verification.steering import INSTALLED, PRESENT, steering_of
from signoff.workspace.workspace import Workspace

Produced = Mapping[str, Mapping[str, str]]  # step → path → fingerprint when it was accepted


@dataclass(frozen=True)
class Guards:
    """Knows what was approved for a plan, and what its accepted steps answer for since."""

    pins: Pins
    workspace: Workspace
    writes: tuple[str, ...] = ()  # what contracts of the plan write themselves
    protects: tuple[str, ...] = ()  # what any step of the plan protects

    @classmethod
    def of_plan(cls, pins: Pins, workspace: Workspace, plan: Plan) -> Guards:
        """With everything that a step may have to know of the others."""
        protects = {glob for step in plan.steps for glob in step.protects}
        return cls(pins, workspace, written_by_contracts(plan), tuple(sorted(protects)))

    def of(
        self,
        subject: Step | Postcondition,
        produced: Produced,
        products: Products = NO_PRODUCTS,
    ) -> Guard:
        """What must not have changed when this subject's contract is judged."""
        assert subject.contract is not None, "without a contract there is nothing to guard"
        if isinstance(subject, Step):
            return self.of_step(subject, subject.contract, produced, products)
        return self.of_postcondition(subject, subject.contract, produced, products)

    def of_step(
        self,
        step: Step,
        contract: Contract,
        produced: Produced,
        products: Products = NO_PRODUCTS,
    ) -> Guard:
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
            subject=step.id,
            products=products,
        )

    def of_postcondition(
        self,
        post: Postcondition,
        contract: Contract,
        produced: Produced,
        products: Products = NO_PRODUCTS,
    ) -> Guard:
        """What must not have changed when a postcondition is judged."""
        return Guard(
            may_change=contract.may_change,
            produced=_merged(produced),
            steering=self.pins.steering.get(post.id, {}),
            subject=post.id,
            products=products,
        )

    def owned_by(
        self,
        step: Step,
        snapshot: str,
        produced: Produced,
        products: Products = NO_PRODUCTS,
    ) -> dict[str, str]:
        """Files this step answers for once it is accepted on this content.

        What it produces, and whatever was pinned or is protected that it was allowed to change.
        """
        may_change = step.contract.may_change if step.contract else ()
        if not (step.produces or may_change):
            return {}
        manifest = self.workspace.manifest(snapshot)
        pinned = set(_merged(produced)) | set(self.pins.protected)
        pinned |= {path for path, product in products.items() if product.relied_on}
        if step.contract is not None and may_change:
            pinned |= self._steering_files(step.contract, snapshot)
        return {
            path: fingerprint(state)
            for path, state in manifest.items()
            if matches_any(step.produces, path)
            or (
                matches_any(may_change, path)
                and (path in pinned or matches_any(self.protects, path))
            )
        }

    def named_by(
        self, step: Step, snapshot: str, products: Products = NO_PRODUCTS
    ) -> dict[str, str]:
        """Files this step made, going by its contract, where the plan does not say what it makes.

        Never one that was there when the plan was approved, and none that steers the step's own
        contract. A link does not count either: what it leads to is not in the content.
        """
        contract = step.contract
        if contract is None:
            return {}
        made = [] if step.produces else list(demanded_files(contract))
        if contract.may_change:
            made += [path for path in products if matches_any(contract.may_change, path)]
        manifest = self.workspace.manifest(snapshot)
        made = [
            path
            for path in dict.fromkeys(made)
            if path not in self._approved_paths
            and path in manifest
            and manifest[path].kind is FileKind.FILE
        ]
        own = self._steering_files(contract, snapshot) if made else frozenset()
        return {path: fingerprint(manifest[path]) for path in made if path not in own}

    def relied_on_by(self, step: Step, snapshot: str, products: Products) -> list[str]:
        """Files of other steps that steered the contract of this one when it was accepted."""
        if not products or step.contract is None:
            return []
        steering = self._steering_files(step.contract, snapshot)
        return sorted(p for p in steering if p in products and products[p].step != step.id)

    def deciding(self, step: Step) -> tuple[str, ...]:
        """What decides the step's check and so is protected from it, as names for its agent.

        Scripts that are not there yet are among them: the step may not add them either.
        """
        contract = step.contract
        if contract is None:
            return ()
        pinned = self._approved_steering(step, contract)
        names = {
            name
            for name, seen in pinned.items()
            if seen != PRESENT and not seen.startswith(INSTALLED)
        }
        scripts = {script.path for script in analyse(contract.command).scripts}
        names |= scripts - {file_of(name) for name in pinned}
        settled = (*contract.may_change, *step.produces, *step.protects)
        return tuple(sorted(n for n in names if not matches_any(settled, file_of(n))))

    @cached_property
    def _approved_paths(self) -> frozenset[str]:
        return frozenset(self.workspace.manifest(self.pins.snapshot))

    def _approved_steering(self, step: Step, contract: Contract) -> Mapping[str, str]:
        """As pinned; for an item of a list, whose contract was not known then, from the content."""
        if step.parent is None:
            return self.pins.steering.get(step.id, {})
        return self._steering(contract, self.pins.snapshot)

    def _steering_files(self, contract: Contract, snapshot: str) -> frozenset[str]:
        return frozenset(map(file_of, self._steering(contract, snapshot)))

    def _steering(self, contract: Contract, snapshot: str) -> dict[str, str]:
        manifest = self.workspace.manifest(snapshot)
        read = partial(self.workspace.read, snapshot)
        return steering_of(contract, manifest, read, search_path=self.pins.search_path)


def _merged(produced: Produced, without: str | None = None) -> dict[str, str]:
    files: dict[str, str] = {}
    for owner, owned in produced.items():
        if owner != without:
            files.update(owned)
    return files
