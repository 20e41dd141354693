"""`[judge]` of the user's own file: the model that gives opinions, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from signoff.errors import ConfigInvalid
from signoff.settings.roles import (
    LOOP,
    read_boolean,
    read_number,
    read_table,
    read_text,
    read_timeout,
)

EXAMPLE = 'model = "PROVIDER:NAME"'


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
