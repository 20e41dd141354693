"""What steers a check without being its subject: pinned at approval, compared when judged."""

from __future__ import annotations

from collections.abc import Callable

from signoff.commands.analysis import analyse, invocations_of
from signoff.commands.launchers import Invocation, inside
from signoff.domain.plan import Contract
from signoff.domain.snapshot import Manifest
from signoff.verification.ignored import Ignored
from signoff.verification.steering.content import Content
from signoff.verification.steering.rule_environments import pin_environments
from signoff.verification.steering.rule_node import pin_in_front
from signoff.verification.steering.rule_python import pin_startup, steer_python_path
from signoff.verification.steering.rule_scripts import execute, steer_executed
from signoff.verification.steering.rules import RULES, Pin
from signoff.verification.steering.trail import (
    COMPILED,
    INSTALLED,
    PRESENT,
    ShellText,
    Trail,
)

__all__ = ["COMPILED", "INSTALLED", "PRESENT", "steering_of", "texts_of"]

MOST_LOOKED_AT = 400
_PINS_BY_TOOL: dict[str, list[Pin]] = {
    tool: [rule.pin for rule in RULES if tool in rule.tools]
    for tool in frozenset[str]().union(*(rule.tools for rule in RULES))
}


def steering_of(
    contract: Contract,
    manifest: Manifest,
    read: Callable[[str], bytes],
    ignored: Ignored | None = None,
    search_path: str = "",
) -> dict[str, str]:
    """Name → digest of everything in the content that steers the contract's command.

    Names are paths, or `path#section` where only a part of the file steers. Scripts, recipes and
    package scripts that the command runs are looked into in turn. What the shell analysis cannot
    see through (`eval "$X"`, `$TOOL`, a program that starts others) adds nothing: `verify` says
    "cannot tell" about it, and `**protects:**` is the way to name it.
    """
    trail = _followed(contract, Trail(Content(manifest, read, ignored), search_path))
    pin_in_front(trail)
    pin_startup(trail)
    pin_environments(trail)
    return dict(sorted(trail.pinned.items()))


def texts_of(
    contract: Contract, manifest: Manifest, read: Callable[[str], bytes]
) -> tuple[ShellText, ...]:
    """The command itself and all shell text that it runs: scripts, recipes, package scripts."""
    return tuple(_followed(contract, Trail(Content(manifest, read))).texts)


def _followed(contract: Contract, trail: Trail) -> Trail:
    trail.follow(ShellText(contract.command, ""))
    seen: set[ShellText | Invocation] = set()
    while trail.ahead and len(seen) < MOST_LOOKED_AT:
        what = trail.ahead.pop(0)
        if what not in seen:
            seen.add(what)
            _look_at(what, trail)
    return trail


def _look_at(what: ShellText | Invocation, trail: Trail) -> None:
    if isinstance(what, Invocation):
        trail.tools.add(what.tool)
        for pin in _PINS_BY_TOOL.get(what.tool, ()):
            pin(what, trail)
        if what.path:
            steer_executed(what, trail)
        return
    trail.texts.append(what)
    facts = analyse(what.text)
    for script in facts.scripts:
        path = inside(what.folder, script.path)
        if path is not None:
            for found in trail.content.matching(path):
                execute(found, what.folder, trail)
    trail.note_called(*(call.name for call in facts.calls))
    for call in invocations_of(facts, what.folder):
        if call.tool not in facts.functions:
            trail.follow(call)
            trail.note_called(call.path or call.tool)
    steer_python_path(what.text, what.folder, trail)
