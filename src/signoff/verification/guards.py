"""Select the files that must be as pinned: approved ones, those of accepted steps, the plan."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from signoff.commands.analysis import analyse
from signoff.domain.digests import digest_of
from signoff.domain.globs import has_wildcard, matches_any
from signoff.domain.languages import is_work
from signoff.domain.plan import DEFAULT_STEP_TIMEOUT_S, Contract, Plan, Postcondition, Step
from signoff.domain.snapshot import NO_PRODUCTS, FileKind, Products
from signoff.domain.verdict import Phase
from signoff.errors import PlanNotFound, PlanUnreadable
from signoff.gate.state import State
from signoff.planfile.blocks import decode
from signoff.planfile.diff import unified
from signoff.planfile.outline import plan_digest
from signoff.planfile.subjects import asked_of, bound_of_plan, bound_of_step, demanded_files
from signoff.process.environment import activated_in
from signoff.settings.loading import read_config_text
from signoff.storage.files import read_plan_file
from signoff.verification.evidence import Case
from signoff.verification.influences.gathered import INSTALLED, PRESENT
from signoff.verification.influences.rules import influences_of
from signoff.verification.pins import Pins, fingerprint, written_by_contracts
from signoff.verification.protection import Guard, file_of
from signoff.workspace.workspace import Workspace

Produced = Mapping[str, Mapping[str, str]]  # step → path → fingerprint when it was accepted


class Guards(Struct, frozen=True, dict=True):
    """Knows what was approved for a plan, and what its accepted steps answer for since."""

    pins: Pins
    workspace: Workspace
    writes: tuple[str, ...] = ()  # what contracts of the plan write themselves
    protects: tuple[str, ...] = ()  # what any step of the plan protects
    touches: tuple[str, ...] = ()  # what the plan lets change, with all that its steps name
    # Step → what steps before it protect whose contracts are not judged again.
    lasting: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    may_change: tuple[str, ...] = ()  # what any step may change, or is there to make
    installed: Mapping[str, str] = field(default_factory=dict)  # what `install` wrote

    @classmethod
    def of_plan(
        cls,
        pins: Pins,
        workspace: Workspace,
        plan: Plan,
        installed: Mapping[str, str] | None = None,
    ) -> Guards:
        """Guards of a plan, with everything that a step may have to know of the others."""
        protects = {glob for step in plan.steps for glob in step.protects}
        lasting: dict[str, tuple[str, ...]] = {}
        so_far: tuple[str, ...] = ()
        for step in plan.steps:
            lasting[step.id] = so_far
            if step.contract is not None and step.contract.judged_once:
                so_far += step.protects
        return cls(
            pins,
            workspace,
            writes=written_by_contracts(plan),
            protects=tuple(sorted(protects)),
            touches=bound_of_plan(plan),
            lasting=lasting,
            may_change=_changeable(plan),
            installed=installed or {},
        )

    def of(
        self,
        subject: Step | Postcondition,
        produced: Produced,
        products: Products = NO_PRODUCTS,
        allowed: tuple[str, ...] = (),
        contract: Contract | None = None,
    ) -> Guard:
        """Files that must not have changed when this subject's contract (or another) is judged.

        Before a postcondition that is all that steps protect. `allowed` is what a person let it
        change since the plan was approved.
        """
        contract = contract or subject.contract
        assert contract is not None, "without a contract there is nothing to guard"
        guard = Guard(
            protects=self.protects,
            may_change=contract.may_change,
            pinned=self.pins.protected,
            produced=_merged(produced),
            influences=self.pins.steering.get(subject.id, {}),
            writes=self.writes,
            subject=subject.id,
            products=products,
            may_extend=contract.may_extend,
            kept_safe=self.protects,
            touches=self.touches,
            changed_by_any=self.may_change,
            installed=self.installed,
        )
        if isinstance(subject, Step):
            guard = self._of_step(guard, subject, contract, produced)
        return guard.allowing(allowed) if allowed else guard

    def _of_step(self, guard: Guard, step: Step, contract: Contract, produced: Produced) -> Guard:
        """Guard of a step: its own files may change, and it answers for what lasts before it."""
        return replace(
            guard,
            protects=step.protects,
            produced=_merged(produced, without=step.id),
            influences=self._approved_influences(step, contract),
            # Of a list's items only the content of that time is known, not what lay beside it.
            sees_ignored=step.parent is None or bool(self._activated),
            produces=step.produces,
            task=asked_of(step),
            own_touches=self.bound_of(step) if step.touches else (),
            lasting=self._lasting(step),
            makes=self._makes(step, contract, guard.products),
        )

    def bound_of(self, step: Step) -> tuple[str, ...]:
        """All that the step may change; empty when neither it nor the plan sets a bound."""
        return bound_of_step(step, self.touches, self.writes)

    def protected_from(self, step: Step) -> tuple[str, ...]:
        """Globs that the step's agent must leave alone: its own, and those that still last."""
        return tuple(dict.fromkeys((*step.protects, *self._lasting(step))))

    def owned_by(
        self,
        step: Step,
        snapshot: str,
        produced: Produced,
        products: Products = NO_PRODUCTS,
        allowed: tuple[str, ...] = (),
    ) -> dict[str, str]:
        """Files this step answers for once it is accepted on this content.

        What it produces, and whatever was pinned or is protected that it was allowed to change; of
        what influences checks also what nobody pinned.
        """
        contract = step.contract
        may_change = (*allowed, *((*contract.may_change, *contract.may_extend) if contract else ()))
        if not (step.produces or may_change):
            return {}
        manifest = self.workspace.manifest(snapshot)
        pinned = set(_merged(produced)) | set(self.pins.protected)
        pinned |= {path for path, product in products.items() if product.relied_on}
        if step.contract is not None and may_change:
            pinned |= self._influencing_files(step.contract, snapshot)
        return {
            path: fingerprint(state)
            for path, state in manifest.items()
            if matches_any(step.produces, path)
            or (
                matches_any(may_change, path)
                and (path in pinned or matches_any(self.protects, path) or not is_work(path))
            )
        }

    def named_by(
        self, step: Step, snapshot: str, products: Products = NO_PRODUCTS
    ) -> dict[str, str]:
        """Files this step made, going by its contract, where the plan does not say what it makes.

        Never one that was there when the plan was approved, and none that influences the step's own
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
        own = self._influencing_files(contract, snapshot) if made else frozenset()
        return {path: fingerprint(manifest[path]) for path in made if path not in own}

    def relied_on_by(self, step: Step, snapshot: str, products: Products) -> list[str]:
        """Files of other steps that influenced the contract of this one when it was accepted."""
        if not products or step.contract is None:
            return []
        influences = self._influencing_files(step.contract, snapshot)
        return sorted(p for p in influences if p in products and products[p].step != step.id)

    def deciding(self, step: Step) -> tuple[str, ...]:
        """Files that decide the step's check and so are protected from it, as names for its agent.

        Scripts that are not there yet are among them: the step may not add them either.
        """
        contract = step.contract
        if contract is None:
            return ()
        pinned = self._approved_influences(step, contract)
        names = {
            name
            for name, seen in pinned.items()
            if seen != PRESENT and not seen.startswith(INSTALLED)
        }
        scripts = {script.path for script in analyse(contract.command).scripts}
        names |= scripts - {file_of(name) for name in pinned}
        settled = (*contract.may_change, *step.protects)
        left = (n for n in names if file_of(n) not in step.produces)
        return tuple(sorted(n for n in left if not matches_any(settled, file_of(n))))

    def _lasting(self, step: Step) -> tuple[str, ...]:
        return self.lasting.get(step.parent or step.id, ())

    def _makes(self, step: Step, contract: Contract, products: Products) -> frozenset[str]:
        """New files that the step is there to make, where it does not declare what it makes."""
        if not self._lasting(step):
            return frozenset()
        demanded = () if step.produces else demanded_files(contract)
        own = {path for path, product in products.items() if product.step == step.id}
        return frozenset(own | set(demanded) - self._approved_paths)

    @cached_property
    def _approved_paths(self) -> frozenset[str]:
        return frozenset(self.workspace.manifest(self.pins.snapshot))

    def _approved_influences(self, step: Step, contract: Contract) -> Mapping[str, str]:
        """Influences as pinned; for an item of a list, unknown at approval, from the content."""
        if step.parent is None:
            return self.pins.steering.get(step.id, {})
        found = self._influences(contract, self.pins.snapshot)
        if not self._activated:
            return found
        # Its tools are those of the step that lists it, which is all that an item leaves open.
        listed = self.pins.steering.get(step.parent, {}).items()
        return {n: s for n, s in listed if file_of(n) not in self._approved_paths} | found

    @cached_property
    def _activated(self) -> tuple[str, ...]:
        return activated_in(self.pins.search_path, Path(self.pins.workspace))

    def _influencing_files(self, contract: Contract, snapshot: str) -> frozenset[str]:
        return frozenset(map(file_of, self._influences(contract, snapshot)))

    def _influences(self, contract: Contract, snapshot: str) -> dict[str, str]:
        manifest = self.workspace.manifest(snapshot)
        read = partial(self.workspace.read, snapshot)
        return influences_of(contract, manifest, read, search_path=self.pins.search_path)


def _changeable(plan: Plan) -> tuple[str, ...]:
    """Paths that a line of the plan lets anybody change; of what is produced, the exact paths."""
    contracts = [s.contract for s in plan.subjects if s.contract is not None]
    named = [glob for c in contracts for glob in (*c.may_change, *c.writes)]
    named += [p for step in plan.steps for p in step.produces if not has_wildcard(p)]
    return tuple(dict.fromkeys(named))


def _merged(produced: Produced, without: str | None = None) -> dict[str, str]:
    files: dict[str, str] = {}
    for owner, owned in produced.items():
        if owner != without:
            files.update(owned)
    return files


LONGEST_DIFFERENCE = 20_000


class PinWatch(Struct):
    """Compares what lies there with what was pinned; marks and status do not count."""

    plan_path: Path
    plan_digest: str
    plan_text: str
    config_path: Path
    config_text: str
    _as_pinned: tuple[object, ...] = ()

    def edited(self) -> tuple[str, str] | None:
        """The digest of what is there instead, and the difference; None when all is as pinned."""
        states = (_state(self.plan_path), _state(self.config_path))
        if states == self._as_pinned:
            return None
        edit = self._compare()
        # Only states taken before the comparison vouch for it; an edit is looked at every time.
        self._as_pinned = states if edit is None else ()
        return edit

    def _compare(self) -> tuple[str, str] | None:
        plan = self._plan_now()
        config = read_config_text(self.config_path)
        plan_same = plan is not None and plan_digest(plan) == self.plan_digest
        if plan_same and config == self.config_text:
            return None
        parts = []
        if not os.path.lexists(self.plan_path):
            parts.append(f"`{self.plan_path}` is gone; it was approved as:")
        if not plan_same:
            parts.append(unified(self.plan_text, plan or "", self.plan_path.name))
        if config != self.config_text:
            parts.append(unified(self.config_text, config, self.config_path.name))
        seen = self.digest_of_edit(plan_digest(plan) if plan else None, config)
        return seen, "\n".join(parts)[:LONGEST_DIFFERENCE]

    def question(self) -> str:
        """The question to a person about an edit; a file that is gone was not edited."""
        goes_on = "the run goes by what was approved: retry goes on with that"
        if os.path.lexists(self.plan_path):
            return (
                "the plan file or signoff.toml was edited during the run; "
                f"{goes_on}, revise takes the edited plan back to draft"
            )
        path = shlex.quote(str(self.plan_path))
        return (
            f"the plan file `{self.plan_path}` is gone since the run began; {goes_on}, "
            f"signoff show {path} --approved > {path} puts it back"
        )

    @staticmethod
    def digest_of_edit(plan: str | None, config: str) -> str:
        """The ledger's name for a noticed edit: from the plan's digest and the configuration."""
        return digest_of({"plan": plan, "config": config})

    def _plan_now(self) -> str | None:
        try:
            return decode(read_plan_file(self.plan_path), str(self.plan_path))
        except (PlanNotFound, PlanUnreadable):
            return None


def _state(path: Path) -> tuple[int, ...] | None:
    """Data that changes whenever a file does; asked for at every step, where reading would cost."""
    try:
        seen = path.lstat()
    except OSError:
        return None
    return seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def case_of(
    state: State,
    guards: Guards,
    subject: Step | Postcondition,
    phase: Phase,
    run: str | None = None,
    produced: Produced | None = None,
) -> Case:
    """The question to the judge about a subject, as the ledger stands."""
    contract, record = state.judged_as(subject), state.record(subject.id)
    assert contract is not None, "without a contract there is nothing to judge"
    owned = state.produced if produced is None else produced
    guard = guards.of(subject, owned, state.products, record.allowed)
    guard = replace(guard, self_made=state.self_made)
    if phase is Phase.ATTEMPT:
        guard = replace(guard, spans=record.spans)
    limit_s = subject.timeout_s if isinstance(subject, Step) else DEFAULT_STEP_TIMEOUT_S
    read = tuple(dict.fromkeys(record.read_sets))
    return Case(subject.id, contract, phase, guard, run, record.baseline, limit_s, read)
