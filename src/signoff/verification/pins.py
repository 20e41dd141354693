"""What approval pins: everything a run obeys, so that later edits are noticed and never obeyed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from signoff.domain.digests import canonical_json, digest_of
from signoff.domain.globs import matches_any
from signoff.domain.plan import Plan
from signoff.domain.snapshot import FileState, Manifest
from signoff.errors import SchemaTooNew

if TYPE_CHECKING:
    from signoff.verification.ignored import Ignored

# Raised whenever approval pins more than before. Pins of a lower format need one more approval:
# what they lack would otherwise be passed over without a word.
PIN_FORMAT = 2


@dataclass(frozen=True)
class Pins:
    """Taken once, at approval, and stored by digest beside the ledger entry that names it."""

    plan_digest: str
    plan_text: str
    settings: Mapping[str, Any]
    config_text: str
    search_path: str
    workspace: str
    ignore_rules: Mapping[str, Any]
    snapshot: str
    protected: Mapping[str, str]
    steering: Mapping[str, Mapping[str, str]]
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    counted: tuple[str, ...] = ()  # subjects whose contracts run tests
    handoff: Mapping[str, str] = field(default_factory=dict)
    heldout: Mapping[str, str] = field(default_factory=dict)  # name → digest of text and files
    # Fingerprints of ignored files that no build or install made; None: approved before that.
    ignored: Mapping[str, str] | None = None
    byproducts: Mapping[str, str] | None = None  # topmost ignored paths, by what stat says of them
    # The folders of them, compiled caches aside: what a verdict rests on without a set-up command.
    dependencies: Mapping[str, str] | None = None
    git_rules: Mapping[str, str] | None = None  # ignore rules in git's own folder, by digest
    format: int = PIN_FORMAT

    @cached_property
    def digest(self) -> str:
        """The digest of all of it; part of every evidence key."""
        return digest_of(asdict(self))

    def to_bytes(self) -> bytes:
        """The stored form."""
        return canonical_json(asdict(self)).encode("utf-8", "surrogatepass")

    @classmethod
    def from_bytes(cls, data: bytes) -> Pins:
        """The stored form read back."""
        stored = {"format": 1, **json.loads(data)}
        if stored["format"] > PIN_FORMAT:
            raise SchemaTooNew("the plan was approved by a newer signoff, which pins more")
        return cls(**{**stored, "counted": tuple(stored.get("counted", ()))})

    @property
    def outdated(self) -> bool:
        """Whether an older version took them, which pinned less than this one does."""
        return self.format < PIN_FORMAT


def fingerprint(state: FileState) -> str:
    """One path's content and mode as a short comparable string."""
    return f"{state.kind}{'+x' if state.executable else ''}:{state.sha256}"


def protected_files(
    plan: Plan, manifest: Manifest, ignored: Ignored | None = None
) -> dict[str, str]:
    """Every file that some step protects, as it is on the approved content."""
    globs = sorted({glob for step in plan.steps for glob in step.protects})
    return protected_by(globs, manifest, ignored, written_by_contracts(plan))


def protected_by(
    globs: Collection[str],
    manifest: Manifest,
    ignored: Ignored | None,
    writes: Collection[str] = (),
) -> dict[str, str]:
    """The files under the globs; ignored ones too, unless a contract writes them itself."""
    if not globs:
        return {}
    found = {p: fingerprint(s) for p, s in manifest.items() if matches_any(globs, p)}
    beside = ignored.matching(globs) if ignored is not None else {}
    return found | {p: fingerprint(s) for p, s in beside.items() if not matches_any(writes, p)}


def written_by_contracts(plan: Plan) -> tuple[str, ...]:
    """What the contracts of a plan say they write themselves."""
    contracts = (subject.contract for subject in plan.subjects)
    return tuple(sorted({glob for c in contracts if c is not None for glob in c.writes}))
