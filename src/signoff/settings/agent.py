"""`[agent]`: the rules for plans that an agent makes or works on in a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from signoff.errors import ConfigInvalid
from signoff.settings.batches import BatchPolicy, read_batches
from signoff.settings.reading import (
    check_keys,
    read_boolean,
    read_number,
    read_text,
    read_texts,
)


class EvidenceRule(StrEnum):
    """What an agent must give for a claim that no contract decides; from lax to strict."""

    PROSE = "prose"  # any text
    RESOLVABLE = "resolvable"  # a reference that the harness can resolve


class BlockedRule(StrEnum):
    """Who decides about a step that an agent calls blocked; from lax to strict."""

    ACCEPT = "accept"
    MODEL = "model"  # a second one, which the user names
    PERSON = "person"


class RatchetRule(StrEnum):
    """What dropping or weakening a part of the plan takes; from lax to strict."""

    REASON = "reason"
    APPROVE = "approve"


class SelfSetRule(StrEnum):
    """Whether contracts an agent set for itself can yield plain `done`; from lax to strict."""

    ACCEPT = "accept"
    LABEL = "label"


@dataclass(frozen=True)
class SessionPolicy:
    """Rules for plans that an agent makes; a repository may only make them stricter."""

    evidence: EvidenceRule = EvidenceRule.RESOLVABLE
    blocked: BlockedRule = BlockedRule.PERSON
    ratchet: RatchetRule = RatchetRule.REASON
    self_set: SelfSetRule = SelfSetRule.LABEL
    require_plan: bool = False  # whoever changes files needs a plan
    hosts: tuple[str, ...] = ()  # user only: what `url_responds` and `url:` may ask
    readable: tuple[str, ...] = ()  # user only: folders outside the workspace that may be cited
    blocked_model: str = ""  # user only: `provider:name` of the second model
    blocked_base_url: str = ""  # user only: where it is served, if not by its maker
    shorten_after: int = 3  # user only: identical refusals in a row told in full
    escalate_after: int = 6  # user only: identical refusals in a row, then a person takes over
    batches: BatchPolicy = field(
        default_factory=BatchPolicy
    )  # user only: `steering` and `[agent.limits]`
    forbid_waivers: bool = False  # from `[policy]`, for whoever asks people


MOST_IDENTICAL = 50
_USER_ONLY = frozenset(
    {
        "hosts",
        "readable",
        "blocked_model",
        "blocked_base_url",
        "shorten_after",
        "escalate_after",
        "steering",
        "limits",
        "confidence",
        "thin_words",
        "thin_sections",
    }
)
_AGENT_RULES: dict[str, type[StrEnum]] = {
    "evidence": EvidenceRule,
    "blocked": BlockedRule,
    "ratchet": RatchetRule,
    "self_set": SelfSetRule,
}


def read_agent(
    own: Mapping[str, Any], shared: Mapping[str, Any], own_file: str, shared_file: str
) -> SessionPolicy:
    """The user's rules, made stricter where the repository asks for it."""
    mine = _agent_table(own, own_file, {*_AGENT_RULES, "require_plan", *_USER_ONLY})
    theirs = _agent_table(shared, shared_file, {*_AGENT_RULES, "require_plan"})
    rules: dict[str, Any] = {}
    for name, rule in _AGENT_RULES.items():
        plain = getattr(SessionPolicy(), name)
        chosen = (_rule(mine, name, plain, own_file), _rule(theirs, name, rule(plain), shared_file))
        # What the repository does not say makes nothing stricter.
        asked = chosen if name in theirs else chosen[:1]
        rules[name] = max(asked, key=list(rule).index)
    return SessionPolicy(
        **rules,
        require_plan=read_boolean(mine, "require_plan", own_file)
        or read_boolean(theirs, "require_plan", shared_file),
        hosts=read_texts(mine, "hosts", own_file, "host names"),
        readable=read_texts(mine, "readable", own_file),
        shorten_after=_times(mine, "shorten_after", own_file),
        escalate_after=_times(mine, "escalate_after", own_file),
        blocked_model=_second_model(mine, own_file),
        blocked_base_url=read_text(mine, "blocked_base_url", own_file) or "",
        batches=read_batches(mine, own_file),
    )


def _second_model(mine: Mapping[str, Any], own_file: str) -> str:
    """Who asks for a second model must name it: a repository that asks for one gets a person."""
    named = read_text(mine, "blocked_model", own_file)
    if mine.get("blocked") == BlockedRule.MODEL and named is None:
        raise ConfigInvalid(
            f"`{own_file}, agent`: `blocked` is `model`, and no `blocked_model` is named",
            'blocked_model = "PROVIDER:NAME"',
        )
    return named or ""


def _times(mine: Mapping[str, Any], name: str, own_file: str) -> int:
    default = getattr(SessionPolicy(), name)
    return read_number(mine, name, own_file, default=default, most=MOST_IDENTICAL)


def _agent_table(data: Mapping[str, Any], where: str, known: set[str]) -> Mapping[str, Any]:
    table = data.get("agent", {})
    if not isinstance(table, dict):
        raise ConfigInvalid(f"`{where}`: `agent` must be a table")
    check_keys(table, known, f"{where}, agent")
    return table


def _rule(table: Mapping[str, Any], name: str, plain: StrEnum, where: str) -> StrEnum:
    rule = type(plain)
    value = table.get(name, plain)
    if value not in [choice.value for choice in rule]:
        choices = ", ".join(rule)
        raise ConfigInvalid(f"`{where}, agent`: `{name}` must be one of {choices}")
    return rule(value)
