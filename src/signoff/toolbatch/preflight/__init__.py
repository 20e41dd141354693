"""Pre-flight: what speaks against a call before it is made; the first rule that speaks decides.

To add a rule: write a function `View -> Skip | Block | Rewrite | None` in the file of its family,
give it a `PreflightRule` with one line about it, and put its name at its place in `ORDER`.
"""

from __future__ import annotations

from dataclasses import replace

from signoff.toolbatch.calls import NextAction
from signoff.toolbatch.preflight import late, repeating, scope, shape
from signoff.toolbatch.quoting import listed
from signoff.toolbatch.rules import Block, Decision, PreflightRule
from signoff.toolbatch.view import View

__all__ = ["ORDER", "PREFLIGHT", "decide"]


def broken_link(view: View) -> Block | None:
    """A write that brings in a broken local link is not made."""
    if not view.breaks:
        return None
    text = f"this would bring in what does not hold: {listed(view.breaks)}; mend it and send again"
    return Block(text, NextAction(view.call.tool, view.call.target), guidance=True)


def blocked_again(view: View) -> Decision | None:
    """The same call, blocked before and still: plainer words, and in the end an error."""
    times = view.counts.blocked_alike
    found = _first(_OTHERS, view) if times else None
    if found is None or not isinstance(found[1], Block):
        return None
    block = found[1]
    text = f"blocked for the {times + 1}. time, and sending it again will not help: {block.text}"
    return replace(block, text=text, guidance=block.guidance and times <= view.limits.repeats)


ORDER = (
    "blocked_again",
    "missing_payload",
    "out_of_scope",
    "shell_rewrite",
    "duplicate_mutation",
    "duplicate_observation",
    "late_question",
    "expanding",
    "broken_link",
    "fenced_text",  # the last, for what is rewritten is made
)
_OWN = (
    PreflightRule(
        "blocked_again",
        "The same call was blocked before and would be again: plainer words, then an error.",
        blocked_again,
    ),
    PreflightRule(
        "broken_link",
        "A write that brings in a broken local link, or what a checker finds.",
        broken_link,
    ),
)
_BY_NAME = {
    rule.name: rule
    for family in (shape.RULES, repeating.RULES, scope.RULES, late.RULES, _OWN)
    for rule in family
}
PREFLIGHT: tuple[PreflightRule, ...] = tuple(_BY_NAME[name] for name in ORDER)
_OTHERS = PREFLIGHT[1:]


def decide(view: View) -> tuple[str, Decision] | None:
    """The rule that speaks about a call, and what it says; None: nothing is against it."""
    return _first(PREFLIGHT, view)


def _first(rules: tuple[PreflightRule, ...], view: View) -> tuple[str, Decision] | None:
    for rule in rules:
        decision = rule.decide(view)
        if decision is not None:
            return rule.name, decision
    return None
