"""`[policy]`: rules on top of the plan; `[judge]`: the model that gives opinions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Any

from msgspec import Struct

from signoff.errors import ConfigInvalid
from signoff.settings.roles import (
    LOOP,
    read_boolean,
    read_choice,
    read_number,
    read_table,
    read_text,
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
