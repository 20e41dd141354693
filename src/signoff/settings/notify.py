"""`[notify]`: ways to tell a person that something happened, and of what; the user's own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from signoff.errors import ConfigInvalid
from signoff.settings.roles import read_boolean, read_table, read_text, read_texts


class Occasion(StrEnum):
    """Moments of a run that a person may want to hear of."""

    NEEDS_YOU = "needs-you"
    DONE = "done"
    FAILED = "failed"
    BUDGET = "budget"  # most of it is spent


class NotifyWays(Struct, frozen=True):
    """Ways to tell, and of which occasions."""

    desktop: bool = False
    webhook: str | None = None
    secret: str | None = None  # what the webhook gets is signed with it
    command: tuple[str, ...] = ()
    on: frozenset[Occasion] = frozenset(Occasion)


def read_notify(data: Mapping[str, Any], where: str) -> NotifyWays:
    """The table as it is written; ConfigInvalid when it names no way."""
    table, place = read_table(data, "notify", NotifyWays.__struct_fields__, where)
    webhook, secret = read_text(table, "webhook", place), read_text(table, "secret", place)
    if webhook is not None and not webhook.startswith(("https://", "http://")):
        raise ConfigInvalid(f"`{place}`: `webhook` must be an address", 'webhook = "https://…"')
    named = read_texts(table, "on", place)
    unknown = sorted(set(named) - set(Occasion))
    if unknown:
        known = ", ".join(Occasion)
        raise ConfigInvalid(f"`{place}`: `on` has `{unknown[0]}`; choose from: {known}")
    try:
        command = tuple(shlex.split(read_text(table, "command", place) or ""))
    except ValueError as error:
        raise ConfigInvalid(f"`{place}`: `command` is no command line: {error}") from None
    desktop = read_boolean(table, "desktop", place)
    if not (desktop or webhook or command):
        raise ConfigInvalid(f"`{place}` names no way to tell you", "desktop = true")
    on = frozenset(map(Occasion, named)) or frozenset(Occasion)
    return NotifyWays(desktop, webhook, secret, command, on)
