"""`[agent]`: the rules for plans that an agent makes or works on in a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from signoff.errors import ConfigInvalid
from signoff.settings.reading import (
    read_boolean,
    read_choice,
    read_number,
    read_table,
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


# name → what it is when nobody says, the least and the most that it may be
BATCH_LIMITS: dict[str, tuple[float, float, float]] = {
    "errors": (3, 1, 1000),
    "recoveries": (3, 1, 1000),
    "late_share": (0.6, 0.0, 1.0),
    "late_reads": (4, 0, 1000),
    "audits": (2, 0, 1000),
    "bookkeeping": (1, 0, 1000),
    "repeats": (2, 1, 1000),
    "failed_edits": (2, 1, 1000),
    "looks": (8, 1, 1000),
    "facts": (2, 0, 10),
}


@dataclass(frozen=True)
class BatchPolicy:
    """How the runtime of tool calls guides a model: `steering` and `[agent.limits]`.

    Without steering, calls are made and kept; nothing is said and nothing stopped.
    """

    steering: bool = True
    limits: tuple[tuple[str, float], ...] = ()  # those that differ from what is usual
    confidence: float = 0.0  # how sure a model must say it is of a change; 0: it is not asked
    thin_words: int = 0  # that every page must show
    thin_sections: int = 0


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
    batches: BatchPolicy = field(default_factory=BatchPolicy)  # user only
    forbid_waivers: bool = False  # from `[policy]`, for whoever asks people


MOST_IDENTICAL = 50
_USER_ONLY = frozenset(
    {"hosts", "readable", "blocked_model", "blocked_base_url", "shorten_after", "escalate_after"}
    | {"steering", "limits", "confidence", "thin_words", "thin_sections"}
)
_RULES = ("evidence", "blocked", "ratchet", "self_set")


def read_agent(
    own: Mapping[str, Any], shared: Mapping[str, Any], own_file: str, shared_file: str
) -> SessionPolicy:
    """The user's rules, made stricter where the repository asks for it."""
    plain = SessionPolicy()
    mine, own_place = read_table(own, "agent", {*_RULES, "require_plan", *_USER_ONLY}, own_file)
    theirs, place = read_table(shared, "agent", {*_RULES, "require_plan"}, shared_file)
    rules: dict[str, Any] = {}
    for name in _RULES:
        usual: StrEnum = getattr(plain, name)
        asked = [read_choice(mine, name, usual, own_place)]
        if name in theirs:  # what the repository does not say makes nothing stricter
            asked.append(read_choice(theirs, name, usual, place))
        rules[name] = max(asked, key=list(type(usual)).index)
    required = [read_boolean(mine, "require_plan", own_place)]
    required.append(read_boolean(theirs, "require_plan", place))
    for name in ("shorten_after", "escalate_after"):
        times: int = getattr(plain, name)
        rules[name] = read_number(mine, name, own_place, default=times, most=MOST_IDENTICAL)
    return SessionPolicy(
        **rules,
        require_plan=any(required),
        hosts=read_texts(mine, "hosts", own_place, "host names"),
        readable=read_texts(mine, "readable", own_place),
        blocked_model=_second_model(mine, own_place),
        blocked_base_url=read_text(mine, "blocked_base_url", own_place) or "",
        batches=_batches(mine, own_place),
    )


def _second_model(mine: Mapping[str, Any], place: str) -> str:
    """Who asks for a second model must name it: a repository that asks for one gets a person."""
    named = read_text(mine, "blocked_model", place)
    if mine.get("blocked") == BlockedRule.MODEL and named is None:
        raise ConfigInvalid(
            f"`{place}`: `blocked` is `model`, and no `blocked_model` is named",
            'blocked_model = "PROVIDER:NAME"',
        )
    return named or ""


def _batches(mine: Mapping[str, Any], place: str) -> BatchPolicy:
    limits, within = read_table(mine, "limits", BATCH_LIMITS, place)
    for name, value in limits.items():
        usual, least, most = BATCH_LIMITS[name]
        if type(value) not in (type(usual), int) or not least <= value <= most:
            kind = "a whole number" if isinstance(usual, int) else "a number"
            raise ConfigInvalid(f"`{within}`: `{name}` must be {kind} from {least:g} to {most:g}")
    confidence = mine.get("confidence", 0.0)
    if type(confidence) not in (int, float) or not 0 <= confidence <= 1:
        raise ConfigInvalid(f"`{place}`: `confidence` must be a number from 0 to 1")
    return BatchPolicy(
        read_boolean(mine, "steering", place, default=True),
        tuple(limits.items()),
        float(confidence),
        read_number(mine, "thin_words", place, default=0, most=100_000, least=0),
        read_number(mine, "thin_sections", place, default=0, most=1_000, least=0),
    )
