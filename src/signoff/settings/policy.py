"""Rules on top of plans (`[policy]`, `[agent]`), and the model that gives opinions (`[judge]`)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Any

from msgspec import Struct, field

from signoff.errors import ConfigInvalid
from signoff.settings.roles import (
    LOOP,
    read_boolean,
    read_choice,
    read_number,
    read_table,
    read_text,
    read_texts,
    read_timeout,
)

MOST_JUDGINGS = 100
EXAMPLE = 'model = "PROVIDER:NAME"'


class StrengthRule(StrEnum):
    """Use of the strength of contracts, after they were kept; from lax to strict."""

    OFF = "off"
    MEASURE = "measure"  # measured and shown, before the sign-off
    REQUIRE = "require"  # a contract that rejects too few wrong versions is not kept


class HeldBeforeRule(StrEnum):
    """Answer to a plan all of whose contracts held before the work; from lax to strict."""

    ALLOW = "allow"  # done, with a remark
    ASK = "ask"  # a person is asked before it is called done


class Policy(Struct, frozen=True):
    """Rules on top of the plan; a repository may only make them stricter."""

    require_red_first: bool = False  # a contract that held before the first attempt is an error
    forbid_waivers: bool = False  # nobody may waive a step of this repository
    require_sandbox: bool = False  # contracts and agents run confined, or not at all
    escalate_handoffs: bool = False  # files that other tools execute need a person's yes
    judgings: int = 1  # how often in a row a contract must hold before it is kept
    strength: StrengthRule = StrengthRule.OFF
    held_before: HeldBeforeRule = HeldBeforeRule.ASK


_RULED = ("strength", "held_before")
_LAXEST = Policy(held_before=HeldBeforeRule.ALLOW)  # of a file that says nothing


class JudgeModel(Struct, frozen=True):
    """The model, or the client, that is asked for opinions: with the user's money and keys."""

    model: str = ""  # `provider:name`; of a client, its own name for it
    agent: str = ""  # a known client; empty: the provider is asked
    base_url: str | None = None
    tokens: int = 200_000  # that one opinion may take
    characters: int = 120_000  # of the change that it is shown
    timeout_s: float = 600.0  # for one answer
    hide_findings: bool = False  # agents are told that they were refused, and not why

    @property
    def name(self) -> str:
        """The name that opinions are recorded under."""
        return f"{self.agent} {self.model}".strip()


def read_judge(data: Mapping[str, Any], where: str) -> JudgeModel | None:
    """The model for opinions; None where the user names none."""
    if "judge" not in data:
        return None
    usual = JudgeModel()
    table, place = read_table(data, "judge", JudgeModel.__struct_fields__, where)
    model, agent = (read_text(table, name, place) or "" for name in ("model", "agent"))
    base_url = read_text(table, "base_url", place)
    if agent == LOOP or (agent and base_url):
        raise ConfigInvalid(f"`{place}`: `agent` names a client, which has no `base_url`", EXAMPLE)
    if not agent and not all(model.partition(":")):
        raise ConfigInvalid(f"`{place}` names no model", EXAMPLE)
    return JudgeModel(
        model,
        agent,
        base_url,
        tokens=read_number(table, "tokens", place, default=usual.tokens, most=10**9, least=1000),
        characters=read_number(
            table, "characters", place, default=usual.characters, most=10**7, least=1000
        ),
        timeout_s=float(read_timeout(table, place) or usual.timeout_s),
        hide_findings=read_boolean(table, "hide_findings", place),
    )


def read_policy(data: Mapping[str, Any], where: str, unsaid: Policy = _LAXEST) -> Policy:
    names = set(Policy.__struct_fields__)
    table, place = read_table(data, "policy", names, where)
    judgings = read_number(table, "judgings", place, default=1, most=MOST_JUDGINGS)
    rules: dict[str, Any] = {n: read_choice(table, n, getattr(unsaid, n), place) for n in _RULED}
    for name in names - {"judgings", *_RULED}:
        rules[name] = read_boolean(table, name, place)
    return Policy(judgings=judgings, **rules)


def strictest(one: Policy, other: Policy) -> Policy:
    def strictness(name: str, policy: Policy) -> int:
        value = getattr(policy, name)
        return list(type(value)).index(value) if isinstance(value, StrEnum) else int(value)

    names = Policy.__struct_fields__
    return Policy(**{n: getattr(max(one, other, key=partial(strictness, n)), n) for n in names})


class EvidenceRule(StrEnum):
    """Evidence for a claim that no contract decides; from lax to strict."""

    PROSE = "prose"  # any text
    RESOLVABLE = "resolvable"  # a reference that the harness can resolve


class BlockedRule(StrEnum):
    """Decider about a step that an agent calls blocked; from lax to strict."""

    ACCEPT = "accept"
    MODEL = "model"  # of older files, as `person`: no model opens a gate
    PERSON = "person"


class RatchetRule(StrEnum):
    """Condition for dropping or weakening a part of the plan; from lax to strict."""

    REASON = "reason"
    APPROVE = "approve"


class SelfSetRule(StrEnum):
    """Worth of contracts that an agent set for itself: plain `done` or not; from lax to strict."""

    ACCEPT = "accept"
    LABEL = "label"


# name → what it is when nobody says, the least and the most that it may be
BATCH_LIMITS: dict[str, tuple[float, float, float]] = {
    "errors": (3, 1, 1000),
    "looks": (8, 1, 1000),
    "repeats": (2, 1, 1000),
}


class BatchPolicy(Struct, frozen=True):
    """Guidance of a model by the tool-call runtime: `steering` and `[agent.limits]`.

    Without steering, calls are made and kept; nothing is said and nothing stopped.
    """

    steering: bool = True
    limits: tuple[tuple[str, float], ...] = ()  # those that differ from what is usual
    confidence: float = 0.0  # how sure a model must say it is of a change; 0: it is not asked
    thin_words: int = 0  # that every page must show
    thin_sections: int = 0


class SessionPolicy(Struct, frozen=True):
    """Rules for plans that an agent makes; a repository may only make them stricter."""

    evidence: EvidenceRule = EvidenceRule.RESOLVABLE
    blocked: BlockedRule = BlockedRule.PERSON
    ratchet: RatchetRule = RatchetRule.REASON
    self_set: SelfSetRule = SelfSetRule.LABEL
    require_plan: bool = False  # whoever changes files needs a plan
    readable: tuple[str, ...] = ()  # user only: folders outside the workspace that may be cited
    shorten_after: int = 3  # user only: identical refusals in a row told in full
    escalate_after: int = 6  # user only: identical refusals in a row, then a person takes over
    batches: BatchPolicy = field(default_factory=BatchPolicy)  # user only
    forbid_waivers: bool = False  # from `[policy]`, for whoever asks people


MOST_IDENTICAL = 50
_USER_ONLY = frozenset(
    {"readable", "shorten_after", "escalate_after"}
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
        readable=read_texts(mine, "readable", own_place),
        batches=_batches(mine, own_place),
    )


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
