"""What approval fixes: everything that a run of a plan obeys, as it is in the workspace now."""

from __future__ import annotations

from functools import partial

from signoff.domain.plan import Plan
from signoff.process.environment import safe_search_path
from signoff.usecases.ground.site import PlanPlace, Site
from signoff.usecases.ground.workbench import held_out_checks, open_workspace
from signoff.verification.denominator import is_counted
from signoff.verification.handoff import handoff_files
from signoff.verification.ignored import Ignored
from signoff.verification.influences.rules import influences_of, texts_of
from signoff.verification.obstacles import tools_of
from signoff.verification.pins import Pins, fingerprint, protected_files
from signoff.verification.protection import git_rules
from signoff.verification.since_approval import installed
from signoff.workspace.caches import LooseCopies
from signoff.workspace.ignore import IgnoreRules, read_ignore_rules
from signoff.workspace.walk import byproduct_digests


def take_pins(
    site: Site, place: PlanPlace, plan: Plan, text: str, *, approved: Pins | None = None
) -> Pins:
    """Everything that a run of this plan obeys, as it is in the workspace now.

    With pins that were `approved` before, the content is the one of then, not what agents made of
    it since.
    """
    site.home.keep_apart(place.workspace)
    rules = (
        read_ignore_rules(place.workspace)
        if approved is None
        else IgnoreRules.from_data(approved.ignore_rules)
    )
    workspace = open_workspace(site, place, rules, plan)
    content = workspace.snapshot(durable=True).digest
    workspace.remember_caches()
    if approved is not None:
        content = approved.snapshot
    manifest, read = workspace.manifest(content), partial(workspace.read, content)
    contracts = {s.id: s.contract for s in plan.subjects if s.contract is not None}
    search_path = safe_search_path(site.environ.get("PATH", ""), place.workspace)
    ignored = Ignored(place.workspace, workspace.byproducts)
    steering = {
        i: influences_of(contract, manifest, read, ignored, search_path)
        for i, contract in contracts.items()
    }
    loose = ignored.loose()
    LooseCopies(workspace.store).keep(place.workspace, loose)
    checks = held_out_checks(site)
    return Pins(
        plan_digest=plan.plan_digest,
        plan_text=text,
        settings=site.settings.pinned(),
        config_text=site.config_text(place.workspace),
        search_path=search_path,
        workspace=str(place.workspace),
        ignore_rules=rules.to_data(),
        snapshot=content,
        protected=protected_files(plan, manifest, ignored),
        steering={subject: found for subject, found in steering.items() if found},
        tools={
            name: tool
            for contract in contracts.values()
            for name, tool in tools_of(contract, search_path, place.workspace).items()
        },
        counted=tuple(
            i
            for i, contract in contracts.items()
            if not contract.may_shrink
            and is_counted(contract, [t.text for t in texts_of(contract, manifest, read)])
        ),
        handoff=handoff_files(place.workspace),
        ignored={path: fingerprint(state) for path, state in loose.items()},
        byproducts=byproduct_digests(place.workspace, workspace.byproducts),
        dependencies=installed(place.workspace, workspace.byproducts),
        git_rules=git_rules(place.workspace),
        heldout={c.heldout: checks.find(c.heldout).digest for c in contracts.values() if c.heldout},
    )
