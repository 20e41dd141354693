"""What approval pins: everything a run obeys, so that later edits are noticed and never obeyed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from signoff.domain.digests import canonical_json, digest_of
from signoff.domain.globs import matches_any
from signoff.domain.plan import Plan
from signoff.domain.snapshot import FileState, Manifest


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
        stored = json.loads(data)
        return cls(**{**stored, "counted": tuple(stored.get("counted", ()))})


def fingerprint(state: FileState) -> str:
    """One path's content and mode as a short comparable string."""
    return f"{state.kind}{'+x' if state.executable else ''}:{state.sha256}"


def protected_files(plan: Plan, manifest: Manifest) -> dict[str, str]:
    """Every file that some step protects, as it is on the approved content."""
    globs = sorted({glob for step in plan.steps for glob in step.protects})
    if not globs:
        return {}
    return {p: fingerprint(s) for p, s in manifest.items() if matches_any(globs, p)}
