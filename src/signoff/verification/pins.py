"""Pins of an approval: everything a run obeys, so that later edits are noticed and never obeyed."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from signoff.domain.digests import canonical_json, digest_of
from signoff.domain.globs import matches_any
from signoff.domain.plan import Plan
from signoff.domain.snapshot import FileState, Manifest
from signoff.errors import SchemaTooNew
from signoff.storage.active import MARKER_RULE

if TYPE_CHECKING:
    from signoff.verification.ignored import Ignored

# Raised whenever approval pins more than before. Pins of a lower format need one more approval:
# what they lack would otherwise be passed over without a word.
PIN_FORMAT = 2

Tools = Mapping[str, Mapping[str, Any]]  # name → {"path": …, "sha256": …}, or {"path": None}


class Pins(Struct, frozen=True, dict=True):
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
    times: str = ""  # digest of the blob with the times of source files
    format: int = PIN_FORMAT

    @cached_property
    def digest(self) -> str:
        """The digest of all of it; part of every evidence key."""
        return digest_of(self)

    def to_bytes(self) -> bytes:
        """The stored form."""
        return canonical_json(self).encode("utf-8", "surrogatepass")

    @classmethod
    def from_bytes(cls, data: bytes) -> Pins:
        """The stored form read back."""
        stored = {"format": 1, **json.loads(data)}
        if stored["format"] > PIN_FORMAT:
            raise SchemaTooNew("the plan was approved by a newer signoff, which pins more")
        return cls(**{**stored, "counted": tuple(stored.get("counted", ()))})

    @property
    def outdated(self) -> bool:
        """True when an older version took them, which pinned less than this one does."""
        return self.format < PIN_FORMAT

    @property
    def lacking(self) -> tuple[str, ...]:
        """The names of what an older version did not pin."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) is None)


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
    """Globs that the contracts of a plan say they write themselves."""
    contracts = (subject.contract for subject in plan.subjects)
    return tuple(sorted({glob for c in contracts if c is not None for glob in c.writes}))


def changed_tools(pinned: Tools, now: Tools) -> tuple[str, ...]:
    """Programs that are not those that were approved, each with both places."""
    return tuple(
        f"`{name}` was {_shown(pinned[name])}, is {_shown(now[name])}"
        for name in sorted(pinned)
        if name in now and dict(pinned[name]) != dict(now[name])
    )


def _shown(tool: Mapping[str, Any]) -> str:
    if tool["path"] is None:
        return "not there"
    digest = tool.get("sha256")
    return f"`{tool['path']}`" + (f" ({digest[:12]})" if digest else "")


_COMPARED = {
    "plan_digest": "the plan",
    "plan_text": "the plan's text",
    "settings": "roles and policy",
    "config_text": "signoff.toml",
    "ignore_rules": "the ignore rules",
    "protected": "protected files",
    "steering": "what steers a check",
    "counted": "which contracts run tests",
    "handoff": "files that other tools execute",
    "heldout": "held-out checks",
}


def differences(pins: Pins, here: Pins) -> list[str]:
    """Differences between approved pins and those here; empty when a run may obey these instead."""
    found = []
    for name, shown in _COMPARED.items():
        one, other = _meaning(pins, name), _meaning(here, name)
        if one == other:
            continue
        names = _changed_names(one, other)
        found.append(f"{shown} ({', '.join(names)})" if names else shown)
    # A tool of the workspace lies elsewhere by nature; it is judged as a by-product there.
    outside = {name: tool for name, tool in pins.tools.items() if not tool.get("by_product")}
    found.extend(changed_tools(outside, here.tools))
    return found


def _meaning(pins: Pins, field: str) -> object:
    """A field without what differs by nature: git's own folder, the line about our marker."""
    if field == "handoff":
        return {p: f for p, f in pins.handoff.items() if p != ".git" and not p.startswith(".git/")}
    if field != "ignore_rules":
        return getattr(pins, field)
    files = []
    for file in pins.ignore_rules["files"]:
        lines = [line for line in file["text"].splitlines() if line != MARKER_RULE]
        if lines:
            files.append({**file, "text": "\n".join(lines)})
    return {"files": files}


def _changed_names(one: object, other: object) -> list[str]:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return []
    names = sorted(one.keys() | other.keys())
    return [str(name) for name in names if one.get(name) != other.get(name)][:10]
