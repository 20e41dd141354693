"""Small values inside fields: times, money, tokens, policies, lists. None where not understood."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from signoff.domain.plan import OnFail, Then

# More digits than any sensible number; int() of a very long one would raise.
_NUMBER = r"(?<![0-9.,])[0-9]{1,12}(?:[,_][0-9]{3}){0,4}(?:\.[0-9]{1,9})?"
_TIME = rf"(?i)({_NUMBER}) ?(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)(?![A-Za-z0-9])"
_TOKENS = rf"(?i)({_NUMBER}) ?([km]?) ?tokens?\b"
_USD = rf"(?i)(?:US)?\$ ?({_NUMBER})|({_NUMBER}) ?USD\b|USD ?({_NUMBER})"
_FILLER = r"(?i)(?:\s|[,;+.]|\b(?:max|maximum|at|most|up|to|about|and|wall|clock|time|total|in)\b)*"
_ON_FAIL = r"(?i)retry ?\( ?([0-9]{1,3}) ?\)(?: ?,? ?then (escalate|abort))?|(escalate|abort)"
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0}
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}


class Amounts(NamedTuple):
    """Tokens, money and time found in one line; None where it says nothing about them."""

    tokens: int | None
    usd: float | None
    wall_s: float | None


def duration_s(text: str) -> float | None:
    """Seconds in `60 s`, `10 minutes`, `1h 30min`."""
    text = " ".join(text.split())
    total = sum(_seconds(found) for found in re.finditer(_TIME, text))
    rest = re.sub(_TIME, " ", text)
    return total if total > 0 and not rest.strip(" \t,.") else None


def amounts(text: str) -> Amounts | None:
    """Read `max 200k tokens, $1.50, 20 minutes wall clock`; None when any of it stays unread."""
    text = " ".join(text.split())
    tokens = list(re.finditer(_TOKENS, text))
    rest = re.sub(_TOKENS, " ", text)
    usd = list(re.finditer(_USD, rest))
    rest = re.sub(_USD, " ", rest)
    times = list(re.finditer(_TIME, rest))
    rest = re.sub(_TIME, " ", rest)
    if len(tokens) > 1 or len(usd) > 1 or not (tokens or usd or times):
        return None
    if not re.fullmatch(_FILLER, rest):
        return None
    return Amounts(
        _count(tokens[0]) if tokens else None,
        _float(next(group for group in usd[0].groups() if group)) if usd else None,
        sum(_seconds(found) for found in times) if times else None,
    )


def on_fail(text: str) -> OnFail | None:
    """Read a failure policy."""
    return _on_fail(text) if len(text) < 200 else None


@lru_cache(maxsize=256)
def _on_fail(text: str) -> OnFail | None:
    found = re.fullmatch(_ON_FAIL, " ".join(text.split()))
    if found is None:
        return None
    if found[3]:
        return OnFail(0, Then(found[3].lower()))
    return OnFail(int(found[1]), Then(found[2].lower()) if found[2] else Then.ESCALATE)


def yes_no(text: str) -> bool | None:
    """Read a switch."""
    return {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}.get(
        text.strip().lower()
    )


def unquoted(item: str) -> str:
    """An item without the backticks or quotes around it."""
    item = item.strip()
    if len(item) > 1 and item[0] == item[-1] and item[0] in "`\"'":
        return item[1:-1].strip()
    return item


def _seconds(found: re.Match[str]) -> float:
    return _float(found[1]) * _UNIT_S[found[2][0].lower()]


def _count(found: re.Match[str]) -> int:
    return round(_float(found[1]) * _SCALE[found[2].lower()])


def _float(text: str) -> float:
    return float(text.replace(",", "").replace("_", ""))
