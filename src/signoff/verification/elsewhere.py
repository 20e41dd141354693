"""The same pins in another checkout of the repository: what may differ by nature, and what not."""

from __future__ import annotations

from signoff.storage.active import MARKER_RULE
from signoff.verification.pins import Pins
from signoff.verification.tools import changed_tools

_COMPARED = {
    "plan_digest": "the plan",
    "plan_text": "the plan's text",
    "settings": "roles and policy",
    "config_text": "signoff.toml",
    "ignore_rules": "the ignore rules",
    "protected": "protected files",
    "steering": "what steers a check",
    "counted": "which contracts run tests",
    "handoff": "files that make other programs act",
    "heldout": "held-out checks",
}


def differences(pins: Pins, here: Pins) -> list[str]:
    """What was approved and is not so here; empty when a run may obey these pins instead."""
    found = []
    for field, shown in _COMPARED.items():
        one, other = _meaning(pins, field), _meaning(here, field)
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
